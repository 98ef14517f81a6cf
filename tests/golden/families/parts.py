# SPDX-License-Identifier: Apache-2.0
"""The parts of which families are made: attention that is recorded and can be changed, norms, rotations, and the descriptions of a
golden model and of an architecture."""

import dataclasses
import math
import typing

import torch
from torch import nn

from .vocabularies import vocabulary_size

# --- attention --------------------------------------------------------------------------------------------------------


def softmax(layer, scores):
    return torch.softmax(scores, dim=-1)


def unchanged(layer, x):
    return x


class Record:
    """Collects each layer's weights, its input, and its masked scores before any cap. The functions make a changed run:
    each takes the number of a layer, and returns the weights that masked scores [H, T, S] lead to, or what stands for
    values [H, S, d] or heads [H, T, d]."""

    def __init__(self, weights_of=softmax, change_values=unchanged, change_heads=unchanged):
        self.weights, self.hidden, self.scores = [], [], []
        self.weights_of, self.change_values, self.change_heads = weights_of, change_values, change_heads


def attend(record, q, k, v, scale, keep, cap=None, bias=0.0):
    """Attention of [H, T, d] on [H, S, d] over the cells that `keep` [T, S] leaves. Returns the heads side by side."""
    layer, scores = len(record.weights), (q @ k.transpose(1, 2)) * scale + bias
    record.scores.append(scores.masked_fill(~keep, -math.inf))
    if cap is not None:
        scores = cap * torch.tanh(scores / cap)
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


def everything(length):
    return torch.ones(length, length, dtype=torch.bool)


def not_padding(inputs):
    """The cells [1, S] of the source that every query may see."""
    return inputs.get("padding", torch.zeros_like(inputs["source_ids"])).unsqueeze(0) == 0


# --- layers -----------------------------------------------------------------------------------------------------------


class RMSNorm(nn.Module):
    """Zhang & Sennrich 2019"""

    def __init__(self, width, eps):
        super().__init__()
        self.weight, self.eps = nn.Parameter(torch.ones(width)), eps

    def forward(self, x):
        return x / torch.sqrt((x * x).mean(-1, keepdim=True) + self.eps) * self.weight

    def factor(self, x):
        """The numbers by which the elements of x are multiplied."""
        return self.weight / torch.sqrt((x * x).mean(-1, keepdim=True) + self.eps)


class Conv1D(nn.Module):
    """A linear layer whose weight is [in, out]."""

    def __init__(self, width, out):
        super().__init__()
        self.weight, self.bias = nn.Parameter(torch.empty(width, out)), nn.Parameter(torch.empty(out))

    def forward(self, x):
        return torch.addmm(self.bias, x, self.weight)


class Dense(nn.Module):
    """A linear layer `dense`; with eps also a `LayerNorm` of its output plus the residual."""

    def __init__(self, width, out, eps=None):
        super().__init__()
        self.dense = nn.Linear(width, out)
        if eps is not None:
            self.LayerNorm = nn.LayerNorm(out, eps)

    def forward(self, x, residual):
        return self.LayerNorm(self.dense(x) + residual)


def through_layers(record, layers, x, *given):
    """Records the stream x before each layer and after the last, which it returns."""
    for layer in layers:
        record.hidden.append(x)
        x = layer(record, x, *given)
    record.hidden.append(x)
    return x


# --- rotation ---------------------------------------------------------------------------------------------------------


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


def rotate(x, frequencies, factor=1.0):
    """Turns pairs (i, i + r/2) of the first r elements of [H, T, d], as complex numbers, by position · frequency."""
    half = len(frequencies)
    turns = torch.outer(torch.arange(x.shape[1], dtype=torch.float64), frequencies)
    turned = torch.complex(x[..., :half], x[..., half:2 * half]) * torch.polar(torch.full_like(turns, factor), turns)
    return torch.cat([turned.real, turned.imag, x[..., 2 * half:]], dim=-1)


# --- descriptions -----------------------------------------------------------------------------------------------------


def linear(module):
    """The weight [out, in] and the bias of a linear layer."""
    return module.weight.T if isinstance(module, Conv1D) else module.weight, module.bias


@dataclasses.dataclass
class Layer:
    """`norm` stands before attention; `after` are the norms after the residual sums of attention and feed-forward.
    Attention and feed-forward are added to the stream times `written`: each takes what `output` or `down` gives, and
    returns what its elements are multiplied by. So do `query_factor` and `key_factor` for all queries [T, H·d] and
    keys [T, G·d] side by side, before `rotary` turns those of a head."""

    norm: typing.Optional[nn.Module]
    query: tuple
    key: tuple
    value: tuple
    output: nn.Module
    down: nn.Module
    scale: float
    after: tuple = (None, None)
    written: tuple = (torch.ones_like, torch.ones_like)
    query_factor: typing.Callable = torch.ones_like
    key_factor: typing.Callable = torch.ones_like
    rotary: typing.Callable = lambda x: x


@dataclasses.dataclass
class Architecture:
    """`embed` gives the parts of the stream before the first layer, which then goes through `embedding_norm`. A decoder
    is there where logits are linear in what `pool` takes from the output of `final_norm`."""

    heads: int
    groups: int
    layers: list
    embed: typing.Callable
    embedding_norm: typing.Optional[nn.Module] = None
    final_norm: typing.Optional[nn.Module] = None
    decoder: typing.Optional[tuple] = None
    logit_cap: typing.Optional[float] = None
    pool: typing.Callable = lambda x: x


def text(config, length, generator):
    """Random ids. The last three are the first three again, which heads can look back at."""
    ids = torch.randint(config["vocab_size"], [length], generator=generator, dtype=torch.int32)
    ids[-3:] = ids[:3]
    return {"ids": ids}


@dataclasses.dataclass
class GoldenModel:
    """One folder. `config` is as published with such models. `library` is the model's class in transformers, and
    `head_outputs` the path of a layer's module there that the heads' outputs go into. A folder that is `saved` is
    written by transformers; for others `rename` gives the names in the file, or None for what the file lacks. `picture`
    is the height and width of what the preprocessor is shown."""

    config: dict
    definition: type
    architecture: typing.Callable
    library: str
    head_outputs: str
    dtype: torch.dtype = torch.float32
    shards: int = 1
    length: int = 11
    inputs: typing.Callable = text
    tokenizer: typing.Optional[typing.Callable] = None
    preprocessor: typing.Optional[dict] = None
    picture: tuple = (35, 20)
    saved: bool = True
    rename: typing.Callable = lambda name: name
    has_logits: bool = True
    causal: bool = True
    steps: bool = True

    def full_config(self):
        return self.config | ({"vocab_size": vocabulary_size(self.tokenizer())} if self.tokenizer else {})


ATTENTIONS = ["encoder", "decoder", "cross"]


def source_and_target(config, generator):
    """Random ids of a source and of a target, which begins with the token that the decoder starts with."""
    target = text(config, 8, generator)["ids"]
    target[0] = config["decoder_start_token_id"]
    return {"source_ids": text(config, 11, generator)["ids"], "target_ids": target}


def padded_source_and_target(config, generator):
    """The last two tokens of the source are padding."""
    return source_and_target(config, generator) | {"padding": (torch.arange(11) >= 9).to(torch.uint8)}


@dataclasses.dataclass
class Step:
    """A layer of an encoder or a decoder adds this to the stream: "head" or "cross", by attention with its projections
    of queries, keys and values, or "feed_forward". `output` is its last module. `norm` stands before it, or after the
    residual sum."""

    kind: str
    norm: nn.Module
    output: nn.Module
    projections: tuple = ()


@dataclasses.dataclass
class Pair:
    """`stacks` has for the encoder and the decoder the steps of each layer. `embed` gives the parts of a stream before
    the first layer, for ids. A `final_norm` stands after the last layer of each, or there is none. `decoder` turns the
    decoder's output into logits."""

    heads: int
    scale: float
    norm_first: bool
    stacks: dict
    embed: typing.Callable
    decoder: tuple
    final_norm: dict = dataclasses.field(default_factory=dict)


@dataclasses.dataclass
class GoldenPair:
    """The folder of an encoder and a decoder. `config` is as published with such models, and `library` is the model's
    class in transformers. `modules` says for each of ATTENTIONS where its layers are there, and where in a layer the
    module is that the heads' outputs go into."""

    config: dict
    definition: type
    architecture: typing.Callable
    library: str
    modules: dict
    dtype: torch.dtype = torch.float32
    inputs: typing.Callable = source_and_target
    shards: int = 1
