#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Makes the golden models: small random models as Hugging Face folders tests/golden/models/NAME/, with their results.

    python3 tests/golden/make_models.py            # all models
    python3 tests/golden/make_models.py gpt2       # those whose name starts so

It needs the transformers library; CONTRIBUTING.md says how to get it. The folders are committed, so you only run this
when you change them.

A folder holds
    config.json, model.safetensors (or shards and their index), tokenizer.json where a small one of its kind is there
    config.published.json    the configuration in the words of models that were published before transformers 5, where
                   they differ
    expected.safetensors
        ids, segments, padding, image    the model's inputs, as many of these as it has
        weights    [layers, heads, T, T] of every layer and head
        hidden     [layers + 1, T, D] the residual stream before each layer and after the last
        logits     [T, vocab], or [1, labels]; absent where the model has none
        picture, pixels    RGBA bytes [height, width, 4], and the pixels that preprocessor_config.json makes of them
                   [3, size, size]
        head_mask, ablated    [layers, heads] factors of the heads' outputs, and the stream after the last layer that
                   they lead to
    explained.safetensors    what make_explained.py computes. Run it after this script, which removes a folder before it
                   makes it anew.

The numbers
    Parameters are drawn in float32 from a seed of the model's name, and rounded to the type that the file has. All
    results are those of transformers, which loads the folder and runs it in float64 (library.py). The published
    definition of the family (families/NAME.py) has to give the same numbers, as have single steps with the library's
    cache. They are rounded once, to float32, when stored.
"""

import json
import math
import shutil
import sys
import zlib

import library  # before the others, since it says how to get what is missing

import numpy
import torch
from PIL import Image

from families import FOLDER, MODELS
from families.parts import Record
from files import safetensors


def draw_parameters(model, dtype, generator):
    """Draws weights around 0, and norms' weights around where they do nothing, large enough for heads to differ, and
    rounds them to `dtype`."""
    centre = getattr(model, "norms_around", 1.0)
    for name, parameter in model.named_parameters():
        around = centre if parameter.dim() == 1 and name.endswith(("weight", "lambda1")) else 0.0
        spread = 1.0 / math.sqrt(parameter.shape[-1]) if parameter.dim() == 2 and "emb" not in name else 0.4
        values = around + spread * torch.randn(parameter.shape, generator=generator)
        parameter.data = values.to(dtype).double()


def preprocess(picture, processor):
    """Resizes with Pillow, crops, rescales and normalises."""
    image, size, crop = Image.fromarray(picture[..., :3].numpy()), processor["size"], processor.get("crop_size")
    if isinstance(size, int):
        shape = (size, size)
    elif "shortest_edge" in size:
        shape = tuple(side * size["shortest_edge"] // min(image.size) for side in image.size)
    else:
        shape = (size["width"], size["height"])
    # Rows first, as Pillow did always before version 13. Since then it begins with columns where these shrink more. It
    # rounds to whole numbers each time.
    for part in ((shape[0], image.height), shape):
        image = image.resize(part, Image.Resampling(processor["resample"]))
    if processor.get("do_center_crop"):
        width, height = (crop, crop) if isinstance(crop, int) else (crop["width"], crop["height"])
        left, top = (image.width - width) // 2, (image.height - height) // 2
        image = image.crop((left, top, left + width, top + height))
    pixels = torch.from_numpy(numpy.array(image)).permute(2, 0, 1).double()
    mean, deviation = (torch.tensor(processor[key]).double().reshape(3, 1, 1) for key in ["image_mean", "image_std"])
    return (pixels * processor.get("rescale_factor", 1 / 255) - mean) / deviation


def write_weights(folder, tensors, shards):
    """Writes one file, or shards with about the same number of tensors each, and their index."""
    if shards == 1:
        (folder / "model.safetensors").write_bytes(safetensors(tensors, {"format": "pt"}))
        return
    names, where = sorted(tensors), {}
    for i in range(shards):
        file = f"model-{i + 1:05}-of-{shards:05}.safetensors"
        part = names[i * len(names) // shards:(i + 1) * len(names) // shards]
        (folder / file).write_bytes(safetensors({name: tensors[name] for name in part}, {"format": "pt"}))
        where |= {name: file for name in part}
    size = sum(tensor.numel() * tensor.element_size() for tensor in tensors.values())
    index = {"metadata": {"total_size": size}, "weight_map": where}
    (folder / "model.safetensors.index.json").write_text(json.dumps(index, indent=1) + "\n")


def write_json(path, value, **how):
    path.write_text(json.dumps(value, **how) + "\n")


def write_model(folder, model, config, tensors):
    """Writes everything but the results."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    if model.saved:
        library.write(model, config, tensors, folder)
    else:
        write_json(folder / "config.json", config, indent=1)
        write_weights(folder, tensors, model.shards)
    if "rope_theta" in config and model.saved:
        write_json(folder / "config.published.json", config, indent=1)
    if model.tokenizer:
        write_json(folder / "tokenizer.json", model.tokenizer(), ensure_ascii=False)
    if model.preprocessor:
        write_json(folder / "preprocessor_config.json", model.preprocessor, indent=1)


def head_mask_like(weights):
    """Factors [layers, heads] for weights [layers, heads, T, T]."""
    layers, heads = weights.shape[:2]
    return torch.tensor([0.0, 1.0, 0.5, 1.0, 1.5, 0.0, 1.0]).repeat(4)[:layers * heads].reshape(layers, heads).double()


def definition_results(definition, inputs):
    """The results of the published definition for the inputs, and for a head_mask."""
    exact = {key: value.double() if value.is_floating_point() else value for key, value in inputs.items()}
    record = Record()
    with torch.no_grad():
        logits = definition(record, exact)
        weights = torch.stack(record.weights)
        mask = head_mask_like(weights)
        ablated = Record(change_heads=lambda layer, heads: heads * mask[layer].reshape(-1, 1, 1))
        definition(ablated, exact)
    return {"weights": weights, "hidden": torch.stack(record.hidden), "logits": logits, "head_mask": mask,
            "ablated": ablated.hidden[-1]}


def make(name, model):
    generator = torch.Generator().manual_seed(zlib.crc32(name.encode()))
    config = model.full_config()
    definition = model.definition(config)
    draw_parameters(definition, model.dtype, generator)
    inputs = model.inputs(config, model.length, generator)
    tensors = {model.rename(key): value.to(model.dtype) for key, value in definition.state_dict().items()}
    tensors.pop(None, None)
    write_model(FOLDER / name, model, config, tensors)

    expected = definition_results(definition, inputs)
    results = library.results(model, FOLDER / name, inputs, expected["head_mask"])
    for key, value in results.items():
        library.check_close(f"{name}: {key}", value, expected[key])
    results["head_mask"] = expected["head_mask"]
    if model.preprocessor:
        results["picture"] = torch.randint(256, [*model.picture, 4], generator=generator, dtype=torch.uint8)
        results["pixels"] = preprocess(results["picture"], model.preprocessor)
        if model.saved:
            library.check_pixels(FOLDER / name, results["picture"], results["pixels"])
    stored = {key: value.float() if value.is_floating_point() else value for key, value in results.items()}
    (FOLDER / name / "expected.safetensors").write_bytes(safetensors(inputs | stored, {"model": name}))


def main():
    for name, model in MODELS.items():
        if any(name.startswith(start) for start in sys.argv[1:] or [""]):
            make(name, model)
            print(f"{name}: transformers and the published definition agree")
    size = sum(path.stat().st_size for path in FOLDER.rglob("*.*"))
    print(f"{len(list(FOLDER.iterdir()))} models, {size} bytes")


if __name__ == "__main__":
    main()
