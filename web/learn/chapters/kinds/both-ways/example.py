# SPDX-License-Identifier: Apache-2.0
import torch
from safetensors.torch import load_file
from transformers import BertConfig, BertModel, LlamaConfig, LlamaModel


def load(kind, config_kind, folder):
    config = config_kind.from_pretrained(folder, attn_implementation="eager", dtype=torch.float32)
    del config.quantization_config  # matrices are stored as 8-bit integers with a scale for each row
    stored = load_file(f"{folder}/model.safetensors")
    weights = {name: part.float() * stored.get(name + "_scale", torch.ones(1)) for name, part in stored.items()}
    return kind.from_pretrained(None, config=config, state_dict=weights)


decoder, encoder = load(LlamaModel, LlamaConfig, "web/models/tiny"), load(BertModel, BertConfig, "web/models/tiny-bert")
for model, ids, mat, chair in (
    (decoder, [0, 294, 907, 1007, 320, 261, 685], 685, 873),  # <s> The cat sat on the mat
    (encoder, [2, 110, 607, 555, 146, 110, 462, 3], 462, 685),  # [CLS] the cat sat on the mat [SEP]
):
    texts = torch.tensor([ids, [chair if id == mat else id for id in ids]])
    with torch.no_grad():
        before, after = model(texts, output_hidden_states=True).hidden_states[3]  # before layer 3
    print(*(before - after).norm(dim=-1).tolist())  # how far the vector of each token moves
