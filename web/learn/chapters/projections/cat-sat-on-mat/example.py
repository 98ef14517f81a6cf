# SPDX-License-Identifier: Apache-2.0
import torch

x = torch.tensor([0.21, 0.85, 0.14, 0.62, 0.45, 0.33, 0.71, 0.18, 0.05, 0.12, 0.88, 0.09, 0.19, 0.79, 0.22, 0.58]).view(4, 4)
wq = torch.tensor([-1.19, -0.44, -1.13, -0.21, 2, -1.47, -0.43, -1.34, 0.27, -0.97, 1.51, -0.9, 0.15, -0.75, 0.95, -0.57]).view(4, 4)  # [out, in]
wk = torch.tensor([-0.74, -1.05, 0.72, -0.81, -2, 0.82, -1.36, 1.19, 0.61, -1.16, 1.1, -1.02, 0.33, -0.81, 0.73, -0.69]).view(4, 4)
wv = torch.tensor([0.5, 0.3, -0.6, 0.2, -0.2, 0.8, 0.4, 0.9, 0.9, -0.4, 0.7, 0.1, 0.1, 0.6, -0.3, 0.5]).view(4, 4)
wo = torch.tensor([0.6, 0.3, -0.4, 0.1, -0.1, 0.7, 0.2, 0.5, 0.2, -0.2, 0.8, -0.3, 0.4, 0.1, 0.3, 0.6]).view(4, 4)
layer = torch.nn.MultiheadAttention(4, 2, bias=False)
layer.load_state_dict({"in_proj_weight": torch.cat([wq, wk, wv]), "out_proj.weight": wo})
output, weights = layer(x, x, x, average_attn_weights=False)
print(*weights.flatten().tolist())  # head 0, then head 1
print(*output.flatten().tolist())
