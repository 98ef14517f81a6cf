# SPDX-License-Identifier: Apache-2.0
import torch
from safetensors.torch import load_file
from transformers import LlamaConfig, LlamaModel

config = LlamaConfig.from_pretrained("web/models/tiny", attn_implementation="eager", dtype=torch.float32)
del config.quantization_config  # matrices are stored as 8-bit integers with a scale for each row
stored = load_file("web/models/tiny/model.safetensors")
weights = {name: part.float() * stored.get(name + "_scale", torch.ones(1)) for name, part in stored.items()}
model = LlamaModel.from_pretrained(None, config=config, state_dict=weights)

ids = [0] + 2 * [1130, 1177, 1773, 747, 1257, 893]  # <s>, and twice: river king seven letter garden sister
second = torch.arange(7, 13)  # the second copy
for silent in False, True:
    if silent:  # the previous-token head, layer 0, head 5, writes nothing
        model.layers[0].self_attn.o_proj.weight.data[:, 5 * 16 : 6 * 16] = 0
    with torch.no_grad():
        maps = model(torch.tensor([ids]), output_attentions=True).attentions[1][0]
    print(*maps[:3, second, second - 6 + 1].mean(dim=-1).tolist())  # of three heads of layer 1
