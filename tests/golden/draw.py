# SPDX-License-Identifier: Apache-2.0
"""Draws inputs and parameters. Each case has a seed of its own name, so that a new case changes no other."""

import math
import zlib

import numpy as np
import torch


class Draw:
    """Random inputs from the case's own seed. NumPy promises that the numbers of a RandomState never change."""

    def __init__(self, name):
        self.random = np.random.RandomState(zlib.crc32(name.encode()))

    def normal(self, *shape, std=1.0, dtype=torch.float32):
        return torch.from_numpy(self.random.standard_normal(shape) * std).float().to(dtype)

    def whole(self, *shape, least=-2, most=2):
        """Small whole numbers as floats: their products and sums are exact in every order."""
        return torch.from_numpy(self.random.randint(least, most + 1, shape)).float()

    def ids(self, *shape, below):
        return torch.from_numpy(self.random.randint(0, below, shape)).int()

    def keep(self, *shape, share=0.6):
        """Boolean mask, True where a key is seen. Every row sees at least one. The shape ends in T, S."""
        mask = torch.from_numpy(self.random.uniform(size=shape) < share)
        rows = torch.arange(shape[-2])
        mask[..., rows, rows % shape[-1]] = True
        return mask

    def bias(self, *shape, masked=0.3):
        """Additive mask of small numbers, with -inf in a share of the cells."""
        return self.normal(*shape).masked_fill(~self.keep(*shape, share=1 - masked), -math.inf)


def padding(keys, *lengths):
    """Key padding mask [B,S], True beyond each length."""
    return torch.arange(keys) >= torch.tensor(lengths)[:, None]


def lengths(*values):
    return torch.tensor(values, dtype=torch.int32)


def places(keys, *rows):
    """Boolean [B,S], True at the places that are given for each element of the batch."""
    marks = torch.zeros(len(rows), keys, dtype=torch.bool)
    for b, row in enumerate(rows):
        marks[b, list(row)] = True
    return marks


def put(tensor, index, value):
    tensor[index] = value
    return tensor


def qkv(draw, B, H, T, S, d, dv=None, G=None, dtype=torch.float32):
    return {"query": draw.normal(B, H, T, d, dtype=dtype), "key": draw.normal(B, G or H, S, d, dtype=dtype),
            "value": draw.normal(B, G or H, S, dv or d, dtype=dtype)}


def whole_qkv(draw, B, H, T, S, d=4, dv=3, G=None):
    """Scores are whole numbers, so that equal scores are equal on every machine."""
    return {"query": draw.whole(B, H, T, d), "key": draw.whole(B, G or H, S, d), "value": draw.normal(B, G or H, S, dv)}


def attention_params(draw, D, kdim=None, vdim=None, bias=True, bias_kv=False, kv_width=None, dtype=torch.float32,
                     prefix=""):
    """The state dict of an nn.MultiheadAttention. Scores vary by about 1, and biases are not PyTorch's initial zeros.
    `kv_width` is the width of all key/value heads together, when there are fewer of them than query heads."""
    params, narrow = {}, kv_width or D
    if kdim is None and vdim is None and narrow == D:
        params["in_proj_weight"] = draw.normal(3 * D, D, std=D**-0.5, dtype=dtype)
    else:
        for name, rows, width in ("q", D, D), ("k", narrow, kdim or D), ("v", narrow, vdim or D):
            params[f"{name}_proj_weight"] = draw.normal(rows, width, std=width**-0.5, dtype=dtype)
    params["out_proj.weight"] = draw.normal(D, D, std=D**-0.5, dtype=dtype)
    if bias:
        params["in_proj_bias"] = draw.normal(D + 2 * narrow, std=0.3, dtype=dtype)
        params["out_proj.bias"] = draw.normal(D, std=0.3, dtype=dtype)
    if bias_kv:
        params["bias_k"], params["bias_v"] = draw.normal(1, 1, narrow), draw.normal(1, 1, narrow)
    return {prefix + name: tensor for name, tensor in params.items()}


def block_params(draw, D, width, decoder=False, kv_width=None, gated=False, norm_bias=True):
    """The state dict of an encoder or decoder layer whose feed-forward block is `width` wide. With `gated` its first
    matrix is twice as high, as SwiGLU needs it."""
    params = attention_params(draw, D, kv_width=kv_width, prefix="self_attn.")
    if decoder:
        params.update(attention_params(draw, D, kv_width=kv_width, prefix="multihead_attn."))
    first = 2 * width if gated else width
    params.update({"linear1.weight": draw.normal(first, D, std=D**-0.5), "linear1.bias": draw.normal(first, std=0.3),
                   "linear2.weight": draw.normal(D, width, std=width**-0.5), "linear2.bias": draw.normal(D, std=0.3)})
    for n in range(3 if decoder else 2):
        params[f"norm{n + 1}.weight"] = 1 + draw.normal(D, std=0.2)
        if norm_bias:
            params[f"norm{n + 1}.bias"] = draw.normal(D, std=0.2)
    return params
