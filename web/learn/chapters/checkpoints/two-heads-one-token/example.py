# SPDX-License-Identifier: Apache-2.0
import torch

x = torch.tensor([[0.2, 0.6, 0.0], [1.0, 0.9, 0.3], [0.1, 0.4, 0.7]])  # two, cats, sleep
noun, plural, animal = x.T
weights = torch.softmax(8 * noun, dim=-1)  # both heads ask for nouns
print(*weights.tolist(), *weights.tolist())
print((weights @ plural).item(), (weights @ animal).item())  # and read off other things
