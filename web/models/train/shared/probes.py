"""Probes: inputs with the places that a head of some kind looks at, and the scores of all heads on them.

An item is one input of a model and the rows whose answer is known, each with the columns that hold it. Two scores are used:
"mass" is the mean, over all rows of all items, of the weight on the row's columns; "top" is the share of rows whose largest
weight is on one of the row's columns.
"""
import dataclasses

import torch


@dataclasses.dataclass
class Item:
    """`input` holds what the model's `attend` takes: plain lists and numbers that JSON can hold."""
    input: dict
    rows: list  # of [row, [column, ...]]


@dataclasses.dataclass
class Probe:
    """`name` is what a head is called whose score reaches `threshold`. The first `short` items are committed with the card,
    so that other programs can measure them, too."""
    name: str
    about: str  # one sentence for readers: what is measured, on what
    score: str  # "mass" or "top"
    attention: str  # "decoder", "encoder" or "cross"
    threshold: float
    items: list
    short: int = 8


@torch.no_grad()
def scores(probe, attend, items):
    """Returns the scores [L,H] of all heads on these items. attend(input)[attention] is a tensor of weights [L,H,rows,cols]."""
    total, count = 0, 0
    for item in items:
        maps = attend(item.input)[probe.attention].double()
        for row, columns in item.rows:
            weights = maps[:, :, row]
            if probe.score == "mass":
                total = total + weights[..., columns].sum(-1)
            else:
                total = total + (weights[..., columns].amax(-1) >= weights.amax(-1)).double()
            count += 1
    return total / count
