# SPDX-License-Identifier: Apache-2.0
import torch

x = torch.tensor([[1.0, 0, 2, 1], [0, 1, 1, 3]])  # two tokens of width 4, two heads
heads = x.view(2, 2, 2).transpose(0, 1)
weights = torch.softmax(heads @ heads.transpose(1, 2) / 2**0.5, dim=-1)
for mask in ([1, 1], [0, 1]):
    kept = weights @ heads * torch.tensor(mask).view(2, 1, 1)
    print(*kept.transpose(0, 1).flatten().tolist())
