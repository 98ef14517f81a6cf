# SPDX-License-Identifier: Apache-2.0
import torch

scores = torch.tensor([10.0, 0.0, 0.0, 0.0])
values = torch.tensor([[0.0, 1.0], [1.0, 0.0], [0.0, -1.0], [-1.0, 0.0]])
weights = torch.softmax(scores, dim=-1)
print(*weights.tolist())
print(*(weights @ values).tolist())
