# SPDX-License-Identifier: Apache-2.0
import torch
from safetensors.torch import load_file
from transformers import MarianConfig, MarianMTModel

config = MarianConfig.from_pretrained("web/models/tiny-translator", attn_implementation="eager", dtype=torch.float32)
del config.quantization_config  # matrices are stored as 8-bit integers with a scale for each row
stored = load_file("web/models/tiny-translator/model.safetensors")
weights = {name: part.float() * stored.get(name + "_scale", torch.ones(1)) for name, part in stored.items()}
model = MarianMTModel.from_pretrained(None, config=config, state_dict=weights)

english = torch.tensor([[2081, 1193, 2, 499, 1430, 1959, 0]])  # the king 's cat never sleeps </s>
french = torch.tensor([[2412, 1238, 527, 811, 1844, 1416, 782, 1147]])  # (start) le chat du roi ne dort jamais
with torch.no_grad():
    seen = model(english, decoder_input_ids=french, output_attentions=True)
for layers in (seen.encoder_attentions, seen.decoder_attentions, seen.cross_attentions):
    head = layers[1][0, 0]  # layer 1, head 0
    print(*head.shape, head.triu(1).sum().item())  # all weights above the diagonal: 0 in the decoder
