# SPDX-License-Identifier: Apache-2.0
import torch

place = torch.arange(64.0)
query = torch.sin(place)
keys = torch.stack([torch.sin(place + shift) for shift in range(3)])
scores = keys @ query
print(*torch.softmax(scores, dim=-1).tolist())
print(*torch.softmax(scores / 64**0.5, dim=-1).tolist())
