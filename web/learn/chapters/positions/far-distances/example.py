# SPDX-License-Identifier: Apache-2.0
import torch

distances = torch.tensor([0, 1, 7, 8, 15, 16, 90, 91, 128, 500])
print(*(2.0 ** -torch.arange(1, 9)).tolist())  # one slope for each head
# 16 buckets for earlier tokens: 8 of one distance each, and 8 up to distance 128, each 2 to the power of 1/2 as long as the one before
shared = 8 + (torch.log(distances.clamp(min=8) / 8) / torch.log(torch.tensor(128 / 8)) * 8).long()
print(*torch.where(distances < 8, distances, shared.clamp(max=15)).tolist())
