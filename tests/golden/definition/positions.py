# SPDX-License-Identifier: Apache-2.0
"""Positions: biases of the scores, rotation of queries and keys, encodings that are added to embeddings."""

import math
import sys

import torch

# The biases, which belong to self-attention alone, as the masks by position do.
BIAS_OPTIONS = ["alibi", "t5_bidirectional", "t5_max_distance"]
BIAS_TENSORS = ["alibi_slopes", "relative_bias", "t5_bias"]


def alibi_slopes(heads):
    """Press et al. 2022, §3: 2^(-8/n), 2^(-16/n), … when n is a power of two. Otherwise the slopes of the power of two
    below n, followed by every second slope of the power above."""
    below = 2 ** math.floor(math.log2(heads))
    slopes = [2.0 ** (-8 * i / below) for i in range(1, below + 1)]
    above = [2.0 ** (-8 * i / (2 * below)) for i in range(1, 2 * below + 1)]
    return torch.tensor((slopes + above[::2])[:heads], dtype=torch.float64)


def t5_bucket(ahead, buckets, bidirectional, max_distance):
    """Raffel et al. 2020, §2.1: one bucket for each small distance, then buckets that grow wider up to max_distance:
    they begin at distances whose logarithms are evenly spaced. With `bidirectional` the upper half of the buckets is
    for keys ahead of the query; without it those count as distance 0. The beginnings are found in whole numbers, which
    are exact."""
    half = buckets // 2 if bidirectional else buckets
    distance = ahead.abs() if bidirectional else (-ahead).clamp(min=0)
    exact = half // 2
    bucket = distance.clamp(max=exact)
    power = half - exact
    for n in range(1, power):  # bucket exact + n begins where (distance / exact)^power = (max_distance / exact)^n
        begins = next(x for x in range(exact, max_distance + 1)
                      if x**power * exact**n >= max_distance**n * exact**power)
        bucket = bucket + (distance >= begins)
    check_t5(distance, bucket, exact, half, max_distance)
    return bucket + half * (ahead > 0) if bidirectional else bucket


def check_t5(distance, bucket, exact, half, max_distance):
    """Compares them with T5's own formula, which takes a logarithm in float32."""
    ratio = torch.log(distance.clamp(min=1).float() / exact) / math.log(max_distance / exact)
    far = (exact + (ratio * (half - exact)).long()).clamp(max=half - 1)
    if not torch.equal(torch.where(distance < exact, distance, far), bucket):
        sys.exit("T5's buckets by logarithm are not those by whole numbers")


def position_bias(heads, at_query, at_key, given):
    """Returns a bias [H,T,S], which is added to the scores together with an additive mask."""
    ahead = at_key - at_query[:, None]
    bias = torch.zeros(heads, *ahead.shape, dtype=torch.float64)
    slopes = alibi_slopes(heads) if given.get("alibi") else given.get("alibi_slopes")
    if slopes is not None:
        bias = bias - slopes.double()[:, None, None] * ahead.abs()
    if "relative_bias" in given:
        table = given["relative_bias"].double().expand(heads, -1)
        reach = table.shape[1] // 2
        bias = bias + table[:, (-ahead).clamp(-reach, reach) + reach]
    if "t5_bias" in given:
        table = given["t5_bias"].double()
        bucket = t5_bucket(ahead, len(table), given.get("t5_bidirectional", True), given.get("t5_max_distance", 128))
        bias = bias + table[bucket].permute(2, 0, 1)
    return bias


def rotate(x, places, given):
    """Su et al. 2021, eq. 34: turns pair i of x [...,T,d] by position · base^(-2i/r), among the first r = rotary_dim of
    d elements. Pairs are complex numbers here: (a + bi) · e^(angle·i)."""
    if "rotary" not in given:
        return x
    width = given.get("rotary_dim", x.shape[-1])
    turned, rest = x[..., :width], x[..., width:]
    speed = given.get("rotary_base", 10000.0) ** (-torch.arange(0, width, 2, dtype=torch.float64) / width)
    angle = (places.double() / given.get("rotary_scale", 1.0))[:, None] * speed
    turn = torch.polar(torch.ones_like(angle), angle)
    if given["rotary"] == "interleaved":
        pairs = turned.unflatten(-1, (-1, 2))
    else:
        pairs = turned.unflatten(-1, (2, -1)).transpose(-1, -2)
    result = torch.view_as_real(torch.complex(pairs[..., 0], pairs[..., 1]) * turn)
    result = result if given["rotary"] == "interleaved" else result.transpose(-1, -2)
    result = torch.cat([result.flatten(-2), rest], -1)
    check_rotation(x, result, angle, given["rotary"], width)
    return result


def check_rotation(x, result, angle, kind, width):
    """Computes the same without complex numbers, as published models do: x · cos + partner · sin."""
    if kind == "interleaved":
        angle = angle.repeat_interleave(2, -1)
        partner = torch.stack([-x[..., 1:width:2], x[..., :width:2]], -1).flatten(-2)
    else:
        angle = angle.repeat(1, 2)
        partner = torch.cat([-x[..., width // 2:width], x[..., :width // 2]], -1)
    theirs = x[..., :width] * angle.cos() + partner * angle.sin()
    if not torch.allclose(result[..., :width], theirs, rtol=1e-12, atol=1e-12, equal_nan=True):
        sys.exit("rotation by complex numbers is not rotation by sine and cosine")


def sinusoids(places, width):
    """Vaswani et al. 2017, §3.5: [T,D] with sines in the even columns and cosines in the odd ones. Columns 2i and
    2i + 1 have the angle position · 10000^(-2i/D)."""
    columns = torch.arange(width, dtype=torch.float64)
    angle = places.double()[:, None] / 10000 ** ((columns - columns % 2) / width)
    return torch.where(columns % 2 == 0, angle.sin(), angle.cos())
