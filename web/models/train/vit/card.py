"""The card of tiny-vit: what is measured of the heads of the image model, on pictures that it never saw."""
import copy

import numpy
import torch

from shared.probes import Item, Probe
from vit.model import load_model, normalised
from vit.pictures import HELD_OUT, LABELS, patch_shares, picture
from vit.png import read_png
from vit.training import EXAMPLES, batch, near

NAME = "tiny-vit"
ABOUT = "A small image model that names the shape in a picture, with heads that find the shape and heads that look around."
SOURCES = [{"text": "pictures of ten shapes on textured grounds, drawn while the model learns",
            "from": "`web/models/train/vit/pictures.py`", "licence": "Apache-2.0, this project"}]
ITEMS, PICTURES = 200, 2000  # held-out pictures of the probes, and of the accuracy


def load(folder):
    model = load_model(folder)
    model.folder = folder
    return model


def image(folder, given):
    """Returns the bytes of a picture that is named by its file in the model's folder, or by its number."""
    return read_png(folder / given["picture"]) if "picture" in given else picture(given["number"])[0]


def attend(model, given):
    maps = model.trace(normalised(image(model.folder, given)[None].copy()))[1]
    return {"encoder": torch.cat(maps)}


def inputs():
    """The inputs of the probes. The first are the examples beside the weights."""
    return [{"picture": f"examples/{i:02}.png"} if i < EXAMPLES else {"number": HELD_OUT + i} for i in range(ITEMS)]


def inside(number):
    """The positions of the patches of which the shape covers at least half. Position 0 is CLS."""
    return [i + 1 for i, share in enumerate(patch_shares(picture(number)[2])) if share >= 0.5]


def probes(folder):
    neighbours = [[row + 1, (columns.nonzero().flatten() + 1).tolist()] for row, columns in enumerate(near())]
    given = inputs()
    return [
        Probe("object", "The weight that CLS gives to the patches of which the shape covers at least half, on held-out pictures.",
              "mass", "encoder", 0.6, [Item(one, [[0, inside(HELD_OUT + i)]]) for i, one in enumerate(given)], EXAMPLES),
        Probe("local", "The weight that patches give to themselves and to the patches that touch them, on held-out pictures.",
              "mass", "encoder", 0.6, [Item(one, neighbours) for one in given], 2),
    ]


@torch.no_grad()
def figures(model):
    """Accuracies on held-out pictures, and how much of the probes' pictures the shapes cover."""
    right = torch.zeros(len(LABELS), 2)
    for first in range(0, PICTURES, 100):
        images, labels, _ = batch(HELD_OUT + first, 100)
        hits = (model.trace(images)[2].argmax(-1) == labels).float()
        right.index_add_(0, labels, torch.stack([hits, torch.ones(100)], 1))
    covered = [picture(HELD_OUT + i)[2] for i in range(ITEMS)]
    shares = torch.from_numpy(numpy.stack([patch_shares(one) for one in covered]))
    return {"pictures": PICTURES, "accuracy": (right[:, 0].sum() / right[:, 1].sum()).item(),
            "accuracy by shape": dict(zip(LABELS, (right[:, 0] / right[:, 1]).tolist())),
            "area of the shape": shares.mean().item(), "area of its patches": (shares >= 0.5).double().mean().item(),
            "weight on another's shape": elsewhere(model).tolist()}


@torch.no_grad()
def elsewhere(model):
    """The weights [L,H] that CLS gives to the patches of another picture's shape. Shapes lie about the middle, so a head that only
    knew this would have as much in its own picture."""
    given = inputs()
    return sum(attend(model, one)["encoder"][:, :, 0, inside(HELD_OUT + (i + 1) % ITEMS)].sum(-1)
               for i, one in enumerate(given)) / len(given)


@torch.no_grad()
def golden(model):
    """Results of the first example in float64: `image` [3,S,S] as the model takes it, `hidden` [L+1,T,D], `weights` [L,H,T,T] and
    `logits` [labels]."""
    given = normalised(image(model.folder, inputs()[0])[None].copy()).double()
    states, maps, logits = copy.deepcopy(model).double().trace(given)
    return {"image": given[0], "hidden": torch.cat(states), "weights": torch.cat(maps), "logits": logits[0]}


def tables(card):
    """The parts of the README that other models do not have."""
    found = card["figures"]
    by_shape = ", ".join(f"{shape} {right:.1%}" for shape, right in found["accuracy by shape"].items())
    accuracy = (f"**{found['accuracy']:.1%}** of {found['pictures']} held-out pictures are named rightly: {by_shape}. "
                f"Guessing names {1 / len(LABELS):.0%}.")
    area = (f"The shape covers {found['area of the shape']:.1%} of a picture, and the patches that count as its own are "
            f"{found['area of its patches']:.1%} of all: a head that looks at everything alike gives them this weight. Shapes lie "
            "about the middle, so some of a head's weight would be inside even if it did not look: the table has what the same rows "
            "give to the shape of another picture.")
    columns = {probe["name"]: probe["heads"] for probe in card["probes"]} | {"another's shape": found["weight on another's shape"]}
    lines = ["| layer | head | " + " | ".join(columns) + " |", "|---" * (2 + len(columns)) + "|"]
    for layer, row in enumerate(card["probes"][0]["heads"]):
        lines += [f"| {layer} | {head} | " + " | ".join(f"{scores[layer][head]:.2f}" for scores in columns.values()) + " |"
                  for head in range(len(row))]
    return {"accuracy": accuracy, "area": area, "table": "\n".join(lines)}
