"""Writes the committed model's results, which PyTorch computes in float64: python3 web/models/train/golden.py.

tests/golden/model/tiny.safetensors has one text: `ids` I32 [T], `hidden` [L+1,T,D] after the embedding and after each layer,
`weights` [L,H,T,T] and `logits` [T,V], all stored as F32. Its metadata has `text`, and `tokens` and `ids` as JSON lists.

tests/golden/model/heads.safetensors has scores of the heads on rows <s>[s][s] of random common tokens: `ids` I32 [B,T]; the
means over the rows `previous`, `induction`, `entropy_normalized`, `sharpness`, `distance` and `sink` [L,H]; and the first
row's `rollout` [T,T].
"""
import json
from pathlib import Path

import torch

from model import load_model, repeat_scores, repeated, save_tensors, text_scores
from tokenizer import Tokenizer

TEXT = "The cat sat on the mat because it was tired. Anna saw the cat, and she gave it a warm café blanket 🐈."
ROOT = Path(__file__).resolve().parents[3]


@torch.no_grad()
def head_scores(model, half=32):
    ids = repeated(torch.Generator().manual_seed(0), torch.arange(300, 1200), 16, half)
    maps = torch.stack(model.trace(ids)[1])  # [L,B,H,T,T]
    places = torch.arange(ids.shape[1], dtype=maps.dtype)
    previous, induction = repeat_scores(model, ids, half)
    rollout = torch.eye(ids.shape[1], dtype=maps.dtype)
    for layer in maps[:, 0].mean(1):
        rollout = (layer + torch.eye(len(layer), dtype=maps.dtype)) / 2 @ rollout
    scores = {"previous": previous, "induction": induction, "entropy_normalized": text_scores(model, ids)[0],
              "sharpness": maps.amax(-1).mean((1, 3)), "sink": maps[..., 0].mean((1, 3)), "rollout": rollout,
              "distance": (maps * (places[:, None] - places).abs()).sum(-1).mean((1, 3))}
    return {"ids": ids.int()} | {name: score.float() for name, score in scores.items()}


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
    save_tensors(target.with_name("heads.safetensors"), head_scores(model))
    print(f"{target.relative_to(ROOT)}: {len(ids)} tokens, {target.stat().st_size} bytes")


if __name__ == "__main__":
    main()
