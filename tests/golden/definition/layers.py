# SPDX-License-Identifier: Apache-2.0
"""The parts of a layer around attention: projections and their heads, feed-forward, norms, embeddings."""

import math

import torch
from torch import nn
from torch.nn import functional as F

from definition.attention import attention
from definition.positions import sinusoids


def projections(params, options):
    """Returns three weights and three biases (or None), from the packed parameter or from separate ones."""
    if "in_proj_weight" in params:
        weights = params["in_proj_weight"].chunk(3)
    else:
        weights = [params[f"{x}_proj_weight"] for x in "qkv"]
    sizes = [len(w) for w in weights]
    return weights, params["in_proj_bias"].split(sizes) if "in_proj_bias" in params else [None] * 3


def multihead(name, query, key, value, params, given, points):
    """nn.MultiheadAttention spelled out, batch first. Returns the stages, with the output [B,T,D], and the masks."""
    heads, groups = given["num_heads"], given.get("num_kv_heads", given["num_heads"])
    weights, biases = projections(params, given)
    q, k, v = (F.linear(x, w, b).unflatten(-1, (n, -1)).transpose(1, 2)
               for x, w, b, n in zip((query, key, value), weights, biases, (heads, groups, groups)))
    appended = []  # pairs of a key and a value that follow those of the tokens
    if given.get("add_bias_kv"):
        appended.append([params[x].unflatten(-1, (groups, -1)).transpose(1, 2).expand(len(q), -1, -1, -1)
                         for x in ("bias_k", "bias_v")])
    if given.get("add_zero_attn"):
        appended.append([x.new_zeros(*x.shape[:2], 1, x.shape[-1]) for x in (k, v)])
    results, masks = attention(name, q, k, v, given, points, appended)
    by_head = params["out_proj.weight"].t().unflatten(0, (heads, -1))
    results["head_contributions"] = results["head_outputs"] @ by_head
    results["output"] = results["head_contributions"].sum(1)
    if "out_proj.bias" in params:
        results["output"] = results["output"] + params["out_proj.bias"]
    return results, masks


class RmsNorm(nn.Module):
    """Zhang & Sennrich 2019, eq. 4, with the epsilon inside the root: x / sqrt(mean(x²) + eps) · weight."""

    def __init__(self, width, eps):
        super().__init__()
        self.weight, self.eps = nn.Parameter(torch.ones(width)), eps

    def forward(self, x):
        return x * (x.square().mean(-1, keepdim=True) + self.eps).rsqrt() * self.weight


def gelu_tanh(x):
    """Hendrycks & Gimpel 2016, §2."""
    ours = x / 2 * (1 + torch.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)))
    assert torch.allclose(ours, F.gelu(x, approximate="tanh"), rtol=1e-9, atol=1e-12, equal_nan=True)
    return ours


def swiglu(x):
    """Shazeer 2020, eq. 6 (Swish with β = 1): the first half gates the second."""
    gate, up = x.chunk(2, -1)
    return gate * torch.sigmoid(gate) * up


ACTIVATIONS = {"relu": "relu", "gelu": "gelu", "gelu_tanh": gelu_tanh, "swiglu": swiglu}


def embed(tensors, options):
    """Returns rows of the table [...,T,D], times √D if the options ask for it, plus an encoding of the positions."""
    ids, table = tensors["ids"].long(), tensors["weight"].double()
    output = table[ids] * (math.sqrt(table.shape[1]) if options.get("scale_embeddings") else 1)
    places = torch.arange(ids.shape[-1]) + options.get("position_offset", 0)
    kind = options.get("positions", "none")
    if kind == "sinusoidal":
        output = output + sinusoids(places, table.shape[1])
    if kind == "learned":
        output = output + tensors["position_embeddings"].double()[places]
    return output
