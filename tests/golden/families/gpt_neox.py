# SPDX-License-Identifier: Apache-2.0
"""GPT-NeoX (Black et al. 2022), and so Pythia."""

import torch
from torch import nn
from torch.nn import functional as F

from .parts import Architecture, GoldenModel, Layer, attend, causal, linear, rotate, through_layers
from .vocabularies import byte_level_tokenizer


class NeoXLayer(nn.Module):
    def __init__(self, c):
        super().__init__()
        width, inner, eps = c["hidden_size"], c["intermediate_size"], c["layer_norm_eps"]
        self.c, self.heads = c, c["num_attention_heads"]
        self.dim = width // self.heads
        self.rotary_dim = int(self.dim * c.get("rotary_pct", 0.25))
        self.input_layernorm, self.post_attention_layernorm = nn.LayerNorm(width, eps), nn.LayerNorm(width, eps)
        self.attention, self.mlp = nn.Module(), nn.Module()
        self.attention.query_key_value, self.attention.dense = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.mlp.dense_h_to_4h, self.mlp.dense_4h_to_h = nn.Linear(width, inner), nn.Linear(inner, width)

    def turned(self, x):
        """Turns the first elements of each head of [H, T, d]."""
        pairs = torch.arange(0, self.rotary_dim, 2, dtype=torch.float64)
        return rotate(x, 1.0 / self.c.get("rotary_emb_base", 10000.0) ** (pairs / self.rotary_dim))

    def attend(self, record, x):
        fused = self.attention.query_key_value(x).unflatten(1, (self.heads, 3, self.dim))
        q, k, v = (part.transpose(0, 1) for part in fused.unbind(2))
        heads = attend(record, self.turned(q), self.turned(k), v, self.dim**-0.5, causal(len(x)))
        return self.attention.dense(heads)

    def forward(self, record, x):
        def feed_forward(x):
            inner = self.mlp.dense_h_to_4h(self.post_attention_layernorm(x))
            return self.mlp.dense_4h_to_h(F.gelu(inner))

        attended = x + self.attend(record, self.input_layernorm(x))
        return attended + feed_forward(x if self.c.get("use_parallel_residual", True) else attended)


class NeoX(nn.Module):
    def __init__(self, c):
        super().__init__()
        width = c["hidden_size"]
        self.gpt_neox = m = nn.Module()
        m.embed_in = nn.Embedding(c["vocab_size"], width)
        m.layers = nn.ModuleList(NeoXLayer(c) for _ in range(c["num_hidden_layers"]))
        m.final_layer_norm = nn.LayerNorm(width, c["layer_norm_eps"])
        self.embed_out = nn.Linear(width, c["vocab_size"], bias=False)

    def forward(self, record, inputs):
        return self.logits(through_layers(record, self.gpt_neox.layers, self.gpt_neox.embed_in(inputs["ids"])))

    def logits(self, x):
        return self.embed_out(self.gpt_neox.final_layer_norm(x))


def architecture(model, c):
    def layer_of(layer):
        weight, bias = linear(layer.attention.query_key_value)
        parts = zip(weight.unflatten(0, (c["num_attention_heads"], 3, -1)).unbind(1),
                    bias.unflatten(0, (c["num_attention_heads"], 3, -1)).unbind(1))
        q, k, v = ((w.flatten(0, 1), b.flatten()) for w, b in parts)
        return Layer(layer.input_layernorm, q, k, v, layer.attention.dense, layer.mlp.dense_4h_to_h, layer.dim**-0.5,
                     rotary=layer.turned)

    m, heads = model.gpt_neox, c["num_attention_heads"]
    return Architecture(heads, heads, [layer_of(layer) for layer in m.layers],
                        lambda inputs: {"token": m.embed_in(inputs["ids"])}, final_norm=m.final_layer_norm,
                        decoder=(model.embed_out.weight, None))


CONFIG = {"model_type": "gpt_neox", "hidden_size": 24, "num_attention_heads": 3, "num_hidden_layers": 3,
          "intermediate_size": 40, "max_position_embeddings": 48, "hidden_act": "gelu", "layer_norm_eps": 1e-5,
          "rotary_pct": 0.5, "rotary_emb_base": 1000, "use_parallel_residual": True, "tie_word_embeddings": False}


def golden(changes, library, **how):
    return GoldenModel({**CONFIG, **changes}, NeoX, architecture, library, "attention.dense", saved=False,
                       tokenizer=byte_level_tokenizer, **how)


MODELS = {
    "gpt_neox": golden({}, "GPTNeoXForCausalLM", length=15),
    "gpt_neox_f16_bare": golden(
        {"num_hidden_layers": 2, "use_parallel_residual": False, "rotary_pct": 1.0}, "GPTNeoXModel",
        dtype=torch.float16, has_logits=False,
        rename=lambda name: None if name.startswith("embed_out.") else name.replace("gpt_neox.", "")),
}
