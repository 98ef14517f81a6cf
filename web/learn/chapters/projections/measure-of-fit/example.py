# SPDX-License-Identifier: Apache-2.0
import torch

query = torch.tensor([2.0, 1.0])
keys = torch.tensor([[2.0, 1.0], [0.0, 1.0]])  # cat, The
print(*(keys @ query).tolist())
