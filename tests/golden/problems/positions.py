# SPDX-License-Identifier: Apache-2.0
"""Positions: ALiBi, relative bias, T5's buckets, rotation."""

import torch

from draw import padding, qkv
from problems import (BIAS_KV, LAYER_STAGES, PER_HEAD, batch_first, cross, decoder, encoder, from_one, mha,
                      mha_per_head, sdpa)
from problems.blocks import source, target, without_biases

BIASED = ["scaled_scores", "biased_scores"]


def with_table(draw, tensors, name, *shape):
    return {**tensors, name: draw.normal(*shape)}


# ALiBi

sdpa("alibi_8_heads", "Slopes of eight heads: 1/2, 1/4, … 1/256. Causal.", lambda d: qkv(d, 1, 8, 6, 6, 3), alibi=True,
     is_causal=True, stages=BIASED)
sdpa("alibi_6_heads", "Slopes of six heads, not a power of two.", lambda d: qkv(d, 1, 6, 5, 5, 3), alibi=True,
     stages=BIASED)
sdpa("alibi_1_head", "One head: slope 1/256.", lambda d: qkv(d, 2, 1, 4, 5, 3), alibi=True)
sdpa("alibi_12_heads", "Twelve heads on bottom-right places.", lambda d: qkv(d, 1, 12, 2, 7, 2), alibi=True,
     causal_alignment="bottom_right", stages=["biased_scores"])
sdpa("alibi_slopes", "Slopes of one's own, zero and negative among them.", lambda d: {
    **qkv(d, 2, 3, 5, 7, 4), "alibi_slopes": torch.tensor([0.5, 0.0, -0.25])}, stages=BIASED)
sdpa("alibi_softcap_after", "Slopes of one's own under a soft cap that comes after the bias.", lambda d: {
    **qkv(d, 1, 2, 6, 6, 4), "alibi_slopes": torch.tensor([1.0, 0.125])}, softcap=1.5, softcap_order="after_bias",
     stages=["biased_scores", "capped_scores"])
sdpa("alibi_softcap_before", "Six heads under a soft cap that comes before the bias.", lambda d: qkv(d, 1, 6, 4, 4, 4),
     alibi=True, softcap=0.5, stages=["capped_scores", "biased_scores"])
sdpa("alibi_and_mask", "With an additive mask: they add up.", lambda d: {
    **qkv(d, 1, 6, 5, 5, 2), "attn_mask": d.bias(6, 5, 5)}, alibi=True, stages=["biased_scores", "masked_scores"])
mha_per_head("alibi_mha", "Eight heads in the layer, causal.", lambda d: from_one(d, 2, 5, 16), embed_dim=16,
             num_heads=8, alibi=True, is_causal=True)
mha("alibi_appended", "Appended keys have no place, so no bias. Sequence first.",
    lambda d: from_one(d, 5, 2, 12, params=BIAS_KV), embed_dim=12, num_heads=6, alibi=True, add_bias_kv=True,
    add_zero_attn=True, stages=["biased_scores"])
encoder("alibi_encoder", "In an encoder layer.", lambda d: source(d, 7, 2, 12), alibi=True, need_weights=True)
decoder("alibi_slopes_decoder", "In the decoder's self-attention alone.", lambda d: {
    **target(d), "alibi_slopes": torch.tensor([1.0, 0.5, 0.25])}, tgt_is_causal=True, need_weights=True, **PER_HEAD)

# Relative bias

sdpa("relative_bias", "One bias per head and distance up to 3; beyond, the outermost.", lambda d: with_table(
    d, qkv(d, 2, 2, 6, 7, 4), "relative_bias", 2, 7), stages=BIASED)
sdpa("relative_bias_shared", "One table for all heads, bottom-right places.", lambda d: with_table(
    d, qkv(d, 1, 3, 3, 8, 4), "relative_bias", 1, 5), causal_alignment="bottom_right", is_causal=True,
     stages=["biased_scores"])
sdpa("relative_bias_reach_0", "R = 0: one number for every distance, which changes no weight.", lambda d: with_table(
    d, qkv(d, 1, 2, 4, 5, 4), "relative_bias", 2, 1))
sdpa("relative_bias_wide", "A table that reaches beyond the sequence.", lambda d: with_table(
    d, qkv(d, 1, 2, 4, 4, 4), "relative_bias", 2, 41))
mha_per_head("relative_bias_mha", "In the layer, with padding.", lambda d: with_table(
    d, batch_first(d, key_padding_mask=padding(5, 5, 2)), "relative_bias", 3, 5))
encoder("relative_bias_encoder", "In an encoder layer, sequence first.", lambda d: with_table(
    d, source(d, 6, 2, 12), "relative_bias", 3, 9), need_weights=True, norm_first=True)

# T5

sdpa("t5_bias", "T5's 32 buckets for both directions; distances up to 20 on either side.", lambda d: with_table(
    d, qkv(d, 1, 2, 21, 21, 2, dv=1), "t5_bias", 32, 2), stages=["biased_scores"])
sdpa("t5_bias_causal", "A decoder's: one direction only, keys ahead count as distance 0.", lambda d: with_table(
    d, qkv(d, 1, 3, 9, 9, 4), "t5_bias", 32, 3), t5_bidirectional=False, is_causal=True, stages=["biased_scores"])
sdpa("t5_bias_far_back", "One query that looks 399 keys back: every bucket, and the last one beyond 128.",
     lambda d: with_table(d, qkv(d, 1, 1, 1, 400, 1), "t5_bias", 32, 1), t5_bidirectional=False,
     causal_alignment="bottom_right", stages=["biased_scores"])
sdpa("t5_bias_far_ahead", "One query that looks 299 keys ahead, both directions.",
     lambda d: with_table(d, qkv(d, 1, 1, 1, 300, 1), "t5_bias", 32, 1), stages=["biased_scores"])
sdpa("t5_bias_few_buckets", "Eight buckets up to distance 20.", lambda d: with_table(
    d, qkv(d, 2, 2, 1, 30, 2), "t5_bias", 8, 2), t5_max_distance=20, causal_alignment="bottom_right")
sdpa("t5_bias_near", "Ten buckets, one direction, up to distance 9: not causal, keys ahead are bucket 0.",
     lambda d: with_table(d, qkv(d, 1, 2, 12, 12, 3), "t5_bias", 10, 2), t5_bidirectional=False, t5_max_distance=9)
mha_per_head("t5_bias_mha", "In the layer, unscaled as T5 has it.", lambda d: with_table(
    d, from_one(d, 2, 9, 12), "t5_bias", 12, 3), scale=1.0, t5_max_distance=16)
encoder("t5_bias_encoder", "A T5-like layer: RMS norm first, no biases.", lambda d: with_table(
    d, without_biases(source(d, 2, 6, 12)), "t5_bias", 16, 3), norm="rms_norm", norm_first=True, bias=False,
        need_weights=True, **PER_HEAD)


# Rotation

for kind in "half", "interleaved":
    sdpa(f"rotary_{kind}", "Queries and keys turned by their places.", lambda d: qkv(d, 2, 2, 5, 7, 8), rotary=kind,
         stages=["q", "k", "scores"])
    sdpa(f"rotary_{kind}_partial", "Only the first 4 of 9 elements turn.", lambda d: qkv(d, 1, 2, 6, 6, 9),
         rotary=kind, rotary_dim=4, is_causal=True, stages=["q", "k", "scores"])
    sdpa(f"rotary_{kind}_base", "Another base, as for long texts.", lambda d: qkv(d, 1, 2, 40, 3, 6), rotary=kind,
         rotary_base=500000, stages=["scores"])
    sdpa(f"rotary_{kind}_scale", "Places divided by 4: linear interpolation.", lambda d: qkv(d, 1, 2, 7, 7, 6),
         rotary=kind, rotary_scale=4, stages=["scores"])
    sdpa(f"rotary_{kind}_bottom_right", "T < S: queries at the last places.", lambda d: qkv(d, 1, 2, 2, 9, 4),
         rotary=kind, causal_alignment="bottom_right", is_causal=True, stages=["scores"])
    sdpa(f"rotary_{kind}_gqa", "Four query heads on two key heads, float64.", lambda d: qkv(
        d, 1, 4, 5, 5, 4, G=2, dtype=torch.float64), rotary=kind, enable_gqa=True)
    sdpa(f"rotary_{kind}_width_2", "One pair only.", lambda d: qkv(d, 1, 1, 3, 4, 2), rotary=kind)
    mha(f"rotary_{kind}_mha", "In the layer, sequence first: stages q and k are turned.",
        lambda d: from_one(d, 5, 2, 12), rotary=kind, stages=LAYER_STAGES, average_attn_weights=False)
    mha_per_head(f"rotary_{kind}_mha_partial", "Half of each head, base and scale of its own.",
                 lambda d: from_one(d, 2, 6, 24), embed_dim=24, rotary=kind, rotary_dim=4, rotary_base=100,
                 rotary_scale=0.5, is_causal=True, stages=["q", "k"])
    encoder(f"rotary_{kind}_encoder", "In an encoder layer, causal.", lambda d: source(d, 2, 6, 12), rotary=kind,
            is_causal=True, need_weights=True, **PER_HEAD)
    decoder(f"rotary_{kind}_decoder", "In the decoder's self-attention alone.", target, rotary=kind,
            tgt_is_causal=True, need_weights=True, **PER_HEAD)
mha_per_head("rotary_cross", "Cross-attention: each by its own place.", cross, rotary="half", stages=["q", "k"])
mha("rotary_unbatched", "Unbatched input.", lambda d: from_one(d, 6, 12), rotary="interleaved", stages=["q", "k"],
    average_attn_weights=False)
mha_per_head("rotary_appended", "Appended keys have no place and are not turned.",
             lambda d: batch_first(d, params=BIAS_KV), rotary="half", add_bias_kv=True, add_zero_attn=True,
             stages=["k", "scores"])
