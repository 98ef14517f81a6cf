# SPDX-License-Identifier: Apache-2.0
import torch


def some(step, *shape):  # numbers between −0.5 and 0.5 that are the same everywhere
    return (torch.arange(torch.Size(shape).numel()) * step % 101 / 101 - 0.5).reshape(shape)


layer = torch.nn.MultiheadAttention(100, 5, bias=False, batch_first=True)
layer.load_state_dict({"in_proj_weight": some(37, 300, 100), "out_proj.weight": some(53, 100, 100)})
x, y = some(29, 2, 4, 100), some(41, 2, 6, 100)
padding = torch.arange(6) >= torch.tensor([[3], [2]])  # true beyond the lengths
with torch.no_grad():
    output, weights = layer(x, y, y, key_padding_mask=padding, average_attn_weights=False)
print(*output.shape, *weights.shape)
print(*weights[0, 0, 0].tolist(), *weights[1, 4, 3].tolist(), *output[0, 0, :4].tolist())
