# SPDX-License-Identifier: Apache-2.0
import torch

weights = torch.softmax(torch.tensor([[3.0, 1.0, 0.0]]), dim=-1)
print(*weights[0].tolist())
for values in ([[1.0, 0.0], [0.0, 1.0], [-1.0, -1.0]], [[5.0, 5.0], [-4.0, 2.0], [0.0, 8.0]]):
    print(*(weights @ torch.tensor(values))[0].tolist())
