# SPDX-License-Identifier: Apache-2.0
import torch

words = torch.eye(3)  # red, green, blue
patches = torch.tensor([[0.9, 0.1, 0], [0.1, 0.8, 0.2], [0, 0.2, 0.9], [0, 0, 0]])  # the colours of four patches
sharpness = 4
weights = torch.softmax(sharpness * words @ patches.T, dim=-1)
print(*weights.shape, *weights.flatten().tolist())  # for each word, a map of the picture
print(*(weights @ patches).flatten().tolist())  # the colours that words bring back
