# SPDX-License-Identifier: Apache-2.0
"""From masked scores to weights: sparsemax, entmax, sigmoid, top-k, hard, relu; temperature; sinks."""

import math

import torch

from draw import lengths, padding, put, qkv, whole_qkv
from problems import BIAS_KV, LAYER_STAGES, PER_HEAD, batch_first, cross, decoder, encoder, from_one, mha, sdpa
from problems.blocks import source, target

KINDS = {"sparsemax": {}, "entmax15": {}, "sigmoid": {"sigmoid_bias": -0.5}, "top_k": {"top_k": 2}, "hard": {},
         "relu": {}}

for kind, more in KINDS.items():
    sdpa(f"{kind}_plain", "Every key may be looked at.", lambda d: qkv(d, 2, 2, 5, 7, 4), normalizer=kind, **more,
         stages=["masked_scores", "lse"])
    sdpa(f"{kind}_one_key", "S = 1.", lambda d: qkv(d, 2, 2, 3, 1, 4), normalizer=kind, **more)
    sdpa(f"{kind}_bool_mask", "Boolean mask: hidden cells stay exactly 0.", lambda d: {
        **qkv(d, 2, 2, 5, 7, 4), "attn_mask": d.keep(2, 1, 5, 7)}, normalizer=kind, **more)
    sdpa(f"{kind}_additive_mask", "Additive mask with -inf.", lambda d: {
        **qkv(d, 1, 3, 5, 7, 4), "attn_mask": d.bias(3, 5, 7)}, normalizer=kind, stages=["lse"], **more)
    sdpa(f"{kind}_causal_long", "Causal, beyond the width of vectors.", lambda d: qkv(d, 1, 1, 21, 21, 8),
         normalizer=kind, is_causal=True, **more)
    sdpa(f"{kind}_temperature", "A temperature below 1 sharpens.", lambda d: qkv(d, 1, 2, 5, 9, 4), normalizer=kind,
         temperature=0.5, stages=["masked_scores", "lse"], **more)
    for rule in "zero", "nan", "uniform":
        sdpa(f"{kind}_fully_masked_{rule}", "Row 1 sees nothing, before any normaliser has a say.", lambda d: {
            **qkv(d, 1, 2, 3, 5, 4), "attn_mask": put(d.keep(3, 5), 1, False)}, normalizer=kind, fully_masked=rule,
             stages=["lse"], **more)
    mha(f"{kind}_mha", "In the layer, sequence first, averaged weights, with key padding.", lambda d: from_one(
        d, 6, 2, 12, key_padding_mask=padding(6, 6, 4)), normalizer=kind, **more)
    encoder(f"{kind}_encoder", "In an encoder layer, with a temperature above 1.", source, normalizer=kind,
            temperature=1.5, need_weights=True, **PER_HEAD, **more)
    sdpa(f"{kind}_nan_behind_mask", "A NaN and an infinity behind the mask reach nothing.", lambda d: {
        **(t := qkv(d, 2, 2, 4, 6, 4)), "key": put(t["key"], (1, slice(None), 5), math.nan),
        "value": put(t["value"], (1, slice(None), 4), math.inf), "key_padding_mask": padding(6, 6, 4)},
         normalizer=kind, **more)
    sdpa(f"{kind}_float16", "Inputs stored as float16, unbatched.", lambda d: {
        n: t[0, 0] for n, t in qkv(d, 1, 1, 5, 6, 4, dtype=torch.float16).items()}, normalizer=kind, **more)
    sdpa(f"{kind}_huge_scores", "Scores of ±1e30 and 0, ties among them.", lambda d: {
        "query": 1e15 * torch.tensor([[[[1.0, 0, 0, 0], [0, 1, 0, 0], [0, 0, 0, 1]]]]),
        "key": 1e15 * torch.tensor([[[[1.0, -1, 0, 0], [1, 1, 0, 0], [-1, 0, 1, 0], [0, 1, -1, -1]]]]),
        "value": d.normal(1, 1, 4, 3)}, scale=1.0, normalizer=kind,
        stages=["scores", "lse"], **({} if kind != "sigmoid" else {"sigmoid_bias": 0.5}),
        **({"top_k": 3} if kind == "top_k" else {}))

# Cases of a single normaliser

sdpa("sparsemax_equal", "Equal scores share equally; far ones get exactly 0.", lambda d: {
    **whole_qkv(d, 1, 2, 5, 9)}, normalizer="sparsemax", scale=0.25, stages=["masked_scores"])
sdpa("entmax15_equal", "Equal scores share equally; far ones get exactly 0.", lambda d: {
    **whole_qkv(d, 1, 2, 5, 9)}, normalizer="entmax15", scale=0.25, stages=["masked_scores"])
sdpa("sparsemax_wide", "One query on 300 keys.", lambda d: qkv(d, 1, 1, 1, 300, 2, dv=1), normalizer="sparsemax")
sdpa("entmax15_wide", "One query on 300 keys.", lambda d: qkv(d, 1, 1, 1, 300, 2, dv=1), normalizer="entmax15")
sdpa("sparsemax_narrow_range", "Scores within 0.01: all keys are in the support.", lambda d: qkv(d, 1, 2, 3, 40, 2),
     normalizer="sparsemax", scale=0.001)
sdpa("entmax15_narrow_range", "Scores within 0.01: all keys are in the support.", lambda d: qkv(d, 1, 2, 3, 40, 2),
     normalizer="entmax15", scale=0.001)
sdpa("sigmoid_no_bias", "Bias 0: rows sum to about half their keys.", lambda d: qkv(d, 1, 2, 5, 7, 4),
     normalizer="sigmoid")
sdpa("sigmoid_minus_ln_s", "The bias -ln S with which rows sum to about 1.", lambda d: qkv(d, 2, 2, 5, 8, 4),
     normalizer="sigmoid", sigmoid_bias=-2.0794415, temperature=2.0)
sdpa("sigmoid_saturated", "Scores of some hundreds: 0 or 1, and small ones keep their digits.", lambda d: {
    **qkv(d, 1, 2, 4, 7, 4), "query": d.normal(1, 2, 4, 4, std=100)}, normalizer="sigmoid")
sdpa("top_k_ties", "Whole-number scores: all that tie with the k-th stay.", lambda d: whole_qkv(d, 2, 2, 6, 9),
     normalizer="top_k", top_k=2, scale=0.5, stages=["masked_scores", "lse"])
sdpa("top_k_one", "k = 1 with ties: the equal largest share.", lambda d: whole_qkv(d, 1, 3, 6, 7), normalizer="top_k",
     top_k=1, scale=1.0)
sdpa("top_k_of_fewer", "Rows with fewer visible keys than k keep them all.", lambda d: qkv(d, 1, 2, 6, 6, 4),
     normalizer="top_k", top_k=4, is_causal=True)
sdpa("top_k_beyond", "k beyond S is softmax.", lambda d: qkv(d, 1, 2, 4, 5, 4), normalizer="top_k", top_k=1000)
sdpa("top_k_sink", "The k largest share with a sink.", lambda d: qkv(d, 2, 2, 4, 6, 4), normalizer="top_k", top_k=3,
     sink=0.25, stages=["lse"])
mha("top_k_sinks_mha", "The k largest share with each head's sink.", lambda d: {
    **batch_first(d), "sinks": d.normal(3)}, normalizer="top_k", top_k=3, temperature=0.75, stages=["lse"], **PER_HEAD)
sdpa("hard_ties", "Whole-number scores: the first of equals.", lambda d: whole_qkv(d, 2, 2, 7, 9), normalizer="hard",
     scale=0.5, stages=["masked_scores"])
sdpa("hard_ties_masked", "The first of equals that may be looked at.", lambda d: {
    **whole_qkv(d, 1, 2, 6, 18), "attn_mask": d.keep(6, 18)}, normalizer="hard", scale=1.0)
sdpa("relu_all_negative", "Scores below 0 everywhere: all weights are 0.", lambda d: {
    **(t := qkv(d, 1, 2, 4, 5, 3)), "query": t["query"].abs(), "key": -t["key"].abs()}, normalizer="relu")
sdpa("relu_lowest", "An additive mask with the lowest float, which is no -inf: such keys count as seen.", lambda d: {
    **qkv(d, 1, 2, 4, 6, 4), "attn_mask": torch.where(d.keep(4, 6), 0.0, torch.finfo(torch.float32).min)},
     normalizer="relu")
for kind, more in KINDS.items():
    decoder(f"{kind}_decoder", "In both attentions of a decoder layer.", target, normalizer=kind, tgt_is_causal=True,
            need_weights=True, **PER_HEAD, **more)

# Temperature

sdpa("temperature_low", "Softmax at a quarter of the temperature.", lambda d: qkv(d, 2, 2, 5, 7, 4), temperature=0.25,
     stages=["masked_scores", "lse"])
sdpa("temperature_high", "Softmax at ten times the temperature, with an additive mask.", lambda d: {
    **qkv(d, 1, 2, 5, 7, 4), "attn_mask": d.bias(5, 7)}, temperature=10, stages=["biased_scores", "lse"])
mha("temperature_mha", "In the layer.", batch_first, temperature=0.5, **PER_HEAD)
encoder("temperature_encoder", "In an encoder layer, causal.", lambda d: source(d, 5, 2, 12), temperature=2,
        is_causal=True)

# Sinks

sdpa("sink_zero", "A sink of 0, 'off by one': rows sum to less than 1.", lambda d: qkv(d, 2, 2, 5, 7, 4), sink=0,
     stages=["lse"])
sdpa("sink_large", "A large sink takes nearly all.", lambda d: qkv(d, 1, 2, 5, 7, 4), sink=20)
sdpa("sink_small", "A sink far below the scores takes nothing.", lambda d: qkv(d, 1, 2, 5, 7, 4), sink=-200)
sdpa("sink_after_temperature", "The sink is added after the temperature.", lambda d: qkv(d, 1, 2, 5, 7, 4), sink=1.5,
     temperature=0.5, stages=["lse"])
sdpa("sink_fully_masked", "A row that sees nothing is 0, sink or not.", lambda d: {
    **qkv(d, 1, 2, 3, 5, 4), "attn_mask": put(d.keep(3, 5), 2, False)}, sink=1, stages=["lse"])
sdpa("sink_fully_masked_uniform", "A row that sees nothing is uniform, sink or not.", lambda d: {
    **qkv(d, 1, 2, 3, 5, 4), "valid_lens": lengths(0)}, sink=1, fully_masked="uniform", stages=["lse"])
sdpa("sinks_per_head", "A learned sink for each head, causal.", lambda d: {
    **qkv(d, 2, 3, 6, 6, 4), "sinks": d.normal(3)}, is_causal=True, stages=["masked_scores", "lse"])
sdpa("sinks_gqa", "Sinks of six query heads on two key/value heads, sliding window.", lambda d: {
    **qkv(d, 1, 6, 5, 5, 4, G=2), "sinks": d.normal(6)}, enable_gqa=True, window_left=2, is_causal=True)
mha("sinks_mha", "Sinks in the layer, sequence first, averaged weights.", lambda d: {
    **from_one(d, 5, 2, 12), "sinks": d.normal(3)})
mha("sink_and_zero_key", "A sink of 0 beside the key of zeros that add_zero_attn appends.", lambda d: batch_first(d),
    sink=0, add_zero_attn=True, stages=["lse"], **PER_HEAD)
encoder("sinks_encoder", "Sinks in an encoder layer with padding.", lambda d: {
    **source(d, src_key_padding_mask=padding(5, 5, 2)), "sinks": d.normal(3)}, need_weights=True, **PER_HEAD)
decoder("sinks_decoder", "Sinks and a temperature in both attentions of a decoder layer.", lambda d: {
    **target(d), "sinks": d.normal(3)}, temperature=0.5, tgt_is_causal=True, need_weights=True, **PER_HEAD)
mha("sparsemax_stages", "Every stage of the layer.", lambda d: batch_first(d, params=BIAS_KV), normalizer="sparsemax",
    add_bias_kv=True, stages=LAYER_STAGES, **PER_HEAD)
mha("entmax15_cross", "Cross-attention with an additive mask per batch and head.", lambda d: cross(
    d, attn_mask=d.bias(2, 3, 4, 7)), normalizer="entmax15", stages=["masked_scores", "lse"], **PER_HEAD)
