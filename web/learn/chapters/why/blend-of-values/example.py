# SPDX-License-Identifier: Apache-2.0
import torch

weights = torch.tensor([0.6, 0.3, 0.1])
for mat in 3.0, 0.0:  # the first number of the last value
    values = torch.tensor([[1.0, 0.0], [0.0, 2.0], [mat, 1.0]])
    print(*(weights @ values).tolist())
