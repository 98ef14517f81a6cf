# SPDX-License-Identifier: Apache-2.0
"""The multi-head layer with PyTorch's own options."""

import math

import torch

from draw import attention_params, lengths, padding, put
from problems import BIAS_KV, LAYER_STAGES, batch_first, cross, from_one, mha, mha_per_head, sequence_first

mha("mha_default", "All of PyTorch's defaults: sequence first, averaged weights.", sequence_first)
mha("mha_batch_first", "Batch first.", batch_first, batch_first=True)
mha_per_head("mha_per_head", "Batch first, weights per head.", batch_first)
mha("mha_per_head_sequence_first", "Sequence first, weights per head.", sequence_first, average_attn_weights=False)
mha("mha_no_weights", "No weights asked for.", batch_first, batch_first=True, need_weights=False)
mha_per_head("mha_no_bias", "Without biases.", lambda d: batch_first(d, params={"bias": False}), bias=False)
mha_per_head("mha_one_head", "One head of the full width, an odd one.", lambda d: from_one(d, 2, 5, 17), embed_dim=17,
             num_heads=1)
mha_per_head("mha_heads_of_width_1", "As many heads as features.", lambda d: from_one(d, 2, 5, 5), embed_dim=5,
             num_heads=5)
mha_per_head("mha_odd_sizes", "T = 17, head width 9.", lambda d: from_one(d, 1, 17, 27), embed_dim=27)
mha_per_head("mha_one_token", "A sequence of one token.", lambda d: from_one(d, 2, 1, 12))
mha_per_head("mha_bfloat16_parameters", "Parameters stored as bfloat16, the input as float32.",
             lambda d: batch_first(d, params={"dtype": torch.bfloat16}))
mha_per_head("mha_cross", "Cross-attention: query, key and value from three tensors.",
             lambda d: cross(d, value=d.normal(2, 7, 12)))
mha("mha_cross_value_absent", "Cross-attention: the value is the key. Sequence first.",
    lambda d: {"query": d.normal(4, 2, 12), "key": d.normal(7, 2, 12), **attention_params(d, 12)})
mha_per_head("mha_kdim_vdim", "Keys and values of widths of their own: three projection weights.", lambda d: {
    "query": d.normal(2, 4, 12), "key": d.normal(2, 7, 5), "value": d.normal(2, 7, 9),
    **attention_params(d, 12, kdim=5, vdim=9)}, kdim=5, vdim=9)
mha("mha_kdim_no_bias", "kdim alone, without biases, sequence first.", lambda d: {
    "query": d.normal(4, 2, 12), "key": d.normal(7, 2, 5), "value": d.normal(7, 2, 12),
    **attention_params(d, 12, kdim=5, bias=False)}, kdim=5, bias=False)

# Its masks

mha_per_head("mha_key_padding", "Key padding [B,S], true: ignore.",
             lambda d: batch_first(d, key_padding_mask=padding(5, 5, 3)))
mha("mha_key_padding_sequence_first", "Key padding with averaged weights, sequence first, as U8.",
    lambda d: sequence_first(d, key_padding_mask=padding(5, 2, 4).byte()))
mha_per_head("mha_bool_mask", "Boolean mask [T,S], true: ignore.", lambda d: batch_first(d, attn_mask=~d.keep(5, 5)))
mha_per_head("mha_bool_mask_3d", "Boolean mask [B*H,T,S].", lambda d: batch_first(d, attn_mask=~d.keep(6, 5, 5)))
mha_per_head("mha_bool_mask_4d", "Boolean mask [B,H,T,S].", lambda d: batch_first(d, attn_mask=~d.keep(2, 3, 5, 5)))
mha_per_head("mha_bool_mask_keep", "Boolean mask, true: keep.", lambda d: batch_first(d, attn_mask=d.keep(5, 5)),
             mask_true="keep")
mha_per_head("mha_float_mask", "Additive mask [T,S] with -inf.", lambda d: batch_first(d, attn_mask=d.bias(5, 5)))
mha("mha_float_mask_3d", "Additive mask [B*H,T,S].", lambda d: sequence_first(d, attn_mask=d.bias(6, 5, 5)),
    average_attn_weights=False)
mha_per_head("mha_causal", "Causal.", batch_first, is_causal=True)
mha_per_head("mha_causal_cross_bottom_right", "Causal with T < S, bottom-right.", cross, is_causal=True,
             causal_alignment="bottom_right")
mha_per_head("mha_causal_and_padding", "Causal and key padding, as a decoder trains.",
             lambda d: batch_first(d, key_padding_mask=padding(5, 5, 3)), is_causal=True)
mha_per_head("mha_masks_composed", "Additive mask, key padding and causal at once.", lambda d: batch_first(
    d, attn_mask=put(d.bias(5, 5), (slice(None), 0), 0.5), key_padding_mask=padding(5, 4, 3)), is_causal=True)
mha_per_head("mha_masks_composed_bool", "Boolean mask [B*H,T,S] and key padding.", lambda d: batch_first(
    d, attn_mask=put(~d.keep(6, 5, 5), (..., 0), False), key_padding_mask=padding(5, 4, 3)))
mha_per_head("mha_valid_lens", "Valid lengths [B].", lambda d: batch_first(d, valid_lens=lengths(2, 5)))
mha("mha_valid_lens_per_query", "Valid lengths [B,T], sequence first.",
    lambda d: sequence_first(d, valid_lens=lengths([1, 2, 3, 4, 5], [5, 4, 3, 2, 1])))
mha_per_head("mha_fully_masked", "Batch 1 is all padding: zero weights, and the output is the output bias.",
             lambda d: batch_first(d, key_padding_mask=padding(5, 3, 0)))
mha_per_head("mha_fully_masked_nan", "The same kind of problem as PyTorch has it: NaN.",
             lambda d: batch_first(d, key_padding_mask=padding(5, 3, 0)), fully_masked="nan")
mha("mha_fully_masked_averaged", "A row fully masked in every head of batch 1, and another in one head of batch 0.",
    lambda d: sequence_first(d, attn_mask=put(put(~d.keep(6, 5, 5), (slice(3, 6), 1), True), (0, 2), True)))
mha_per_head("mha_fully_masked_uniform", "A fully masked row looks everywhere alike.",
             lambda d: batch_first(d, attn_mask=put(~d.keep(5, 5), 3, True)), fully_masked="uniform")
mha_per_head("mha_nan_in_padding", "A padded token is NaN: only its own output row is.", lambda d: batch_first(
    d, query=put(d.normal(2, 5, 12), (1, 4), math.nan), key_padding_mask=padding(5, 5, 4)))
mha_per_head("mha_nan_in_masked_memory", "Keys and values are NaN where padded: nothing else is.", lambda d: cross(
    d, key=put(d.normal(2, 7, 12), (0, slice(5, 7)), math.nan), key_padding_mask=padding(7, 5, 7)))

# Its appended keys, unbatched input, stages

mha("mha_add_bias_kv", "A learned key and value appended to the sequence.", lambda d: sequence_first(d, params=BIAS_KV),
    add_bias_kv=True)
mha_per_head("mha_add_zero_attn", "A key and value of zeros appended to the sequence.", batch_first, add_zero_attn=True)
mha_per_head("mha_add_both_masked", "Both appended, with causal mask and key padding, which never mask them.",
             lambda d: batch_first(d, params=BIAS_KV, key_padding_mask=padding(5, 5, 0)), add_bias_kv=True,
             add_zero_attn=True, is_causal=True)
mha("mha_add_both_float_mask", "Both appended, with an additive mask, sequence first.",
    lambda d: sequence_first(d, params=BIAS_KV, attn_mask=d.bias(5, 5)), add_bias_kv=True, add_zero_attn=True)
mha("mha_unbatched", "Input [T,D], averaged weights [T,S].", lambda d: from_one(d, 5, 12))
mha("mha_unbatched_cross", "Input [T,D] and [S,D], weights [H,T,S], mask [H,T,S].", lambda d: {
    "query": d.normal(4, 12), "key": d.normal(7, 12), **attention_params(d, 12), "attn_mask": ~d.keep(3, 4, 7)},
    average_attn_weights=False, stages=["scores", "lse"])
mha("mha_unbatched_padding", "Input [T,D] with key padding [S].",
    lambda d: from_one(d, 5, 12, key_padding_mask=padding(5, 3)[0]))
mha_per_head("mha_stages", "Every stage, with an additive mask and a causal one.",
             lambda d: batch_first(d, attn_mask=d.bias(5, 5)), is_causal=True, stages=LAYER_STAGES)
mha("mha_stages_sequence_first", "Stages are [B,H,...] in the sequence-first layout too.", sequence_first,
    average_attn_weights=False, stages=LAYER_STAGES)
mha_per_head("mha_stages_appended", "Stages with both appended keys.", lambda d: batch_first(d, params=BIAS_KV),
             add_bias_kv=True, add_zero_attn=True, stages=LAYER_STAGES)
