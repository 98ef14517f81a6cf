# SPDX-License-Identifier: Apache-2.0
import torch

layer = torch.nn.MultiheadAttention(1, 1, bias=False)
for parameter in layer.parameters():
    torch.nn.init.ones_(parameter)
query, keys = torch.ones(1, 1), torch.tensor([[2.0], [1.0], [0.0]])
mask = torch.tensor([[True, True, False]])
ignored = layer(query, keys, keys, attn_mask=mask)[1]
kept = torch.softmax((query @ keys.T).masked_fill(~mask, -torch.inf), dim=-1)
print(*ignored[0].tolist())
print(*kept[0].tolist())
