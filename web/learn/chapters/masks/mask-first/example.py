# SPDX-License-Identifier: Apache-2.0
import torch

scores = torch.tensor([[1, 0.5, 3], [0.5, 1, 2], [1, 0, 1]])
later = torch.triu(torch.ones(3, 3, dtype=torch.bool), diagonal=1)
first = torch.softmax(scores.masked_fill(later, -torch.inf), dim=-1)
late = torch.softmax(scores, dim=-1).masked_fill(later, 0)
print(*first.sum(dim=-1).tolist())  # rows of 1
print(*late.sum(dim=-1).tolist())  # what hidden words have left over
