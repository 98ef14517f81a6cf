# SPDX-License-Identifier: Apache-2.0
import torch

scores = torch.tensor([[[1.0, 0, 2], [0, 1, 3], [1, 1, 0]], [[0, 4, 1], [2, 2, 5], [0, 1, 2]]])
later = torch.triu(torch.ones(3, 3, dtype=torch.bool), diagonal=1)
weights = torch.softmax(scores.masked_fill(later, -torch.inf), dim=-1)  # one triangle for each head
print(*weights.flatten().tolist())
