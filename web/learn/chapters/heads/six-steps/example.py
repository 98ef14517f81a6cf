# SPDX-License-Identifier: Apache-2.0
import torch

x = torch.tensor([[1.0, 0, 0, 2], [0, 1, 2, 0]])  # columns 0 and 1 are those of head 0
mix = torch.tensor([[1.0, 2, 3, 4], [0, 1, 0, 1], [2, 0, 0, 1], [0, 0, 1, 1]])  # W_o, [out, in]
q = k = v = x.view(2, 2, 2).transpose(0, 1)  # [heads, tokens, 2]; the projections copy
heads = torch.softmax(q @ k.transpose(1, 2) / 2**0.5, dim=-1) @ v
joined = heads.transpose(0, 1).reshape(2, 4)
print(*heads.flatten().tolist())
print(*(joined @ mix.T).flatten().tolist())  # every column has a part of each head
joined[:, 2:] = 0
print(*(joined @ mix.T).flatten().tolist())  # without head 1
