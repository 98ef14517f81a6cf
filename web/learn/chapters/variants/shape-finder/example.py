# SPDX-License-Identifier: Apache-2.0
import torch
from safetensors.torch import load_file
from transformers import ViTConfig, ViTForImageClassification

config = ViTConfig.from_pretrained("web/models/tiny-vit", attn_implementation="eager", dtype=torch.float32)
del config.quantization_config  # matrices are stored as 8-bit integers with a scale for each row
stored = load_file("web/models/tiny-vit/model.safetensors")
weights = {name: part.float() * stored.get(name + "_scale", torch.ones(1)) for name, part in stored.items()}
model = ViTForImageClassification.from_pretrained(None, config=config, state_dict=weights)

purple, green = torch.tensor([0, -0.8, 0.2]), torch.tensor([0, 0.5, -0.6])  # red, green and blue from −1 to 1
image = green.view(3, 1, 1).repeat(1, 48, 48)
image[:, 6:30, 18:42] = purple.view(3, 1, 1)  # a square: patches 3 to 6 of rows 1 to 4
with torch.no_grad():
    seen = model(image[None], output_attentions=True)
print(seen.logits.argmax().item())  # 1, a square
for layer in (0, 1):  # head 2 of each
    patches = seen.attentions[layer][0, 2, 0, 1:].view(8, 8)  # the weights of CLS
    print(patches[1:5, 3:7].sum().item())  # on the square
