# SPDX-License-Identifier: Apache-2.0
import torch

query = torch.tensor([10.0, 0.0, 0.0])  # asks for a noun
keys = torch.eye(3)  # a noun, a verb and a place
values = torch.tensor([[0.9, 0.3, -0.8], [-0.2, 0.8, 0.1], [0.4, -0.9, 0.9]])
weights = torch.softmax(keys @ query, dim=-1)
for handed_over in (values, keys):
    print(*(weights @ handed_over).tolist())
