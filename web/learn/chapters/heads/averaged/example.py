# SPDX-License-Identifier: Apache-2.0
import torch

layer = torch.nn.MultiheadAttention(4, 2, bias=False, batch_first=True)
with torch.no_grad():
    layer.in_proj_weight.copy_(torch.tensor([
        [1, 0, 0, 0], [0, 1, 0, 0], [1, 0, 0, 0], [0, 1, 0, 0],  # queries copy
        [3, 0, 0, 0], [0, 3, 0, 0], [0, 3, 0, 0], [3, 0, 0, 0],  # head 0 looks at itself, head 1 at the other
        [0, 0, 0, 0], [0, 0, 0, 0], [0, 0, 0, 0], [0, 0, 0, 0]]))
    x = torch.tensor([[[1.0, 0, 0, 0], [0, 1.0, 0, 0]]])
    _, each = layer(x, x, x, average_attn_weights=False)
    _, average = layer(x, x, x)
print(*each.flatten().tolist())
print(*average.flatten().tolist())
