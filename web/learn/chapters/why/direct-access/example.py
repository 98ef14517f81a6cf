# SPDX-License-Identifier: Apache-2.0
import torch

for back in 1, 10:  # how far back the token stands that the last of twelve needs
    memory = 0.3 * 0.7**back  # it came in with a share of 0.3, and each step since then kept 0.7 of that
    scores = torch.zeros(12)
    scores[11 - back] = 5
    weights = torch.softmax(scores, dim=-1)
    print(memory, weights[11 - back].item())
