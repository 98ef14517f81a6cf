# SPDX-License-Identifier: Apache-2.0
"""GPT-Neo (Black et al. 2021): like GPT-2, with layers that see a window, and scores that are not scaled."""

import torch
from torch import nn
from torch.nn import functional as F

from .parts import Architecture, GoldenModel, Layer, attend, causal, linear, split, through_layers
from .vocabularies import byte_level


class GptNeoLayer(nn.Module):
    def __init__(self, c, window):
        super().__init__()
        width, eps = c["hidden_size"], c["layer_norm_epsilon"]
        inner = c.get("intermediate_size") or 4 * width
        self.heads, self.window = c["num_heads"], window
        self.ln_1, self.ln_2 = nn.LayerNorm(width, eps), nn.LayerNorm(width, eps)
        self.attn, self.mlp = nn.Module(), nn.Module()
        self.attn.attention = nn.ModuleDict({name: nn.Linear(width, width, bias=name == "out_proj")
                                             for name in ["q_proj", "k_proj", "v_proj", "out_proj"]})
        self.mlp.c_fc, self.mlp.c_proj = nn.Linear(width, inner), nn.Linear(inner, width)

    def forward(self, record, x):
        a, normal = self.attn.attention, self.ln_1(x)
        q, k, v = (split(a[name](normal), self.heads) for name in ["q_proj", "k_proj", "v_proj"])
        x = x + a.out_proj(attend(record, q, k, v, 1.0, causal(len(x), self.window)))
        return x + self.mlp.c_proj(F.gelu(self.mlp.c_fc(self.ln_2(x)), approximate="tanh"))


class GptNeo(nn.Module):
    def __init__(self, c):
        super().__init__()
        width = c["hidden_size"]
        kinds = [kind for names, times in c["attention_types"] for kind in names * times]
        self.transformer = t = nn.Module()
        t.wte, t.wpe = nn.Embedding(c["vocab_size"], width), nn.Embedding(c["max_position_embeddings"], width)
        t.h = nn.ModuleList(GptNeoLayer(c, c["window_size"] if kind == "local" else None) for kind in kinds)
        t.ln_f = nn.LayerNorm(width, c["layer_norm_epsilon"])

    def parts(self, inputs):
        ids = inputs["ids"]
        return {"token": self.transformer.wte(ids), "position": self.transformer.wpe(torch.arange(len(ids)))}

    def forward(self, record, inputs):
        return self.logits(through_layers(record, self.transformer.h, sum(self.parts(inputs).values())))

    def logits(self, x):
        return self.transformer.ln_f(x) @ self.transformer.wte.weight.T


def architecture(model, c):
    def layer_of(layer):
        a = layer.attn.attention
        q, k, v = (linear(a[name]) for name in ["q_proj", "k_proj", "v_proj"])
        return Layer(layer.ln_1, q, k, v, a.out_proj, layer.mlp.c_proj, 1.0)

    t, heads = model.transformer, c["num_heads"]
    return Architecture(heads, heads, [layer_of(layer) for layer in t.h], model.parts, final_norm=t.ln_f,
                        decoder=(t.wte.weight, None))


CONFIG = {"model_type": "gpt_neo", "architectures": ["GPTNeoForCausalLM"], "vocab_size": 60, "hidden_size": 20,
          "num_heads": 4, "num_layers": 3, "attention_types": [[["global", "local"], 1], [["local"], 1]],
          "window_size": 4, "intermediate_size": None, "max_position_embeddings": 32,
          "activation_function": "gelu_new", "layer_norm_epsilon": 1e-5, "bos_token_id": 59, "eos_token_id": 59}

MODELS = {"gpt_neo": GoldenModel(CONFIG, GptNeo, architecture, "GPTNeoForCausalLM", "attn.attention.out_proj",
                                 dtype=torch.float16, length=13,
                                 tokenizer=lambda: byte_level("gpt2", 60, last=["<|endoftext|>"]))}
