# SPDX-License-Identifier: Apache-2.0
import torch

picture = torch.tensor([
    [0.9, 0.8, 0.1, 0.0],
    [0.8, 0.9, 0.0, 0.1],
    [0.1, 0.0, 0.9, 0.9],
    [0.0, 0.1, 0.8, 0.9],
])
# Four patches of 2 × 2 pixels, each in one row, are the tokens.
patches = picture.view(2, 2, 2, 2).transpose(1, 2).reshape(4, 4)
weights = torch.softmax(patches @ patches.T, dim=-1)
print(*weights.flatten().tolist())  # bright patches look at bright ones
