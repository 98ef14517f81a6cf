# SPDX-License-Identifier: Apache-2.0
"""Phi-3 (Abdin et al. 2024): Llama with fused matrices, of which a part of each head may be turned."""

from torch import nn
from torch.nn import functional as F

from .llama import Llama, LlamaLayer, architecture
from .parts import GoldenModel, Layer, attend, causal, rotary_frequencies, rotate, split
from .vocabularies import published_tokenizer


class Phi3Attention(nn.Module):
    def __init__(self, c):
        super().__init__()
        self.c, self.heads, self.groups = c, c["num_attention_heads"], c["num_key_value_heads"]
        self.dim = c["hidden_size"] // self.heads
        self.sizes = [self.heads * self.dim, self.groups * self.dim, self.groups * self.dim]
        self.qkv_proj = nn.Linear(c["hidden_size"], sum(self.sizes), bias=False)
        self.o_proj = nn.Linear(c["hidden_size"], c["hidden_size"], bias=False)

    def turned(self, x):
        """Turns the first elements of each head of [H, T, d]."""
        return rotate(x, *rotary_frequencies(self.c, int(self.dim * self.c["partial_rotary_factor"]), x.shape[1]))

    def forward(self, record, x):
        q, k, v = self.qkv_proj(x).split(self.sizes, 1)
        q, k, v = self.turned(split(q, self.heads)), self.turned(split(k, self.groups)), split(v, self.groups)
        k, v = (part.repeat_interleave(self.heads // self.groups, 0) for part in (k, v))
        return self.o_proj(attend(record, q, k, v, self.dim**-0.5, causal(len(x), self.c["sliding_window"])))


class Phi3FeedForward(nn.Module):
    def __init__(self, c):
        super().__init__()
        self.gate_up_proj = nn.Linear(c["hidden_size"], 2 * c["intermediate_size"], bias=False)
        self.down_proj = nn.Linear(c["intermediate_size"], c["hidden_size"], bias=False)

    def forward(self, x):
        gate, up = self.gate_up_proj(x).chunk(2, 1)
        return self.down_proj(F.silu(gate) * up)


class Phi3Layer(LlamaLayer):
    attention, feed_forward = Phi3Attention, Phi3FeedForward


class Phi3(Llama):
    layer = Phi3Layer


def phi3_architecture(model, c):
    def described(layer):
        a = layer.self_attn
        q, k, v = ((weight, None) for weight in a.qkv_proj.weight.split(a.sizes))
        return Layer(layer.input_layernorm, q, k, v, a.o_proj, layer.mlp.down_proj, a.dim**-0.5, rotary=a.turned)

    return architecture(model, c, described)


CONFIG = {"model_type": "phi3", "architectures": ["Phi3ForCausalLM"], "vocab_size": 60, "hidden_size": 32,
          "intermediate_size": 20, "num_hidden_layers": 2, "num_attention_heads": 4, "num_key_value_heads": 2,
          "max_position_embeddings": 64, "original_max_position_embeddings": 64, "hidden_act": "silu",
          "rms_norm_eps": 1e-5, "rope_theta": 100.0, "rope_scaling": None, "partial_rotary_factor": 0.5,
          "attention_bias": False, "sliding_window": 6, "tie_word_embeddings": False, "torch_dtype": "float32",
          "bos_token_id": 1, "eos_token_id": 59, "pad_token_id": 59}

MODELS = {"phi3": GoldenModel(CONFIG, Phi3, phi3_architecture, "Phi3ForCausalLM", "self_attn.o_proj", length=13,
                              tokenizer=lambda: published_tokenizer("phi3", "▁", 60, first=["<unk>", "<s>", "</s>"],
                                                                    last=["<|endoftext|>"]))}
