# SPDX-License-Identifier: Apache-2.0
import torch

query = torch.tensor([[0.05, 0.05]])
keys = torch.tensor([[2.0, 0.5], [-1.0, 2.0], [0.5, -1.5], [-2.0, -1.0], [1.0, 1.0]])
for length in (1, 60):
    weights = torch.softmax(length * query @ keys.T, dim=-1)
    print(*weights[0].tolist())
