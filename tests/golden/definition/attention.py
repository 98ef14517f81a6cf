# SPDX-License-Identifier: Apache-2.0
"""Attention spelled out, from the queries, keys and values of each head to every stage."""

import math

import torch
from torch.nn import functional as F

import published
from definition import dropout
from definition.masks import Masks, positions, read_masks
from definition.normalizers import normalize
from definition.positions import position_bias, rotate


def of_query_heads(x, heads, points):
    """[B,G,S,d] → [B,H,S,d]: repeats key/value heads, so that each query head has the one that it reads."""
    h = torch.arange(heads)
    return x[:, h * x.shape[1] // heads if points["gqa_order"] == "block" else h % x.shape[1]]


def attention(name, q, k, v, given, points, appended=()):
    """Takes q [B,H,T,d] and the call's new k [B,G,S,d] and v [B,G,S,dv]; returns the stages, and the masks as one pair.
    The stages k and v have only what is new; present_key and present_value have the past in front of it. `given` holds
    the options, and tensors such as masks and past_key [B,G,P,d]. `appended` holds pairs of a key and a value [B,G,1,·]
    that follow all others: no mask hides them, and they have no position."""
    past = given["past_key"].shape[-2] if "past_key" in given else 0
    at_query, at_key = positions(q.shape[2], past + k.shape[2], points, past)
    q, k = rotate(q, at_query, given), rotate(k, at_key[past:], given)
    own = [torch.cat([x, *(pair[i] for pair in appended)], 2) for i, x in enumerate((k, v))]
    if past:
        k, v = (torch.cat([given[x].double().reshape(*new.shape[:2], past, -1), new], 2)
                for x, new in (("past_key", k), ("past_value", v)))
    stages = {"q": q, "k": own[0], "v": own[1], "present_key": k, "present_value": v}
    heads = q.shape[1]
    masks = read_masks((*q.shape[:3], k.shape[2]), points, given, at_query, at_key)
    bias = masks.bias + position_bias(heads, at_query, at_key, given)
    k, v = (torch.cat([x, *(pair[i] for pair in appended)], 2) for i, x in enumerate((k, v)))
    masks = Masks(F.pad(masks.keep, (0, len(appended)), value=True), F.pad(bias, (0, len(appended))))
    k, v = of_query_heads(k, heads, points), of_query_heads(v, heads, points)
    scale = given.get("scale", 1 / math.sqrt(q.shape[-1]))
    stages.update(attend(q, k, v, masks, points, given, scale))
    published.check_attention(name, q, k, v, masks, points, given, scale, stages)
    return stages, masks


def attend(q, k, v, masks, points, given, scale):
    """q [B,H,T,d], k [B,H,S,d], v [B,H,S,dv] → all stages from the scores to the heads' outputs."""
    softcap = given.get("softcap", 0.0)
    cap = (lambda x: softcap * torch.tanh(x / softcap)) if softcap else (lambda x: x)
    scores = q @ k.transpose(-2, -1)
    scaled = scores * scale
    if points["softcap_order"] == "before_bias":
        capped = cap(scaled)
        masked = biased = capped + masks.bias
    else:
        biased = scaled + masks.bias
        masked = capped = cap(biased)
    spreads = points["masked_nan"] == "spreads"
    masked = torch.where(masks.keep, masked, masked - math.inf if spreads else torch.tensor(-math.inf).double())
    keep = masks.keep | masked.isnan().any(-1, keepdim=True) if spreads else masks.keep
    weights, lse = normalize(masked, given)
    weights = weights.masked_fill(~keep, 0.0)
    dead = ~keep.any(-1, keepdim=True)
    looks = torch.ones_like(keep) if spreads else keep
    if points["fully_masked"] == "uniform":
        weights, looks = weights.masked_fill(dead, 1 / k.shape[-2]), looks | dead
    elif points["fully_masked"] == "nan":
        weights, looks = weights.masked_fill(dead, math.nan), looks | dead
    p = given.get("dropout_p", 0.0)
    kept = dropout.kept(weights.shape, given.get("seed", 0), p)
    dropped = (weights / (1 - p) if p < 1 else weights).masked_fill(~kept, 0.0)
    if "head_mask" in given:
        share = given["head_mask"].double().reshape(-1, weights.shape[1], 1, 1)
        dropped = (dropped * share).masked_fill(share == 0, 0.0)
        looks = looks & (share != 0)
    # Each cell is multiplied by itself: in a matrix product 0 · NaN would let a masked value through.
    cells = (dropped[..., None] * v[:, :, None]).masked_fill(~looks[..., None], 0.0)
    return {"scores": scores, "scaled_scores": scaled, "capped_scores": capped, "biased_scores": biased,
            "masked_scores": masked, "weights": weights, "lse": lse, "dropout_mask": kept.double(),
            "dropped_weights": dropped, "head_outputs": cells.sum(-2)}
