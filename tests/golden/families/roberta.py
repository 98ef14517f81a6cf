# SPDX-License-Identifier: Apache-2.0
"""RoBERTa (Liu et al. 2019) and XLM-RoBERTa (Conneau et al. 2020): BERT with positions that count after the padding id,
and another head."""

import torch
from torch import nn
from torch.nn import functional as F

from .bert import BertBody, BertEmbeddings, architecture_of
from .parts import GoldenModel
from .vocabularies import byte_level, published_tokenizer


class RobertaEmbeddings(BertEmbeddings):
    def __init__(self, c):
        super().__init__(c)
        self.padding = c["pad_token_id"]

    def positions(self, ids):
        """Tokens that are not padding are counted from padding id + 1 on; padding has the position of its id."""
        real = (ids != self.padding).long()
        return torch.cumsum(real, 0) * real + self.padding


class RobertaBody(BertBody):
    embedding = RobertaEmbeddings


class Roberta(nn.Module):
    def __init__(self, c):
        super().__init__()
        width = c["hidden_size"]
        self.roberta, self.lm_head = RobertaBody(c), nn.Module()
        self.lm_head.dense, self.lm_head.layer_norm = nn.Linear(width, width), nn.LayerNorm(width, c["layer_norm_eps"])
        self.lm_head.bias = nn.Parameter(torch.empty(c["vocab_size"]))

    def forward(self, record, inputs):
        return self.logits(self.roberta(record, inputs))

    def logits(self, x):
        x = self.lm_head.layer_norm(F.gelu(self.lm_head.dense(x)))
        return x @ self.roberta.embeddings.word_embeddings.weight.T + self.lm_head.bias


def padded(config, length, generator):
    """Tokens of which only the last three are padding."""
    padding = config["pad_token_id"]
    ids = torch.randint(padding + 1, config["vocab_size"], [length], generator=generator, dtype=torch.int32)
    ids[-6:-3], ids[-3:] = ids[:3], padding
    return {"ids": ids, "padding": (ids == padding).to(torch.uint8)}


CONFIG = {"model_type": "roberta", "architectures": ["RobertaForMaskedLM"], "vocab_size": 60, "hidden_size": 20,
          "num_attention_heads": 4, "num_hidden_layers": 2, "intermediate_size": 28, "max_position_embeddings": 34,
          "type_vocab_size": 1, "hidden_act": "gelu", "layer_norm_eps": 1e-5, "bos_token_id": 0, "pad_token_id": 1,
          "eos_token_id": 2}


def golden(changes, library, **how):
    return GoldenModel({**CONFIG, **changes}, Roberta, lambda model, c: architecture_of(model.roberta, c), library,
                       "attention.output.dense", inputs=padded, causal=False, **how)


SPECIAL = ["<s>", "<pad>", "</s>", "<unk>"]

MODELS = {
    "roberta": golden({}, "RobertaForMaskedLM", length=15,
                      tokenizer=lambda: byte_level("roberta", 60, SPECIAL, ["<mask>"])),
    "xlm_roberta": golden({"model_type": "xlm-roberta", "architectures": ["XLMRobertaForMaskedLM"], "hidden_size": 12,
                           "vocab_size": 40, "num_hidden_layers": 1, "max_position_embeddings": 18},
                          "XLMRobertaForMaskedLM",
                          tokenizer=lambda: published_tokenizer("xlm_roberta", "▁", 40, SPECIAL, ["<mask>"])),
}
