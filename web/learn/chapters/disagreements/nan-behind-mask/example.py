# SPDX-License-Identifier: Apache-2.0
import torch

scores, values = torch.tensor([2.0, 1.0, 0.0]), torch.tensor([4.0, 0.0, torch.nan])
hidden = torch.tensor([False, False, True])
weights = torch.softmax(scores.masked_fill(hidden, -torch.inf), dim=-1)
print((weights @ values.masked_fill(hidden, 0)).item())
print((weights @ values).isnan().item())
