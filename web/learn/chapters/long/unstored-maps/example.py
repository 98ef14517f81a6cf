# SPDX-License-Identifier: Apache-2.0
import torch

places = torch.arange(2000.0 * 2).reshape(2000, 2)
q, k = places.sin(), places.cos()
scores = q @ k.T  # PyTorch has the whole map here
lse = scores.logsumexp(dim=-1)  # a number for each row
score = q[1999] @ k[1500]
weight = torch.softmax(scores, dim=-1)[1999, 1500]
print(lse[1999].item(), 1000 * torch.exp(score - lse[1999]).item(), 1000 * weight.item())
