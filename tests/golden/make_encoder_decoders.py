#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Makes the golden encoder–decoders: small random models as Hugging Face folders tests/golden/encoder_decoders/NAME/,
with their results.

    python3 tests/golden/make_encoder_decoders.py            # all models
    python3 tests/golden/make_encoder_decoders.py t5         # those whose name starts so

It needs what make_models.py needs. The folders are committed, so you only run this when you change them.

A folder holds
    config.json, model.safetensors    as transformers 5 writes them
    config.published.json    the configuration in the words of models that were published before
    expected.safetensors
        source_ids, target_ids    the ids [S] that the encoder reads, and [T] that the decoder reads, which begin with
                   its start token
        padding    [S] 1 where the source is padding, which no attention sees; absent where nothing is
        encoder.weights, decoder.weights, cross.weights    [layers, heads, S, S], [layers, heads, T, T] and
                   [layers, heads, T, S] of every layer and head. The decoder's layers have cross attention too.
        encoder.hidden, decoder.hidden    [layers + 1, S, D] and [layers + 1, T, D] the residual stream before each
                   layer and after the last, before a norm that follows
        logits     [T, vocab]
        KIND.head_mask, KIND.ablated    for each kind of attention above: [layers, heads] factors of its heads' outputs,
                   and the decoder's stream after its last layer [T, D] that they lead to
    explained.safetensors    what make_explained_pairs.py computes. Run it after this script, which removes a folder
                   before it makes it anew.

The numbers are made like those of make_models.py: transformers computes them in float64 with parameters as the file has
them, the published definition (families/NAME.py) has to agree, and the decoder's single steps, whose cache computes the
keys of cross attention once. They are rounded once, to float32, when stored.
"""

import pathlib
import shutil
import sys
import zlib

import library  # before the others, since it says how to get what is missing

import torch

from families import marian, t5
from families.parts import ATTENTIONS, Record
from files import safetensors
from make_models import draw_parameters, head_mask_like, write_json

FOLDER = pathlib.Path(__file__).parent / "encoder_decoders"
MODELS = t5.MODELS | marian.MODELS


def run(definition, inputs, head_masks={}):
    """The records of each kind of attention, and the logits."""
    def masked(mask):
        return lambda layer, heads: heads * mask[layer].reshape(-1, 1, 1)

    records = {kind: Record(**({"change_heads": masked(head_masks[kind])} if kind in head_masks else {}))
               for kind in ATTENTIONS}
    return records, definition(records, inputs)


def definition_results(definition, inputs):
    """The published definition's results for the inputs, and a head mask for each kind of attention."""
    with torch.no_grad():
        records, logits = run(definition, inputs)
        results = {"logits": logits}
        for kind in ATTENTIONS:
            weights = torch.stack(records[kind].weights)
            mask = head_mask_like(weights)
            ablated = run(definition, inputs, {kind: mask})[0]["decoder"].hidden[-1]
            results |= {f"{kind}.weights": weights, f"{kind}.head_mask": mask, f"{kind}.ablated": ablated}
        return results | {f"{kind}.hidden": torch.stack(records[kind].hidden) for kind in ["encoder", "decoder"]}


def make(name, model):
    generator = torch.Generator().manual_seed(zlib.crc32(name.encode()))
    definition, folder = model.definition(model.config), FOLDER / name
    draw_parameters(definition, model.dtype, generator)
    inputs = model.inputs(model.config, generator)
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    tensors = {key: value.to(model.dtype) for key, value in definition.state_dict().items()}
    library.write(model, model.config, tensors, folder)
    write_json(folder / "config.published.json", model.config, indent=1)

    expected = definition_results(definition, inputs)
    masks = {kind: expected.pop(f"{kind}.head_mask") for kind in ATTENTIONS}
    results = library.pair_results(model, folder, inputs, masks)
    assert results.keys() == expected.keys(), results.keys() ^ expected.keys()
    for key, value in results.items():
        library.check_close(f"{name}: {key}", value, expected[key])
    results |= {f"{kind}.head_mask": mask for kind, mask in masks.items()}
    stored = {key: value.float() for key, value in results.items()}
    (folder / "expected.safetensors").write_bytes(safetensors(inputs | stored, {"model": name}))


def main():
    for name, model in MODELS.items():
        if any(name.startswith(start) for start in sys.argv[1:] or [""]):
            make(name, model)
            print(f"{name}: transformers and the published definition agree")
    size = sum(path.stat().st_size for path in FOLDER.rglob("*.*"))
    print(f"{len(list(FOLDER.iterdir()))} models, {size} bytes")


if __name__ == "__main__":
    main()
