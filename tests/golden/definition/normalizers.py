# SPDX-License-Identifier: Apache-2.0
"""From masked scores to weights. x [B,H,T,S] holds the masked scores divided by the temperature, -inf where masked. The
caller sets the weights of masked cells to 0, and decides what a fully masked row gets."""

import math
import sys

import torch


def sink_column(x, given):
    """Returns the sink [B,H,T,1], a logit in the denominator that belongs to no key; None when there is none."""
    if "sinks" in given:
        return given["sinks"].double().reshape(1, -1, 1, 1).expand(*x.shape[:3], 1)
    return torch.full_like(x[..., :1], given["sink"]) if "sink" in given else None


def softmax(x, given):
    sink = sink_column(x, given)
    return torch.softmax(x, -1) if sink is None else torch.softmax(torch.cat([x, sink], -1), -1)[..., :-1]


def top_k(x, given):
    """Softmax over the k largest scores and all that equal the last of them (Gupta et al. 2021, §2)."""
    k = min(given["top_k"], x.shape[-1])
    least = x.sort(-1, descending=True).values[..., k - 1:k]
    decided("top_k", x, least, (x == least).sum(-1, keepdim=True) > 1)
    return softmax(x.masked_fill(x < least, -math.inf), given)


def hard(x, given):
    """All weight is on the largest score, and on the first one when several are equal."""
    largest = x.amax(-1, keepdim=True)
    ties = x == largest
    decided("hard", x, largest, ties.sum(-1, keepdim=True) > 1)
    return (ties & (ties.cumsum(-1) == 1)).double()


def decided(name, x, chosen, tied):
    """Stops when the choice depends on float32's rounding. The next score has to be clearly below the least one chosen
    [B,H,T,1], and equal scores have to be exact in float32, or so large that make.py checks them."""
    below = x.masked_fill(x >= chosen, -math.inf).amax(-1, keepdim=True)
    if (chosen - below < 2e-5).any():
        sys.exit(f"{name}: two scores so close that float32 may choose the other one")
    if not ((chosen.float() == chosen) | (chosen.abs() > 1e6))[tied].all():
        sys.exit(f"{name}: tied scores that float32 does not hold exactly")


def sparsemax(x, given):
    """Martins & Astudillo 2016, eq. 2 and algorithm 1: the nearest point of the simplex, found by sorting."""
    z = x - x.amax(-1, keepdim=True)
    ordered = z.sort(-1, descending=True).values
    rank = torch.arange(1, z.shape[-1] + 1)
    sums = ordered.cumsum(-1)
    size = (1 + rank * ordered > sums).sum(-1, keepdim=True).clamp(min=1)
    threshold = (sums.gather(-1, size - 1) - 1) / size
    weights = (z - threshold).clamp(min=0)
    check_projection(z, weights)
    return weights


def check_projection(z, weights):
    """Checks the Kuhn–Tucker conditions of min |p - z|² on the simplex: z - p is the same number wherever p > 0, and no
    larger elsewhere."""
    live = torch.isfinite(weights).all(-1)
    z, p = z[live], weights[live]
    level = ((z - p) * (p > 0)).nan_to_num(0).sum(-1) / (p > 0).sum(-1)
    slack = (z - p - level[:, None]).masked_fill(z == -math.inf, 0)
    if not (torch.allclose(p.sum(-1), torch.ones_like(level)) and (slack <= 1e-9).all()
            and (slack.abs()[p > 0] <= 1e-9).all()):
        sys.exit("sparsemax is not the projection on the simplex")


def entmax15(x, given):
    """Peters, Niculae & Martins 2019, alpha = 1.5: max(x/2 - tau, 0)² with the tau for which they sum to 1. With the
    m largest in the support tau solves a quadratic: m tau² - 2 tau Σz + Σz² - 1 = 0."""
    z = (x - x.amax(-1, keepdim=True)) / 2
    ordered = z.sort(-1, descending=True).values.clamp(min=-1e6)  # nothing so small is in the support
    m = torch.arange(1, z.shape[-1] + 1)
    sums, squares = ordered.cumsum(-1), (ordered**2).cumsum(-1)
    root = (sums - (sums**2 - m * (squares - 1)).clamp(min=0).sqrt()) / m
    size = ((root <= ordered) & (ordered > -1)).sum(-1, keepdim=True).clamp(min=1)
    weights = (z - root.gather(-1, size - 1)).clamp(min=0) ** 2
    check_bisection(z, weights)
    return weights


def check_bisection(z, weights):
    """Finds the same tau by bisection, which only relies on the sum falling as tau grows."""
    live = torch.isfinite(weights).all(-1)
    z, p = z[live], weights[live]
    low, high = torch.full_like(p[:, :1], -1.0), torch.zeros_like(p[:, :1])
    for _ in range(80):
        middle = (low + high) / 2
        above = ((z - middle).clamp(min=0) ** 2).sum(-1, keepdim=True) >= 1
        low, high = torch.where(above, middle, low), torch.where(above, high, middle)
    if not torch.allclose((z - low).clamp(min=0) ** 2, p, rtol=0, atol=1e-9):
        sys.exit("entmax15 by its quadratic is not entmax15 by bisection")


def sigmoid(x, given):
    """Ramapuram et al. 2024, eq. 3: the sigmoid of each cell."""
    return torch.sigmoid(x + given.get("sigmoid_bias", 0.0))


def relu(x, given):
    """Wortsman et al. 2023, §3: relu(x) / L. Their L is the length of the sequence; here it is the number of keys that
    a row sees."""
    seen = (x != -math.inf).sum(-1, keepdim=True)
    weights = torch.relu(x) / seen
    check_total(x, seen, weights)
    return weights


def check_total(x, seen, weights):
    """A second form: as relu(x) = (x + |x|) / 2, a row's weights add up to the mean of that over the keys it sees."""
    visible = x.masked_fill(x == -math.inf, 0)
    total = (visible + visible.abs()).sum(-1, keepdim=True) / 2 / seen
    if not torch.allclose(weights.sum(-1, keepdim=True), total, equal_nan=True):
        sys.exit("relu's rows do not add up to the mean of their positive scores")


NORMALIZERS = {"softmax": softmax, "sparsemax": sparsemax, "entmax15": entmax15, "sigmoid": sigmoid, "top_k": top_k,
               "hard": hard, "relu": relu}


def normalize(masked, given):
    """Turns masked scores [B,H,T,S] into weights, and returns the log-sum-exp [B,H,T], sink included, beside them."""
    kind, x = given.get("normalizer", "softmax"), masked / given.get("temperature", 1.0)
    terms, sink = x, sink_column(x, given)
    if sink is not None:
        terms = torch.cat([x, sink.masked_fill((x == -math.inf).all(-1, keepdim=True), -math.inf)], -1)
    return NORMALIZERS[kind](x, given), torch.logsumexp(terms, -1)
