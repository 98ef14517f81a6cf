# SPDX-License-Identifier: Apache-2.0
"""OLMo 2 (OLMo Team 2025): norms after attention and feed-forward only, and of all queries and all keys together."""

from torch import nn

from .gemma2 import post_norms
from .llama import Llama, LlamaAttention, LlamaFeedForward, architecture, layer_of
from .parts import GoldenModel, RMSNorm, split
from .vocabularies import byte_level


class Olmo2Attention(LlamaAttention):
    def __init__(self, c):
        super().__init__(c)
        self.q_norm = RMSNorm(self.heads * self.dim, c["rms_norm_eps"])
        self.k_norm = RMSNorm(self.groups * self.dim, c["rms_norm_eps"])

    def queries_and_keys(self, x):
        return split(self.q_norm(self.q_proj(x)), self.heads), split(self.k_norm(self.k_proj(x)), self.groups)


class Olmo2Layer(nn.Module):
    def __init__(self, c, index):
        super().__init__()
        self.self_attn, self.mlp = Olmo2Attention(c), LlamaFeedForward(c)
        self.post_attention_layernorm = RMSNorm(c["hidden_size"], c["rms_norm_eps"])
        self.post_feedforward_layernorm = RMSNorm(c["hidden_size"], c["rms_norm_eps"])

    def forward(self, record, x):
        x = x + self.post_attention_layernorm(self.self_attn(record, x))
        return x + self.post_feedforward_layernorm(self.mlp(x))


class Olmo2(Llama):
    layer = Olmo2Layer


def olmo2_architecture(model, c):
    def described(layer):
        a = layer.self_attn
        return layer_of(layer, query_factor=a.q_norm.factor, key_factor=a.k_norm.factor, **post_norms(layer))

    return architecture(model, c, described)


CONFIG = {"model_type": "olmo2", "architectures": ["Olmo2ForCausalLM"], "vocab_size": 60, "hidden_size": 16,
          "intermediate_size": 20, "num_hidden_layers": 2, "num_attention_heads": 4, "num_key_value_heads": 2,
          "max_position_embeddings": 64, "hidden_act": "silu", "rms_norm_eps": 1e-6, "rope_theta": 100.0,
          "rope_scaling": None, "attention_bias": False, "tie_word_embeddings": False, "torch_dtype": "float32",
          "eos_token_id": 59, "pad_token_id": 58}

MODELS = {"olmo2": GoldenModel(CONFIG, Olmo2, olmo2_architecture, "Olmo2ForCausalLM", "self_attn.o_proj", length=13,
                               tokenizer=lambda: byte_level("olmo2", 60, last=["<|pad|>", "<|endoftext|>"]))}
