# SPDX-License-Identifier: Apache-2.0
import torch

scores = torch.tensor([1.2, 1.0, 0.1, -0.5, -2.0])


def sparsemax(z):
    falling = z.sort(descending=True).values
    sums = falling.cumsum(0)
    kept = (1 + torch.arange(1, len(z) + 1) * falling > sums).sum()
    return torch.relu(z - (sums[kept - 1] - 1) / kept)


for normalizer in (lambda z: torch.softmax(z, dim=-1), sparsemax, torch.sigmoid):
    print(*normalizer(scores).tolist())
