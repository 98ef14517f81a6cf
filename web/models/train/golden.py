"""Writes tests/golden/model/tiny.safetensors: what the committed model does with one text, by PyTorch in float64.

python3 web/models/train/golden.py. Tensors (stored as F32): `ids` I32 [T], `hidden` [L+1,T,D] after the embedding and
after each layer, `weights` [L,H,T,T], `logits` [T,V]. Metadata: `text`, and `tokens` and `ids` as JSON lists.
"""
import json
from pathlib import Path

import torch

from model import load_model, save_tensors
from tokenizer import Tokenizer

TEXT = "The cat sat on the mat because it was tired. Anna saw the cat, and she gave it a warm café blanket 🐈."
ROOT = Path(__file__).resolve().parents[3]


@torch.no_grad()
def main():
    folder, target = ROOT / "web/models/tiny", ROOT / "tests/golden/model/tiny.safetensors"
    model, tokenizer = load_model(folder, torch.float64), Tokenizer.load(folder / "tokenizer.json")
    ids = [0] + tokenizer.encode(TEXT)
    states, maps = model.trace(torch.tensor([ids]))
    tensors = {"hidden": torch.cat(states).float(), "weights": torch.cat(maps).float(),
               "logits": model.logits(states[-1])[0].float(), "ids": torch.tensor(ids, dtype=torch.int32)}
    target.parent.mkdir(parents=True, exist_ok=True)
    save_tensors(target, tensors, {"text": TEXT, "tokens": json.dumps([tokenizer.names[i] for i in ids], ensure_ascii=False),
                                   "ids": json.dumps(ids)})
    print(f"{target.relative_to(ROOT)}: {len(ids)} tokens, {target.stat().st_size} bytes")


if __name__ == "__main__":
    main()
