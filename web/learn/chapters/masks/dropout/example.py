# SPDX-License-Identifier: Apache-2.0
import torch

queries = torch.tensor([[1.0, 0], [0, 1]])
keys = torch.tensor([[1.0, 2], [0, 0], [1, 1]])
weights = torch.softmax(queries @ keys.T, dim=-1)
mask = torch.tensor([[1.0, 0, 1], [1, 0, 1]])  # the draw of headlens with seed 3: PyTorch draws other cells
print(*weights.flatten().tolist())
print(*mask.flatten().tolist())  # a 0 drops a weight
print(*(weights * mask / (1 - 0.5)).flatten().tolist())  # the others are divided by 1 − 0.5
