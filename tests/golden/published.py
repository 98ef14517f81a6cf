# SPDX-License-Identifier: Apache-2.0
"""PyTorch's own answers, wherever it can express a problem. Any disagreement beyond float64's rounding stops the
script."""

import collections
import math
import sys
import warnings

import torch
from torch import nn
from torch.nn import functional as F

from definition.masks import MASK_OPTIONS, MASK_TENSORS
from definition.positions import BIAS_OPTIONS, BIAS_TENSORS

try:
    from torch.nn.attention.bias import causal_lower_right
except ImportError:  # PyTorch 1.13 has neither this nor the public scaled_dot_product_attention
    causal_lower_right = None

checked = collections.defaultdict(set)  # a function of PyTorch's → the names of the cases in which it agreed


def agree(ours, theirs, skip):
    """Stops when the two differ. `skip`, broadcast from the left, marks rows where PyTorch follows another rule."""
    skip = skip.reshape(*skip.shape, *[1] * (ours.dim() - skip.dim())).expand(ours.shape)
    theirs = torch.where(skip, ours, theirs)
    if not torch.allclose(ours, theirs, rtol=1e-9, atol=1e-11, equal_nan=True):
        sys.exit(f"differs from PyTorch by up to {(ours - theirs).abs().nan_to_num(math.inf).max()}")


def cleaned(x):
    return torch.nan_to_num(x, 0.0, 0.0, 0.0)


def unlike_pytorch(masks, points, *inputs, pytorch_gives="nan"):
    """Marks the rows [B,H,T] that are not compared: fully masked ones, in which we differ on purpose, and those that
    see a NaN or an infinity, since PyTorch gets zeros in place of these. The first of `inputs` is the query
    [B,1|H,T,·], all others are like keys [B,1|H,S,·]."""
    dead = ~masks.keep.any(-1) & (points["fully_masked"] != pytorch_gives)
    if points["masked_nan"] == "spreads":
        return dead  # PyTorch does the same, so it gets the input as it is
    wild_query, *wild_keys = (~torch.isfinite(x).all(-1) for x in inputs)
    for wild in wild_keys:
        dead = dead | (masks.keep[..., :wild.shape[-1]] & wild[:, :, None]).any(-1)
    return dead | wild_query


def softmax_alone(given):
    """True for softmax with nothing between weights and values. PyTorch can express its temperature and sink
    otherwise."""
    return (given.get("normalizer", "softmax") == "softmax" and not given.get("softcap")
            and not given.get("dropout_p") and "head_mask" not in given)


def scaled_dot_product(q, k, v, **how):
    """The public function, or its predecessor in PyTorch 1.13. The scale is 1/sqrt(d)."""
    if hasattr(F, "scaled_dot_product_attention"):
        return F.scaled_dot_product_attention(q, k, v, **how)
    if how.get("attn_mask") is not None and how["attn_mask"].dtype == torch.bool:
        how["attn_mask"] = torch.zeros_like(how["attn_mask"], dtype=q.dtype).masked_fill(~how["attn_mask"], -math.inf)
    return F._scaled_dot_product_attention(q, k, v, **how)[0]


def check_attention(name, q, k, v, masks, points, given, scale, stages):
    """Compares with PyTorch's function, which gets q, k and v for each query head, and all masks and biases as one mask
    [B,H,T,S]. The temperature becomes part of the scale, and a sink one more key, with its logit and a value of
    zeros."""
    if not softmax_alone(given) or 0 in masks.keep.shape:
        return
    temperature = given.get("temperature", 1.0)
    skip = unlike_pytorch(masks, points, q, k, v,
                          pytorch_gives="zero" if hasattr(F, "scaled_dot_product_attention") else "nan")
    mask = (masks.bias / temperature).masked_fill(~masks.keep, -math.inf)
    if points["masked_nan"] == "blocked":
        q, k, v = cleaned(q), cleaned(k), cleaned(v)
    q = q * scale * math.sqrt(q.shape[-1]) / temperature
    if "sink" in given or "sinks" in given:
        logit = given.get("sinks", torch.tensor([given.get("sink", 0.0)])).double().reshape(1, -1, 1, 1)
        mask = torch.cat([mask, logit.expand(*mask.shape[:3], 1)], -1)
        k, v = (F.pad(x, (0, 0, 0, 1)) for x in (k, v))
        skip = skip | ~masks.keep.any(-1)
    agree(stages["head_outputs"], scaled_dot_product(q, k, v, attn_mask=mask), skip)
    checked["scaled_dot_product_attention"].add(name)
    check_triangle(name, q, k, v, mask, stages["head_outputs"], skip)


def check_triangle(name, q, k, v, mask, output, skip):
    """When the mask is a causal triangle and nothing else, PyTorch's own triangle must give the same."""
    queries, keys = mask.shape[2:]

    def is_triangle(shift):
        seen = torch.ones(queries, keys, dtype=torch.bool).tril(shift)
        return bool((mask == torch.zeros(queries, keys).masked_fill(~seen, -math.inf)).all())

    if is_triangle(0):
        agree(output, scaled_dot_product(q, k, v, is_causal=True), skip)
        checked["its is_causal"].add(name)
    elif causal_lower_right and queries <= keys and is_triangle(keys - queries):
        agree(output, scaled_dot_product(q, k, v, attn_mask=causal_lower_right(queries, keys)), skip)
        checked["its causal_lower_right"].add(name)


def batched(x, options):
    """[T,D], [T,B,D] or [B,T,D] → [B,T,D]."""
    return x[None] if x.dim() == 2 else x if options.get("batch_first") else x.transpose(0, 1)


def as_given(x, like, options):
    return x[0] if like.dim() == 2 else x if options.get("batch_first") else x.transpose(0, 1)


# The layer cannot express the options in FOREIGN. It can take those in AS_A_MASK as one additive mask.
FOREIGN = {"temperature", "sink", "sinks", "scale", "rotary", "past_key"}
AS_A_MASK = {"is_causal", *MASK_OPTIONS, *MASK_TENSORS, *BIAS_OPTIONS, *BIAS_TENSORS}


def full_params(params, given, points):
    """A layer's parameters with as many key/value heads as query heads: each is repeated for the heads that read it."""
    heads, groups = given["num_heads"], given.get("num_kv_heads", given["num_heads"])
    if heads == groups:
        return params
    h = torch.arange(heads)
    reads = h * groups // heads if points["gqa_order"] == "block" else h % groups
    repeat = lambda x: x.unflatten(0, (groups, -1))[reads].flatten(0, 1)
    full = {**params, **{x: repeat(params[x]) for x in ("k_proj_weight", "v_proj_weight")}}
    if "in_proj_bias" in params:
        width = params["q_proj_weight"].shape[0]
        b_k, b_v = params["in_proj_bias"][width:].chunk(2)
        full["in_proj_bias"] = torch.cat([params["in_proj_bias"][:width], repeat(b_k), repeat(b_v)])
    for x in {"bias_k", "bias_v"} & set(params):
        full[x] = repeat(params[x][0, 0])[None, None]
    if "kdim" not in given and "vdim" not in given:
        full["in_proj_weight"] = torch.cat([full.pop(f"{x}_proj_weight") for x in "qkv"])
    return full


def additive(masks, keys):
    """Masks and biases as one additive mask [B*H,T,S], without the columns of appended keys."""
    return masks.bias.masked_fill(~masks.keep, -math.inf)[..., :keys].flatten(0, 1)


def check_mha(name, query, key, value, params, given, points, masks, results):
    """Compares with the layer itself, which gets the case's own tensors, and its masks as they are where it can take
    them."""
    if not softmax_alone(given) or FOREIGN & set(given) or 0 in masks.keep.shape:
        return
    words = ("bias", "add_bias_kv", "add_zero_attn", "kdim", "vdim", "batch_first")
    layer = nn.MultiheadAttention(given["embed_dim"], given["num_heads"],
                                  **{x: given[x] for x in words if x in given}).double()
    layer.load_state_dict(full_params(params, given, points))
    attn_mask, padding = given.get("attn_mask"), given.get("key_padding_mask")
    if any(given.get(x) is not None and given.get(x) is not False for x in AS_A_MASK) or (attn_mask is not None and (
            attn_mask.dim() == 4 or (points["mask_true"] == "keep" and attn_mask.dtype == torch.bool))):
        attn_mask = additive(masks, key.shape[0 if key.dim() == 2 else 1 if given.get("batch_first") else 0])
    elif attn_mask is not None:
        attn_mask = attn_mask.double() if attn_mask.dtype.is_floating_point else attn_mask.bool()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # two types of mask in one call are deprecated, but right
        output, weights = layer(cleaned(query), cleaned(key), cleaned(value), attn_mask=attn_mask,
                                key_padding_mask=None if padding is None else padding.bool(),
                                need_weights=given.get("need_weights", True),
                                average_attn_weights=given.get("average_attn_weights", True))
    rows = [batched(x, given)[:, None] for x in (query, key, value)]
    skip = unlike_pytorch(masks, points, *rows)
    agree(results["output"], batched(output, given), skip.any(1))
    if weights is not None:
        weights = weights[None] if query.dim() == 2 else weights
        average = given.get("average_attn_weights", True)
        ours = results["weights"].mean(1) if average else results["weights"]
        agree(ours, weights, skip.any(1) if average else skip)
    checked["MultiheadAttention"].add(name)
