# SPDX-License-Identifier: Apache-2.0
"""The texts of Gemma 3 (Gemma Team 2025): Gemma 2 with norms of queries and keys in the place of caps, and layers with
a window that turn by other frequencies than those without."""

from .gemma2 import Gemma2, Gemma2Attention, Gemma2Layer, GemmaNorm, gemma_tokenizer, post_norms
from .llama import architecture, layer_of
from .parts import GoldenModel
from .qwen3 import factor_of_heads


class Gemma3Attention(Gemma2Attention):
    def __init__(self, c, index):
        super().__init__(c, index)
        whole = (index + 1) % c["sliding_window_pattern"] == 0
        self.window = None if whole else c["sliding_window"]
        self.c = c if whole else c | {"rope_theta": c["rope_local_base_freq"], "rope_scaling": None}
        self.q_norm, self.k_norm = GemmaNorm(self.dim, c["rms_norm_eps"]), GemmaNorm(self.dim, c["rms_norm_eps"])

    def queries_and_keys(self, x):
        q, k = super().queries_and_keys(x)
        return self.q_norm(q), self.k_norm(k)


class Gemma3Layer(Gemma2Layer):
    attention = Gemma3Attention


class Gemma3(Gemma2):
    layer = Gemma3Layer


def gemma3_architecture(model, c):
    def described(layer):
        a = layer.self_attn
        return layer_of(layer, query_factor=factor_of_heads(a.q_norm, a.dim),
                        key_factor=factor_of_heads(a.k_norm, a.dim), **post_norms(layer))

    return architecture(model, c, described)


CONFIG = {"model_type": "gemma3_text", "architectures": ["Gemma3ForCausalLM"], "vocab_size": 60, "hidden_size": 16,
          "intermediate_size": 20, "num_hidden_layers": 3, "num_attention_heads": 4, "num_key_value_heads": 2,
          "head_dim": 6, "max_position_embeddings": 64, "hidden_activation": "gelu_pytorch_tanh", "rms_norm_eps": 1e-6,
          "rope_theta": 1000.0, "rope_local_base_freq": 20.0, "rope_scaling": {"factor": 2.0, "rope_type": "linear"},
          "attention_bias": False, "sliding_window": 5, "sliding_window_pattern": 3, "query_pre_attn_scalar": 9,
          "attn_logit_softcapping": None, "final_logit_softcapping": None, "cache_implementation": "hybrid",
          "torch_dtype": "float32", "bos_token_id": 2, "eos_token_id": 1, "pad_token_id": 0}

MODELS = {"gemma3": GoldenModel(CONFIG, Gemma3, gemma3_architecture, "Gemma3ForCausalLM", "self_attn.o_proj",
                                length=13, tokenizer=gemma_tokenizer)}
