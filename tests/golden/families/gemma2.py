# SPDX-License-Identifier: Apache-2.0
"""Gemma 2 (Gemma Team 2024): norms on both sides of attention and feed-forward, capped scores and logits, a window in
every other layer, and embeddings times the root of their width."""

import torch
from torch import nn
from torch.nn import functional as F

from .llama import Llama, LlamaAttention, LlamaFeedForward, architecture, layer_of
from .parts import GoldenModel, RMSNorm
from .vocabularies import published_tokenizer


class GemmaNorm(RMSNorm):
    """Its weight is what is added to 1."""

    def factor(self, x):
        return (1 + self.weight) / torch.sqrt((x * x).mean(-1, keepdim=True) + self.eps)

    def forward(self, x):
        return x * self.factor(x)


class GemmaFeedForward(LlamaFeedForward):
    """GeGLU (Shazeer 2020)"""

    def forward(self, x):
        return self.down_proj(F.gelu(self.gate_proj(x), approximate="tanh") * self.up_proj(x))


class Gemma2Attention(LlamaAttention):
    def __init__(self, c, index):
        super().__init__(c)
        self.scale, self.cap = c["query_pre_attn_scalar"] ** -0.5, c["attn_logit_softcapping"]
        self.window = c["sliding_window"] if index % 2 == 0 else None


class Gemma2Layer(nn.Module):
    attention = Gemma2Attention

    def __init__(self, c, index):
        super().__init__()
        self.self_attn, self.mlp = self.attention(c, index), GemmaFeedForward(c)
        for name in ["input", "post_attention", "pre_feedforward", "post_feedforward"]:
            setattr(self, f"{name}_layernorm", GemmaNorm(c["hidden_size"], c["rms_norm_eps"]))

    def forward(self, record, x):
        x = x + self.post_attention_layernorm(self.self_attn(record, self.input_layernorm(x)))
        return x + self.post_feedforward_layernorm(self.mlp(self.pre_feedforward_layernorm(x)))


class Gemma2(Llama):
    layer, norm, norms_around = Gemma2Layer, GemmaNorm, 0.0

    def __init__(self, c):
        super().__init__(c)
        self.cap = c["final_logit_softcapping"]

    def embed(self, ids):
        return super().embed(ids) * self.model.embed_tokens.weight.shape[1] ** 0.5

    def logits(self, x):
        logits = super().logits(x)
        return logits if self.cap is None else self.cap * torch.tanh(logits / self.cap)


def post_norms(layer):
    return {"written": (layer.post_attention_layernorm.factor, layer.post_feedforward_layernorm.factor)}


def gemma2_architecture(model, c):
    described = architecture(model, c, lambda layer: layer_of(layer, **post_norms(layer)))
    described.logit_cap = model.cap
    return described


CONFIG = {"model_type": "gemma2", "architectures": ["Gemma2ForCausalLM"], "vocab_size": 60, "hidden_size": 16,
          "intermediate_size": 20, "num_hidden_layers": 3, "num_attention_heads": 4, "num_key_value_heads": 2,
          "head_dim": 6, "max_position_embeddings": 64, "hidden_act": "gelu_pytorch_tanh",
          "hidden_activation": "gelu_pytorch_tanh", "rms_norm_eps": 1e-6, "rope_theta": 100.0, "attention_bias": False,
          "sliding_window": 5, "query_pre_attn_scalar": 9, "attn_logit_softcapping": 2.0,
          "final_logit_softcapping": 3.0, "cache_implementation": "hybrid", "torch_dtype": "bfloat16",
          "bos_token_id": 2, "eos_token_id": 1, "pad_token_id": 0}


def gemma_tokenizer():
    return published_tokenizer("gemma2", "▁", 60, first=["<pad>", "<eos>", "<bos>", "<unk>"])


MODELS = {"gemma2": GoldenModel(CONFIG, Gemma2, gemma2_architecture, "Gemma2ForCausalLM", "self_attn.o_proj",
                                dtype=torch.bfloat16, length=13, tokenizer=gemma_tokenizer)}
