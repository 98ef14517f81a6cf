# SPDX-License-Identifier: Apache-2.0
import torch

for width, score in (4, 8.0), (64, 32.0):
    raw = torch.tensor([score, 0.0, 0.0, 0.0])  # one key has this score, and the others have 0
    scaled = raw / width**0.5
    print(scaled[0].item(), torch.softmax(scaled, dim=-1)[0].item(), torch.softmax(raw, dim=-1)[0].item())
