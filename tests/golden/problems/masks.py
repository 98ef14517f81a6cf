# SPDX-License-Identifier: Apache-2.0
"""Masks by position: sliding window, dilation, neighborhood, prefix, global tokens, documents."""

import math

from draw import lengths, padding, places, put, qkv
from problems import BIAS_KV, PER_HEAD, batch_first, cross, decoder, encoder, from_one, mha, mha_per_head, sdpa
from problems.blocks import source, target

SEEN = ["masked_scores", "lse"]

# Sliding window

sdpa("window_left", "Two keys back, and everything ahead.", lambda d: qkv(d, 2, 2, 7, 7, 4), window_left=2,
     stages=SEEN)
sdpa("window_right", "Everything back, and one key ahead.", lambda d: qkv(d, 1, 3, 6, 6, 5), window_right=1,
     stages=SEEN)
sdpa("window_both", "Two back and one ahead, at a length beyond one vector.", lambda d: qkv(d, 1, 2, 19, 19, 3),
     window_left=2, window_right=1)
sdpa("window_of_one", "Nobody but oneself: every weight on the diagonal is 1.", lambda d: qkv(d, 1, 2, 5, 5, 4),
     window_left=0, window_right=0, stages=["lse"])
sdpa("window_causal", "Causal sliding window, as local attention decodes.", lambda d: qkv(d, 2, 2, 9, 9, 4),
     window_left=3, is_causal=True)
sdpa("window_bottom_right", "T < S, places counted from the end, window on both sides.",
     lambda d: qkv(d, 1, 2, 4, 9, 4), window_left=2, window_right=2, causal_alignment="bottom_right", stages=SEEN)
sdpa("window_leaves_nothing", "T > S: late queries have no key in their window. Zeros.",
     lambda d: qkv(d, 1, 2, 9, 4, 4), window_left=1, stages=SEEN)
sdpa("window_wider_than_all", "A window wider than the sequence changes nothing.", lambda d: qkv(d, 1, 2, 5, 7, 4),
     window_left=1000, window_right=2**40)
sdpa("window_nan_outside", "A NaN outside every window but two reaches those rows only.", lambda d: {
    **(t := qkv(d, 1, 2, 6, 6, 4)), "key": put(t["key"], (0, 0, 5), math.nan),
    "value": put(t["value"], (0, 1, 0), math.inf)}, window_left=1, window_right=1)
mha_per_head("window_mha", "Window in the layer, with key padding.",
             lambda d: batch_first(d, key_padding_mask=padding(5, 5, 3)), window_left=1, window_right=1)
mha("window_mha_sequence_first", "Causal window, sequence first, averaged weights.", lambda d: from_one(d, 7, 2, 12),
    window_left=2, is_causal=True)
mha_per_head("window_appended_keys", "Appended keys stand in no window and are seen by all.",
             lambda d: batch_first(d, params=BIAS_KV), window_left=0, window_right=0, add_bias_kv=True,
             add_zero_attn=True)
encoder("window_encoder", "A Longformer-like layer: window on both sides.", lambda d: source(d, 2, 7, 12),
        window_left=1, window_right=1, need_weights=True, **PER_HEAD)
decoder("window_decoder", "The window is the self-attention's; the memory is seen whole.", target, window_left=1,
        tgt_is_causal=True, need_weights=True, **PER_HEAD)

# Dilation

sdpa("dilation_two", "Every second key, counted from the query's own place.", lambda d: qkv(d, 2, 2, 7, 7, 4),
     dilation=2, stages=SEEN)
sdpa("dilation_three_window", "Every third key of a causal window.", lambda d: qkv(d, 1, 2, 12, 12, 4), dilation=3,
     window_left=6, is_causal=True, stages=SEEN)
sdpa("dilation_bottom_right", "Counted from places that end with the keys.", lambda d: qkv(d, 1, 2, 3, 8, 4),
     dilation=3, causal_alignment="bottom_right")
sdpa("dilation_beyond_length", "A step longer than the sequence leaves oneself.", lambda d: qkv(d, 1, 2, 5, 5, 4),
     dilation=99)
mha_per_head("dilation_mha", "Dilation in the layer, with an additive mask.",
             lambda d: batch_first(d, attn_mask=d.bias(5, 5, masked=0.1)), dilation=2)
encoder("dilation_encoder", "Dilated window in a norm-first layer.", lambda d: source(d, 9, 2, 12), dilation=2,
        window_left=4, window_right=4, norm_first=True, need_weights=True)

# Neighborhood: patches of a grid, row by row


def around(rows, columns, grid, tokens=None):
    """The options of a neighborhood on a grid (rows, columns), without those that are None."""
    words = {"neighborhood_rows": rows, "neighborhood_columns": columns, "grid_rows": grid[0],
             "grid_columns": grid[1], "grid_tokens": tokens}
    return {x: y for x, y in words.items() if y is not None}


sdpa("neighborhood", "A patch sees the 3 by 3 around it, fewer at the border.", lambda d: qkv(d, 2, 2, 20, 20, 4),
     stages=SEEN, **around(1, 1, (4, 5)))
sdpa("neighborhood_tokens", "A class token and a register see all and are seen by all.",
     lambda d: qkv(d, 1, 2, 14, 14, 4), stages=SEEN, **around(1, 1, (3, 4), 2))
sdpa("neighborhood_long", "A grid of 9 by 11, longer than any vector, with other reaches in rows and columns.",
     lambda d: qkv(d, 1, 1, 100, 100, 3), **around(2, 3, (9, 11), 1))
sdpa("neighborhood_rows", "Whole rows of the grid.", lambda d: qkv(d, 1, 2, 15, 15, 4), **around(1, None, (5, 3)))
sdpa("neighborhood_columns", "Whole columns of the grid.", lambda d: qkv(d, 1, 2, 15, 15, 4),
     **around(None, 0, (5, 3)))
sdpa("neighborhood_of_one", "Each patch sees itself and the class token.", lambda d: qkv(d, 1, 2, 7, 7, 4),
     stages=["lse"], **around(0, 0, (2, 3), 1))
sdpa("neighborhood_wider_than_all", "A neighborhood wider than the grid changes nothing.",
     lambda d: qkv(d, 1, 2, 6, 6, 4), **around(1000, 2**40, (2, 3)))
sdpa("neighborhood_causal", "A picture that is made patch by patch: keys are the first 10 of 16.",
     lambda d: qkv(d, 1, 2, 10, 10, 4), is_causal=True, stages=SEEN, **around(1, 1, (4, 4)))
sdpa("neighborhood_past", "The next patches of a picture, with past keys.", lambda d: {
    **qkv(d, 2, 2, 3, 3, 4), "past_key": d.normal(2, 2, 6, 4), "past_value": d.normal(2, 2, 6, 4)}, is_causal=True,
     stages=SEEN, **around(1, 2, (3, 4), 1))
sdpa("neighborhood_first_queries", "T < S: the class token and two patches ask, all patches answer.",
     lambda d: qkv(d, 1, 2, 3, 13, 4), **around(1, 1, (3, 4), 1))
sdpa("neighborhood_bottom_right", "T < S: the last patches ask.", lambda d: qkv(d, 1, 2, 5, 12, 4),
     causal_alignment="bottom_right", stages=SEEN, **around(1, 1, (4, 3)))
sdpa("neighborhood_global_tokens", "Global tokens see and are seen in spite of it, padding hides, too.", lambda d: {
    **qkv(d, 2, 2, 12, 12, 4), "global_tokens": places(12, [5], [0, 11]), "key_padding_mask": padding(12, 12, 10)},
     stages=SEEN, **around(1, 1, (4, 3)))
sdpa("neighborhood_in_window", "Window, dilation and documents hide some of it.", lambda d: {
    **qkv(d, 1, 2, 16, 16, 4), "key_documents": lengths([0] * 11 + [1] * 5)}, window_left=5, window_right=4,
     dilation=2, stages=SEEN, **around(1, 2, (4, 4)))
sdpa("neighborhood_nan_outside", "A NaN and an infinity reach those around them only.", lambda d: {
    **(t := qkv(d, 1, 2, 12, 12, 4)), "key": put(t["key"], (0, 0, 11), math.nan),
    "value": put(t["value"], (0, 1, 0), math.inf)}, **around(1, 1, (3, 4)))
mha_per_head("neighborhood_mha", "In the layer, with a class token and key padding.", lambda d: from_one(
    d, 2, 7, 12, key_padding_mask=padding(7, 7, 5)), **around(1, 0, (3, 2), 1))
mha_per_head("neighborhood_appended_keys", "Appended keys stand in no grid and are seen by all.",
             lambda d: batch_first(d, params=BIAS_KV), add_bias_kv=True, add_zero_attn=True,
             **around(0, 0, (2, 2), 1))
encoder("neighborhood_encoder", "Stand-alone self-attention in a layer, with a class token.",
        lambda d: source(d, 2, 10, 12), need_weights=True, **PER_HEAD, **around(1, 1, (3, 3), 1))
encoder("neighborhood_encoder_norm_first", "In a norm-first layer, of rows and columns apart.",
        lambda d: source(d, 13, 2, 12), norm_first=True, need_weights=True, **around(0, 1, (3, 4), 1))
decoder("neighborhood_decoder", "The grid is the target's; the memory is seen whole.", lambda d: target(
    d, T=(2, 7, 12)), need_weights=True, **PER_HEAD, **around(1, 1, (2, 3), 1))
decoder("neighborhood_decoder_causal", "A picture that is made patch by patch.", lambda d: target(d, T=(2, 5, 12)),
        tgt_is_causal=True, need_weights=True, **PER_HEAD, **around(1, 1, (3, 3), 1))

# Prefix

sdpa("prefix", "Prefixes of 3 and 0 keys, causal beyond.", lambda d: {**qkv(d, 2, 2, 6, 6, 4),
                                                                     "prefix_lens": lengths(3, 0)},
     is_causal=True, stages=SEEN)
sdpa("prefix_whole", "The whole sequence is prefix: nothing is hidden.", lambda d: {
    **qkv(d, 2, 2, 5, 5, 4), "prefix_lens": lengths(5, 4)}, is_causal=True)
sdpa("prefix_wide", "T < S with a prefix, bottom-right.", lambda d: {
    **qkv(d, 2, 3, 3, 8, 4), "prefix_lens": lengths(7, 1)}, is_causal=True, causal_alignment="bottom_right")
sdpa("prefix_in_window", "The prefix lifts causality, not the window.", lambda d: {
    **qkv(d, 2, 2, 7, 7, 4), "prefix_lens": lengths(4, 6)}, is_causal=True, window_left=2, window_right=2, stages=SEEN)
mha_per_head("prefix_mha", "Prefix and key padding, which hides part of it.", lambda d: batch_first(
    d, prefix_lens=lengths(3, 2), key_padding_mask=put(padding(5, 5, 4), (1, 0), True)), is_causal=True)
encoder("prefix_encoder", "A prefix language model's block.",
        lambda d: source(d, 6, 2, 12, prefix_lens=lengths(2, 5)), is_causal=True, need_weights=True, norm_first=True,
        average_attn_weights=False)
decoder("prefix_decoder", "A prefix of the target.", lambda d: target(d, prefix_lens=lengths(0, 2)),
        tgt_is_causal=True, need_weights=True, **PER_HEAD)
mha("prefix_unbatched", "Unbatched input has one prefix.", lambda d: from_one(d, 6, 12, prefix_lens=lengths(3)),
    is_causal=True, average_attn_weights=False)

# Global tokens

sdpa("global_tokens", "The first token, and in batch 1 another, see and are seen in spite of the window.", lambda d: {
    **qkv(d, 2, 2, 8, 8, 4), "global_tokens": places(8, [0], [0, 5])}, window_left=1, window_right=1, stages=SEEN)
sdpa("global_tokens_dilated", "In spite of dilation too; stored as U8.", lambda d: {
    **qkv(d, 1, 2, 9, 9, 3), "global_tokens": places(9, [4]).byte()}, dilation=2, window_left=4, window_right=4)
sdpa("global_tokens_causal", "Not in spite of causality.", lambda d: {
    **qkv(d, 1, 2, 7, 7, 4), "global_tokens": places(7, [3])}, window_left=1, is_causal=True, stages=SEEN)
sdpa("global_tokens_padded", "Not in spite of padding: a padded global token is seen by none.", lambda d: {
    **qkv(d, 2, 2, 6, 6, 4), "global_tokens": places(6, [5], [0]), "key_padding_mask": padding(6, 5, 6)},
    window_left=1, window_right=1)
sdpa("global_tokens_bottom_right", "T < S: the query at a global place, counted from the end, sees all.", lambda d: {
    **qkv(d, 1, 2, 3, 7, 4), "global_tokens": places(7, [1, 5])}, window_left=0, window_right=0,
    causal_alignment="bottom_right", stages=SEEN)
mha_per_head("global_tokens_mha", "In the layer, with one token global in batch 0 only.", lambda d: from_one(
    d, 2, 7, 12, global_tokens=places(7, [2], [])), window_left=1, window_right=0)
encoder("global_tokens_encoder", "Longformer's pattern in a layer.", lambda d: source(
    d, 2, 8, 12, global_tokens=places(8, [0], [0, 7])), window_left=1, window_right=1, need_weights=True, **PER_HEAD)

# Documents

sdpa("documents", "Three documents packed into one row, two in the other.", lambda d: {
    **qkv(d, 2, 2, 6, 6, 4), "key_documents": lengths([0, 0, 1, 1, 1, 2], [5, 5, 5, 5, 9, 9])}, stages=SEEN)
sdpa("documents_causal", "Causal within each document; numbers need no order.", lambda d: {
    **qkv(d, 1, 2, 7, 7, 4), "key_documents": lengths([-1, 7, 7, -1, 2**31 - 1, -(2**31), 7])},
    is_causal=True, stages=SEEN)
sdpa("documents_cross", "Queries and keys of their own documents; one query's document has no key.", lambda d: {
    **qkv(d, 2, 2, 4, 6, 4), "query_documents": lengths([0, 1, 2, 3], [1, 1, 0, 0]),
    "key_documents": lengths([0, 0, 1, 1, 2, 2], [0, 1, 0, 1, 0, 1])}, stages=SEEN)
mha_per_head("documents_mha", "Documents in the layer.", lambda d: batch_first(
    d, key_documents=lengths([0, 0, 0, 1, 1], [3, 2, 2, 2, 1])))
mha_per_head("documents_mha_cross", "Text and picture tokens of several pairs.", lambda d: cross(
    d, query_documents=lengths([0, 0, 1, 1], [0, 1, 1, 2]),
    key_documents=lengths([0, 0, 0, 1, 1, 1, 1], [2, 2, 1, 1, 0, 0, 0])))
encoder("documents_encoder", "Packed training: documents and causality.", lambda d: source(
    d, 7, 2, 12, key_documents=lengths([0, 0, 0, 1, 1, 1, 1], [4, 4, 3, 3, 3, 3, 8])), is_causal=True,
    need_weights=True)
decoder("documents_decoder", "Documents of the target.", lambda d: target(
    d, query_documents=lengths([0, 0, 1, 1], [2, 2, 2, 2]), key_documents=lengths([0, 0, 1, 1], [2, 2, 2, 0])),
    need_weights=True, **PER_HEAD)
