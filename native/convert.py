#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes a folder that headlens reads of a Hugging Face folder with pickles (pytorch_model.bin) or a tokenizer of many
files (vocab.txt, spiece.model):

    python3 native/convert.py FOLDER NEW_FOLDER

The new folder gets config.json and preprocessor_config.json as they are, the weights as safetensors under the same names
and in the same types, and tokenizer.json. Pickles need PyTorch, of which only tensors are read and no code is run;
tokenizers need transformers, and those of SentencePiece also sentencepiece and protobuf. Nothing is overwritten, and the
new folder appears whole or not at all."""

import argparse
import json
import os
import shutil
import struct
import sys
import tempfile
from pathlib import Path

PICKLES = ["pytorch_model.bin", "pytorch_model-*.bin", "*.bin", "*.pth", "*.pt", "*.ckpt"]
# Training leaves these beside the weights.
NO_WEIGHTS = ("training_args", "optimizer", "scheduler", "rng_state", "scaler")
TOKENIZERS = ["*.model", "*.spm", "vocab.txt", "vocab.json", "tekken.json", "*.tiktoken"]


def fail(message):
    sys.exit(f"convert.py: {message}")


def needed(library, what):
    """Imports a library that only some folders need."""
    try:
        return __import__(library)
    except ImportError as error:
        fail(f"{what} needs the Python library {library}: {error}")


def matching(folder, patterns):
    """The files that fit the first pattern that any file fits."""
    for pattern in patterns:
        files = [file for file in sorted(folder.glob(pattern)) if not file.name.startswith(NO_WEIGHTS)]
        if files:
            return files
    return []


def read_pickle(path):
    """The tensors of a pickle, by name. Some lie in a dictionary of a training's other values."""
    torch = needed("torch", path.name)
    try:
        read = torch.load(path, map_location="cpu", weights_only=True)
    except Exception as error:
        fail(f"{path} is no pickle of tensors alone: {str(error).splitlines()[0]}")
    for key in ["state_dict", "model"]:
        read = read.get(key, read) if isinstance(read, dict) else read
    tensors = {name: x for name, x in read.items() if isinstance(x, torch.Tensor)} if isinstance(read, dict) else {}
    return tensors or fail(f"{path} has no tensors by name")


def write_safetensors(path, tensors):
    """Writes one tensor after the other, so that each is in memory a second time only while it is written."""
    torch = sys.modules["torch"]
    types = {torch.float64: "F64", torch.float32: "F32", torch.float16: "F16", torch.bfloat16: "BF16",
             torch.int64: "I64", torch.int32: "I32", torch.int16: "I16", torch.int8: "I8", torch.uint8: "U8",
             torch.bool: "BOOL"}
    order = sorted(tensors, key=lambda name: (-tensors[name].element_size(), name))  # each aligned to its elements
    header, end = {"__metadata__": {"format": "pt"}}, 0
    for name in order:
        x = tensors[name]
        if x.layout != torch.strided or x.dtype not in types:
            fail(f"the tensor {name} is {x.dtype}, {x.layout}, expected one of {', '.join(types.values())}, strided")
        begin, end = end, end + x.numel() * x.element_size()
        header[name] = {"dtype": types[x.dtype], "shape": list(x.shape), "data_offsets": [begin, end]}
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "xb") as file:
        file.write(struct.pack("<Q", len(text)) + text)
        for name in order:
            file.write(tensors[name].contiguous().reshape(-1).view(torch.uint8).numpy().tobytes())


def convert_weights(folder, new):
    """Writes a file for each of the old ones, and their index if there are several."""
    files = matching(folder, ["model.safetensors", "model.safetensors.index.json"])
    if files:
        for file in folder.glob("*.safetensors*"):
            shutil.copy(file, new)
        return
    files = matching(folder, PICKLES)
    if not files:
        fail(f"{folder} has no weights, expected model.safetensors or one of {', '.join(PICKLES)}")
    names = ["model.safetensors"]
    if len(files) > 1:
        names = [f"model-{i + 1:05}-of-{len(files):05}.safetensors" for i in range(len(files))]
    where, size = {}, 0
    for file, name in zip(files, names):
        tensors = read_pickle(file)
        twice = where.keys() & tensors.keys()
        if twice:
            fail(f"the tensor {min(twice)} is in {file.name} and in another file, expected each in one")
        write_safetensors(new / name, tensors)
        where |= dict.fromkeys(tensors, name)
        size += sum(x.numel() * x.element_size() for x in tensors.values())
    if len(files) > 1:
        index = {"metadata": {"total_size": size}, "weight_map": where}
        (new / "model.safetensors.index.json").write_text(json.dumps(index, indent=1) + "\n")


def convert_tokenizer(folder, new):
    """Copies tokenizer.json, or lets transformers make one. Models of pictures have no tokenizer."""
    if (folder / "tokenizer.json").exists():
        shutil.copy(folder / "tokenizer.json", new)
        return
    files = matching(folder, TOKENIZERS)
    if not files:
        return
    transformers = needed("transformers", files[0].name)
    try:
        tokenizer = transformers.AutoTokenizer.from_pretrained(folder, use_fast=True, local_files_only=True)
    except Exception as error:
        fail(f"transformers does not read the tokenizer of {folder}: {str(error).strip().splitlines()[0]}")
    if not tokenizer.is_fast:
        fail(f"transformers has no tokenizer.json for the {type(tokenizer).__name__} of {folder}")
    tokenizer.backend_tokenizer.save(str(new / "tokenizer.json"))


def main():
    parser = argparse.ArgumentParser(description="Makes a folder that headlens reads of one with pickles or a "
                                     "tokenizer of many files.")
    parser.add_argument("folder", type=Path, metavar="FOLDER", help="folder with config.json and weights")
    parser.add_argument("new", type=Path, metavar="NEW_FOLDER", help="folder to make, which must not be there")
    options = parser.parse_args()
    if not (options.folder / "config.json").is_file():
        fail(f"{options.folder} has no config.json, expected the folder of a model")
    if options.new.exists() or options.new.is_symlink():
        fail(f"{options.new} is there already, expected the name of a new folder")
    if not options.new.absolute().parent.is_dir():
        fail(f"{options.new} is in no folder, expected a place that is there")
    # It is in the same place, so that the whole folder can be renamed.
    with tempfile.TemporaryDirectory(dir=options.new.absolute().parent, prefix=".convert-") as place:
        made = Path(place) / "made"
        made.mkdir()
        for name in ["config.json", "preprocessor_config.json"]:
            if (options.folder / name).exists():
                shutil.copy(options.folder / name, made)
        convert_weights(options.folder, made)
        convert_tokenizer(options.folder, made)
        os.rename(made, options.new)
    print(f"{options.new}: {', '.join(sorted(file.name for file in options.new.iterdir()))}")


if __name__ == "__main__":
    main()
