# SPDX-License-Identifier: Apache-2.0
import torch

x = torch.tensor([[1, -1], [-1.4, 0.2], [0.2, 1.4]])
w1, b1 = torch.tensor([[1, 0], [-1, 0], [0.5, 1], [0, -1]]), torch.tensor([0, 0.5, 0, -0.5])
w2, b2 = torch.tensor([[1.0, 2, 0, 1], [0, 1, 1, -1]]), torch.tensor([0.25, 0])
y = torch.relu(x @ w1.T + b1) @ w2.T + b2
print(*y.flatten().tolist())
