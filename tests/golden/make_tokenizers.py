# SPDX-License-Identifier: Apache-2.0
"""Makes tokenizers/, the ids that Hugging Face's library `tokenizers` 0.23 gives to lines of many scripts:
python3 tests/golden/make_tokenizers.py. It needs Python with `tokenizers` and PyTorch, as Debian has them.

* `lines.json` has the `lines`; `broken`, bytes in hexadecimal that are no UTF-8 and become the line of that number when
  a decoder of the WHATWG reads them; and `pairs` of numbers of lines.
* `NAME/tokenizer.json` has the pipeline of a published model with a small vocabulary.
* `steps.json` has many more tokenizers: each of `steps` is `base` with other values for some of its keys.
* `ids.safetensors` has for each of all these tokenizers, as I32:
  `NAME.ids`, the ids of the first lines, each line ended by a -1;
  `NAME.sums`, for each block of 8 lines (the metadata's `block`) the CRC-32 of their ids, each line ended by a -1, as
  little-endian int32; and `NAME.pairs` of published ones, the ids of `pairs` as of lines.
All ids are with special tokens.

The library learns some vocabularies in an order that changes from run to run. A tokenizer.json that is there is
therefore kept as it is: delete it when its pipeline has changed."""

import json
import struct
import zlib
from pathlib import Path

import torch
from tokenizers import Tokenizer

from files import safetensors
from tokenization.published import PUBLISHED
from tokenization.steps import base, steps
from tokenization.texts import lines

FOLDER = Path(__file__).parent / "tokenizers"
BLOCK = 8
IN_FULL = {"published": 120, "step": 12}


def text_of(value):
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def write(name, value):
    path = FOLDER / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text_of(value) + "\n", encoding="utf-8")


def published(name, make):
    """The text of the tokenizer.json, which is made unless it is there."""
    path = FOLDER / name / "tokenizer.json"
    if not path.exists():
        write(f"{name}/tokenizer.json", make())
    return path.read_text(encoding="utf-8")


def ended(encodings):
    return [identity for encoding in encodings for identity in [*encoding.ids, -1]]


def whole(numbers):
    return torch.tensor(numbers, dtype=torch.int64).to(torch.int32)


def sum_of(encodings):
    ids = ended(encodings)
    return zlib.crc32(struct.pack(f"<{len(ids)}i", *ids))


def expected(json_text, texts, pairs, in_full):
    library = Tokenizer.from_str(json_text)
    encodings = library.encode_batch(texts)
    tensors = {"ids": whole(ended(encodings[:in_full])),
               "sums": whole([sum_of(encodings[at:at + BLOCK]) for at in range(0, len(texts), BLOCK)])}
    if pairs:
        tensors["pairs"] = whole(ended(library.encode_batch([(texts[a], texts[b]) for a, b in pairs])))
    return tensors


def main():
    all_lines = lines()
    texts = [text for text, _ in all_lines]
    broken = {i: data.hex() for i, (_, data) in enumerate(all_lines) if data is not None}
    pairs = [[i, (7 * i + 3) % 160] for i in range(0, 160, 5)]
    write("lines.json", {"lines": texts, "broken": broken, "pairs": pairs})
    tensors = {}

    def add(name, json_text, kind):
        made = expected(json_text, texts, pairs if kind == "published" else [], IN_FULL[kind])
        tensors.update({f"{name}.{part}": tensor for part, tensor in made.items()})

    for name, make in PUBLISHED.items():
        add(name, published(name, make), "published")
    shared, changes = base(), steps()
    write("steps.json", {"base": shared, "steps": changes})
    for name, change in changes.items():
        add(name, text_of(shared | change), "step")
    (FOLDER / "ids.safetensors").write_bytes(safetensors(tensors, {"block": str(BLOCK)}))


main()
