# SPDX-License-Identifier: Apache-2.0
"""Llama (Touvron et al. 2023), Mistral (Jiang et al. 2023) and Qwen 2 (Yang et al. 2024)."""

import torch
from torch import nn
from torch.nn import functional as F

from .parts import (Architecture, GoldenModel, Layer, RMSNorm, attend, causal, linear, rotary_frequencies, rotate,
                    split, through_layers)
from .vocabularies import byte_level_tokenizer


class LlamaAttention(nn.Module):
    def __init__(self, c):
        super().__init__()
        self.c, width = c, c["hidden_size"]
        self.heads, self.groups = c["num_attention_heads"], c.get("num_key_value_heads", c["num_attention_heads"])
        self.dim = c.get("head_dim") or width // self.heads
        self.scale, self.window, self.cap = self.dim**-0.5, c.get("sliding_window"), None
        all_bias = c.get("attention_bias", False)
        bias = all_bias or c["model_type"] == "qwen2"
        self.q_proj = nn.Linear(width, self.heads * self.dim, bias=bias)
        self.k_proj = nn.Linear(width, self.groups * self.dim, bias=bias)
        self.v_proj = nn.Linear(width, self.groups * self.dim, bias=bias)
        self.o_proj = nn.Linear(self.heads * self.dim, width, bias=all_bias)

    def queries_and_keys(self, x):
        """The queries [H, T, d] and keys [G, T, d] before they are turned."""
        return split(self.q_proj(x), self.heads), split(self.k_proj(x), self.groups)

    def turned(self, x):
        return rotate(x, *rotary_frequencies(self.c, self.dim, x.shape[1]))

    def forward(self, record, x):
        q, k = (self.turned(part) for part in self.queries_and_keys(x))
        v = split(self.v_proj(x), self.groups)
        k, v = (part.repeat_interleave(self.heads // self.groups, 0) for part in (k, v))
        return self.o_proj(attend(record, q, k, v, self.scale, causal(len(x), self.window), self.cap))


class LlamaFeedForward(nn.Module):
    """SwiGLU (Shazeer 2020)"""

    def __init__(self, c):
        super().__init__()
        width, inner, bias = c["hidden_size"], c["intermediate_size"], c.get("mlp_bias", False)
        self.gate_proj, self.up_proj = nn.Linear(width, inner, bias=bias), nn.Linear(width, inner, bias=bias)
        self.down_proj = nn.Linear(inner, width, bias=bias)

    def forward(self, x):
        return self.down_proj(F.silu(self.gate_proj(x)) * self.up_proj(x))


class LlamaLayer(nn.Module):
    attention, feed_forward = LlamaAttention, LlamaFeedForward

    def __init__(self, c, index):
        super().__init__()
        self.input_layernorm = RMSNorm(c["hidden_size"], c["rms_norm_eps"])
        self.self_attn = self.attention(c)
        self.post_attention_layernorm = RMSNorm(c["hidden_size"], c["rms_norm_eps"])
        self.mlp = self.feed_forward(c)

    def forward(self, record, x):
        x = x + self.self_attn(record, self.input_layernorm(x))
        return x + self.mlp(self.post_attention_layernorm(x))


class Llama(nn.Module):
    layer, norm = LlamaLayer, RMSNorm

    def __init__(self, c):
        super().__init__()
        self.model = nn.Module()
        self.model.embed_tokens = nn.Embedding(c["vocab_size"], c["hidden_size"])
        self.model.layers = nn.ModuleList(self.layer(c, i) for i in range(c["num_hidden_layers"]))
        self.model.norm = self.norm(c["hidden_size"], c["rms_norm_eps"])
        if not c.get("tie_word_embeddings", c["model_type"].startswith("gemma")):
            self.lm_head = nn.Linear(c["hidden_size"], c["vocab_size"], bias=False)

    def embed(self, ids):
        return self.model.embed_tokens(ids)

    def forward(self, record, inputs):
        return self.logits(through_layers(record, self.model.layers, self.embed(inputs["ids"])))

    def table(self):
        return self.lm_head.weight if hasattr(self, "lm_head") else self.model.embed_tokens.weight

    def logits(self, x):
        return self.model.norm(x) @ self.table().T


def layer_of(layer, **more):
    a = layer.self_attn
    return Layer(getattr(layer, "input_layernorm", None), linear(a.q_proj), linear(a.k_proj), linear(a.v_proj),
                 a.o_proj, layer.mlp.down_proj, a.scale, rotary=a.turned, **more)


def architecture(model, c, layer_of=layer_of):
    first = model.model.layers[0].self_attn
    return Architecture(first.heads, first.groups, [layer_of(layer) for layer in model.model.layers],
                        lambda inputs: {"token": model.embed(inputs["ids"])}, final_norm=model.model.norm,
                        decoder=(model.table(), None))


CONFIG = {"model_type": "llama", "hidden_size": 12, "intermediate_size": 20, "num_hidden_layers": 2,
          "num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 6, "max_position_embeddings": 64,
          "hidden_act": "silu", "rms_norm_eps": 1e-5, "rope_theta": 10000.0, "tie_word_embeddings": True}


def golden(changes, library="LlamaForCausalLM", **how):
    return GoldenModel({**CONFIG, **changes}, Llama, architecture, library, "self_attn.o_proj", saved=False,
                       tokenizer=byte_level_tokenizer, **how)


def scaled(changes={}, **scaling):
    return golden({"num_hidden_layers": 1, "rope_scaling": scaling, **changes},
                  steps=scaling.get("rope_type") != "dynamic")


MODELS = {
    "llama": golden({"num_hidden_layers": 3, "tie_word_embeddings": False}, length=17),
    "llama_bf16_biases": golden({"attention_bias": True, "mlp_bias": True, "num_key_value_heads": 4},
                                dtype=torch.bfloat16),
    "llama_linear": scaled(type="linear", factor=2.5),
    "llama_dynamic": scaled({"max_position_embeddings": 8}, rope_type="dynamic", factor=2.0),
    "llama_llama3": scaled({"rope_theta": 50.0}, rope_type="llama3", factor=8.0, low_freq_factor=1.0,
                           high_freq_factor=4.0, original_max_position_embeddings=16),
    "llama_yarn": scaled({"max_position_embeddings": 256, "rope_theta": 100.0}, rope_type="yarn", factor=4.0,
                         original_max_position_embeddings=64, beta_fast=4.0),
    "mistral": golden({"model_type": "mistral", "sliding_window": 5}, "MistralForCausalLM", dtype=torch.float16,
                      length=13),
    "qwen2_shards": golden({"model_type": "qwen2", "use_sliding_window": False, "sliding_window": None},
                           "Qwen2ForCausalLM", dtype=torch.bfloat16, shards=3),
}
