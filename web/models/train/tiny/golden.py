"""The numbers that PyTorch computes with tiny in float64, for tests/golden/built_in/tiny.safetensors.

One text: `ids` [T], `hidden` [L+1,T,D] after the embedding and after each layer, `weights` [L,H,T,T] and `logits` [T,V], with
the `text` and the names of its `tokens` as a JSON list. And rows <s>[s][s] of random common tokens: `repeats` [B,T], with the
means over these rows of the heads' `previous`, `induction`, `entropy_normalized`, `sharpness`, `distance` and `sink` [L,H],
and the first row's `rollout` [T,T].
"""
import copy
import json

import torch

from tiny.model import repeat_scores, repeated, text_scores

TEXT = "The cat sat on the mat because it was tired. Anna saw the cat, and she gave it a warm café blanket 🐈."
HALF = 32


@torch.no_grad()
def golden(model):
    tokenizer = model.tokenizer
    model = copy.deepcopy(model).double()
    ids = [0] + tokenizer.encode(TEXT)
    states, maps = model.trace(torch.tensor([ids]))
    return {"hidden": torch.cat(states), "weights": torch.cat(maps), "logits": model.logits(states[-1])[0],
            "ids": torch.tensor(ids), "text": TEXT,
            "tokens": json.dumps([tokenizer.names[i] for i in ids], ensure_ascii=False)} | of_repeats(model)


def of_repeats(model):
    ids = repeated(torch.Generator().manual_seed(0), torch.arange(300, 1200), 16, HALF)
    maps = torch.stack(model.trace(ids)[1])  # [L,B,H,T,T]
    places = torch.arange(ids.shape[1], dtype=maps.dtype)
    previous, induction = repeat_scores(model, ids, HALF)
    rollout = torch.eye(ids.shape[1], dtype=maps.dtype)
    for layer in maps[:, 0].mean(1):
        rollout = (layer + torch.eye(len(layer), dtype=maps.dtype)) / 2 @ rollout
    return {"repeats": ids, "previous": previous, "induction": induction, "entropy_normalized": text_scores(model, ids)[0],
            "sharpness": maps.amax(-1).mean((1, 3)), "sink": maps[..., 0].mean((1, 3)), "rollout": rollout,
            "distance": (maps * (places[:, None] - places).abs()).sum(-1).mean((1, 3))}
