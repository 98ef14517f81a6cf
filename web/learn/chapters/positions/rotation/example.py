# SPDX-License-Identifier: Apache-2.0
import torch


def turned(x, y):
    """One vector at four positions, turned by one radian for each."""
    angles = torch.arange(4.0)
    return torch.stack([x * angles.cos() - y * angles.sin(), y * angles.cos() + x * angles.sin()], dim=-1)


scores = turned(1.0, 0.2) @ turned(0.8, 0.6).T
print(*scores.flatten().tolist())  # each diagonal has one number
