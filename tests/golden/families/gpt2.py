# SPDX-License-Identifier: Apache-2.0
"""GPT-2 (Radford et al. 2019)."""

import torch
from torch import nn
from torch.nn import functional as F

from .parts import Architecture, Conv1D, GoldenModel, Layer, attend, causal, linear, split, through_layers
from .vocabularies import byte_level_tokenizer


class Gpt2Layer(nn.Module):
    def __init__(self, c, index):
        super().__init__()
        width, inner, eps = c["n_embd"], c.get("n_inner") or 4 * c["n_embd"], c["layer_norm_epsilon"]
        self.heads, self.activation = c["n_head"], c.get("activation_function", "gelu_new")
        self.scale = (width // self.heads) ** -0.5 if c.get("scale_attn_weights", True) else 1.0
        self.scale /= index + 1 if c.get("scale_attn_by_inverse_layer_idx") else 1
        self.ln_1, self.ln_2 = nn.LayerNorm(width, eps), nn.LayerNorm(width, eps)
        self.attn, self.mlp = nn.Module(), nn.Module()
        self.attn.c_attn, self.attn.c_proj = Conv1D(width, 3 * width), Conv1D(width, width)
        self.mlp.c_fc, self.mlp.c_proj = Conv1D(width, inner), Conv1D(inner, width)

    def forward(self, record, x):
        q, k, v = (split(part, self.heads) for part in self.attn.c_attn(self.ln_1(x)).chunk(3, dim=1))
        x = x + self.attn.c_proj(attend(record, q, k, v, self.scale, causal(len(x))))
        inner = self.mlp.c_fc(self.ln_2(x))
        inner = F.gelu(inner, approximate="tanh") if self.activation == "gelu_new" else F.gelu(inner)
        return x + self.mlp.c_proj(inner)


class Gpt2(nn.Module):
    def __init__(self, c):
        super().__init__()
        self.transformer = t = nn.Module()
        t.wte, t.wpe = nn.Embedding(c["vocab_size"], c["n_embd"]), nn.Embedding(c["n_positions"], c["n_embd"])
        t.h = nn.ModuleList(Gpt2Layer(c, i) for i in range(c["n_layer"]))
        t.ln_f = nn.LayerNorm(c["n_embd"], c["layer_norm_epsilon"])

    def forward(self, record, inputs):
        t = self.transformer
        x = t.wte(inputs["ids"]) + t.wpe(torch.arange(len(inputs["ids"])))
        return self.logits(through_layers(record, t.h, x))

    def logits(self, x):
        return self.transformer.ln_f(x) @ self.transformer.wte.weight.T


def architecture(model, c):
    def layer_of(layer):
        weight, bias = linear(layer.attn.c_attn)
        return Layer(layer.ln_1, *zip(weight.chunk(3), bias.chunk(3)), layer.attn.c_proj, layer.mlp.c_proj, layer.scale)

    def embed(inputs):
        return {"token": t.wte(inputs["ids"]), "position": t.wpe(torch.arange(len(inputs["ids"])))}

    t = model.transformer
    return Architecture(c["n_head"], c["n_head"], [layer_of(layer) for layer in t.h], embed, final_norm=t.ln_f,
                        decoder=(t.wte.weight, None))


CONFIG = {"model_type": "gpt2", "n_embd": 24, "n_head": 3, "n_layer": 2, "n_positions": 40,
          "activation_function": "gelu_new", "layer_norm_epsilon": 1e-5}


def golden(changes, **how):
    return GoldenModel({**CONFIG, **changes}, Gpt2, architecture, "GPT2LMHeadModel", "attn.c_proj", saved=False,
                       tokenizer=byte_level_tokenizer, **how)


MODELS = {
    "gpt2": golden({}, length=16),
    "gpt2_f16_bare": golden({"n_inner": 40, "scale_attn_by_inverse_layer_idx": True, "activation_function": "gelu"},
                            dtype=torch.float16, rename=lambda name: name.replace("transformer.", ""), shards=2),
}
