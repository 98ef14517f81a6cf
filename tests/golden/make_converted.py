#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Makes converted/, a folder as models were published before safetensors, and what native/convert.py makes of it:
python3 tests/golden/make_converted.py. It needs the transformers library; CONTRIBUTING.md says how to get it.

* `old/` has a small random BERT as config.json, two pickles pytorch_model-*.bin with the oldest names of tensors, and
  vocab.txt with tokenizer_config.json.
* `new/` is what the script makes of it.
* `expected.safetensors` has the library's results for the folder `old/`: `ids` of the metadata's `text`, and `logits`."""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import library  # before the others, since it says how to get what is missing

import torch
import transformers

from files import safetensors

FOLDER = Path(__file__).parent / "converted"
TEXT = "The cat sat on the mats, unseen."
WORDS = "[PAD] [UNK] [CLS] [SEP] [MASK] the cat sat on mat ##s un ##seen , . a dog".split()


def old_name(name):
    """The name that a norm's parameter had at first."""
    if "LayerNorm" not in name:
        return name
    return name.replace("weight", "gamma").replace("bias", "beta")


def make_old(folder):
    folder.mkdir(parents=True)
    (folder / "vocab.txt").write_text("\n".join(WORDS) + "\n")
    (folder / "tokenizer_config.json").write_text(json.dumps({"do_lower_case": True}) + "\n")
    config = transformers.BertConfig(vocab_size=len(WORDS), hidden_size=4, num_hidden_layers=1, num_attention_heads=2,
                                     intermediate_size=6, max_position_embeddings=16, initializer_range=0.5)
    torch.manual_seed(7)
    model = transformers.BertForMaskedLM(config).eval()
    kept = {"model_type": "bert", "architectures": ["BertForMaskedLM"], **config.to_diff_dict()}
    kept.pop("transformers_version", None)
    (folder / "config.json").write_text(json.dumps(kept, indent=1) + "\n")
    tensors = {old_name(name): x for name, x in model.state_dict().items()}
    names, where = sorted(tensors), {}
    for i, part in enumerate([names[:len(names) // 2], names[len(names) // 2:]]):
        file = f"pytorch_model-{i + 1:05}-of-00002.bin"
        torch.save({name: tensors[name] for name in part}, folder / file)
        where |= dict.fromkeys(part, file)
    (folder / "pytorch_model.bin.index.json").write_text(json.dumps({"metadata": {}, "weight_map": where}) + "\n")


def main():
    shutil.rmtree(FOLDER, ignore_errors=True)
    make_old(FOLDER / "old")
    script = Path(__file__).parents[2] / "native/convert.py"
    subprocess.run([sys.executable, script, FOLDER / "old", FOLDER / "new"], check=True)
    tokenizer = transformers.AutoTokenizer.from_pretrained(FOLDER / "old")
    model = transformers.BertForMaskedLM.from_pretrained(FOLDER / "old", dtype=torch.float64).eval()
    ids = tokenizer(TEXT, return_tensors="pt").input_ids
    with torch.no_grad(), library.Wide():
        logits = model(ids).logits[0]
    results = {"ids": ids[0].to(torch.int32), "logits": logits.float()}
    (FOLDER / "expected.safetensors").write_bytes(safetensors(results, {"text": TEXT}))
    print(sum(path.stat().st_size for path in FOLDER.rglob("*.*")), "bytes")


if __name__ == "__main__":
    main()
