# SPDX-License-Identifier: Apache-2.0
import torch

scores, bias, cap = torch.tensor([3.0, 2.0, 1.0]), torch.tensor([0.0, -8.0, 0.0]), 2.0
cap_first = cap * torch.tanh(scores / cap) + bias
bias_first = cap * torch.tanh((scores + bias) / cap)
print(*torch.softmax(cap_first, dim=-1).tolist())
print(*torch.softmax(bias_first, dim=-1).tolist())
