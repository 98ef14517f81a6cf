# SPDX-License-Identifier: Apache-2.0
import torch

def wave(rows, step):
    return torch.sin(step * torch.arange(rows * 16, dtype=torch.float64)).float().view(rows, 16)

def split(y):  # [tokens, 16] → [heads, tokens, 4]
    return y.view(4, 4, 4).transpose(0, 1)

x, w_in, w_out = wave(4, 0.7), wave(48, 1.1), wave(16, 1.3) / 4
q, k, v = (split(x @ w.T) for w in w_in.chunk(3))
weights = torch.softmax(q @ k.transpose(1, 2) / 4**0.5, dim=-1)
joined = (weights @ v).transpose(0, 1).reshape(4, 16)
output = joined @ w_out.T
print(*weights[3].flatten().tolist())
print(*output[0].tolist())
