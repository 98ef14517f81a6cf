# SPDX-License-Identifier: Apache-2.0
"""Combinations of masks, normalisers, positions, grouped heads and a past."""

import math

import torch

from draw import attention_params, block_params, lengths, padding, places, put, qkv
from problems import LAYER_STAGES, PER_HEAD, SCORE_STAGES, decoder, encoder, from_one, mha, mha_per_head, sdpa
from problems.blocks import without_biases
from problems.sharing import encoder_step, grouped, mha_step, sdpa_step

SEEN = ["biased_scores", "masked_scores", "lse"]

sdpa("composed_mistral", "Rotation, grouped heads, causal sliding window, padding on the left.", lambda d: {
    **qkv(d, 2, 4, 8, 8, 6, G=2), "key_padding_mask": places(8, [], [0, 1, 2])}, rotary="half", rotary_base=1e6,
     enable_gqa=True, is_causal=True, window_left=3, stages=SEEN)
sdpa("composed_gemma", "Rotation, soft cap, grouped heads, window, a scale of its own.", lambda d: qkv(
    d, 1, 4, 9, 9, 4, G=2), rotary="half", softcap=2.0, scale=0.3, enable_gqa=True, is_causal=True, window_left=4,
     stages=SCORE_STAGES)
sdpa("composed_gpt_oss", "Learned sinks, rotation, grouped heads, causal window.", lambda d: {
    **qkv(d, 1, 6, 7, 7, 4, G=3), "sinks": d.normal(6)}, rotary="half", enable_gqa=True, is_causal=True, window_left=2,
     stages=SEEN)
sdpa("composed_longformer", "Dilated window, global tokens, padding.", lambda d: {
    **qkv(d, 2, 2, 11, 11, 3), "global_tokens": places(11, [0], [0, 6]), "key_padding_mask": padding(11, 11, 8)},
    window_left=4, window_right=4, dilation=2, stages=["masked_scores"])
sdpa("composed_packed_prefix", "Documents, a prefix of the first, causality, T5's buckets.", lambda d: {
    **qkv(d, 2, 2, 8, 8, 4), "key_documents": lengths([0, 0, 0, 0, 1, 1, 1, 1], [0, 0, 0, 0, 0, 0, 7, 7]),
    "prefix_lens": lengths(3, 2), "t5_bias": d.normal(12, 2)}, is_causal=True, t5_max_distance=20, stages=SEEN)
sdpa("composed_all_masks", "Every mask there is, at once.", lambda d: {
    **qkv(d, 2, 2, 9, 9, 4), "attn_mask": d.bias(2, 2, 9, 9, masked=0.1), "key_padding_mask": padding(9, 9, 7),
    "valid_lens": lengths(8, 9), "prefix_lens": lengths(4, 0), "global_tokens": places(9, [1], [3, 6]),
    "key_documents": lengths([0] * 6 + [1] * 3, [2] * 9)}, is_causal=True, window_left=3, window_right=4, dilation=2,
     stages=SEEN)
sdpa("composed_all_biases", "ALiBi, relative bias, T5's buckets and an additive mask add up.", lambda d: {
    **qkv(d, 1, 4, 6, 7, 4), "attn_mask": d.bias(4, 6, 7), "relative_bias": d.normal(4, 5), "t5_bias": d.normal(8, 4)},
    alibi=True, t5_max_distance=9, stages=SEEN)
sdpa("composed_sparsemax_alibi", "Sparsemax over ALiBi's scores, causal, grouped heads.", lambda d: qkv(
    d, 2, 6, 7, 7, 4, G=2), normalizer="sparsemax", alibi=True, is_causal=True, enable_gqa=True, temperature=0.7,
     stages=["masked_scores", "lse"])
sdpa("composed_entmax_rotary", "Entmax, interleaved rotation of a part, bottom-right, an additive mask.", lambda d: {
    **qkv(d, 1, 2, 4, 9, 6), "attn_mask": d.bias(4, 9, masked=0.2)}, normalizer="entmax15", rotary="interleaved",
    rotary_dim=4, causal_alignment="bottom_right", is_causal=True, stages=["q", "k", *SEEN])
sdpa("composed_sigmoid_window", "Sigmoid in a window, relative bias, head mask.", lambda d: {
    **qkv(d, 2, 3, 8, 8, 4), "relative_bias": d.normal(3, 5), "head_mask": torch.tensor([1.0, 0.5, 0.0])},
    normalizer="sigmoid", sigmoid_bias=-2, window_left=2, window_right=1, stages=["dropped_weights"])
sdpa("composed_top_k_documents", "Top-k within documents, a sink, interleaved grouped heads.", lambda d: {
    **qkv(d, 1, 4, 8, 8, 4, G=2), "key_documents": lengths([0, 1, 0, 1, 0, 1, 0, 0])}, normalizer="top_k", top_k=2,
    sink=0.5, enable_gqa=True, gqa_order="interleaved", stages=["lse"])
sdpa("composed_hard_global", "Hard attention, window, global token, temperature.", lambda d: {
    **qkv(d, 1, 2, 9, 9, 4), "global_tokens": places(9, [4])}, normalizer="hard", window_left=1, window_right=1,
    temperature=3)
sdpa("composed_dropout", "Dropout, head mask, sinks, causal, padding, fully masked rows uniform.", lambda d: {
    **qkv(d, 2, 2, 5, 5, 4), "sinks": d.normal(2), "head_mask": torch.tensor([[1.0, 2.0], [0.0, 1.0]]),
    "key_padding_mask": put(padding(5, 5, 5), (1, 0), True)}, dropout_p=0.3, seed=42, is_causal=True,
    fully_masked="uniform", stages=["dropout_mask", "dropped_weights", "lse"])
sdpa("composed_presets_flash", "FlashAttention's words: bottom-right window, ALiBi, soft cap, grouped heads, T < S.",
     lambda d: {**qkv(d, 2, 4, 5, 9, 4, G=2), "alibi_slopes": torch.tensor([0.5, 0.25, 0.125, 0.0625])},
     conventions="flash", is_causal=True, window_left=4, softcap=3.0, enable_gqa=True, stages=SEEN)
sdpa("composed_onnx", "ONNX's words: bottom-right, soft cap before the bias, grouped heads, boolean mask.", lambda d: {
    **qkv(d, 1, 4, 3, 7, 4, G=2), "attn_mask": d.keep(3, 7, share=0.7)}, conventions="onnx", is_causal=True,
    softcap=1.0, enable_gqa=True, stages=SEEN)
sdpa("composed_wild", "Infinities and NaN behind several masks, under sparsemax and ALiBi.", lambda d: {
    **(t := qkv(d, 2, 2, 6, 6, 4)), "key": put(put(t["key"], (0, slice(None), 5), math.nan), (1, 0, 4), -math.inf),
    "value": put(t["value"], (slice(None), slice(None), 5), math.inf), "key_padding_mask": padding(6, 5, 4)},
    normalizer="sparsemax", alibi=True, is_causal=True, window_left=3)
sdpa("composed_three_dimensions", "Input [N,T,d]: window, entmax, documents.", lambda d: {
    "query": d.normal(3, 6, 4), "key": d.normal(3, 6, 4), "value": d.normal(3, 6, 2),
    "key_documents": lengths([0, 0, 0, 0, 1, 1], [0] * 6, [1, 2, 1, 2, 1, 2])}, normalizer="entmax15", window_left=3,
    stages=["lse"])
mha_per_head("composed_llama_mha", "Grouped heads, rotation, no biases, causal, padding: every stage.",
             lambda d: {**grouped(d, 2, 6, 16, G=2, bias=False), "key_padding_mask": padding(6, 6, 4)}, embed_dim=16,
             num_heads=4, num_kv_heads=2, bias=False, rotary="half", is_causal=True, stages=LAYER_STAGES)
mha("composed_mha_sequence_first", "Sequence first: entmax, relative bias, head mask, window, averaged weights.",
    lambda d: from_one(d, 7, 2, 12, relative_bias=d.normal(3, 7), head_mask=torch.tensor([1.0, 1.0, 0.5])),
    normalizer="entmax15", window_left=3, window_right=0)
mha("composed_mha_unbatched", "Unbatched: ALiBi, documents, global token, window, weights per head.",
    lambda d: from_one(d, 8, 12, key_documents=lengths(0, 0, 0, 0, 0, 5, 5, 5), global_tokens=places(8, [2])[0]),
    alibi=True, window_left=1, window_right=1, average_attn_weights=False, stages=["lse"])
mha_per_head("composed_mha_cross", "Cross-attention: kdim, vdim, grouped heads, sinks, padding, top-k.", lambda d: {
    "query": d.normal(2, 3, 12), "key": d.normal(2, 6, 7), "value": d.normal(2, 6, 5), "sinks": d.normal(4),
    **attention_params(d, 12, kdim=7, vdim=5, kv_width=6), "key_padding_mask": padding(6, 6, 4)}, num_heads=4,
    num_kv_heads=2, kdim=7, vdim=5, normalizer="top_k", top_k=3, stages=["lse"])
mha_per_head("composed_mha_appended", "Appended keys with window, rotation, T5's buckets, dropout and a sink.",
             lambda d: from_one(d, 2, 6, 12, params={"bias_kv": True}, t5_bias=d.normal(6, 3)), add_bias_kv=True,
             add_zero_attn=True, window_left=2, is_causal=True, rotary="interleaved", t5_bidirectional=False,
             t5_max_distance=8, dropout_p=0.25, seed=6, sink=-1, stages=["masked_scores", "dropout_mask", "lse"])
encoder("composed_llama_block", "RMSNorm first, SwiGLU, rotation, grouped heads, window, no biases.",
        lambda d: without_biases({
            "src": d.normal(2, 6, 16), **block_params(d, 16, 10, kv_width=8, gated=True, norm_bias=False)}),
        embed_dim=16, num_heads=4, num_kv_heads=2, dim_feedforward=10, bias=False,
        activation="swiglu", norm="rms_norm", norm_first=True, rotary="half", is_causal=True, window_left=3,
        need_weights=True, **PER_HEAD)
encoder("composed_bloom_block", "ALiBi, GELU by tanh, norm first, causal, padding, sequence first.", lambda d: {
    "src": d.normal(6, 2, 12), **block_params(d, 12, 20), "src_key_padding_mask": padding(6, 6, 3)}, num_heads=6,
        activation="gelu_tanh", norm_first=True, alibi=True, is_causal=True, need_weights=True)
encoder("composed_sparse_block", "Sparsemax, relative bias, additive mask, ReLU, head mask.", lambda d: {
    "src": d.normal(2, 6, 12), **block_params(d, 12, 20), "src_mask": d.bias(6, 6), "relative_bias": d.normal(1, 5),
    "head_mask": torch.tensor([1.0, 0.0, 1.0])}, normalizer="sparsemax", activation="relu", need_weights=True,
        **PER_HEAD)
decoder("composed_t5_block", "T5's decoder: buckets, RMSNorm first, causal, unscaled, no biases.", lambda d: {
    "tgt": d.normal(2, 5, 12), "memory": d.normal(2, 7, 12), "t5_bias": d.normal(8, 3),
    **without_biases(block_params(d, 12, 20, decoder=True, norm_bias=False))}, norm="rms_norm", norm_first=True,
        bias=False, scale=1.0,
        t5_bidirectional=False, t5_max_distance=12, tgt_is_causal=True, need_weights=True, **PER_HEAD)
decoder("composed_decoder_window", "Window and global tokens on the target, entmax in both, padding in the memory.",
        lambda d: {"tgt": d.normal(2, 6, 12), "memory": d.normal(2, 5, 12), **block_params(d, 12, 20, decoder=True),
                   "global_tokens": places(6, [0], [2]), "memory_key_padding_mask": padding(5, 5, 2)},
        normalizer="entmax15", window_left=1, window_right=1, need_weights=True, **PER_HEAD)
sdpa_step("composed_past", "A past with rotation, grouped heads, sinks, window and padding.", lambda d: {
    **qkv(d, 2, 4, 8, 8, 4, G=2), "sinks": d.normal(4), "key_padding_mask": places(8, [], [0, 4])}, 6, is_causal=True,
    rotary="half", enable_gqa=True, window_left=4, stages=["masked_scores", "lse", "present_key"])
mha_step("composed_past_mha", "A past in the layer: entmax, ALiBi, grouped heads, sequence first.", lambda d: grouped(
    d, 7, 2, 12), 5, num_heads=4, num_kv_heads=2, normalizer="entmax15", alibi=True, is_causal=True)
encoder_step("composed_past_block", "A block's step: SwiGLU, sinks, interleaved rotation, documents.", lambda d: {
    "src": d.normal(2, 7, 12), **block_params(d, 12, 20, gated=True), "sinks": d.normal(3),
    "key_documents": lengths([0, 0, 1, 1, 1, 1, 1], [3] * 7),
    "query_documents": lengths([0, 0, 1, 1, 1, 1, 1], [3] * 7)},
    5, activation="swiglu", rotary="interleaved", is_causal=True, need_weights=True, **PER_HEAD)
