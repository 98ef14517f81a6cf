# SPDX-License-Identifier: Apache-2.0
import torch
from safetensors.torch import load_file
from transformers import LlamaConfig, LlamaModel

config = LlamaConfig.from_pretrained("web/models/tiny", attn_implementation="eager", dtype=torch.float32)
del config.quantization_config  # matrices are stored as 8-bit integers with a scale for each row
stored = load_file("web/models/tiny/model.safetensors")
weights = {name: part.float() * stored.get(name + "_scale", torch.ones(1)) for name, part in stored.items()}
model = LlamaModel.from_pretrained(None, config=config, state_dict=weights)

ids = [0, 294, 1329, 1421, 261, 1177, 291, 370, 1850, 14]  # <s> The queen saw the king and she laughed .
with torch.no_grad():
    maps = model(torch.tensor([ids]), output_attentions=True).attentions
row = maps[3][0, 4, 6]  # layer 3, head 4, the row of “and”
print(*row.tolist())  # the share of each token
print(row.sum().item())
