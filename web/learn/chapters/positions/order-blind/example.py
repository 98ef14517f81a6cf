# SPDX-License-Identifier: Apache-2.0
import torch

words = {"dog": [1.0, 0.5], "bites": [0.0, 2.0], "man": [-1.0, 1.0]}


def attend(text, bias):
    x = torch.tensor([words[word] for word in text])
    return torch.softmax(x @ x.T / 2**0.5 + bias, dim=-1) @ x


one, other = ["dog", "bites", "man"], ["man", "bites", "dog"]
print(*attend(one, 0).flatten().tolist())
print(*attend(other, 0).flatten().tolist())  # the same rows, in the other order
previous = torch.diag(torch.ones(2), -1)  # 1 for the word before, 0 for all others
print(*attend(one, previous).flatten().tolist())
print(*attend(other, previous).flatten().tolist())  # other numbers
