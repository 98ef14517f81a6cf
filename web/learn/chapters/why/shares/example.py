# SPDX-License-Identifier: Apache-2.0
import torch

parts = torch.tensor([7.0, 2.0, 1.0])
values = torch.tensor([[2.0, 0.0], [0.0, 2.0], [1.0, 1.0]])
weights = torch.softmax(parts.log(), dim=-1)  # the softmax of logarithms gives shares
print(*weights.tolist())
print(*(weights @ values).tolist())
