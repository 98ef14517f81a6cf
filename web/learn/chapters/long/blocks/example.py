# SPDX-License-Identifier: Apache-2.0
import torch

scores = torch.tensor([1.0, 3, 2, 0, 6, 4, 1, 5])
values = torch.tensor([10.0, 20, 30, 40, 50, 60, 70, 80])


def attend(keys):
    return scores[keys].logsumexp(dim=0), torch.softmax(scores[keys], dim=0) @ values[keys]


(lse_a, output_a), (lse_b, output_b) = attend(slice(0, 4)), attend(slice(4, 8))
lse = torch.logaddexp(lse_a, lse_b)  # of both blocks
output = output_a * torch.exp(lse_a - lse) + output_b * torch.exp(lse_b - lse)
whole = attend(slice(0, 8))
print(lse.item(), output.item(), *(one.item() for one in whole))
