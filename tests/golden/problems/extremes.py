# SPDX-License-Identifier: Apache-2.0
"""Extreme sizes (one query on many keys, one key, widths 1 and 257, an empty batch), and every type of input."""

import math

import torch

from draw import attention_params, block_params, lengths, padding, places, put, qkv
from problems import PER_HEAD, decoder, embedding, encoder, from_one, mha, mha_per_head, sdpa

SCORES = ["masked_scores", "lse"]

# One query on many keys, one key

sdpa("one_query_500", "T = 1, S = 500.", lambda d: qkv(d, 1, 2, 1, 500, 2, dv=1), stages=["lse"])
sdpa("one_query_500_window", "T = 1, S = 500: the last 100 keys by a window.", lambda d: qkv(d, 1, 1, 1, 500, 2, dv=1),
     window_left=99, causal_alignment="bottom_right", is_causal=True, stages=["lse"])
sdpa("one_query_501_top_k", "T = 1, S = 501: eight of them.", lambda d: qkv(d, 1, 1, 1, 501, 3, dv=1),
     normalizer="top_k", top_k=8)
sdpa("one_query_499_sigmoid", "T = 1, S = 499: each by itself.", lambda d: qkv(d, 1, 1, 1, 499, 2, dv=2),
     normalizer="sigmoid", sigmoid_bias=-6.2)
sdpa("one_query_400_gqa", "T = 1, S = 400, four heads on one.", lambda d: qkv(d, 1, 4, 1, 400, 2, dv=1, G=1),
     enable_gqa=True, need_weights=None, stages=["lse"])
sdpa("many_queries_one_key", "S = 1, T = 70, with a sink.", lambda d: qkv(d, 1, 2, 70, 1, 3), sink=0)
sdpa("one_key_masked", "S = 1 and it is padding in batch 1.", lambda d: {
    **qkv(d, 2, 2, 3, 1, 4), "key_padding_mask": padding(1, 1, 0)}, stages=SCORES)
mha_per_head("one_token_everything", "One token, rotation, window and sink.", lambda d: from_one(d, 1, 1, 12),
             rotary="half", window_left=0, window_right=0, sink=0.5, is_causal=True)

# Widths

for width in 1, 257:
    for kind, more in ("sparsemax", {}), ("sigmoid", {}), ("top_k", {"top_k": 2}):
        sdpa(f"width_{width}_{kind}", f"Head width {width}.", lambda d, width=width: qkv(d, 1, 1, 3, 5, width),
             normalizer=kind, **more)
    sdpa(f"width_{width}_alibi_window", f"Head width {width}, ALiBi in a causal window.",
         lambda d, width=width: qkv(d, 1, 2, 4, 4, width, dv=3), alibi=True, window_left=2, is_causal=True)
    sdpa(f"width_{width}_gqa", f"Head width {width}, grouped heads.",
         lambda d, width=width: qkv(d, 1, 4, 2, 3, width, dv=2, G=2), enable_gqa=True, gqa_order="interleaved")
sdpa("width_257_rotary", "256 of 257 elements turn.", lambda d: qkv(d, 1, 1, 3, 4, 257, dv=1), rotary="half",
     rotary_dim=256, stages=["scores"])
sdpa("width_257_rotary_interleaved", "Two of 257 elements turn.", lambda d: qkv(d, 1, 1, 2, 4, 257, dv=1),
     rotary="interleaved", rotary_dim=2, stages=["scores"])
mha_per_head("width_1_mha", "Heads of width 1, grouped.", lambda d: {
    "query": d.normal(1, 6, 4), **attention_params(d, 4, kv_width=2)}, embed_dim=4, num_heads=4, num_kv_heads=2,
    is_causal=True)

# An empty batch

EMPTY = ["q", "k", "v", "masked_scores", "lse", "head_contributions"]

sdpa("empty_batch", "B = 0: empty results of the right shapes.", lambda d: qkv(d, 0, 2, 3, 5, 4), stages=SCORES)
sdpa("empty_batch_masks", "B = 0 with every kind of mask.", lambda d: {
    **qkv(d, 0, 4, 5, 5, 4, G=2), "attn_mask": d.keep(5, 5), "key_padding_mask": torch.zeros(0, 5, dtype=torch.bool),
    "valid_lens": torch.zeros(0, dtype=torch.int32), "global_tokens": torch.zeros(0, 5, dtype=torch.bool),
    "key_documents": torch.zeros(0, 5, dtype=torch.int32), "prefix_lens": torch.zeros(0, dtype=torch.int32)},
    is_causal=True, window_left=1, enable_gqa=True, normalizer="entmax15")
mha_per_head("empty_batch_mha", "B = 0 in the layer.", lambda d: from_one(d, 0, 4, 12), is_causal=True, stages=EMPTY)
mha("empty_batch_mha_averaged", "B = 0, sequence first, averaged weights, rotation.", lambda d: from_one(d, 4, 0, 12),
    rotary="half")
encoder("empty_batch_encoder", "B = 0 in an encoder layer.", lambda d: {
    "src": d.normal(0, 4, 12), **block_params(d, 12, 20)}, need_weights=True, **PER_HEAD)
decoder("empty_batch_decoder", "B = 0 in a decoder layer.", lambda d: {
    "tgt": d.normal(0, 4, 12), "memory": d.normal(0, 5, 12), **block_params(d, 12, 20, decoder=True)},
        need_weights=True, tgt_is_causal=True, **PER_HEAD)

# Types of input

for dtype, name in (torch.float16, "float16"), (torch.bfloat16, "bfloat16"), (torch.float64, "float64"):
    sdpa(f"{name}_options", "Grouped heads, rotation, additive mask and sinks, all in this type.",
         lambda d, dtype=dtype: {**qkv(d, 1, 4, 5, 5, 4, G=2, dtype=dtype), "attn_mask": d.bias(5, 5).to(dtype),
                                 "sinks": d.normal(4, dtype=dtype)}, enable_gqa=True, rotary="half", stages=SCORES)
    mha_per_head(f"{name}_mha", "The layer's input and parameters in this type.",
                 lambda d, dtype=dtype: from_one(d, 2, 4, 12, params={"dtype": dtype},
                                                 query=d.normal(2, 4, 12, dtype=dtype)), is_causal=True)
    embedding(f"{name}_embedding", "A table in this type.", lambda d, dtype=dtype: {
        "ids": d.ids(4, below=6), "weight": d.normal(6, 5, dtype=dtype),
        "position_embeddings": d.normal(4, 5, dtype=dtype)}, positions="learned")

# Masked keys and values that are not finite, under every mask

HIDDEN = {
    "window": ({}, {"window_left": 0, "window_right": 0}), "dilation": ({}, {"dilation": 5}),
    "documents": ({"key_documents": lengths([0, 0, 0, 0, 1])}, {}), "causal": ({}, {"is_causal": True}),
    "prefix": ({"prefix_lens": lengths(2)}, {"is_causal": True}),
    "global": ({"global_tokens": places(5, [0])}, {"window_left": 1, "window_right": 0}),
}
for name, (masks, options) in HIDDEN.items():
    for value, word in (math.nan, "nan"), (math.inf, "inf"):
        sdpa(f"{word}_behind_{name}", "The last key and value are not finite; only rows that see them know.",
             lambda d, masks=masks, value=value: {
                 **(t := qkv(d, 1, 2, 4, 5, 4)),
                 "key": t["key"] if value == math.inf else put(t["key"], (0, 1, 4, 0), value),
                 "value": put(t["value"], (0, 0, 4, 2), value),
                 **({**masks, "query_documents": lengths([0, 0, 0, 0])} if "key_documents" in masks else masks)},
             **options)
