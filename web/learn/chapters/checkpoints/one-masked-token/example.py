# SPDX-License-Identifier: Apache-2.0
import torch

scores = torch.tensor([1.0, 2.0, 0.5, 0.0])
hidden = torch.tensor([False, True, False, False])
before = torch.softmax(scores, dim=-1)
after = torch.softmax(scores.masked_fill(hidden, -torch.inf), dim=-1)
print(*before.tolist())
print(*after.tolist())
