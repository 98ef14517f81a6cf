# SPDX-License-Identifier: Apache-2.0
"""Scaled dot-product attention: scale, shapes, masks by shape, causal, padding, grouped heads, NaN, soft cap."""

import math

import torch

from draw import lengths, padding, put, qkv
from problems import SCORE_STAGES, sdpa


def usual(draw, **masks):
    """B = 2, H = 3, T = 5, S = 7, d = 4."""
    return {**qkv(draw, 2, 3, 5, 7, 4), **masks}


sdpa("sdpa_plain", "Two batches, three heads, more keys than queries.", usual)
sdpa("sdpa_output_only", "No weights asked for.", usual, need_weights=None)
sdpa("sdpa_stages", "Every stage, with an additive mask, a causal one and a soft cap.",
     lambda d: {**qkv(d, 2, 2, 5, 5, 4), "attn_mask": d.bias(5, 5)}, is_causal=True, softcap=2.0, stages=SCORE_STAGES)
sdpa("sdpa_stages_plain", "Stages that nothing changes equal the ones before.", lambda d: qkv(d, 1, 2, 3, 5, 4),
     stages=SCORE_STAGES)
sdpa("sdpa_scale", "A scale other than 1/sqrt(d).", lambda d: qkv(d, 1, 2, 5, 7, 4), scale=0.3)
sdpa("sdpa_scale_zero", "Scale 0: every key alike.", lambda d: qkv(d, 1, 2, 4, 5, 3), scale=0.0)
sdpa("sdpa_scale_negative", "A negative scale: the least similar key gets most.", lambda d: qkv(d, 1, 2, 5, 7, 4),
     scale=-0.75)
sdpa("sdpa_value_wider", "Values wider than keys.", lambda d: qkv(d, 2, 2, 5, 6, 4, dv=11))
sdpa("sdpa_value_narrower", "Values of width 1.", lambda d: qkv(d, 2, 2, 5, 6, 8, dv=1))
sdpa("sdpa_one_query", "T = 1.", lambda d: qkv(d, 2, 3, 1, 9, 8))
sdpa("sdpa_one_key", "S = 1: every weight is 1.", lambda d: qkv(d, 2, 3, 5, 1, 8))
sdpa("sdpa_one_by_one", "T = S = d = 1.", lambda d: qkv(d, 1, 1, 1, 1, 1))
sdpa("sdpa_width_1", "Head width 1.", lambda d: qkv(d, 2, 2, 5, 6, 1))
sdpa("sdpa_width_257", "Head width 257.", lambda d: qkv(d, 1, 1, 3, 5, 257))
SIZES = [(7, 9, 15), (8, 8, 8), (9, 7, 17), (15, 17, 16), (16, 16, 31), (17, 15, 33), (31, 33, 9), (33, 1, 40),
         (2, 257, 5)]
for T, S, width in SIZES:
    sdpa(f"sdpa_size_{T}_{S}_{width}", "Sizes around the widths of vectors: T, S, d.",
         lambda d, T=T, S=S, width=width: qkv(d, 1, 2, T, S, width))
sdpa("sdpa_many_heads", "Seven batches of five heads.", lambda d: qkv(d, 7, 5, 3, 4, 2))
sdpa("sdpa_float16", "Inputs stored as float16.", lambda d: qkv(d, 1, 2, 5, 7, 8, dtype=torch.float16))
sdpa("sdpa_bfloat16", "Inputs stored as bfloat16.", lambda d: qkv(d, 1, 2, 5, 7, 8, dtype=torch.bfloat16))
sdpa("sdpa_float64", "Inputs stored as float64, all of them float32 values.",
     lambda d: qkv(d, 1, 2, 5, 7, 8, dtype=torch.float64))

# Unbatched


def fewer_dimensions(draw, *lead, dv=6, **masks):
    """A query [*lead,4,6] on keys and values [*lead,5,·]."""
    q, k, v = (draw.normal(*lead, *shape) for shape in ((4, 6), (5, 6), (5, dv)))
    return {"query": q, "key": k, "value": v, **masks}


sdpa("sdpa_2d", "Input [T,d]: one head, no batch.", lambda d: fewer_dimensions(d, dv=3), stages=["scores", "lse"])
sdpa("sdpa_2d_masked", "Input [T,d] with a mask [T,S].", lambda d: fewer_dimensions(d, attn_mask=d.keep(4, 5)))
sdpa("sdpa_3d", "Input [N,T,d].", lambda d: fewer_dimensions(d, 3, dv=2), stages=["scaled_scores", "lse"])
sdpa("sdpa_3d_masked", "Input [N,T,d] with a mask [N,T,S].",
     lambda d: fewer_dimensions(d, 3, attn_mask=d.keep(3, 4, 5)))
sdpa("sdpa_3d_padding", "Input [N,T,d] with key padding [N,S].",
     lambda d: fewer_dimensions(d, 3, key_padding_mask=padding(5, 5, 2, 3)))

# Boolean and additive masks, by shape

sdpa("sdpa_bool_mask", "Boolean mask [T,S], true: look.", lambda d: usual(d, attn_mask=d.keep(5, 7)))
sdpa("sdpa_bool_mask_ignore", "The same kind of mask, true: do not look; stored as U8.",
     lambda d: usual(d, attn_mask=(~d.keep(5, 7)).byte()), mask_true="ignore")
sdpa("sdpa_bool_mask_per_row_of_batch", "Boolean mask [B,1,1,S], as padding is often given.",
     lambda d: usual(d, attn_mask=~padding(7, 4, 6)[:, None, None]))
sdpa("sdpa_bool_mask_per_batch", "Boolean mask [B,1,T,S].", lambda d: usual(d, attn_mask=d.keep(2, 1, 5, 7)))
sdpa("sdpa_bool_mask_per_head", "Boolean mask [1,H,T,S].", lambda d: usual(d, attn_mask=d.keep(1, 3, 5, 7)))
sdpa("sdpa_bool_mask_3d", "Boolean mask [B*H,T,S].", lambda d: usual(d, attn_mask=d.keep(6, 5, 7)))
sdpa("sdpa_bool_mask_3d_heads", "Boolean mask [H,T,S], the same in both batches, as PyTorch broadcasts it.",
     lambda d: usual(d, attn_mask=d.keep(3, 5, 7)))
sdpa("sdpa_bool_mask_4d", "Boolean mask [B,H,T,S], stored as U8.",
     lambda d: usual(d, attn_mask=d.keep(2, 3, 5, 7).byte()), stages=["masked_scores", "lse"])
sdpa("sdpa_additive_mask", "Additive mask [T,S] with -inf.", lambda d: usual(d, attn_mask=d.bias(5, 7)),
     stages=["biased_scores", "masked_scores"])
sdpa("sdpa_additive_mask_finite", "Additive mask [T,S] without -inf: a bias.",
     lambda d: usual(d, attn_mask=d.normal(5, 7)))
sdpa("sdpa_additive_mask_3d", "Additive mask [B*H,T,S].", lambda d: usual(d, attn_mask=d.bias(6, 5, 7)))
sdpa("sdpa_additive_mask_4d", "Additive mask [B,H,T,S].", lambda d: usual(d, attn_mask=d.bias(2, 3, 5, 7)))
LOWEST = torch.finfo(torch.float32).min
sdpa("sdpa_additive_mask_lowest", "Masked by the lowest float32, not -inf; all of the last row, which is uniform.",
     lambda d: {**qkv(d, 1, 2, 4, 6, 4),
                "attn_mask": put(torch.zeros(4, 6).masked_fill(~d.keep(4, 6), LOWEST), -1, LOWEST)})

# Causal

sdpa("sdpa_causal", "Causal, T = S.", lambda d: qkv(d, 2, 3, 7, 7, 4), is_causal=True, stages=["masked_scores", "lse"])
for name, T, S in ("wide", 4, 7), ("tall", 7, 4):
    for alignment in "top_left", "bottom_right":
        sdpa(f"sdpa_causal_{alignment}_{name}", "Causal, T ≠ S. Tall and bottom-right: the first rows see nothing.",
             lambda d, T=T, S=S: qkv(d, 2, 2, T, S, 4), is_causal=True, causal_alignment=alignment)
sdpa("sdpa_causal_one_query", "Bottom-right, T = 1: the one query sees every key, as in decoding with a cache.",
     lambda d: qkv(d, 2, 2, 1, 9, 8), is_causal=True, causal_alignment="bottom_right")
sdpa("sdpa_causal_size_17", "Causal at an odd length.", lambda d: qkv(d, 1, 2, 17, 17, 9), is_causal=True)

# Key padding, valid lengths, composition

sdpa("sdpa_key_padding", "Key padding [B,S].", lambda d: usual(d, key_padding_mask=padding(7, 3, 6)))
sdpa("sdpa_key_padding_left", "Padding in front, and in the middle, as U8.", lambda d: {
    **qkv(d, 2, 2, 3, 6, 4),
    "key_padding_mask": torch.tensor([[1, 1, 0, 0, 0, 0], [0, 1, 0, 0, 1, 0]], dtype=torch.uint8)})
sdpa("sdpa_valid_lens", "Valid lengths [B], all keys and none among them.",
     lambda d: {**qkv(d, 3, 2, 4, 6, 4), "valid_lens": lengths(3, 6, 0)}, stages=["masked_scores", "lse"])
sdpa("sdpa_valid_lens_per_query", "Valid lengths [B,T].",
     lambda d: {**qkv(d, 2, 2, 4, 6, 4), "valid_lens": lengths([1, 2, 6, 4], [5, 0, 3, 1])})
sdpa("sdpa_masks_composed", "Additive mask, key padding, valid lengths and causal at once.",
     lambda d: {**qkv(d, 2, 3, 6, 6, 4), "attn_mask": d.bias(2, 3, 6, 6, masked=0.15),
                "key_padding_mask": padding(6, 6, 4), "valid_lens": lengths(5, 6)}, is_causal=True,
     stages=["biased_scores", "masked_scores", "lse"])
sdpa("sdpa_masks_composed_bool", "Boolean mask, key padding and causal bottom-right at once.",
     lambda d: {**qkv(d, 2, 3, 4, 6, 4), "attn_mask": d.keep(4, 6, share=0.8), "key_padding_mask": padding(6, 6, 3)},
     is_causal=True, causal_alignment="bottom_right")

# Fully masked rows

for rule in None, "zero", "nan", "uniform":
    sdpa(f"sdpa_fully_masked{'_' + rule if rule else ''}", "Row 1 of every head is fully masked.",
         lambda d: {**qkv(d, 2, 2, 3, 5, 4), "attn_mask": put(d.keep(3, 5), 1, False)}, fully_masked=rule,
         stages=["masked_scores", "lse"])
sdpa("sdpa_fully_masked_additive", "Row 2 is -inf throughout.",
     lambda d: {**qkv(d, 2, 2, 3, 5, 4), "attn_mask": put(d.bias(3, 5), 2, -math.inf)})
sdpa("sdpa_fully_masked_everything", "No query may look at anything.",
     lambda d: {**qkv(d, 1, 2, 3, 5, 4), "key_padding_mask": padding(5, 0)}, stages=["lse"])

# Grouped and multi-query

for order in "block", "interleaved":
    sdpa(f"sdpa_gqa_{order}", "Six query heads on two key/value heads.", lambda d: qkv(d, 2, 6, 4, 5, 4, G=2),
         enable_gqa=True, gqa_order=order)
sdpa("sdpa_gqa_default", "Six query heads on three key/value heads, causal, with a mask per query head.",
     lambda d: {**qkv(d, 2, 6, 5, 5, 4, G=3), "attn_mask": d.bias(2, 6, 5, 5, masked=0.1)}, enable_gqa=True,
     is_causal=True)
sdpa("sdpa_mqa", "Five query heads on one key/value head.", lambda d: qkv(d, 2, 5, 4, 6, 4, dv=3, G=1), enable_gqa=True)

# NaN and infinities behind a mask, huge numbers


def wild(draw, value, mask, key=True, vector=True):
    """A problem with B = 2, H = 2, T = 4, S = 6, whose last key and value hold `value` in every head of batch 1."""
    tensors = {**qkv(draw, 2, 2, 4, 6, 4), **mask}
    if key:
        tensors["key"][1, :, -1] = value
    if vector:
        tensors["value"][1, :, -1, 1:3] = value
    return tensors


for name, value in ("nan", math.nan), ("inf", math.inf), ("minus_inf", -math.inf):
    sdpa(f"sdpa_{name}_in_padding", "A padded key and its value that are not finite reach nothing.",
         lambda d, value=value: wild(d, value, {"key_padding_mask": padding(6, 6, 5)}), stages=["masked_scores", "lse"])
    sdpa(f"sdpa_{name}_in_padding_spreads", "As PyTorch has it: -inf is added to its score, its value multiplied by 0.",
         lambda d, value=value: wild(d, value, {"key_padding_mask": padding(6, 6, 5)}), masked_nan="spreads",
         stages=["masked_scores", "lse"])
sdpa("sdpa_inf_in_a_key_spreads", "One infinity: scores of +inf become NaN behind the mask, scores of -inf do not.",
     lambda d: {**(t := qkv(d, 2, 2, 4, 6, 4)), "key": put(t["key"], (1, slice(None), 5, 0), math.inf)},
     conventions="torch-sdpa", is_causal=True, stages=["masked_scores", "dropped_weights"])
sdpa("sdpa_nan_value_spreads", "A masked value is NaN, its key is not: the weights are clean, the output is not.",
     lambda d: wild(d, math.nan, {"valid_lens": lengths(6, 5)}, key=False), masked_nan="spreads")
sdpa("sdpa_nan_behind_bool_mask", "A NaN behind a boolean mask reaches nothing.",
     lambda d: wild(d, math.nan, {"attn_mask": put(d.keep(4, 6), (slice(None), -1), False)}))
sdpa("sdpa_nan_behind_additive_mask", "A NaN behind an additive -inf reaches nothing.",
     lambda d: wild(d, math.nan, {"attn_mask": put(d.bias(4, 6), (slice(None), -1), -math.inf)}))
sdpa("sdpa_nan_value_only", "A masked value is NaN, its key is not.",
     lambda d: wild(d, math.nan, {"valid_lens": lengths(6, 5)}, key=False))
sdpa("sdpa_nan_behind_causal", "Only the last query sees the last key: its row is NaN in batch 1, others are clean.",
     lambda d: wild(d, math.nan, {}), is_causal=True, causal_alignment="bottom_right")
sdpa("sdpa_nan_in_query", "A NaN in a query is that row's own matter, and leaves its masked cells 0.",
     lambda d: {**qkv(d, 1, 2, 4, 6, 4), "query": put(d.normal(1, 2, 4, 4), (0, 1, 2, 0), math.nan),
                "attn_mask": d.keep(4, 6)})
sdpa("sdpa_nan_fully_masked", "All keys and values of batch 1 are NaN and masked: zeros.",
     lambda d: {**{n: put(t, 1, math.nan) if n != "query" else t for n, t in qkv(d, 2, 2, 3, 5, 4).items()},
                "key_padding_mask": padding(5, 5, 0)})
sdpa("sdpa_huge_scores", "Scores of ±1e30 and 0: a tie shares, the rest is 0.", lambda d: {
    "query": 1e15 * torch.tensor([[[[1.0, 0, 0, 0], [0, 1, 0, 0], [0, 0, -1, 0], [0, 0, 0, 1], [0, 0, 0, 0]]]]),
    "key": 1e15 * torch.tensor([[[[1.0, 0, 0, 0], [1, 1, 0, 0], [-1, 0, 1, 0], [0, 0, -1, 0], [0, -1, -1, 0]]]]),
    "value": d.normal(1, 1, 5, 3)}, scale=1.0, stages=["scores", "masked_scores", "lse"])
sdpa("sdpa_huge_scores_causal", "Scores of ±1e30 under a causal mask.", lambda d: {
    "query": 1e15 * torch.tensor([[[[1.0, 0], [-1, 0], [0, 1], [0, -1]]]]),
    "key": 1e15 * torch.tensor([[[[-1.0, 0], [1, 0], [0, -1], [-1, 1]]]]),
    "value": d.normal(1, 1, 4, 3)}, scale=1.0, is_causal=True)
sdpa("sdpa_saturated", "Scores of some hundreds: one key takes almost all.", lambda d: {
    **qkv(d, 1, 2, 5, 7, 8), "query": d.normal(1, 2, 5, 8, std=100)}, stages=["lse"])
sdpa("sdpa_equal_keys", "Equal keys get equal weights.", lambda d: {
    **qkv(d, 1, 2, 3, 5, 4), "key": d.normal(1, 2, 1, 4).expand(1, 2, 5, 4)})

# Soft cap

sdpa("sdpa_softcap", "Soft cap without a mask.", lambda d: qkv(d, 1, 2, 5, 7, 4), softcap=0.5, stages=["capped_scores"])
for order in "before_bias", "after_bias":
    sdpa(f"sdpa_softcap_{order}", "Soft cap and an additive bias.", lambda d: {
        **qkv(d, 1, 2, 5, 7, 4), "attn_mask": 2 * d.normal(5, 7)}, softcap=1.5, softcap_order=order,
         stages=["capped_scores", "biased_scores", "masked_scores"])
    sdpa(f"sdpa_softcap_{order}_masked", "Soft cap and an additive -inf, which masks in either order.", lambda d: {
        **qkv(d, 1, 2, 5, 7, 4), "attn_mask": d.bias(5, 7)}, softcap=1.5, softcap_order=order, stages=["masked_scores"])
sdpa("sdpa_softcap_causal", "Soft cap under a causal mask.", lambda d: qkv(d, 1, 2, 6, 6, 4), softcap=1.0,
     is_causal=True)
