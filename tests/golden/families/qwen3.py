# SPDX-License-Identifier: Apache-2.0
"""Qwen 3 (Yang et al. 2025): Llama with a norm of each head's queries and keys."""

from .llama import Llama, LlamaAttention, LlamaLayer, architecture, layer_of
from .parts import GoldenModel, RMSNorm
from .vocabularies import byte_level


class Qwen3Attention(LlamaAttention):
    def __init__(self, c):
        super().__init__(c)
        self.q_norm, self.k_norm = RMSNorm(self.dim, c["rms_norm_eps"]), RMSNorm(self.dim, c["rms_norm_eps"])

    def queries_and_keys(self, x):
        q, k = super().queries_and_keys(x)
        return self.q_norm(q), self.k_norm(k)


class Qwen3Layer(LlamaLayer):
    attention = Qwen3Attention


class Qwen3(Llama):
    layer = Qwen3Layer


def factor_of_heads(norm, dim):
    """The factors of a norm of each head, for heads [T, H·d] side by side."""
    return lambda x: norm.factor(x.unflatten(1, (-1, dim))).flatten(1)


def qwen3_architecture(model, c):
    def described(layer):
        a = layer.self_attn
        return layer_of(layer, query_factor=factor_of_heads(a.q_norm, a.dim),
                        key_factor=factor_of_heads(a.k_norm, a.dim))

    return architecture(model, c, described)


CONFIG = {"model_type": "qwen3", "architectures": ["Qwen3ForCausalLM"], "vocab_size": 60, "hidden_size": 16,
          "intermediate_size": 20, "num_hidden_layers": 2, "num_attention_heads": 4, "num_key_value_heads": 2,
          "head_dim": 6, "max_position_embeddings": 64, "hidden_act": "silu", "rms_norm_eps": 1e-6,
          "rope_theta": 100.0, "rope_scaling": None, "attention_bias": False, "use_sliding_window": False,
          "sliding_window": None, "max_window_layers": 2, "tie_word_embeddings": False, "torch_dtype": "float32",
          "bos_token_id": 57, "eos_token_id": 59}

MODELS = {"qwen3": GoldenModel(CONFIG, Qwen3, qwen3_architecture, "Qwen3ForCausalLM", "self_attn.o_proj", length=13,
                               shards=2, tokenizer=lambda: byte_level(
                                   "qwen3", 60, last=["<|endoftext|>", "<|im_start|>", "<|im_end|>"]))}
