# SPDX-License-Identifier: Apache-2.0
"""Marian (Junczys-Dowmunt et al. 2018), as OPUS-MT trains it (Tiedemann & Thottingal 2020): the Transformer of Vaswani
et al. 2017 with Swish (Ramachandran et al. 2017)."""

import math

import torch
from torch import nn
from torch.nn import functional as F

from .parts import GoldenPair, Pair, Step, attend, causal, not_padding, split, through_layers

EPS = 1e-5


class MarianAttention(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        for name in ["k_proj", "v_proj", "q_proj", "out_proj"]:
            self.add_module(name, nn.Linear(width, width))

    def forward(self, record, x, memory, keep):
        q, k, v = self.q_proj(x), self.k_proj(memory), self.v_proj(memory)
        q, k, v = (split(part, self.heads) for part in (q, k, v))
        return self.out_proj(attend(record, q, k, v, q.shape[-1] ** -0.5, keep.expand(len(x), -1)))


class MarianLayer(nn.Module):
    """Each norm stands after a residual sum."""

    def __init__(self, c, stack):
        super().__init__()
        width, heads, inner = c["d_model"], c[f"{stack}_attention_heads"], c[f"{stack}_ffn_dim"]
        self.self_attn, self.self_attn_layer_norm = MarianAttention(width, heads), nn.LayerNorm(width, EPS)
        if stack == "decoder":
            self.encoder_attn, self.encoder_attn_layer_norm = MarianAttention(width, heads), nn.LayerNorm(width, EPS)
        self.fc1, self.fc2 = nn.Linear(width, inner), nn.Linear(inner, width)
        self.final_layer_norm = nn.LayerNorm(width, EPS)

    def forward(self, record, x, keep, cross=None, memory=None, memory_keep=None):
        x = self.self_attn_layer_norm(x + self.self_attn(record, x, x, keep))
        if cross is not None:
            x = self.encoder_attn_layer_norm(x + self.encoder_attn(cross, x, memory, memory_keep))
        return self.final_layer_norm(x + self.fc2(F.silu(self.fc1(x))))


def sinusoids(length, width):
    """All sines, then all cosines [T, D], as float32 has them, which models are published with."""
    pair = torch.arange(width // 2, dtype=torch.float64)
    angles = torch.outer(torch.arange(length, dtype=torch.float64), 10000.0 ** (-2 * pair / width))
    return torch.cat([angles.sin(), angles.cos()], 1).float().double()


class Marian(nn.Module):
    def __init__(self, c):
        super().__init__()
        self.scale = math.sqrt(c["d_model"]) if c["scale_embedding"] else 1.0
        self.model = nn.Module()
        self.model.shared = nn.Embedding(c["vocab_size"], c["d_model"])
        for stack in ["encoder", "decoder"]:
            module = nn.Module()
            module.layers = nn.ModuleList(MarianLayer(c, stack) for _ in range(c[f"{stack}_layers"]))
            self.model.add_module(stack, module)
        self.final_logits_bias = nn.Parameter(torch.empty(1, c["vocab_size"]))

    def embed(self, ids):
        x = self.model.shared(ids) * self.scale
        return x + sinusoids(*x.shape)

    def forward(self, records, inputs):
        source, target, keep = self.embed(inputs["source_ids"]), self.embed(inputs["target_ids"]), not_padding(inputs)
        memory = through_layers(records["encoder"], self.model.encoder.layers, source, keep)
        x = through_layers(records["decoder"], self.model.decoder.layers, target, causal(len(target)),
                           records["cross"], memory, keep)
        return x @ self.model.shared.weight.T + self.final_logits_bias


def architecture(model):
    def step(kind, norm, attention):
        return Step(kind, norm, attention.out_proj, (attention.q_proj, attention.k_proj, attention.v_proj))

    def steps(layer):
        steps = [step("head", layer.self_attn_layer_norm, layer.self_attn)]
        if hasattr(layer, "encoder_attn"):
            steps.append(step("cross", layer.encoder_attn_layer_norm, layer.encoder_attn))
        return [*steps, Step("feed_forward", layer.final_layer_norm, layer.fc2)]

    def embed(ids):
        token = model.model.shared(ids) * model.scale
        return {"token": token, "position": sinusoids(*token.shape)}

    stacks = {name: [steps(layer) for layer in getattr(model.model, name).layers] for name in ["encoder", "decoder"]}
    attention = model.model.encoder.layers[0].self_attn
    scale = (attention.q_proj.out_features // attention.heads) ** -0.5
    return Pair(attention.heads, scale, False, stacks, embed,
                (model.model.shared.weight, model.final_logits_bias[0]))


MODULES = {"encoder": ("model.encoder.layers", "self_attn.out_proj"),
              "decoder": ("model.decoder.layers", "self_attn.out_proj"),
              "cross": ("model.decoder.layers", "encoder_attn.out_proj")}
CONFIG = {"activation_dropout": 0.0, "activation_function": "swish", "add_bias_logits": False,
          "add_final_layer_norm": False, "architectures": ["MarianMTModel"], "attention_dropout": 0.0,
          "bos_token_id": 0, "d_model": 20, "decoder_attention_heads": 4, "decoder_ffn_dim": 24,
          "decoder_layerdrop": 0.0, "decoder_layers": 2, "decoder_start_token_id": 53, "dropout": 0.1,
          "encoder_attention_heads": 4, "encoder_ffn_dim": 28, "encoder_layerdrop": 0.0, "encoder_layers": 3,
          "eos_token_id": 0, "extra_pos_embeddings": 54, "init_std": 0.02, "is_encoder_decoder": True,
          "max_position_embeddings": 16, "model_type": "marian", "normalize_before": False,
          "normalize_embedding": False, "num_hidden_layers": 3, "pad_token_id": 53, "scale_embedding": True,
          "static_position_embeddings": True, "torch_dtype": "float16", "vocab_size": 54}

MODELS = {"marian": GoldenPair(CONFIG, Marian, architecture, "MarianMTModel", MODULES, dtype=torch.float16)}
