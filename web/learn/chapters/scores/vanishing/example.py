# SPDX-License-Identifier: Apache-2.0
import torch

scores = torch.tensor([4.0, 0.0, 0.0])
print(*torch.softmax(scores, dim=-1).tolist())
gradient = torch.autograd.functional.jacobian(lambda s: torch.softmax(s, dim=-1), scores)
for row in gradient:
    print(*row.tolist())
