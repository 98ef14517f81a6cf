# SPDX-License-Identifier: Apache-2.0
import torch

query = torch.tensor([[1.0, 0.0]])
keys = torch.tensor([[1.0, 0.0], [0.0, 1.0], [9.0, 9.0]])  # the third is padding
padding = torch.tensor([False, False, True])
scores = query @ keys.T / 2**0.5
weights = torch.softmax(scores.masked_fill(padding, float("-inf")), dim=-1)
print(*weights[0].tolist(), *(weights @ keys)[0].tolist())
