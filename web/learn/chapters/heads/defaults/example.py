# SPDX-License-Identifier: Apache-2.0
import torch

layer = torch.nn.MultiheadAttention(128, 8, bias=False)  # tokens first
x = torch.zeros(16, 4, 128)  # 16 tokens of 4 sequences
print(*layer(x, x, x)[1].shape)  # 4 16 16: averaged over heads
print(*layer(x, x, x, average_attn_weights=False)[1].shape)  # 4 8 16 16
x = torch.zeros(4, 16, 128)
print(*layer(x, x, x)[1].shape)  # 16 4 4: sequences taken for tokens, and no error
