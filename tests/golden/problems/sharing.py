# SPDX-License-Identifier: Apache-2.0
"""Grouped heads in layers, keys and values of the past, head masks, dropout."""

import sys

import torch

import run
from draw import attention_params, block_params, padding, put, qkv
from problems import PER_HEAD, case, decoder, encoder, from_one, mha, mha_per_head, sdpa
from problems.blocks import target, without_biases

# Grouped key/value heads in the layers


def grouped(draw, *shape, G=2, heads=4, **more):
    """Self-attention of `heads` heads on G key/value heads."""
    D = shape[-1]
    return {"query": draw.normal(*shape), **attention_params(draw, D, kv_width=G * D // heads, **more)}


mha_per_head("kv_heads_mha", "Four query heads on two key/value heads: projections never packed.",
             lambda d: grouped(d, 2, 5, 12), num_heads=4, num_kv_heads=2, stages=["q", "scores", "head_contributions"])
mha("kv_heads_one", "Multi-query: one key/value head. Sequence first.", lambda d: grouped(d, 5, 2, 12, G=1),
    num_heads=4, num_kv_heads=1)
mha_per_head("kv_heads_interleaved", "Query head h reads key/value head h mod G.", lambda d: grouped(
    d, 2, 4, 18, G=3, heads=6), embed_dim=18, num_heads=6, num_kv_heads=3, gqa_order="interleaved")
mha_per_head("kv_heads_all", "As many as query heads: packed, as ever.", lambda d: from_one(d, 2, 4, 12), num_heads=3,
             num_kv_heads=3)
mha_per_head("kv_heads_appended", "Appended keys have the width of the key/value heads.", lambda d: grouped(
    d, 2, 4, 12, bias_kv=True), num_heads=4, num_kv_heads=2, add_bias_kv=True, add_zero_attn=True, is_causal=True)
mha_per_head("kv_heads_kdim_vdim", "With keys and values of widths of their own, no biases.", lambda d: {
    "query": d.normal(2, 4, 12), "key": d.normal(2, 6, 5), "value": d.normal(2, 6, 7),
    **attention_params(d, 12, kdim=5, vdim=7, bias=False, kv_width=6)}, num_heads=4, num_kv_heads=2, kdim=5, vdim=7,
    bias=False)
encoder("kv_heads_encoder", "In an encoder layer.", lambda d: {
    "src": d.normal(2, 5, 12), **block_params(d, 12, 20, kv_width=6)}, num_heads=4, num_kv_heads=2, need_weights=True,
        **PER_HEAD)
encoder("kv_heads_encoder_interleaved", "In an encoder layer, interleaved, sequence first.", lambda d: {
    "src": d.normal(5, 2, 12), **block_params(d, 12, 20, kv_width=6)}, num_heads=4, num_kv_heads=2, is_causal=True,
        gqa_order="interleaved", norm_first=True)
decoder("kv_heads_decoder", "In both attentions of a decoder layer.", lambda d: {
    "tgt": d.normal(2, 4, 12), "memory": d.normal(2, 6, 12), **block_params(d, 12, 20, decoder=True, kv_width=3)},
        num_heads=4, num_kv_heads=1, tgt_is_causal=True, need_weights=True, **PER_HEAD)
sdpa("gqa_three_dimensions", "Input [H,T,d] on [G,S,d]: with enable_gqa the first of three is the heads.", lambda d: {
    n: t[0] for n, t in qkv(d, 1, 6, 4, 5, 3, G=2).items()}, enable_gqa=True, stages=["lse"])

# The past: a step with a cache gives the same as the full pass gives for its tokens.


def continued(op, name, description, make, past, **options):
    """`make` draws the whole sequence. The case has its first `past` keys and values as the past, and the rest as the
    call's new tokens. Its check runs the whole sequence at once."""
    whole = {}

    def length_of(tensor):
        step_first = op != "scaled_dot_product_attention" and not options.get("batch_first") and tensor.dim() == 3
        return -3 if step_first else -2

    def step(draw):
        whole.update(make(draw))
        rows = {x for x in ("query", "key", "value", "src", "tgt") if x in whole}
        before = run.run(name, op, whole, {**options, "stages": ["present_key", "present_value"]})
        tensors = dict(whole)
        for x in rows:
            along = length_of(whole[x])
            tensors[x] = whole[x].movedim(along, 0)[past:].movedim(0, along).clone()
        for x in ("attn_mask", "src_mask", "tgt_mask"):
            if x in whole:
                tensors[x] = whole[x][..., past:, :].clone()
        if "query_documents" in whole:
            tensors["query_documents"] = whole["query_documents"][..., past:].clone()
        for x in "key", "value":
            tensors[f"past_{x}"] = before[f"present_{x}"][..., :past, :].float()
        return tensors

    def check(tensors, expected):
        full = run.run(name, op, whole, {**options, "stages": []})["output"]
        along = length_of(full)
        if not torch.allclose(full.movedim(along, 0)[past:], expected["output"].movedim(along, 0), rtol=1e-5, atol=1e-6,
                              equal_nan=True):
            sys.exit("a step after its past is not the full pass")

    case(op, name, description, step, check=check, **options)


def sdpa_step(name, description, make, past, **options):
    continued("scaled_dot_product_attention", name, description, make, past, need_weights=True, **options)


def mha_step(name, description, make, past, **options):
    continued("multihead_attention", name, description, make, past, **{"embed_dim": 12, "num_heads": 3, **options})


def encoder_step(name, description, make, past, **options):
    continued("transformer_encoder_layer", name, description, make, past,
              **{"embed_dim": 12, "num_heads": 3, "dim_feedforward": 20, **options})


def decoder_step(name, description, make, past, **options):
    continued("transformer_decoder_layer", name, description, make, past,
              **{"embed_dim": 12, "num_heads": 3, "dim_feedforward": 20, **options})


PRESENT = ["present_key", "present_value"]

sdpa_step("past_one_token", "One new token after six, causal: as decoding goes.", lambda d: qkv(d, 2, 2, 7, 7, 4), 6,
          is_causal=True, stages=PRESENT)
sdpa_step("past_prefill", "Four new tokens after three, causal.", lambda d: qkv(d, 1, 2, 7, 7, 4), 3, is_causal=True,
          stages=["masked_scores", "lse"])
sdpa_step("past_bottom_right", "The same by places that end with the keys: the past is counted once.",
          lambda d: qkv(d, 1, 2, 7, 7, 4), 3, is_causal=True, causal_alignment="bottom_right",
          stages=["masked_scores", "lse"])
sdpa_step("past_onnx", "ONNX's preset with a past, as its Attention has past_key.",
          lambda d: qkv(d, 2, 4, 6, 6, 4, G=2), 4, is_causal=True, conventions="onnx", enable_gqa=True, stages=PRESENT)
sdpa_step("past_not_causal", "Without a causal mask: new tokens see all.", lambda d: qkv(d, 1, 2, 5, 5, 4, dv=6), 2,
          stages=PRESENT)
for kind in "half", "interleaved":
    sdpa_step(f"past_rotary_{kind}", "Past keys are turned already; the new ones by their places.",
              lambda d: qkv(d, 2, 2, 6, 6, 8), 4, is_causal=True, rotary=kind, stages=["q", "present_key"])
sdpa_step("past_alibi", "Six heads' slopes count from the new tokens' places.", lambda d: qkv(d, 1, 6, 6, 6, 3), 4,
          is_causal=True, alibi=True, stages=["biased_scores"])
sdpa_step("past_window", "Sliding window and dilation over past and new keys.", lambda d: qkv(d, 1, 2, 9, 9, 4), 6,
          is_causal=True, window_left=4, dilation=2, stages=["masked_scores"])
sdpa_step("past_masks", "Additive mask and padding over past and new keys, relative bias.", lambda d: {
    **qkv(d, 2, 2, 6, 6, 4), "attn_mask": d.bias(6, 6), "key_padding_mask": padding(6, 6, 4),
    "relative_bias": d.normal(2, 7)}, 3, stages=["biased_scores"])
sdpa_step("past_gqa_sink", "Grouped heads, a sink and T5's buckets.", lambda d: {
    **qkv(d, 1, 4, 8, 8, 4, G=2), "t5_bias": d.normal(8, 4)}, 7, is_causal=True, enable_gqa=True, sink=0,
    t5_bidirectional=False, t5_max_distance=10)
sdpa_step("past_two_dimensions", "Input [T,d]: the past is of the same rank.", lambda d: {
    n: t[0, 0] for n, t in qkv(d, 1, 1, 6, 6, 4).items()}, 4, is_causal=True, stages=PRESENT)
sdpa_step("past_documents", "Packed documents, of which the last goes on.", lambda d: {
    **qkv(d, 1, 2, 7, 7, 4), "key_documents": torch.tensor([[0, 0, 1, 1, 1, 1, 1]], dtype=torch.int32),
    "query_documents": torch.tensor([[0, 0, 1, 1, 1, 1, 1]], dtype=torch.int32)}, 5, is_causal=True)
sdpa_step("past_global_prefix", "A prefix, a global token and a window, in the past and beyond.", lambda d: {
    **qkv(d, 2, 2, 8, 8, 3), "prefix_lens": torch.tensor([2, 7], dtype=torch.int32),
    "global_tokens": put(torch.zeros(2, 8, dtype=torch.bool), (slice(None), 1), True)}, 5, is_causal=True,
    window_left=2, window_right=1, stages=["masked_scores"])
mha_step("past_mha", "One new token in the layer.", lambda d: from_one(d, 2, 6, 12), 5, is_causal=True,
         stages=PRESENT, **PER_HEAD)
mha_step("past_mha_sequence_first", "Two new tokens, sequence first; stages are batch first all the same.",
         lambda d: from_one(d, 6, 2, 12), 4, is_causal=True, stages=["q", "k", "v", *PRESENT])
mha_step("past_mha_grouped_rotary", "Llama's attention: grouped heads, rotation, no biases.", lambda d: grouped(
    d, 2, 6, 16, bias=False), 5, embed_dim=16, num_heads=4, num_kv_heads=2, bias=False, rotary="half", is_causal=True,
    stages=PRESENT, **PER_HEAD)
mha_step("past_mha_sparsemax", "Sparsemax over past and new keys, with padding.", lambda d: from_one(
    d, 2, 6, 12, key_padding_mask=padding(6, 6, 3)), 4, normalizer="sparsemax", **PER_HEAD)
encoder_step("past_encoder", "A decoder-only block's step, norm first.", lambda d: {
    "src": d.normal(2, 6, 12), **block_params(d, 12, 20)}, 5, is_causal=True, norm_first=True, need_weights=True,
    stages=PRESENT, **PER_HEAD)
encoder_step("past_encoder_llama", "A Llama block's step: RMS norm, SwiGLU, rotation, grouped heads, no biases.",
             lambda d: without_biases({"src": d.normal(2, 5, 16), **block_params(
                 d, 16, 12, kv_width=8, gated=True, norm_bias=False)}), 3,
             embed_dim=16, num_heads=4, num_kv_heads=2, dim_feedforward=12, bias=False, activation="swiglu",
             norm="rms_norm", norm_first=True, rotary="half", is_causal=True, need_weights=True, **PER_HEAD)

decoder_step("past_decoder", "One new token of the target; the memory is as ever.", lambda d: target(
    d, (2, 5, 12), memory_key_padding_mask=padding(6, 6, 4)), 4, tgt_is_causal=True, need_weights=True, stages=PRESENT,
             **PER_HEAD)
decoder_step("past_decoder_rotary", "Two new tokens, sequence first, rotation.", lambda d: target(
    d, (6, 2, 12), (5, 2, 12)), 4, tgt_is_causal=True, rotary="half", norm_first=True)

# Head masks

sdpa("head_mask", "One head taken out: its output is exactly 0, its weights are still shown.", lambda d: {
    **qkv(d, 2, 3, 4, 5, 4), "head_mask": torch.tensor([1.0, 0.0, 1.0])}, stages=["dropped_weights", "lse"])
sdpa("head_mask_per_batch", "Factors for each batch and head.", lambda d: {
    **qkv(d, 2, 3, 4, 5, 4), "head_mask": torch.tensor([[1.0, 0.5, 0.0], [-1.0, 2.0, 1.0]])},
    stages=["dropped_weights"])
sdpa("head_mask_over_nan", "A head taken out is 0 even where its rows are NaN.", lambda d: {
    **qkv(d, 1, 2, 3, 5, 4), "head_mask": torch.tensor([0.0, 1.0]), "attn_mask": put(d.keep(3, 5), 1, False)},
    fully_masked="nan", stages=["dropped_weights"])
mha_per_head("head_mask_mha", "The layer's output without head 1: its contribution is 0.", lambda d: {
    **from_one(d, 2, 5, 12), "head_mask": torch.tensor([1.0, 0.0, 1.0])}, stages=["head_outputs", "head_contributions"])
mha("head_mask_mha_per_batch", "Factors for each batch and head, sequence first.", lambda d: {
    **from_one(d, 5, 2, 12), "head_mask": torch.tensor([[0.0, 0.25, 1.0], [1.0, 1.0, 0.0]])})
encoder("head_mask_encoder", "In an encoder layer: head ablation.", lambda d: {
    "src": d.normal(2, 5, 12), **block_params(d, 12, 20), "head_mask": torch.tensor([0.0, 1.0, 0.0])},
        need_weights=True, **PER_HEAD)

decoder("head_mask_decoder", "Heads of the self-attention; those over the memory stay.", lambda d: {
    **target(d), "head_mask": torch.tensor([[1.0, 0.0, 1.0], [0.0, 1.0, 0.5]])}, need_weights=True, **PER_HEAD)

# Dropout, with the random numbers of Philox in place of PyTorch's, by the weight's number in [B,H,T,S]

DROPPED = ["dropout_mask", "dropped_weights", "lse"]

sdpa("dropout", "A quarter of the weights dropped, the others divided by 3/4.", lambda d: qkv(d, 2, 3, 5, 7, 4),
     dropout_p=0.25, seed=7, stages=DROPPED)
sdpa("dropout_other_seed", "The same sizes by another seed, of more than 32 bits.", lambda d: qkv(d, 2, 3, 5, 7, 4),
     dropout_p=0.25, seed=2**40 + 7, stages=DROPPED)
sdpa("dropout_half_causal", "Half of the weights, causal, an odd number of keys.", lambda d: qkv(d, 1, 2, 9, 9, 4),
     dropout_p=0.5, seed=1, is_causal=True, stages=DROPPED)
sdpa("dropout_all", "p = 1: everything is dropped, the output is 0.", lambda d: qkv(d, 1, 2, 3, 5, 4), dropout_p=1,
     seed=3, stages=DROPPED)
sdpa("dropout_none", "p = 0: everything is kept, whatever the seed.", lambda d: qkv(d, 1, 2, 3, 5, 4), dropout_p=0,
     seed=3, stages=DROPPED)
sdpa("dropout_sparsemax", "On sparsemax's weights.", lambda d: qkv(d, 1, 3, 5, 6, 4), dropout_p=0.5, seed=11,
     normalizer="sparsemax", stages=DROPPED)
sdpa("dropout_then_head_mask", "The head's factor comes after dropout.", lambda d: {
    **qkv(d, 1, 3, 4, 6, 4), "head_mask": torch.tensor([2.0, 0.0, 0.5])}, dropout_p=0.3, seed=12345, stages=DROPPED)
mha_per_head("dropout_mha", "In the layer, with appended keys in the count.", lambda d: from_one(
    d, 2, 5, 12, params={"bias_kv": True}), dropout_p=0.4, seed=99, add_bias_kv=True, stages=DROPPED)
mha("dropout_mha_averaged", "Averaged weights are those before dropout.", lambda d: from_one(d, 5, 2, 12),
    dropout_p=0.2, seed=5, stages=["dropout_mask"])
encoder("dropout_encoder", "In an encoder layer: on the weights alone.", lambda d: {
    "src": d.normal(2, 5, 12), **block_params(d, 12, 20)}, dropout_p=0.5, seed=21, need_weights=True,
        stages=["dropout_mask"], **PER_HEAD)
