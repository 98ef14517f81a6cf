# SPDX-License-Identifier: Apache-2.0
import torch
from safetensors.torch import load_file
from transformers import MarianConfig, MarianMTModel

config = MarianConfig.from_pretrained("web/models/tiny-translator", attn_implementation="eager", dtype=torch.float32)
del config.quantization_config  # matrices are stored as 8-bit integers with a scale for each row
stored = load_file("web/models/tiny-translator/model.safetensors")
weights = {name: part.float() * stored.get(name + "_scale", torch.ones(1)) for name, part in stored.items()}
model = MarianMTModel.from_pretrained(None, config=config, state_dict=weights)

english = torch.tensor([[2081, 1749, 1094, 758, 1441, 1957, 0]])  # the red horse does not sleep </s>
french = torch.tensor([[2412, 1238, 550, 1858, 1416, 782, 1562]])  # (start) le cheval rouge ne dort pas
with torch.no_grad():
    seen = model(english, decoder_input_ids=french, output_attentions=True)
for row in seen.cross_attentions[1][0, 0]:  # layer 1, head 0: a row for each French token, which writes the next
    print(row.argmax().item(), row.max().item())  # the English token that it looks at most
