# SPDX-License-Identifier: Apache-2.0
"""T5 (Raffel et al. 2020), and version 1.1 of it, which Flan-T5 (Chung et al. 2022) begins with: a gated feed-forward
block (Shazeer 2020), and output weights of its own."""

import torch
from torch import nn
from torch.nn import functional as F

from definition.positions import t5_bucket

from .parts import (GoldenPair, Pair, RMSNorm, Step, attend, causal, not_padding, padded_source_and_target, split,
                    through_layers)


class T5Attention(nn.Module):
    """Scores are not scaled. The first layer of a stack has the biases of all its layers."""

    def __init__(self, c, has_biases):
        super().__init__()
        self.c, self.heads, inner = c, c["num_heads"], c["num_heads"] * c["d_kv"]
        self.q, self.k, self.v = (nn.Linear(c["d_model"], inner, bias=False) for _ in range(3))
        self.o = nn.Linear(inner, c["d_model"], bias=False)
        if has_biases:
            self.relative_attention_bias = nn.Embedding(c["relative_attention_num_buckets"], self.heads)

    def biases(self, length, bidirectional):
        """[H, T, T]"""
        ahead, table = torch.arange(length) - torch.arange(length).unsqueeze(1), self.relative_attention_bias.weight
        buckets = t5_bucket(ahead, len(table), bidirectional, self.c["relative_attention_max_distance"])
        return table[buckets].movedim(2, 0)

    def forward(self, record, x, memory, keep, biases=0.0):
        q, k, v = split(self.q(x), self.heads), split(self.k(memory), self.heads), split(self.v(memory), self.heads)
        return self.o(attend(record, q, k, v, 1.0, keep.expand(len(x), -1), bias=biases))


class T5FeedForward(nn.Module):
    def __init__(self, c):
        super().__init__()
        width, inner = c["d_model"], c["d_ff"]
        self.gated = c.get("feed_forward_proj") == "gated-gelu"
        for name in ["wi_0", "wi_1"] if self.gated else ["wi"]:
            self.add_module(name, nn.Linear(width, inner, bias=False))
        self.wo = nn.Linear(inner, width, bias=False)

    def forward(self, x):
        if self.gated:
            return self.wo(F.gelu(self.wi_0(x), approximate="tanh") * self.wi_1(x))
        return self.wo(F.relu(self.wi(x)))


class T5Layer(nn.Module):
    def __init__(self, c, stack, index):
        super().__init__()
        parts = {"SelfAttention": T5Attention(c, index == 0), "EncDecAttention": T5Attention(c, False),
                 "DenseReluDense": T5FeedForward(c)}
        if stack == "encoder":
            del parts["EncDecAttention"]
        self.layer = nn.ModuleList(
            nn.ModuleDict({name: part, "layer_norm": RMSNorm(c["d_model"], c["layer_norm_epsilon"])})
            for name, part in parts.items())

    def forward(self, record, x, keep, biases, cross=None, memory=None, memory_keep=None):
        normal = self.layer[0]["layer_norm"](x)
        x = x + self.layer[0]["SelfAttention"](record, normal, normal, keep, biases)
        if cross is not None:
            x = x + self.layer[1]["EncDecAttention"](cross, self.layer[1]["layer_norm"](x), memory, memory_keep)
        return x + self.layer[-1]["DenseReluDense"](self.layer[-1]["layer_norm"](x))


class T5Stack(nn.Module):
    def __init__(self, c, stack, layers):
        super().__init__()
        self.block = nn.ModuleList(T5Layer(c, stack, i) for i in range(layers))
        self.final_layer_norm = RMSNorm(c["d_model"], c["layer_norm_epsilon"])
        self.bidirectional = stack == "encoder"

    def forward(self, record, x, keep, *given):
        biases = self.block[0].layer[0]["SelfAttention"].biases(len(x), self.bidirectional)
        return self.final_layer_norm(through_layers(record, self.block, x, keep, biases, *given))


class T5(nn.Module):
    def __init__(self, c):
        super().__init__()
        self.shared = nn.Embedding(c["vocab_size"], c["d_model"])
        self.encoder = T5Stack(c, "encoder", c["num_layers"])
        self.decoder = T5Stack(c, "decoder", c["num_decoder_layers"])
        if not c.get("tie_word_embeddings", True):
            self.lm_head = nn.Linear(c["d_model"], c["vocab_size"], bias=False)

    def forward(self, records, inputs):
        source, target = self.shared(inputs["source_ids"]), self.shared(inputs["target_ids"])
        keep = not_padding(inputs)
        memory = self.encoder(records["encoder"], source, keep)
        x = self.decoder(records["decoder"], target, causal(len(target)), records["cross"], memory, keep)
        if hasattr(self, "lm_head"):
            return self.lm_head(x)
        return x * x.shape[1] ** -0.5 @ self.shared.weight.T


def architecture(model):
    def step(part):
        norm = part["layer_norm"]
        if "DenseReluDense" in part:
            return Step("feed_forward", norm, part["DenseReluDense"].wo)
        kind = "head" if "SelfAttention" in part else "cross"
        attention = part["SelfAttention" if kind == "head" else "EncDecAttention"]
        return Step(kind, norm, attention.o, (attention.q, attention.k, attention.v))

    stacks = {"encoder": model.encoder, "decoder": model.decoder}
    shared = model.shared
    weight = model.lm_head.weight if hasattr(model, "lm_head") else shared.weight * shared.embedding_dim ** -0.5
    steps = {name: [[step(part) for part in layer.layer] for layer in stack.block] for name, stack in stacks.items()}
    return Pair(model.encoder.block[0].layer[0]["SelfAttention"].heads, 1.0, True, steps,
                lambda ids: {"token": shared(ids)}, (weight, None),
                {name: stack.final_layer_norm for name, stack in stacks.items()})


MODULES = {"encoder": ("encoder.block", "layer.0.SelfAttention.o"),
              "decoder": ("decoder.block", "layer.0.SelfAttention.o"),
              "cross": ("decoder.block", "layer.1.EncDecAttention.o")}
CONFIG = {"architectures": ["T5ForConditionalGeneration"], "d_ff": 24, "d_kv": 4, "d_model": 16,
          "decoder_start_token_id": 0, "dropout_rate": 0.1, "eos_token_id": 1, "initializer_factor": 1.0,
          "is_encoder_decoder": True, "layer_norm_epsilon": 1e-6, "model_type": "t5", "n_positions": 512,
          "num_decoder_layers": 2, "num_heads": 4, "num_layers": 3, "output_past": True, "pad_token_id": 0,
          "relative_attention_max_distance": 10, "relative_attention_num_buckets": 8, "vocab_size": 50}


def golden(changes, **how):
    return GoldenPair({**CONFIG, **changes}, T5, architecture, "T5ForConditionalGeneration", MODULES, **how)


MODELS = {
    "t5": golden({}),
    # At this distance the decoder's last bucket, too, holds several distances.
    "t5_gated": golden({"feed_forward_proj": "gated-gelu", "d_kv": 5, "relative_attention_max_distance": 6,
                        "tie_word_embeddings": False, "torch_dtype": "bfloat16", "use_cache": True},
                       dtype=torch.bfloat16, inputs=padded_source_and_target),
}
