# SPDX-License-Identifier: Apache-2.0
import torch

scores, values = torch.tensor([2.0, 1.0, 0.0]), torch.tensor([4.0, 0.0, 2.0])
hidden = torch.tensor([True, True, True])
plain = torch.softmax(scores.masked_fill(hidden, -torch.inf), dim=-1)
large = torch.softmax(scores.masked_fill(hidden, -1e9), dim=-1)
print((torch.nan_to_num(plain) @ values).item())
print((plain @ values).isnan().item())
print((large @ values).item())
