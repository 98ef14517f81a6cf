# SPDX-License-Identifier: Apache-2.0
"""Makes maps/parts.safetensors: parts of attention maps, and maps pooled to their means and their largest weights, by
PyTorch in float64: python3 tests/golden/make_maps.py"""

from pathlib import Path

import torch
import torch.nn.functional as F
from files import safetensors

ROWS, COLS = (5, 17), (3, 29)
BLOCK = (4, 6)


def main():
    torch.manual_seed(1)
    q = torch.randn(1, 2, 24, 16).float()
    k = torch.randn(1, 2, 36, 16).float()
    scores = q.double() @ k.double().transpose(-1, -2) / 4
    tensors = {"query": q, "key": k}
    hidden = torch.ones(24, 36, dtype=torch.bool).triu(1)
    for name, masked in [("plain", scores), ("causal", scores.masked_fill(hidden, -torch.inf))]:
        weights = masked.softmax(-1)
        tensors |= {
            f"{name}.part": weights[..., slice(*ROWS), slice(*COLS)],
            f"{name}.max": F.max_pool2d(weights, BLOCK),
            f"{name}.mean": F.avg_pool2d(weights, BLOCK),
            f"{name}.part_max": F.max_pool2d(weights[..., slice(*ROWS), slice(*COLS)], (3, 2)),
        }
    tensors = {name: tensor.float() for name, tensor in tensors.items()}
    metadata = {"rows": f"[{ROWS[0]}, {ROWS[1]}]", "cols": f"[{COLS[0]}, {COLS[1]}]"}
    path = Path(__file__).parent / "maps/parts.safetensors"
    path.write_bytes(safetensors(tensors, metadata))


main()
