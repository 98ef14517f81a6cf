# SPDX-License-Identifier: Apache-2.0
import torch

x = torch.zeros(3, 5, 8)  # three sequences of five tokens of width 8

def split(y):  # cut the width into two heads, and move the heads forward
    return y.view(3, 5, 2, 4).transpose(1, 2)

q, k, v = (split(x @ torch.zeros(8, 8)) for _ in range(3))
scores = q @ k.transpose(-2, -1)
outputs = torch.softmax(scores / 4**0.5, dim=-1) @ v
merged = outputs.transpose(1, 2).reshape(3, 5, 8)
print(*q.shape)  # 3 2 5 4: each head has half of the width
print(*scores.shape)  # 3 2 5 5: tokens twice
print(*outputs.shape)  # 3 2 5 4
print(*(merged @ torch.zeros(8, 8)).shape)  # 3 5 8
