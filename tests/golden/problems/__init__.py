# SPDX-License-Identifier: Apache-2.0
"""The cases, with a file for each theme. A case has a description, a function that draws its tensors, and options."""

import collections

from draw import attention_params

SCORE_STAGES = ["scores", "scaled_scores", "capped_scores", "biased_scores", "masked_scores", "weights", "lse"]
LAYER_STAGES = ["q", "k", "v", *SCORE_STAGES, "head_outputs", "head_contributions"]
PER_HEAD = {"batch_first": True, "average_attn_weights": False}

Case = collections.namedtuple("Case", "name description op make options check")
CASES = []


def case(op, name, description, make, check=None, **options):
    """`make` takes a Draw and returns tensors. `check` takes these and the results, compares them with something else
    that is known of the case, and ends the script when they are wrong."""
    CASES.append(Case(name, description, op, make, options, check))


def sdpa(name, description, make, **options):
    options = {"need_weights": True, **options}
    case("scaled_dot_product_attention", name, description, make, **{x: y for x, y in options.items() if y is not None})


def mha(name, description, make, **options):
    case("multihead_attention", name, description, make, **{"embed_dim": 12, "num_heads": 3, **options})


def mha_per_head(name, description, make, **options):
    mha(name, description, make, **PER_HEAD, **options)


def encoder(name, description, make, **options):
    case("transformer_encoder_layer", name, description, make,
         **{"embed_dim": 12, "num_heads": 3, "dim_feedforward": 20, **options})


def decoder(name, description, make, **options):
    case("transformer_decoder_layer", name, description, make,
         **{"embed_dim": 12, "num_heads": 3, "dim_feedforward": 20, **options})


def embedding(name, description, make, **options):
    case("embedding", name, description, make, **options)


# Inputs of the multi-head layer


def from_one(draw, *shape, params=None, **masks):
    """Self-attention: there is no key or value, so both are the query [..., D]."""
    return {"query": draw.normal(*shape), **attention_params(draw, shape[-1], **(params or {})), **masks}


def sequence_first(draw, **more):
    return from_one(draw, 5, 2, 12, **more)


def batch_first(draw, **more):
    return from_one(draw, 2, 5, 12, **more)


def cross(draw, **more):
    """Cross-attention with B = 2, T = 4, S = 7, batch first. The value is the key unless it is given."""
    return {"query": draw.normal(2, 4, 12), "key": draw.normal(2, 7, 12), **attention_params(draw, 12), **more}


BIAS_KV = {"bias_kv": True}
