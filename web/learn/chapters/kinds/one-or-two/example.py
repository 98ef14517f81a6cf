# SPDX-License-Identifier: Apache-2.0
import torch


def some(step, *shape):  # numbers between −0.5 and 0.5 that are the same everywhere
    return (torch.arange(torch.Size(shape).numel()) * step % 101 / 101 - 0.5).reshape(shape)


layer = torch.nn.MultiheadAttention(256, 8, bias=False, batch_first=True)
layer.load_state_dict({"in_proj_weight": some(37, 768, 256), "out_proj.weight": some(53, 256, 256)})
decoder, encoder = some(29, 2, 12, 256), some(41, 2, 20, 256)
with torch.no_grad():
    output, weights = layer(decoder, encoder, encoder, average_attn_weights=False)
print(*output.shape, *weights.shape)
print(*weights[0, 0, 0, :4].tolist(), *output[0, 0, :4].tolist())
