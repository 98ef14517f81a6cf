# SPDX-License-Identifier: Apache-2.0
import torch

queries = torch.tensor([[1.0, 0.0], [0.0, 1.0], [-1.0, -0.5]])
keys = torch.tensor([[1.5, 0.5], [1.6, 0.4], [-1.0, 1.0], [-0.5, -1.5]])  # cat, kitten, ran, blue
for weights in torch.softmax(queries @ keys.T, dim=-1):
    print(*weights.tolist())
