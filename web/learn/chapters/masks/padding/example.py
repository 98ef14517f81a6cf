# SPDX-License-Identifier: Apache-2.0
import torch

x = torch.tensor([[[1.0, 0], [0, 1], [1, 1]], [[2, 1], [1, 2], [9, 9]]])  # two sentences; the second has a padding token
padding = torch.tensor([[False, False, False], [False, False, True]])
later = torch.triu(torch.ones(3, 3, dtype=torch.bool), diagonal=1)
scores = x @ x.transpose(-2, -1) / 2**0.5
weights = torch.softmax(scores.masked_fill(padding[:, None, :] | later, -torch.inf), dim=-1)
print(*weights.flatten().tolist())
