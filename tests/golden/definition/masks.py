# SPDX-License-Identifier: Apache-2.0
"""Conventions; and all masks of a problem, read into one boolean and one additive mask [B,H,T,S] of the keys that each
query may see."""

import collections
import math
import sys

import torch
from torch.nn import functional as F

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

# The masks of self-attention alone. A layer's other masks are given for each of its attentions by themselves.
MASK_OPTIONS = ["window_left", "window_right", "dilation", "neighborhood_rows", "neighborhood_columns", "grid_rows",
                "grid_columns", "grid_tokens"]
MASK_TENSORS = ["valid_lens", "prefix_lens", "global_tokens", "query_documents", "key_documents"]


def conventions(op, options):
    """Returns the points on which libraries disagree: our defaults, unless a preset or an option says otherwise."""
    ours = {"mask_true": "keep" if op == "scaled_dot_product_attention" else "ignore", "causal_alignment": "top_left",
            "fully_masked": "zero", "masked_nan": "blocked", "gqa_order": "block", "softcap_order": "before_bias"}
    said = {word: options[word] for word in CONVENTION_WORDS[1:] if word in options}
    return {**ours, **PRESETS.get(options.get("conventions"), {}), **said}


def positions(queries, keys, points, past=0):
    """Returns the positions of the queries [T] and of the keys [S] on one line. Keys count from 0, past ones first. The
    queries begin after the past ones or, when causality is aligned bottom-right, end where the keys end."""
    first = keys - queries if points["causal_alignment"] == "bottom_right" else past
    return torch.arange(queries) + first, torch.arange(keys)


Masks = collections.namedtuple("Masks", "keep bias")  # [B,H,T,S]: True where a query sees a key; added to the score


def read_masks(shape, points, given, at_query, at_key):
    """Reads all masks of a problem into one boolean mask (True: seen) and one additive mask. A -inf in the additive
    mask hides a key in the boolean one, too."""
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
    ahead = at_key - at_query[:, None]  # [T,S]: the key's position minus the query's
    keep = keep & near(ahead, at_query, given) & not_ahead(ahead, given)
    if "key_documents" in given:
        of_keys = given["key_documents"].reshape(batch, 1, 1, keys)
        of_queries = given.get("query_documents", given["key_documents"]).reshape(batch, 1, queries, 1)
        keep = keep & (of_keys == of_queries)
    return Masks(keep, bias)


def near(ahead, at_query, given):
    """Sliding window, dilation and neighborhood, with the global tokens that are exempt from them (Beltagy et al. 2020,
    §3.1)."""
    seen = torch.ones_like(ahead, dtype=torch.bool)
    if "window_left" in given:
        seen = seen & (ahead >= -given["window_left"])
    if "window_right" in given:
        seen = seen & (ahead <= given["window_right"])
    seen = seen & (ahead % given.get("dilation", 1) == 0)
    if "grid_columns" in given:
        seen = seen & in_neighborhood(at_query[:, None], at_query[:, None] + ahead, given)
    seen = seen[None, None]
    if "global_tokens" in given:
        tokens = torch.atleast_2d(given["global_tokens"].bool())
        on_line = (at_query >= 0) & (at_query < ahead.shape[1])
        of_queries = tokens[:, at_query.clamp(0, ahead.shape[1] - 1)] & on_line
        seen = seen | tokens[:, None, None, :] | of_queries[:, None, :, None]
    return seen


def in_neighborhood(at_query, at_key, given):
    """Patches of a grid see those that are at most a given number of rows and columns away (Ramachandran et al. 2019,
    §3). The tokens before the grid see everything and are seen by everything."""
    columns, tokens = given["grid_columns"], given.get("grid_tokens", 0)
    from_patch, to_patch = at_query - tokens, at_key - tokens
    seen = torch.ones_like(to_patch + from_patch, dtype=torch.bool)
    if "neighborhood_rows" in given:
        down = to_patch.div(columns, rounding_mode="floor") - from_patch.div(columns, rounding_mode="floor")
        seen = seen & (down.abs() <= given["neighborhood_rows"])
    if "neighborhood_columns" in given:
        seen = seen & ((to_patch % columns - from_patch % columns).abs() <= given["neighborhood_columns"])
    seen = seen | (from_patch < 0) | (to_patch < 0)
    check_pooling(from_patch[:, 0], to_patch[0], given, seen)
    return seen


def check_pooling(from_patch, to_patch, given, seen):
    """Finds the same by max-pooling, which spreads a 1 at the query's place in the grid over its neighborhood."""
    rows, columns = given["grid_rows"], given["grid_columns"]
    up, aside = (min(given.get(f"neighborhood_{x}", n), n) for x, n in (("rows", rows), ("columns", columns)))
    for patch, row in zip(from_patch.tolist(), seen):
        grid = torch.zeros(1, 1, rows, columns)
        grid.flatten()[max(patch, 0)] = 1
        around = F.max_pool2d(grid, (2 * up + 1, 2 * aside + 1), 1, (up, aside)).flatten()
        pooled = [patch < 0 or to < 0 or around[to] > 0 for to in to_patch.tolist()]
        if row.tolist() != [bool(x) for x in pooled]:
            sys.exit("a neighborhood by its coordinates is not the one by max-pooling")


def not_ahead(ahead, given):
    """Causality, with the exception of a prefix that all queries see (Raffel et al. 2020, §3.2.1)."""
    if not given.get("is_causal"):
        return torch.ones_like(ahead, dtype=torch.bool)
    seen = (ahead <= 0)[None, None]
    if "prefix_lens" in given:
        seen = seen | (torch.arange(ahead.shape[1]) < given["prefix_lens"].reshape(-1, 1, 1, 1))
    return seen
