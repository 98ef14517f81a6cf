# SPDX-License-Identifier: Apache-2.0
import torch

for heads, bias in [(12, False), (1, False), (12, True)]:
    layer = torch.nn.MultiheadAttention(768, heads, bias=bias)
    print(sum(parameter.numel() for parameter in layer.parameters()))
