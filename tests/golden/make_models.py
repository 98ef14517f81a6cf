#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Makes the golden models: small random models as Hugging Face folders tests/golden/models/NAME/, with their results.

    /usr/bin/python3 tests/golden/make_models.py            # all models
    /usr/bin/python3 tests/golden/make_models.py gpt2       # those whose name starts so

It needs Debian's python3-torch and python3-pil. The folders are committed, so you only run this when you change them.

A folder holds
    config.json, model.safetensors (or shards and their index), tokenizer.json where the model reads text
    expected.safetensors
        ids, segments, padding, image    the model's inputs, as many of these as it has
        weights    [layers, heads, T, T] of every layer and head
        hidden     [layers + 1, T, D] the residual stream before each layer and after the last
        logits     [T, vocab], or [1, labels]; absent where the model has none
        picture, pixels    RGBA bytes [height, width, 4], and the pixels that preprocessor_config.json makes of them
                   [3, size, size]
        head_mask, ablated    [layers, heads] factors of the heads' outputs, and the stream after the last layer that
                   they lead to
    explained.safetensors    what make_explained.py computes. Run it after this script, which removes a folder before it
                   makes it anew.

The numbers
    Each model is a torch.nn module built from its published definition (the papers are named at each class), with
    parameters under Hugging Face's names. They are drawn in float32 from a seed of the model's name, and rounded to the
    type that the file has. Everything after that is float64, and is rounded once, to float32, when stored.
"""

import json
import math
import pathlib
import shutil
import sys
import zlib

import numpy
import torch
from PIL import Image
from torch import nn
from torch.nn import functional as F

from files import safetensors

FOLDER = pathlib.Path(__file__).parent / "models"


# --- attention --------------------------------------------------------------------------------------------------------


def softmax(layer, scores):
    return torch.softmax(scores, dim=-1)


def unchanged(layer, x):
    return x


class Record:
    """Collects each layer's weights and input. Its functions make a changed run: each takes the number of a layer, and
    returns the weights that masked scores [H, T, S] lead to, or what stands for values [H, S, d] or heads [H, T, d]."""

    def __init__(self, weights_of=softmax, change_values=unchanged, change_heads=unchanged):
        self.weights, self.hidden = [], []
        self.weights_of, self.change_values, self.change_heads = weights_of, change_values, change_heads


def attend(record, q, k, v, scale, keep):
    """Attention of [H, T, d] on [H, S, d] over the cells that `keep` [T, S] leaves. Returns the heads side by side."""
    layer, scores = len(record.weights), (q @ k.transpose(1, 2)) * scale
    weights = record.weights_of(layer, scores.masked_fill(~keep, -math.inf))
    heads = record.change_heads(layer, weights @ record.change_values(layer, v))
    record.weights.append(weights)
    return heads.transpose(0, 1).flatten(1)


def split(x, heads):
    """[T, H·d] → [H, T, d]"""
    return x.unflatten(1, (heads, -1)).transpose(0, 1)


def causal(length, window=None):
    """A query sees itself and the keys before it; with a window it sees only the last `window` of these."""
    query, key = torch.arange(length).unsqueeze(1), torch.arange(length)
    return (key <= query) & (query - key < (window or length))


# --- Llama (Touvron et al. 2023), Mistral, Qwen 2 ----------------------------------------------------------------------


class RMSNorm(nn.Module):
    """Zhang & Sennrich 2019"""

    def __init__(self, width, eps):
        super().__init__()
        self.weight, self.eps = nn.Parameter(torch.ones(width)), eps

    def forward(self, x):
        return x / torch.sqrt((x * x).mean(-1, keepdim=True) + self.eps) * self.weight


def rotary_frequencies(config, dim, length):
    """The angle of each pair for one position (Su et al. 2021, and its published extensions), and a factor of sines and
    cosines."""
    scaling = config.get("rope_scaling") or {}
    kind, factor = scaling.get("rope_type", scaling.get("type", "default")), scaling.get("factor", 1.0)
    base, trained = config.get("rope_theta", 10000.0), config["max_position_embeddings"]
    trained = scaling.get("original_max_position_embeddings", trained)
    pairs = torch.arange(0, dim, 2, dtype=torch.float64)
    if kind == "dynamic" and length > trained:
        base = base * (factor * length / trained - (factor - 1)) ** (dim / (dim - 2))
    plain = 1.0 / base ** (pairs / dim)
    if kind == "linear":
        return plain / factor, 1.0
    if kind == "llama3":
        turns = trained * plain / (2 * math.pi)  # in the whole context that the model was trained on
        low, high = scaling["low_freq_factor"], scaling["high_freq_factor"]
        mixed = ((turns - low) / (high - low)).clamp(0, 1)
        return (1 - mixed) * plain / factor + mixed * plain, 1.0
    if kind == "yarn":
        def pair_of(turns):
            return dim * math.log(trained / (turns * 2 * math.pi)) / (2 * math.log(base))
        low = max(math.floor(pair_of(scaling.get("beta_fast", 32))), 0)
        high = min(math.ceil(pair_of(scaling.get("beta_slow", 1))), dim - 1)
        ramp = ((torch.arange(dim // 2, dtype=torch.float64) - low) / max(high - low, 0.001)).clamp(0, 1)
        return plain / factor * ramp + plain * (1 - ramp), scaling.get("attention_factor", 0.1 * math.log(factor) + 1)
    assert kind in ("default", "dynamic"), kind
    return plain, 1.0


def rotate(x, frequencies, factor):
    """Turns pairs (i, i + d/2) of [H, T, d], as complex numbers, by position · frequency."""
    half = x.shape[-1] // 2
    turns = torch.outer(torch.arange(x.shape[1], dtype=torch.float64), frequencies)
    turned = torch.complex(x[..., :half], x[..., half:]) * torch.polar(torch.full_like(turns, factor), turns)
    return torch.cat([turned.real, turned.imag], dim=-1)


class LlamaAttention(nn.Module):
    def __init__(self, c):
        super().__init__()
        self.c, width = c, c["hidden_size"]
        self.heads, self.groups = c["num_attention_heads"], c.get("num_key_value_heads", c["num_attention_heads"])
        self.dim = c.get("head_dim") or width // self.heads
        all_bias = c.get("attention_bias", False)
        bias = all_bias or c["model_type"] == "qwen2"
        self.q_proj = nn.Linear(width, self.heads * self.dim, bias=bias)
        self.k_proj = nn.Linear(width, self.groups * self.dim, bias=bias)
        self.v_proj = nn.Linear(width, self.groups * self.dim, bias=bias)
        self.o_proj = nn.Linear(self.heads * self.dim, width, bias=all_bias)

    def forward(self, record, x):
        rotary = rotary_frequencies(self.c, self.dim, len(x))
        q = rotate(split(self.q_proj(x), self.heads), *rotary)
        k = rotate(split(self.k_proj(x), self.groups), *rotary).repeat_interleave(self.heads // self.groups, 0)
        v = split(self.v_proj(x), self.groups).repeat_interleave(self.heads // self.groups, 0)
        return self.o_proj(attend(record, q, k, v, self.dim**-0.5, causal(len(x), self.c.get("sliding_window"))))


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
    def __init__(self, c):
        super().__init__()
        self.input_layernorm = RMSNorm(c["hidden_size"], c["rms_norm_eps"])
        self.self_attn = LlamaAttention(c)
        self.post_attention_layernorm = RMSNorm(c["hidden_size"], c["rms_norm_eps"])
        self.mlp = LlamaFeedForward(c)

    def forward(self, record, x):
        x = x + self.self_attn(record, self.input_layernorm(x))
        return x + self.mlp(self.post_attention_layernorm(x))


class Llama(nn.Module):
    def __init__(self, c):
        super().__init__()
        self.model = nn.Module()
        self.model.embed_tokens = nn.Embedding(c["vocab_size"], c["hidden_size"])
        self.model.layers = nn.ModuleList(LlamaLayer(c) for _ in range(c["num_hidden_layers"]))
        self.model.norm = RMSNorm(c["hidden_size"], c["rms_norm_eps"])
        if not c.get("tie_word_embeddings"):
            self.lm_head = nn.Linear(c["hidden_size"], c["vocab_size"], bias=False)

    def forward(self, record, inputs):
        x = self.model.embed_tokens(inputs["ids"])
        for layer in self.model.layers:
            record.hidden.append(x)
            x = layer(record, x)
        record.hidden.append(x)
        return self.logits(x)

    def logits(self, x):
        table = self.lm_head.weight if hasattr(self, "lm_head") else self.model.embed_tokens.weight
        return self.model.norm(x) @ table.T


# --- GPT-2 (Radford et al. 2019) ---------------------------------------------------------------------------------------


class Conv1D(nn.Module):
    """A linear layer whose weight is [in, out]."""

    def __init__(self, width, out):
        super().__init__()
        self.weight, self.bias = nn.Parameter(torch.empty(width, out)), nn.Parameter(torch.empty(out))

    def forward(self, x):
        return torch.addmm(self.bias, x, self.weight)


class Gpt2Layer(nn.Module):
    def __init__(self, c, index):
        super().__init__()
        width, inner, eps = c["n_embd"], c.get("n_inner") or 4 * c["n_embd"], c["layer_norm_epsilon"]
        self.heads, self.activation = c["n_head"], c.get("activation_function", "gelu_new")
        self.scale = (width // self.heads) ** -0.5 if c.get("scale_attn_weights", True) else 1.0
        self.scale /= index + 1 if c.get("scale_attn_by_inverse_layer_idx") else 1
        self.ln_1, self.ln_2 = nn.LayerNorm(width, eps), nn.LayerNorm(width, eps)
        self.attn, self.mlp = nn.Module(), nn.Module()
        self.attn.c_attn, self.attn.c_proj = Conv1D(width, 3 * width), Conv1D(width, width)
        self.mlp.c_fc, self.mlp.c_proj = Conv1D(width, inner), Conv1D(inner, width)

    def forward(self, record, x):
        q, k, v = (split(part, self.heads) for part in self.attn.c_attn(self.ln_1(x)).chunk(3, dim=1))
        x = x + self.attn.c_proj(attend(record, q, k, v, self.scale, causal(len(x))))
        inner = self.mlp.c_fc(self.ln_2(x))
        inner = F.gelu(inner, approximate="tanh") if self.activation == "gelu_new" else F.gelu(inner)
        return x + self.mlp.c_proj(inner)


class Gpt2(nn.Module):
    def __init__(self, c):
        super().__init__()
        self.transformer = t = nn.Module()
        t.wte, t.wpe = nn.Embedding(c["vocab_size"], c["n_embd"]), nn.Embedding(c["n_positions"], c["n_embd"])
        t.h = nn.ModuleList(Gpt2Layer(c, i) for i in range(c["n_layer"]))
        t.ln_f = nn.LayerNorm(c["n_embd"], c["layer_norm_epsilon"])

    def forward(self, record, inputs):
        t = self.transformer
        x = t.wte(inputs["ids"]) + t.wpe(torch.arange(len(inputs["ids"])))
        for layer in t.h:
            record.hidden.append(x)
            x = layer(record, x)
        record.hidden.append(x)
        return self.logits(x)

    def logits(self, x):
        return self.transformer.ln_f(x) @ self.transformer.wte.weight.T


# --- GPT-NeoX (Black et al. 2022), Pythia --------------------------------------------------------------------------------


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

    def rotated(self, x):
        """Turns the first elements of each head of [H, T, d]."""
        frequencies = 1.0 / self.c.get("rotary_emb_base", 10000.0) ** (
            torch.arange(0, self.rotary_dim, 2, dtype=torch.float64) / self.rotary_dim)
        return torch.cat([rotate(x[..., :self.rotary_dim], frequencies, 1.0), x[..., self.rotary_dim:]], dim=-1)

    def attend(self, record, x):
        fused = self.attention.query_key_value(x).unflatten(1, (self.heads, 3, self.dim))
        q, k, v = (part.transpose(0, 1) for part in fused.unbind(2))
        heads = attend(record, self.rotated(q), self.rotated(k), v, self.dim**-0.5, causal(len(x)))
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
        x = self.gpt_neox.embed_in(inputs["ids"])
        for layer in self.gpt_neox.layers:
            record.hidden.append(x)
            x = layer(record, x)
        record.hidden.append(x)
        return self.logits(x)

    def logits(self, x):
        return self.embed_out(self.gpt_neox.final_layer_norm(x))


# --- BERT (Devlin et al. 2019) -----------------------------------------------------------------------------------------


class Dense(nn.Module):
    """A linear layer `dense`; with eps also a `LayerNorm` of its output plus the residual."""

    def __init__(self, width, out, eps=None):
        super().__init__()
        self.dense = nn.Linear(width, out)
        if eps is not None:
            self.LayerNorm = nn.LayerNorm(out, eps)

    def forward(self, x, residual):
        return self.LayerNorm(self.dense(x) + residual)


class BertLayer(nn.Module):
    def __init__(self, c):
        super().__init__()
        width, inner, eps = c["hidden_size"], c["intermediate_size"], c["layer_norm_eps"]
        self.heads, self.attention = c["num_attention_heads"], nn.Module()
        self.attention.self = nn.ModuleDict({name: nn.Linear(width, width) for name in ["query", "key", "value"]})
        self.attention.output = Dense(width, width, eps)
        self.intermediate, self.output = Dense(width, inner), Dense(inner, width, eps)

    def forward(self, record, x, keep):
        q, k, v = (split(self.attention.self[name](x), self.heads) for name in ["query", "key", "value"])
        x = self.attention.output(attend(record, q, k, v, q.shape[-1] ** -0.5, keep), x)
        return self.output(F.gelu(self.intermediate.dense(x)), x)


class Bert(nn.Module):
    def __init__(self, c):
        super().__init__()
        width, eps = c["hidden_size"], c["layer_norm_eps"]
        self.bert, self.cls = nn.Module(), nn.Module()
        self.bert.embeddings = e = nn.Module()
        e.word_embeddings = nn.Embedding(c["vocab_size"], width)
        e.position_embeddings = nn.Embedding(c["max_position_embeddings"], width)
        e.token_type_embeddings = nn.Embedding(c["type_vocab_size"], width)
        e.LayerNorm = nn.LayerNorm(width, eps)
        self.bert.encoder = nn.Module()
        self.bert.encoder.layer = nn.ModuleList(BertLayer(c) for _ in range(c["num_hidden_layers"]))
        self.cls.predictions = p = nn.Module()
        p.transform, p.bias = Dense(width, width, eps), nn.Parameter(torch.empty(c["vocab_size"]))

    def forward(self, record, inputs):
        e = self.bert.embeddings
        x = e.word_embeddings(inputs["ids"]) + e.position_embeddings(torch.arange(len(inputs["ids"])))
        x = e.LayerNorm(x + e.token_type_embeddings(inputs["segments"]))
        keep = (inputs["padding"] == 0).expand(len(x), len(x))
        for layer in self.bert.encoder.layer:
            record.hidden.append(x)
            x = layer(record, x, keep)
        record.hidden.append(x)
        return self.logits(x)

    def logits(self, x):
        p = self.cls.predictions
        x = p.transform.LayerNorm(F.gelu(p.transform.dense(x)))
        return x @ self.bert.embeddings.word_embeddings.weight.T + p.bias


# --- ViT (Dosovitskiy et al. 2021) -------------------------------------------------------------------------------------


class VitLayer(nn.Module):
    def __init__(self, c):
        super().__init__()
        width, inner, eps = c["hidden_size"], c["intermediate_size"], c["layer_norm_eps"]
        self.heads, bias = c["num_attention_heads"], c.get("qkv_bias", True)
        self.layernorm_before, self.layernorm_after = nn.LayerNorm(width, eps), nn.LayerNorm(width, eps)
        self.attention = nn.Module()
        self.attention.attention = nn.ModuleDict(
            {name: nn.Linear(width, width, bias=bias) for name in ["query", "key", "value"]})
        self.attention.output = Dense(width, width)
        self.intermediate, self.output = Dense(width, inner), Dense(inner, width)

    def forward(self, record, x):
        normal, project = self.layernorm_before(x), self.attention.attention
        q, k, v = (split(project[name](normal), self.heads) for name in ["query", "key", "value"])
        keep = torch.ones(len(x), len(x), dtype=torch.bool)
        x = x + self.attention.output.dense(attend(record, q, k, v, q.shape[-1] ** -0.5, keep))
        return x + self.output.dense(F.gelu(self.intermediate.dense(self.layernorm_after(x))))


class Vit(nn.Module):
    def __init__(self, c):
        super().__init__()
        width, patch = c["hidden_size"], c["patch_size"]
        patches = (c["image_size"] // patch) ** 2
        self.vit = nn.Module()
        self.vit.embeddings = e = nn.Module()
        e.cls_token = nn.Parameter(torch.empty(1, 1, width))
        e.position_embeddings = nn.Parameter(torch.empty(1, patches + 1, width))
        e.patch_embeddings = nn.Module()
        e.patch_embeddings.projection = nn.Conv2d(c["num_channels"], width, patch, stride=patch)
        self.vit.encoder = nn.Module()
        self.vit.encoder.layer = nn.ModuleList(VitLayer(c) for _ in range(c["num_hidden_layers"]))
        self.vit.layernorm = nn.LayerNorm(width, c["layer_norm_eps"])
        self.classifier = nn.Linear(width, len(c["id2label"]))

    def forward(self, record, inputs):
        e = self.vit.embeddings
        patches = e.patch_embeddings.projection(inputs["image"].unsqueeze(0))[0].flatten(1).T
        x = torch.cat([e.cls_token[0], patches]) + e.position_embeddings[0]
        for layer in self.vit.encoder.layer:
            record.hidden.append(x)
            x = layer(record, x)
        record.hidden.append(x)
        return self.logits(x)

    def logits(self, x):
        return self.classifier(self.vit.layernorm(x)[:1])


# --- tokenizers --------------------------------------------------------------------------------------------------------


def byte_characters():
    """The printable character that stands for each byte in byte-level vocabularies (GPT-2's table)."""
    printable = [*range(33, 127), *range(161, 173), *range(174, 256)]
    others = [byte for byte in range(256) if byte not in printable]
    return {byte: chr(byte) for byte in printable} | {byte: chr(256 + i) for i, byte in enumerate(others)}


def special(names, first):
    flags = {"single_word": False, "lstrip": False, "rstrip": False, "normalized": False, "special": True}
    return [{"id": first + i, "content": name, **flags} for i, name in enumerate(names)]


def byte_level_tokenizer():
    """GPT-2's kind: 256 bytes, a few merges, and the end of text."""
    space = byte_characters()[32]
    merges = [("t", "h"), ("th", "e"), (space, "the"), ("a", "t"), (space, "c"), (space + "c", "at")]
    tokens = [*byte_characters().values(), *("".join(pair) for pair in merges)]
    level = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True}
    model = {"type": "BPE", "dropout": None, "unk_token": None, "continuing_subword_prefix": "",
             "end_of_word_suffix": "", "fuse_unk": False, "byte_fallback": False,
             "vocab": {token: i for i, token in enumerate(tokens)}, "merges": [" ".join(pair) for pair in merges]}
    return {"version": "1.0", "truncation": None, "padding": None,
            "added_tokens": special(["<|endoftext|>"], len(tokens)), "normalizer": None, "pre_tokenizer": level,
            "post_processor": level, "decoder": level, "model": model}


def word_piece_tokenizer():
    """BERT's kind: letters, each also as a continuation, and some words."""
    names = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    letters = "abcdefghijklmnopqrstuvwxyz"
    tokens = [*names, *letters, *("##" + letter for letter in letters), "the", "cat", "sat", "##s", ".", ","]
    tokens = list(dict.fromkeys(tokens))
    piece = lambda name, kind: {"SpecialToken": {"id": name, "type_id": kind}}
    single = [piece("[CLS]", 0), {"Sequence": {"id": "A", "type_id": 0}}, piece("[SEP]", 0)]
    pair = [*single, {"Sequence": {"id": "B", "type_id": 1}}, piece("[SEP]", 1)]
    ends = {name: {"id": name, "ids": [tokens.index(name)], "tokens": [name]} for name in ["[CLS]", "[SEP]"]}
    return {"version": "1.0", "truncation": None, "padding": None, "added_tokens": special(names, 0),
            "normalizer": {"type": "BertNormalizer", "clean_text": True, "handle_chinese_chars": True,
                           "strip_accents": None, "lowercase": True},
            "pre_tokenizer": {"type": "BertPreTokenizer"},
            "post_processor": {"type": "TemplateProcessing", "single": single, "pair": pair, "special_tokens": ends},
            "decoder": {"type": "WordPiece", "prefix": "##", "cleanup": True},
            "model": {"type": "WordPiece", "unk_token": "[UNK]", "continuing_subword_prefix": "##",
                      "max_input_chars_per_word": 100, "vocab": {token: i for i, token in enumerate(tokens)}}}


def tokenizer_of(config):
    return {"bert": word_piece_tokenizer, "vit": lambda: None}.get(config["model_type"], byte_level_tokenizer)()


def vocabulary_size(tokenizer):
    return max([*tokenizer["model"]["vocab"].values(), *(token["id"] for token in tokenizer["added_tokens"])]) + 1


# --- the models --------------------------------------------------------------------------------------------------------

LLAMA = {"model_type": "llama", "hidden_size": 12, "intermediate_size": 20, "num_hidden_layers": 2,
         "num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 6, "max_position_embeddings": 64,
         "hidden_act": "silu", "rms_norm_eps": 1e-5, "rope_theta": 10000.0, "tie_word_embeddings": True}
GPT2 = {"model_type": "gpt2", "n_embd": 24, "n_head": 3, "n_layer": 2, "n_positions": 40,
        "activation_function": "gelu_new", "layer_norm_epsilon": 1e-5}
NEOX = {"model_type": "gpt_neox", "hidden_size": 24, "num_attention_heads": 3, "num_hidden_layers": 3,
        "intermediate_size": 40, "max_position_embeddings": 48, "hidden_act": "gelu", "layer_norm_eps": 1e-5,
        "rotary_pct": 0.5, "rotary_emb_base": 1000, "use_parallel_residual": True, "tie_word_embeddings": False}
BERT = {"model_type": "bert", "hidden_size": 24, "num_attention_heads": 4, "num_hidden_layers": 3,
        "intermediate_size": 36, "max_position_embeddings": 40, "type_vocab_size": 2, "hidden_act": "gelu",
        "layer_norm_eps": 1e-12, "position_embedding_type": "absolute", "pad_token_id": 0}
VIT = {"model_type": "vit", "hidden_size": 20, "num_attention_heads": 4, "num_hidden_layers": 2,
       "intermediate_size": 36, "image_size": 12, "patch_size": 4, "num_channels": 3, "hidden_act": "gelu",
       "layer_norm_eps": 1e-12, "id2label": {"0": "cat", "1": "dog", "2": "house"}}


def scaled(**scaling):
    return {**LLAMA, "num_hidden_layers": 1, "rope_scaling": scaling}


# For each folder: its config, and arguments of make(), such as the type of the file, its shards, names that differ from
# the modules', or the length of the text.
MODELS = {
    "llama": ({**LLAMA, "num_hidden_layers": 3, "tie_word_embeddings": False}, {"length": 17}),
    "llama_bf16_biases": ({**LLAMA, "attention_bias": True, "mlp_bias": True, "num_key_value_heads": 4},
                          {"dtype": torch.bfloat16}),
    "llama_linear": (scaled(type="linear", factor=2.5), {}),
    "llama_dynamic": ({**scaled(rope_type="dynamic", factor=2.0), "max_position_embeddings": 8}, {}),
    "llama_llama3": ({**scaled(rope_type="llama3", factor=8.0, low_freq_factor=1.0, high_freq_factor=4.0,
                               original_max_position_embeddings=16), "rope_theta": 50.0}, {}),
    "llama_yarn": ({**scaled(rope_type="yarn", factor=4.0, original_max_position_embeddings=64, beta_fast=4.0),
                    "max_position_embeddings": 256, "rope_theta": 100.0}, {}),
    "mistral": ({**LLAMA, "model_type": "mistral", "sliding_window": 5}, {"dtype": torch.float16, "length": 13}),
    "qwen2_shards": ({**LLAMA, "model_type": "qwen2", "use_sliding_window": False, "sliding_window": None},
                     {"dtype": torch.bfloat16, "shards": 3}),
    "gpt2": (GPT2, {"length": 16}),
    "gpt2_f16_bare": ({**GPT2, "n_inner": 40, "scale_attn_by_inverse_layer_idx": True, "activation_function": "gelu"},
                      {"dtype": torch.float16, "rename": lambda name: name.replace("transformer.", ""), "shards": 2}),
    "gpt_neox": (NEOX, {"length": 15}),
    "gpt_neox_f16_bare": ({**NEOX, "num_hidden_layers": 2, "use_parallel_residual": False, "rotary_pct": 1.0},
                          {"dtype": torch.float16, "rename":
                           lambda name: None if name.startswith("embed_out.") else name.replace("gpt_neox.", "")}),
    "bert": (BERT, {"length": 14}),
    "bert_bare": ({**BERT, "num_hidden_layers": 2},
                  {"rename": lambda name: None if name.startswith("cls.") else name.replace("bert.", "")
                   .replace("LayerNorm.weight", "LayerNorm.gamma").replace("LayerNorm.bias", "LayerNorm.beta")}),
    "vit": (VIT, {}),
    "vit_f16_bare": ({**VIT, "qkv_bias": False, "num_channels": 1, "patch_size": 3},
                     {"dtype": torch.float16, "rename":
                      lambda name: None if name.startswith("classifier.") else name.replace("vit.", "")}),
}
CLASSES = {"llama": Llama, "mistral": Llama, "qwen2": Llama, "gpt2": Gpt2, "gpt_neox": NeoX, "bert": Bert,
           "vit": Vit}


def draw_parameters(model, dtype, generator):
    """Draws weights around 0, and norms' weights around 1, large enough for heads to differ, and rounds them to
    `dtype`."""
    for name, parameter in model.named_parameters():
        around = 1.0 if parameter.dim() == 1 and name.endswith("weight") else 0.0
        spread = 1.0 / math.sqrt(parameter.shape[-1]) if parameter.dim() == 2 and "emb" not in name else 0.4
        values = around + spread * torch.randn(parameter.shape, generator=generator)
        parameter.data = values.to(dtype).double()


def make_inputs(config, length, generator):
    if config["model_type"] == "vit":
        shape = [config["num_channels"], config["image_size"], config["image_size"]]
        return {"image": torch.randn(shape, generator=generator)}
    inputs = {"ids": torch.randint(config["vocab_size"], [length], generator=generator, dtype=torch.int32)}
    inputs["ids"][-3:] = inputs["ids"][:3]  # repeated tokens, which heads can look back at
    if config["model_type"] == "bert":
        inputs["segments"] = (torch.arange(length) > length // 2).to(torch.int32)
        inputs["padding"] = (torch.arange(length) >= length - 3).to(torch.uint8)
    return inputs


PROCESSOR = {"do_resize": True, "size": {"height": 12, "width": 12}, "resample": 2, "do_rescale": True,
             "rescale_factor": 1 / 255, "do_normalize": True, "image_mean": [0.485, 0.456, 0.406],
             "image_std": [0.229, 0.224, 0.225], "image_processor_type": "ViTImageProcessor"}


def preprocess(picture):
    """Resizes with Pillow, rescales and normalises, as ViTImageProcessor does."""
    size = (PROCESSOR["size"]["width"], PROCESSOR["size"]["height"])
    resized = Image.fromarray(picture[..., :3].numpy()).resize(size, Image.Resampling.BILINEAR)
    resized = torch.from_numpy(numpy.array(resized)).permute(2, 0, 1).double()
    mean, deviation = (torch.tensor(PROCESSOR[key]).double().reshape(3, 1, 1) for key in ["image_mean", "image_std"])
    return (resized * PROCESSOR["rescale_factor"] - mean) / deviation


def write_weights(folder, tensors, shards):
    """Writes one file, or shards with about the same number of tensors each, and their index."""
    if shards == 1:
        (folder / "model.safetensors").write_bytes(safetensors(tensors, {"format": "pt"}))
        return
    names, where = sorted(tensors), {}
    for i in range(shards):
        file = f"model-{i + 1:05}-of-{shards:05}.safetensors"
        part = names[i * len(names) // shards:(i + 1) * len(names) // shards]
        (folder / file).write_bytes(safetensors({name: tensors[name] for name in part}, {"format": "pt"}))
        where |= {name: file for name in part}
    size = sum(tensor.numel() * tensor.element_size() for tensor in tensors.values())
    index = {"metadata": {"total_size": size}, "weight_map": where}
    (folder / "model.safetensors.index.json").write_text(json.dumps(index, indent=1) + "\n")


def make(name, config, dtype=torch.float32, shards=1, rename=lambda name: name, length=11):
    generator = torch.Generator().manual_seed(zlib.crc32(name.encode()))
    tokenizer = tokenizer_of(config)
    if tokenizer:
        config = {**config, "vocab_size": vocabulary_size(tokenizer)}
    model = CLASSES[config["model_type"]](config)
    draw_parameters(model, dtype, generator)
    inputs = make_inputs(config, length, generator)

    record = Record()
    exact = {key: value.double() if value.is_floating_point() else value for key, value in inputs.items()}
    with torch.no_grad():
        logits = model(record, exact)
        mask = torch.tensor([0.0, 1.0, 0.5, 1.0, 1.5, 0.0, 1.0]).repeat(4)
        mask = mask[:len(record.weights) * len(record.weights[0])].reshape(len(record.weights), -1).double()
        ablated = Record(change_heads=lambda layer, heads: heads * mask[layer].reshape(-1, 1, 1))
        model(ablated, exact)
    tensors = {rename(key): value.to(dtype) for key, value in model.state_dict().items() if rename(key)}
    results = {"weights": torch.stack(record.weights), "hidden": torch.stack(record.hidden), "head_mask": mask,
               "ablated": ablated.hidden[-1]}
    heads = ("cls.", "classifier.", "embed_out.")
    if any(key.startswith(heads) for key in tensors) or config["model_type"] not in ("bert", "vit", "gpt_neox"):
        results["logits"] = logits

    folder = FOLDER / name
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    (folder / "config.json").write_text(json.dumps(config, indent=1) + "\n")
    if tokenizer:
        (folder / "tokenizer.json").write_text(json.dumps(tokenizer, ensure_ascii=False) + "\n")
    if config["model_type"] == "vit" and config["num_channels"] == 3:
        (folder / "preprocessor_config.json").write_text(json.dumps(PROCESSOR, indent=1) + "\n")
        results["picture"] = torch.randint(256, [31, 10, 4], generator=generator, dtype=torch.uint8)  # one side shrinks
        results["pixels"] = preprocess(results["picture"])
    write_weights(folder, tensors, shards)
    stored = {key: value.float() if value.is_floating_point() else value for key, value in results.items()}
    (folder / "expected.safetensors").write_bytes(safetensors(inputs | stored, {"model": name}))


def main():
    for name, (config, how) in MODELS.items():
        if any(name.startswith(start) for start in sys.argv[1:] or [""]):
            make(name, config, **how)
    size = sum(path.stat().st_size for path in FOLDER.rglob("*.*"))
    print(f"{len(list(FOLDER.iterdir()))} models, {size} bytes")


if __name__ == "__main__":
    main()
