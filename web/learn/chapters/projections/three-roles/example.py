# SPDX-License-Identifier: Apache-2.0
import torch

def show(q, k, v):  # a number for each of two tokens
    weights = torch.softmax(torch.outer(torch.tensor(q), torch.tensor(k)), dim=-1)
    print(*weights.flatten().tolist(), *(weights @ torch.tensor(v)).tolist())

show([1.0, 2.0], [0.5, 1.0], [1.0, 3.0])
show([1.0, -2.0], [0.5, 1.0], [1.0, 3.0])  # another query of token 1: its row of weights changes
show([1.0, 2.0], [0.5, -1.0], [1.0, 3.0])  # another key of token 1: both rows change
show([1.0, 2.0], [0.5, 1.0], [1.0, -3.0])  # another value of token 1: only the outputs change
