# SPDX-License-Identifier: Apache-2.0
import torch

weights = torch.tensor([[1, 0, 0, 0], [0.9, 0.1, 0, 0], [0.2, 0.7, 0.1, 0], [0.1, 0.1, 0.6, 0.2]]).double()
n = 2  # a sequence of two tokens, read twice
i = torch.arange(n, 2 * n)  # the second copy
entropies = -torch.special.xlogy(weights, weights).sum(-1)[1:] / torch.log(torch.arange(2.0, 5))
print(weights.diagonal(-1).mean().item(), weights[i, i - n].mean().item(), weights[i, i - n + 1].mean().item(), entropies.mean().item())
