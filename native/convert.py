#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes a folder that headlens reads of a Hugging Face folder with pickles (pytorch_model.bin) or a tokenizer of many
files (vocab.txt, spiece.model; source.spm, target.spm and vocab.json of Marian):

    python3 native/convert.py FOLDER NEW_FOLDER

The new folder gets config.json and preprocessor_config.json as they are, the weights as safetensors under the same names
and in the same types, and tokenizer.json. Pickles need PyTorch, of which only tensors are read and no code is run;
tokenizers need transformers, and those of SentencePiece also sentencepiece and protobuf. Those of Marian need only the
last two, as transformers makes no tokenizer.json of them: here it becomes the source's, whose "target_tokenizer" is the
target's. Nothing is overwritten, and the new folder appears whole or not at all."""

import argparse
import base64
import itertools
import json
import os
import re
import shutil
import struct
import sys
import tempfile
from pathlib import Path

PICKLES = ["pytorch_model.bin", "pytorch_model-*.bin", "*.bin", "*.pth", "*.pt", "*.ckpt"]
# Training leaves these beside the weights.
NO_WEIGHTS = ("training_args", "optimizer", "scheduler", "rng_state", "scaler")
MARIAN = ["source.spm", "target.spm", "vocab.json"]
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


def read_vocabulary(path):
    """The pieces of a vocab.json in the order of their ids."""
    try:
        ids = json.loads(path.read_text(encoding="utf-8"))
        pieces = sorted(ids, key=ids.get)
        is_list = [ids[piece] for piece in pieces] == list(range(len(pieces)))
    except (ValueError, TypeError, AttributeError, RecursionError) as error:
        fail(f"{path} is no JSON of pieces and their ids: {error}")
    if not is_list:
        fail(f"{path} has {len(pieces)} pieces, expected the ids from 0 to {len(pieces) - 1}, each once")
    missing = {"</s>", "<unk>"} - ids.keys()
    return fail(f"{path} lacks the piece {min(missing)}") if missing else pieces


def read_spm(path):
    """The model of SentencePiece in a file, of the kind that Marian's are."""
    needed("google.protobuf", path.name)
    needed("sentencepiece", path.name)
    from sentencepiece import sentencepiece_model_pb2
    model = sentencepiece_model_pb2.ModelProto()
    try:
        model.ParseFromString(path.read_bytes())
    except Exception as error:
        fail(f"{path} is no model of SentencePiece: {error}")
    trainer, types = model.trainer_spec, {piece.type for piece in model.pieces}
    if trainer.model_type != trainer.UNIGRAM:
        fail(f"{path} is of the type {trainer.ModelType.Name(trainer.model_type)}, expected UNIGRAM")
    for flag in ["byte_fallback", "treat_whitespace_as_suffix"]:
        if getattr(trainer, flag):
            fail(f"{path} has {flag}, expected a model without")
    if model.SentencePiece.USER_DEFINED in types:
        fail(f"{path} has user-defined pieces, expected none")
    if model.SentencePiece.NORMAL not in types:
        fail(f"{path} has no pieces, expected the model of a tokenizer")
    return model


# The first stands for <unk> in a text that is being normalized. The other, which SentencePiece's tables leave in no
# text, stands around unknown characters, and around pieces that only they may become.
UNKNOWN, APART = "\uFDD0", "\u200B"


def regex(pattern):
    return {"Regex": pattern}


def replace(pattern, content):
    return {"type": "Replace", "pattern": pattern, "content": content}


def ranges(characters):
    """The characters as the inside of a class of a regular expression."""
    codes = sorted(map(ord, characters))
    runs = [[code for _, code in run] for _, run in itertools.groupby(enumerate(codes), lambda pair: pair[1] - pair[0])]
    return "".join("-".join(re.escape(chr(code)) for code in sorted({run[0], run[-1]})) for run in runs)


def marian_normalizer(model, known):
    """Changes a text as SentencePiece does, but for its marks of spaces. A language code that is no piece is unknown as a
    whole. A run of characters that are in no known piece is set apart, as all of it is one piece or unknown."""
    spec = model.normalizer_spec
    characters = ranges(set("".join(known)) | {" ", UNKNOWN, APART})
    steps = [replace(regex(r"<unk>|\A>>[\s\S]*?<<"), UNKNOWN)]
    if spec.precompiled_charsmap:
        table = base64.b64encode(spec.precompiled_charsmap).decode()
        steps.append({"type": "Precompiled", "precompiled_charsmap": table})
    if spec.remove_extra_whitespaces:
        steps.append(replace(regex(r"\A +| +\z| +(?= )"), ""))
    steps += [replace(regex(f"(?=[^{characters}])"), APART), replace(regex(f"(?<=[^{characters}])"), APART),
              replace({"String": 2 * APART}, "")]
    return {"type": "Sequence", "normalizers": steps}


def marian_tokenizer(model, pieces):
    """The tokenizer.json of one of Marian's two models of SentencePiece. It gives the ids of vocab.json, which has
    pieces of the other model too: only a run of characters that this one does not know may become one of them. A piece
    that vocab.json lacks has no id, and is left out."""
    normal = {piece.piece: piece.score for piece in model.pieces if piece.type == model.SentencePiece.NORMAL}
    least = min(normal.values())
    vocab = [[piece, normal[piece]] if piece in normal else [APART + piece + APART, least] for piece in pieces]
    prepend = "always" if model.normalizer_spec.add_dummy_prefix else "never"
    spaces = {"type": "Metaspace", "replacement": "▁", "prepend_scheme": prepend, "split": False}
    first, second, end = [{"Sequence": {"id": "A", "type_id": 0}}, {"Sequence": {"id": "B", "type_id": 0}},
                          {"SpecialToken": {"id": "</s>", "type_id": 0}}]
    # Of these, only <unk> is looked for in the normalized text, as language codes that are no pieces have become it.
    added = []
    for i, piece in enumerate(pieces):
        if not re.fullmatch(r"</s>|<unk>|<pad>|>>[\s\S]*<<", piece):
            continue
        vocab[i][0] = piece
        is_unknown = piece == "<unk>"
        added.append({"id": i, "content": piece, "single_word": False, "lstrip": is_unknown, "rstrip": is_unknown,
                      "normalized": is_unknown, "special": True})
    return {
        "version": "1.0", "truncation": None, "padding": None, "added_tokens": added,
        "normalizer": marian_normalizer(model, normal.keys() & set(pieces)),
        "pre_tokenizer": spaces,
        "post_processor": {
            "type": "TemplateProcessing", "single": [first, end], "pair": [first, second, end],
            "special_tokens": {"</s>": {"id": "</s>", "ids": [pieces.index("</s>")], "tokens": ["</s>"]}}},
        "decoder": {"type": "Sequence", "decoders": [replace({"String": APART}, ""), spaces]},
        "model": {"type": "Unigram", "unk_id": pieces.index("<unk>"), "byte_fallback": False, "vocab": vocab},
    }


def convert_marian(folder, new):
    pieces = read_vocabulary(folder / MARIAN[2])
    source, target = (read_spm(folder / name) for name in MARIAN[:2])
    made = marian_tokenizer(source, pieces) | {"target_tokenizer": marian_tokenizer(target, pieces)}
    text = json.dumps(made, ensure_ascii=False, separators=(",", ":"))
    (new / "tokenizer.json").write_text(text + "\n", encoding="utf-8")


def convert_tokenizer(folder, new):
    """Copies tokenizer.json, or lets transformers make one. Models of pictures have no tokenizer."""
    if (folder / "tokenizer.json").exists():
        shutil.copy(folder / "tokenizer.json", new)
        return
    if all((folder / name).exists() for name in MARIAN):
        convert_marian(folder, new)
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
