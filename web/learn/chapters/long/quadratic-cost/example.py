# SPDX-License-Identifier: Apache-2.0
import torch

layer = torch.nn.MultiheadAttention(64, 8, bias=False)
for tokens in (64, 128, 256):
    x = torch.zeros(tokens, 64)
    weights = layer(x, x, x, average_attn_weights=False)[1]  # [8, T, T]
    projections = tokens * sum(parameter.numel() for parameter in layer.parameters())  # each token meets each parameter
    rest = 2 * weights.numel() * (64 // 8)  # d for each score, and d for each weighted value
    print(projections, rest)
