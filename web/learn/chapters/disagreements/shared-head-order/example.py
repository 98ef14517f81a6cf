# SPDX-License-Identifier: Apache-2.0
import torch

queries, keys = torch.zeros(4, 1, 1), torch.zeros(2, 1, 1)  # four query heads, two key/value heads
values = torch.tensor([10.0, 20.0]).view(2, 1, 1)
for share in (lambda x: x.repeat_interleave(2, dim=0), lambda x: x.repeat(2, 1, 1)):
    weights = torch.softmax(queries @ share(keys).transpose(1, 2), dim=-1)
    print(*(weights @ share(values)).flatten().tolist())
