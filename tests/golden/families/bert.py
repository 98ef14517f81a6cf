# SPDX-License-Identifier: Apache-2.0
"""BERT (Devlin et al. 2019)."""

import torch
from torch import nn
from torch.nn import functional as F

from .parts import Architecture, Dense, GoldenModel, Layer, attend, linear, split, text, through_layers
from .vocabularies import word_piece_tokenizer


class BertLayer(nn.Module):
    def __init__(self, c):
        super().__init__()
        width, inner, eps = c["hidden_size"], c["intermediate_size"], c["layer_norm_eps"]
        self.heads, self.attention = c["num_attention_heads"], nn.Module()
        self.attention.self = nn.ModuleDict({name: nn.Linear(width, width) for name in ["query", "key", "value"]})
        self.attention.output = Dense(width, width, eps)
        self.intermediate, self.output = Dense(width, inner), Dense(inner, width, eps)

    def forward(self, record, x, keep):
        q, k, v = (split(self.attention.self[name](x), self.heads) for name in ["query", "key", "value"])
        x = self.attention.output(attend(record, q, k, v, q.shape[-1] ** -0.5, keep), x)
        return self.output(F.gelu(self.intermediate.dense(x)), x)


class BertEmbeddings(nn.Module):
    def __init__(self, c):
        super().__init__()
        width = c["hidden_size"]
        self.word_embeddings = nn.Embedding(c["vocab_size"], width)
        self.position_embeddings = nn.Embedding(c["max_position_embeddings"], width)
        self.token_type_embeddings = nn.Embedding(c["type_vocab_size"], width)
        self.LayerNorm = nn.LayerNorm(width, c["layer_norm_eps"])

    def positions(self, ids):
        return torch.arange(len(ids))

    def parts(self, inputs):
        """The embeddings whose sum is a token's vector, before its norm."""
        ids = inputs["ids"]
        return {"token": self.word_embeddings(ids), "position": self.position_embeddings(self.positions(ids)),
                "segment": self.token_type_embeddings(inputs.get("segments", torch.zeros_like(ids)))}

    def forward(self, inputs):
        return self.LayerNorm(sum(self.parts(inputs).values()))


class BertBody(nn.Module):
    embedding = BertEmbeddings

    def __init__(self, c):
        super().__init__()
        self.embeddings = self.embedding(c)
        self.encoder = nn.Module()
        self.encoder.layer = nn.ModuleList(BertLayer(c) for _ in range(c["num_hidden_layers"]))

    def forward(self, record, inputs):
        keep = (inputs["padding"] == 0).expand(len(inputs["ids"]), -1)
        return through_layers(record, self.encoder.layer, self.embeddings(inputs), keep)


class Bert(nn.Module):
    def __init__(self, c):
        super().__init__()
        self.bert, self.cls = BertBody(c), nn.Module()
        self.cls.predictions = p = nn.Module()
        p.transform = Dense(c["hidden_size"], c["hidden_size"], c["layer_norm_eps"])
        p.bias = nn.Parameter(torch.empty(c["vocab_size"]))

    def forward(self, record, inputs):
        return self.logits(self.bert(record, inputs))

    def logits(self, x):
        p = self.cls.predictions
        x = p.transform.LayerNorm(F.gelu(p.transform.dense(x)))
        return x @ self.bert.embeddings.word_embeddings.weight.T + p.bias


def architecture_of(body, c):
    def layer_of(layer):
        a = layer.attention
        return Layer(None, *(linear(a.self[name]) for name in ["query", "key", "value"]), a.output.dense,
                     layer.output.dense, (c["hidden_size"] // heads) ** -0.5,
                     after=(a.output.LayerNorm, layer.output.LayerNorm))

    heads = c["num_attention_heads"]
    return Architecture(heads, heads, [layer_of(layer) for layer in body.encoder.layer], body.embeddings.parts,
                        embedding_norm=body.embeddings.LayerNorm)


def pair(config, length, generator):
    """Two segments with padding at the end."""
    place = torch.arange(length)
    return text(config, length, generator) | {"segments": (place > length // 2).to(torch.int32),
                                              "padding": (place >= length - 3).to(torch.uint8)}


CONFIG = {"model_type": "bert", "hidden_size": 24, "num_attention_heads": 4, "num_hidden_layers": 3,
          "intermediate_size": 36, "max_position_embeddings": 40, "type_vocab_size": 2, "hidden_act": "gelu",
          "layer_norm_eps": 1e-12, "position_embedding_type": "absolute", "pad_token_id": 0}


def golden(changes, library, **how):
    return GoldenModel({**CONFIG, **changes}, Bert, lambda model, c: architecture_of(model.bert, c), library,
                       "attention.output.dense", inputs=pair, saved=False, tokenizer=word_piece_tokenizer, causal=False,
                       **how)


MODELS = {
    "bert": golden({}, "BertForMaskedLM", length=14),
    "bert_bare": golden({"num_hidden_layers": 2}, "BertModel", has_logits=False,
                        rename=lambda name: None if name.startswith("cls.") else name.replace("bert.", "")
                        .replace("LayerNorm.weight", "LayerNorm.gamma").replace("LayerNorm.bias", "LayerNorm.beta")),
}
