# SPDX-License-Identifier: Apache-2.0
import torch

words = torch.tensor([[1.0, 0.5], [0.0, 2.0], [-1.0, 1.0], [1.0, 0.5], [2.0, -1.0]])  # the dog saw the cat
places = torch.arange(5.0)
positions = torch.stack([places.sin(), places.cos()], dim=-1)
for x in (words, words + positions):
    output = torch.softmax(x @ x.T / 2**0.5, dim=-1) @ x
    print(*output[0].tolist(), *output[3].tolist())  # both “the”
