# SPDX-License-Identifier: Apache-2.0
import torch


def sinusoids(positions, width):
    angles = positions[:, None] / 10000 ** (torch.arange(0, width, 2).double() / width)
    return torch.stack([angles.sin(), angles.cos()], dim=-1).flatten(1)


start = sinusoids(torch.arange(0, 4), 6)
later = sinusoids(torch.arange(50, 54), 6)
print(*start.flatten().tolist())
print(*later.flatten().tolist())
print((start[0] @ start[3]).item(), (later[0] @ later[3]).item())  # positions 3 apart: the same number
