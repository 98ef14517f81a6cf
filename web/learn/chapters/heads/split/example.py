# SPDX-License-Identifier: Apache-2.0
import torch

x = torch.arange(8.0).view(1, 2, 4)  # one sequence, two tokens, width 4
heads = x.view(1, 2, 2, 2).transpose(1, 2)  # [batch, heads, tokens, width of a head]
print(*heads.stride())
print(*heads.flatten().tolist())
print(*heads.transpose(1, 2).reshape(1, 2, 4).flatten().tolist())
