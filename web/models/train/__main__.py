"""Trains, saves and measures a built-in model: npm run train -- NAME. The README beside this file says more."""
import argparse
import importlib
import sys
from pathlib import Path

import torch

from shared import card
from shared.card import Places

HERE = Path(__file__).resolve().parent


def name_of(package):
    return package if package == "tiny" else f"tiny-{package}"


PACKAGES = {name_of(path.parent.name): path.parent.name for path in sorted(HERE.glob("*/training.py"))}


def arguments():
    parser = argparse.ArgumentParser(
        prog="npm run train --", description="Trains a built-in model, saves it, and measures what its heads do.")
    parser.add_argument("name", metavar="NAME", choices=PACKAGES, help=", ".join(PACKAGES))
    only = parser.add_mutually_exclusive_group()
    only.add_argument("--card", action="store_true", help="only measure the saved weights, and write what is made of it")
    only.add_argument("--check", action="store_true", help="only measure the saved weights, and fail if the card says otherwise")
    parser.add_argument("--out", metavar="FOLDER", type=Path, help="reads and writes here, not in web/models and tests/golden")
    return parser.parse_args()


def train(training, module, places):
    """Trains, and saves the weights. The README of a model that is written elsewhere is a copy of the repository's."""
    places.folder.mkdir(parents=True, exist_ok=True)
    if not places.readme.exists():
        places.readme.write_text(Places(module.NAME).readme.read_text())
    model, rest, sentence = training.train()
    training.save(places.folder, model, rest)
    texts = {"training": sentence}
    if hasattr(module, "of_training"):
        texts |= module.of_training(model, rest)
    places.readme.write_text(card.filled(places.readme.read_text(), texts))


def main():
    given = arguments()
    torch.set_num_threads(2)
    package = PACKAGES[given.name]
    places = Places(given.name, given.out)
    module = importlib.import_module(f"{package}.card")
    if not given.card and not given.check:
        train(importlib.import_module(f"{package}.training"), module, places)
    elif not (places.folder / "model.safetensors").exists():
        raise SystemExit(f"{places.folder} has no model.safetensors: train the model first")
    wrong = (card.check if given.check else card.write)(module, places)
    print("\n".join(["", *wrong]) if wrong else f"\n{given.name}: {'all is as the card says' if given.check else places.folder}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
