# SPDX-License-Identifier: Apache-2.0
import torch

q = torch.tensor([1.0, 0, 0, 1, 1, 1, 2, 0]).view(4, 1, 2)  # four heads, one query
k = torch.tensor([1.0, 0, 0, 1, 1, 1, 0, 2, 2, 0, 1, 1]).view(2, 3, 2)  # two heads, three keys
keys = k.repeat_interleave(2, dim=0)  # heads 0 and 1 read the first, heads 2 and 3 the second
weights = torch.softmax(q @ keys.transpose(1, 2) / 2**0.5, dim=-1)
print(*weights.flatten().tolist())
