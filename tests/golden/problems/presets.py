# SPDX-License-Identifier: Apache-2.0
"""Presets, and each of their points alone."""

import math

import torch

from definition.masks import CONVENTION_WORDS, PRESETS, conventions
from draw import attention_params, places, put, qkv
from problems import PER_HEAD, mha, mha_per_head, sdpa

# Presets, on one problem whose results differ between them


def telling(draw, T=4, S=6):
    return {**qkv(draw, 2, 4, T, S, 4, G=2), "attn_mask": put(draw.keep(T, S), 2, False)}


for preset in "torch-sdpa", "onnx", "keras", "jax":
    sdpa(f"preset_{preset.replace('-', '_')}", "Boolean mask with a row of false, causal with T ≠ S, grouped heads.",
         telling, conventions=preset, is_causal=True, enable_gqa=True)
sdpa("preset_onnx_softcap", "Soft cap and additive mask as ONNX's Attention has them.", lambda d: {
    **qkv(d, 1, 2, 5, 7, 4), "attn_mask": d.bias(5, 7)}, conventions="onnx", softcap=1.5)
sdpa("preset_flash", "Bottom-right with more queries than keys: the first rows see nothing and are 0.",
     lambda d: qkv(d, 2, 4, 6, 4, 4, G=2), conventions="flash", is_causal=True, enable_gqa=True)
sdpa("preset_overridden", "A preset of which two points are overridden.", telling, conventions="jax",
     fully_masked="zero", causal_alignment="bottom_right", is_causal=True, enable_gqa=True)
mha("preset_torch_mha", "Boolean mask, true: ignore, with a row of true, which is NaN.", lambda d: {
    "query": d.normal(2, 4, 6), **attention_params(d, 6), "attn_mask": put(~d.keep(4, 4), 2, True)}, embed_dim=6,
    num_heads=2, conventions="torch-mha", **PER_HEAD)

# Each preset's six points in one problem, and each point overridden


def all_points(draw):
    """A problem that depends on every point: a row of true and a row of false, one of which sees no key; T ≠ S; a bias
    under a soft cap; grouped heads; and a padded first key in batch 1, with a NaN in the key of one key/value head and
    in the value of the other."""
    tensors = {**qkv(draw, 2, 4, 4, 6, 2, G=2), "alibi_slopes": torch.tensor([1.0, 0.5, -0.5, 0.25]),
               "attn_mask": put(put(draw.keep(4, 6), 1, True), 2, False), "key_padding_mask": places(6, [0], [0])}
    tensors["key"][1, 0, 0] = tensors["value"][1, 1, 0, 0] = math.nan
    return tensors


OTHER = {"mask_true": ["keep", "ignore"], "causal_alignment": ["top_left", "bottom_right"],
         "fully_masked": ["zero", "nan", "uniform"], "masked_nan": ["blocked", "spreads"],
         "gqa_order": ["block", "interleaved"], "softcap_order": ["before_bias", "after_bias"]}
CAPPED = {"softcap": 1.5, "enable_gqa": True, "is_causal": True}

for preset in PRESETS:
    own = conventions("scaled_dot_product_attention", {"conventions": preset})
    name = preset.replace("-", "_")
    sdpa(f"preset_points_{name}", "All six points at once.", all_points, conventions=preset,
         stages=["capped_scores", "biased_scores", "masked_scores", "lse"], **CAPPED)
    for word in CONVENTION_WORDS[1:]:
        other = next(value for value in OTHER[word] if value != own[word])
        sdpa(f"preset_{name}_but_{word}", "One point other than the preset's.", all_points, conventions=preset,
             **{word: other}, **CAPPED)
    mha_per_head(f"preset_mha_{name}", "The preset in the layer: grouped heads, T ≠ S, causal.", lambda d: {
        "query": d.normal(1, 4, 8), "key": d.normal(1, 6, 8), **attention_params(d, 8, kv_width=4),
        "attn_mask": put(put(d.keep(4, 6), 1, True), 2, False)}, embed_dim=8, num_heads=4, num_kv_heads=2,
        conventions=preset, is_causal=True)
for word, values in OTHER.items():
    for value in values:
        sdpa(f"point_{word}_{value}", "The point by itself, without a preset.", all_points, **{word: value}, **CAPPED)
