# SPDX-License-Identifier: Apache-2.0
import torch

q, k = torch.ones(2, 1), torch.tensor([[2.0], [1], [0]])
v = torch.tensor([[1.0, 0], [0, 1], [1, 1]])
keep = torch.tensor([[True, True, False], [False, False, False]])  # the second query sees nothing
weights = torch.softmax((q @ k.T).masked_fill(~keep, -torch.inf), dim=-1)  # its row is NaN
weights = weights.masked_fill(~keep.any(dim=-1, keepdim=True), 0)
print(*weights.flatten().tolist(), *(weights @ v).flatten().tolist())
