# SPDX-License-Identifier: Apache-2.0
"""Conventions, and who may look at whom: all masks of a problem as one boolean and one additive mask [B,H,T,S]."""

import collections
import math

import torch

PRESETS = {
    "torch-mha": {"mask_true": "ignore", "causal_alignment": "top_left", "fully_masked": "nan", "gqa_order": "block"},
    "torch-sdpa": {"mask_true": "keep", "causal_alignment": "top_left", "fully_masked": "zero", "masked_nan": "spreads",
                   "gqa_order": "block"},
    "onnx": {"mask_true": "keep", "causal_alignment": "bottom_right", "fully_masked": "zero",
             "softcap_order": "before_bias"},
    "keras": {"mask_true": "keep", "causal_alignment": "top_left", "fully_masked": "zero"},
    "jax": {"mask_true": "keep", "causal_alignment": "top_left", "fully_masked": "uniform", "gqa_order": "block"},
    "flash": {"mask_true": "keep", "causal_alignment": "bottom_right", "fully_masked": "zero", "gqa_order": "block"},
}
CONVENTION_WORDS = ["conventions", "mask_true", "causal_alignment", "fully_masked", "masked_nan", "gqa_order",
                    "softcap_order"]

# What says who may look at whom in self-attention, beside the masks that every attention of a layer has its own of.
MASK_OPTIONS = ["window_left", "window_right", "dilation"]
MASK_TENSORS = ["valid_lens", "prefix_lens", "global_tokens", "query_documents", "key_documents"]


def conventions(op, options):
    """The points on which libraries disagree: our default, then the preset, then what the options say one by one."""
    ours = {"mask_true": "keep" if op == "scaled_dot_product_attention" else "ignore", "causal_alignment": "top_left",
            "fully_masked": "zero", "masked_nan": "blocked", "gqa_order": "block", "softcap_order": "before_bias"}
    said = {word: options[word] for word in CONVENTION_WORDS[1:] if word in options}
    return {**ours, **PRESETS.get(options.get("conventions"), {}), **said}


def positions(queries, keys, points, past=0):
    """Places of the queries [T] and of the keys [S] on one line: the keys count from 0, past ones first; the queries
    follow the past ones, or end where the keys end (bottom-right)."""
    first = keys - queries if points["causal_alignment"] == "bottom_right" else past
    return torch.arange(queries) + first, torch.arange(keys)


Masks = collections.namedtuple("Masks", "keep bias")  # [B,H,T,S]: may be looked at; is added to the score


def read_masks(shape, points, given, at_query, at_key):
    """All masks of a problem as one boolean (True: look) and one additive mask; an additive -inf masks as well."""
    batch, heads, queries, keys = shape
    keep, bias = torch.ones(shape, dtype=torch.bool), torch.zeros(shape, dtype=torch.float64)
    attn_mask, key_padding, valid_lens = (given.get(x) for x in ("attn_mask", "key_padding_mask", "valid_lens"))
    if attn_mask is not None:
        if attn_mask.dim() == 3 and len(attn_mask) == batch * heads:
            attn_mask = attn_mask.unflatten(0, (batch, heads))
        if attn_mask.dtype.is_floating_point:
            bias = attn_mask.double().expand(shape)
            keep = keep & (bias != -math.inf)
        else:
            keep = keep & (attn_mask.bool() == (points["mask_true"] == "keep"))
    if key_padding is not None:
        keep = keep & ~key_padding.bool().reshape(batch, 1, 1, keys)
    if valid_lens is not None:
        lengths = valid_lens if valid_lens.dim() == 2 else valid_lens[:, None]
        keep = keep & (torch.arange(keys) < lengths[:, None, :, None])
    ahead = at_key - at_query[:, None]  # [T,S]: how far the key lies ahead of the query
    keep = keep & near(ahead, at_query, given) & not_ahead(ahead, given)
    if "key_documents" in given:
        of_keys = given["key_documents"].reshape(batch, 1, 1, keys)
        of_queries = given.get("query_documents", given["key_documents"]).reshape(batch, 1, queries, 1)
        keep = keep & (of_keys == of_queries)
    return Masks(keep, bias)


def near(ahead, at_query, given):
    """Sliding window and dilation, with the tokens that are excepted from both (Beltagy et al. 2020, §3.1)."""
    seen = torch.ones_like(ahead, dtype=torch.bool)
    if "window_left" in given:
        seen = seen & (ahead >= -given["window_left"])
    if "window_right" in given:
        seen = seen & (ahead <= given["window_right"])
    seen = (seen & (ahead % given.get("dilation", 1) == 0))[None, None]
    if "global_tokens" in given:
        tokens = torch.atleast_2d(given["global_tokens"].bool())
        on_line = (at_query >= 0) & (at_query < ahead.shape[1])
        of_queries = tokens[:, at_query.clamp(0, ahead.shape[1] - 1)] & on_line
        seen = seen | tokens[:, None, None, :] | of_queries[:, None, :, None]
    return seen


def not_ahead(ahead, given):
    """Causal, but for a prefix that everyone may look at (Raffel et al. 2020, §3.2.1)."""
    if not given.get("is_causal"):
        return torch.ones_like(ahead, dtype=torch.bool)
    seen = (ahead <= 0)[None, None]
    if "prefix_lens" in given:
        seen = seen | (torch.arange(ahead.shape[1]) < given["prefix_lens"].reshape(-1, 1, 1, 1))
    return seen
