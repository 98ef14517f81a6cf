# SPDX-License-Identifier: Apache-2.0
import torch

q = torch.tensor([[1.0, 0, 1], [0, 2, 1]])  # three tokens as columns
k = torch.tensor([[0.5, 1, 0], [1, 0, 1]])
v = torch.tensor([[1.0, 3, 5], [2, 4, 6]])
weights = torch.softmax(k.T @ q / 2**0.5, dim=0)  # over each column
output = v @ weights
print(*weights.T.flatten().tolist())  # turned over, as rows print them
print(*output.T.flatten().tolist())
