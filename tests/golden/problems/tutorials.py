# SPDX-License-Identifier: Apache-2.0
"""The tutorials' examples, with the numbers that they print."""

import sys

import torch
from torch import nn
from torch.nn import functional as F

from draw import attention_params, lengths, padding, put
from problems import LAYER_STAGES, SCORE_STAGES, encoder, from_one, mha, mha_per_head, sdpa
from problems.blocks import source


CAT_SAT_ON_MAT = torch.tensor([[0.21, 0.85, 0.14, 0.62], [0.45, 0.33, 0.71, 0.18],
                               [0.05, 0.12, 0.88, 0.09], [0.19, 0.79, 0.22, 0.58]])
PRINTED_T3_1 = torch.tensor([[0.2352, 0.2783, 0.2205, 0.2659], [0.2094, 0.3100, 0.2795, 0.2011],
                             [0.3360, 0.2504, 0.2338, 0.1797], [0.3234, 0.2881, 0.2501, 0.1385]])
HALF = {"dtype": torch.bfloat16}  # keeps the larger cases small


def cat_sat_on_mat(draw):
    """The tutorial only gives the embeddings. The matrices are ours, with two decimals; there is no output
    projection."""
    weights = torch.from_numpy(draw.random.uniform(-1, 1, (12, 4)).round(2)).float()
    return {"query": CAT_SAT_ON_MAT, "in_proj_weight": weights, "out_proj.weight": torch.eye(4)}


def seed_123():
    """The tutorial's tensors in its order: embeddings [4,16]; W_q, W_k, W_v [8,16]; its multi-head four [16,16]."""
    torch.manual_seed(123)
    embeddings = nn.Embedding(6, 16).weight.detach()[:4].clone()
    narrow = [nn.Linear(16, 8, bias=False).weight.detach() for _ in range(3)]
    wide = [nn.Linear(16, 16, bias=False).weight.detach() for _ in range(4)]
    return embeddings, narrow, wide


def t3_1_projected(draw):
    embeddings, narrow, _ = seed_123()
    q, k, v = (F.linear(embeddings.double(), w.double()).float() for w in narrow)
    return {"query": q, "key": k, "value": v}


def t3_1_from_embeddings(draw):
    """The layer's projections are square: head 0 is the tutorial's, and head 1, whose q and k are zeros, has equal
    weights."""
    embeddings, (w_q, w_k, w_v), _ = seed_123()
    zeros = torch.zeros(8, 16)
    in_proj = torch.cat([w_q, zeros, w_k, zeros, w_v, w_v])
    return {"query": embeddings, "in_proj_weight": in_proj, "out_proj.weight": torch.eye(16)}


def t3_3(draw):
    embeddings, _, wide = seed_123()
    return {"query": embeddings, "in_proj_weight": torch.cat(wide[:3]), "out_proj.weight": wide[3]}


def is_printed(tensors, expected):
    """Compares with the digits that the tutorial prints."""
    weights = expected["weights"].reshape(-1, 4, 4)[0]
    if not torch.equal((weights * 1e4).round(), (PRINTED_T3_1.double() * 1e4).round()):
        sys.exit("T3.1: the weights are not those that the tutorial prints")


def has_shape(*shape):
    """Compares with the shape of the weights that the tutorial prints."""
    def check(tensors, expected):
        if expected["weights"].shape != shape:
            sys.exit(f"weights {tuple(expected['weights'].shape)}, the tutorial has {shape}")
    return check


def ends_at_lengths(tensors, expected):
    for weights, length in zip(expected["weights"], tensors["valid_lens"]):
        if (weights[..., :length] == 0).any() or (weights[..., length:] != 0).any():
            sys.exit("T4.1: weight beyond a valid length, or none within")
    has_shape(2, 5, 4, 6)(tensors, expected)


for heads, name in (1, "t0_1_cat_sat_on_mat"), (2, "t0_1_cat_sat_on_mat_two_heads"):
    mha(name, "Cat, sat, on, mat: from embeddings through Q, K, V, scores and weights to contextual embeddings.",
        cat_sat_on_mat, embed_dim=4, num_heads=heads, bias=False, average_attn_weights=False, stages=LAYER_STAGES)
mha_per_head("t0_3_per_head_weights", "The built-in layer at B2 T4 D8 H2: weights (2,2,4,4).",
             lambda d: from_one(d, 2, 4, 8), check=has_shape(2, 2, 4, 4), embed_dim=8, num_heads=2)
mha_per_head("t0_4_causal", "The causal triangle at B2 T4 D8 H2, in each head by itself.",
             lambda d: from_one(d, 2, 4, 8), embed_dim=8, num_heads=2, is_causal=True, stages=["masked_scores"])
mha_per_head("t1_1_padding_and_causal", "(4,16,128), H8, padding and causal: weights (4,8,16,16).", lambda d: from_one(
    d, 4, 16, 128, query=d.normal(4, 16, 128, **HALF), params=HALF, key_padding_mask=padding(16, 16, 11, 7, 3)),
    check=has_shape(4, 8, 16, 16), embed_dim=128, num_heads=8, is_causal=True)
mha("t1_2_sequence_first", "(16,4,128), H8, averaged: weights (4,16,16).", lambda d: from_one(
    d, 16, 4, 128, query=d.normal(16, 4, 128, **HALF), params=HALF), check=has_shape(4, 16, 16),
    embed_dim=128, num_heads=8)
mha_per_head("t1_3_cross_attention", "(2,12,256) on (2,20,256), H8: weights (2,8,12,20).", lambda d: {
    "query": d.normal(2, 12, 256, **HALF), "key": d.normal(2, 20, 256, **HALF), **attention_params(d, 256, **HALF)},
    check=has_shape(2, 8, 12, 20), embed_dim=256, num_heads=8)
mha_per_head("t1_5_fully_masked_row", "Row 2 may look nowhere and batch 1 is all padding: zeros, no NaN.",
             lambda d: from_one(d, 2, 4, 8, attn_mask=put(torch.zeros(4, 4, dtype=torch.bool), 2, True),
                                key_padding_mask=padding(4, 4, 0)), embed_dim=8, num_heads=2)
sdpa("t3_1_self_attention", "Seed 123, four tokens, projected 16 to 8: the printed weights.", t3_1_projected,
     check=is_printed, stages=SCORE_STAGES)
mha("t3_1_from_embeddings", "The same from the embeddings: head 0 has the printed weights.", t3_1_from_embeddings,
    check=is_printed, embed_dim=16, num_heads=2, bias=False, average_attn_weights=False, stages=LAYER_STAGES)
mha("t3_3_multi_head", "Seed 123, four tokens, D16, H4: Q, scores and heads (4,4,4), output (4,16).", t3_3,
    check=has_shape(4, 4, 4), embed_dim=16, num_heads=4, bias=False, average_attn_weights=False, stages=LAYER_STAGES)
mha_per_head("t3_3_batched", "The same as a batch of one.", lambda d: {**t3_3(d), "query": seed_123()[0][None]},
             embed_dim=16, num_heads=4, bias=False)
mha_per_head("t4_1_valid_lens", "X (2,4,100) on Y (2,6,100), H5, lengths [3,2]: no weight beyond.", lambda d: {
    "query": d.normal(2, 4, 100), "key": d.normal(2, 6, 100), **attention_params(d, 100, bias=False, **HALF),
    "valid_lens": lengths(3, 2)}, check=ends_at_lengths, embed_dim=100, num_heads=5, bias=False)
encoder("t4_2_feed_forward", "The attention's output projection is zero: output - src is the block's own work.",
        lambda d: {name: tensor * 0 if "out_proj" in name else tensor for name, tensor in source(d).items()},
        norm_first=True, batch_first=True)
mha_per_head("t4_2_split_and_merge", "Splitting into heads and merging them: q, k, v and the heads' outputs.",
             lambda d: from_one(d, 2, 6, 20), embed_dim=20, num_heads=5,
             stages=["q", "k", "v", "head_outputs", "head_contributions"])
