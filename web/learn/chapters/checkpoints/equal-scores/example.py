# SPDX-License-Identifier: Apache-2.0
import torch

scores = torch.full((5,), 3.0)
values = torch.tensor([[4.0, 0.0], [0.0, 4.0], [2.0, 2.0], [8.0, -2.0], [1.0, 6.0]])
weights = torch.softmax(scores, dim=-1)
print(*weights.tolist())
print(*(weights @ values).tolist(), *values.mean(dim=0).tolist())
