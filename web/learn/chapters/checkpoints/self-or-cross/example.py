# SPDX-License-Identifier: Apache-2.0
import torch


def attend(asking, asked):
    return torch.softmax(asking @ asked.T / 2**0.5, dim=-1) @ asked


other = torch.tensor([[0.5, -0.8], [1.8, 0.9], [-0.2, -0.5], [-0.9, 1.6]])
for second in ([2.0, 1.0], [3.0, 2.0]):  # the second token changes, and we look at the output of the first
    x = torch.tensor([[0.5, -1.0], second, [-1.0, 1.5]])
    print(*attend(x, x)[0].tolist(), *attend(x, other)[0].tolist())
