# SPDX-License-Identifier: Apache-2.0
import torch

scores = torch.zeros(2, 5)  # two queries, five keys
open_pairs = torch.ones(2, 5, dtype=torch.bool)
for diagonal in (0, 5 - 2):  # top left, bottom right
    mask = open_pairs.tril(diagonal)
    weights = torch.softmax(scores.masked_fill(~mask, -torch.inf), dim=-1)
    print(*weights.flatten().tolist())
