# SPDX-License-Identifier: Apache-2.0
import torch

q = torch.tensor([[0.5], [1.0], [1.2]])
k = torch.tensor([[0.2], [1.5], [0.8]])
bias = torch.tensor([0.0, 0, 0, 6, 0])  # for i - j from -2 to 2: 6 for the token before
i, j = torch.arange(3)[:, None], torch.arange(3)[None, :]
weights = torch.softmax(q @ k.T + bias[2 + i - j], dim=-1)
print(*weights.flatten().tolist())
