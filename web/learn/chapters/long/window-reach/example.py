# SPDX-License-Identifier: Apache-2.0
import torch

x = torch.tensor([[1.0, 0], [0, 1], [1, 1], [2, 0], [0, 2]])
back = torch.arange(5).view(5, 1) - torch.arange(5)  # from each query to each key
scores = (x @ x.T / 2**0.5).masked_fill((back < 0) | (back > 1), float("-inf"))
for row in torch.softmax(scores, dim=-1).tolist():
    print(*row)
