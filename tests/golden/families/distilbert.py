# SPDX-License-Identifier: Apache-2.0
"""DistilBERT (Sanh et al. 2019): BERT without segments, under names of its own."""

import torch
from torch import nn
from torch.nn import functional as F

from .parts import Architecture, GoldenModel, Layer, attend, linear, split, text, through_layers
from .vocabularies import word_piece_tokenizer

EPS = 1e-12


class DistilBertLayer(nn.Module):
    def __init__(self, c):
        super().__init__()
        width, inner = c["dim"], c["hidden_dim"]
        self.heads = c["n_heads"]
        self.attention = nn.ModuleDict(
            {name: nn.Linear(width, width) for name in ["q_lin", "k_lin", "v_lin", "out_lin"]})
        self.sa_layer_norm = nn.LayerNorm(width, EPS)
        self.ffn = nn.ModuleDict({"lin1": nn.Linear(width, inner), "lin2": nn.Linear(inner, width)})
        self.output_layer_norm = nn.LayerNorm(width, EPS)

    def forward(self, record, x, keep):
        q, k, v = (split(self.attention[name](x), self.heads) for name in ["q_lin", "k_lin", "v_lin"])
        x = self.sa_layer_norm(self.attention.out_lin(attend(record, q, k, v, q.shape[-1] ** -0.5, keep)) + x)
        return self.output_layer_norm(self.ffn.lin2(F.gelu(self.ffn.lin1(x))) + x)


class DistilBert(nn.Module):
    def __init__(self, c):
        super().__init__()
        width, vocabulary = c["dim"], c["vocab_size"]
        self.distilbert = body = nn.Module()
        body.embeddings = e = nn.Module()
        e.word_embeddings = nn.Embedding(vocabulary, width)
        e.position_embeddings = nn.Embedding(c["max_position_embeddings"], width)
        e.LayerNorm = nn.LayerNorm(width, EPS)
        body.transformer = nn.Module()
        body.transformer.layer = nn.ModuleList(DistilBertLayer(c) for _ in range(c["n_layers"]))
        self.vocab_transform, self.vocab_layer_norm = nn.Linear(width, width), nn.LayerNorm(width, EPS)
        self.vocab_projector = nn.Module()
        self.vocab_projector.bias = nn.Parameter(torch.empty(vocabulary))

    def parts(self, inputs):
        e, ids = self.distilbert.embeddings, inputs["ids"]
        return {"token": e.word_embeddings(ids), "position": e.position_embeddings(torch.arange(len(ids)))}

    def forward(self, record, inputs):
        keep = (inputs["padding"] == 0).expand(len(inputs["ids"]), -1)
        x = self.distilbert.embeddings.LayerNorm(sum(self.parts(inputs).values()))
        return self.logits(through_layers(record, self.distilbert.transformer.layer, x, keep))

    def logits(self, x):
        x = self.vocab_layer_norm(F.gelu(self.vocab_transform(x)))
        return x @ self.distilbert.embeddings.word_embeddings.weight.T + self.vocab_projector.bias


def architecture(model, c):
    def layer_of(layer):
        q, k, v = (linear(layer.attention[name]) for name in ["q_lin", "k_lin", "v_lin"])
        return Layer(None, q, k, v, layer.attention.out_lin, layer.ffn.lin2, (c["dim"] // heads) ** -0.5,
                     after=(layer.sa_layer_norm, layer.output_layer_norm))

    heads, body = c["n_heads"], model.distilbert
    return Architecture(heads, heads, [layer_of(layer) for layer in body.transformer.layer], model.parts,
                        embedding_norm=body.embeddings.LayerNorm)


def padded(config, length, generator):
    """Tokens with padding at the end."""
    return text(config, length, generator) | {"padding": (torch.arange(length) >= length - 2).to(torch.uint8)}


CONFIG = {"model_type": "distilbert", "architectures": ["DistilBertForMaskedLM"], "dim": 20, "n_heads": 4,
          "n_layers": 2, "hidden_dim": 28, "max_position_embeddings": 24, "activation": "gelu",
          "sinusoidal_pos_embds": False, "tie_weights_": True, "pad_token_id": 0}

MODELS = {"distilbert": GoldenModel(CONFIG, DistilBert, architecture, "DistilBertForMaskedLM", "attention.out_lin",
                                    length=12, inputs=padded, tokenizer=word_piece_tokenizer, causal=False)}
