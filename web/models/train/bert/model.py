"""A small BERT in PyTorch, with the parameter names of Hugging Face's BertForPreTraining.

Shapes: L layers, B texts, T tokens, D hidden, H heads, V vocabulary.
"""
import json
import math

import torch
from torch import nn
from torch.nn import functional as F

from shared.weights import expanded, load_tensors


def folder_of(**modules):
    """A module that only holds others under these names."""
    holder = nn.Module()
    for name, module in modules.items():
        setattr(holder, name, module)
    return holder


class Layer(nn.Module):
    def __init__(self, c):
        super().__init__()
        width, inner, eps = c["hidden_size"], c["intermediate_size"], c["layer_norm_eps"]
        self.heads = c["num_attention_heads"]
        project = {name: nn.Linear(width, width) for name in ("query", "key", "value")}
        output = folder_of(dense=nn.Linear(width, width), LayerNorm=nn.LayerNorm(width, eps))
        self.attention = nn.ModuleDict({"self": folder_of(**project), "output": output})
        self.intermediate = folder_of(dense=nn.Linear(width, inner))
        self.output = folder_of(dense=nn.Linear(inner, width), LayerNorm=nn.LayerNorm(width, eps))

    def forward(self, x, mask):
        """x [B,T,D] -> output [B,T,D], weights [B,H,T,T]."""
        own, output = self.attention["self"], self.attention["output"]
        q, k, v = (p(x).unflatten(-1, (self.heads, -1)).transpose(1, 2) for p in (own.query, own.key, own.value))
        weights = (q @ k.transpose(-1, -2) / math.sqrt(q.shape[-1]) + mask).softmax(-1)
        x = output.LayerNorm(x + output.dense((weights @ v).transpose(1, 2).flatten(2)))
        return self.output.LayerNorm(x + self.output.dense(F.gelu(self.intermediate.dense(x)))), weights


class Bert(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.config = config
        width, eps = config["hidden_size"], config["layer_norm_eps"]
        embeddings = folder_of(
            word_embeddings=nn.Embedding(config["vocab_size"], width), LayerNorm=nn.LayerNorm(width, eps),
            position_embeddings=nn.Embedding(config["max_position_embeddings"], width),
            token_type_embeddings=nn.Embedding(config["type_vocab_size"], width))
        layers = nn.ModuleList(Layer(config) for _ in range(config["num_hidden_layers"]))
        self.bert = folder_of(embeddings=embeddings, encoder=folder_of(layer=layers), pooler=folder_of(dense=nn.Linear(width, width)))
        transform = folder_of(dense=nn.Linear(width, width), LayerNorm=nn.LayerNorm(width, eps))
        self.cls = folder_of(predictions=folder_of(transform=transform), seq_relationship=nn.Linear(width, 2))
        self.cls.predictions.bias = nn.Parameter(torch.zeros(config["vocab_size"]))
        self.initialise()

    @torch.no_grad()
    def initialise(self):
        """Draws normal weights of fan-in scale, and embeddings of one scale. Positions start as sinusoids, by which a head finds a
        neighbour as easily at one place as at another."""
        for p in self.parameters():
            if p.dim() == 2:
                nn.init.normal_(p, std=0.5 / math.sqrt(p.shape[1]))
        embeddings, scale = self.bert.embeddings, 0.1
        embeddings.word_embeddings.weight.normal_(std=scale)
        embeddings.token_type_embeddings.weight.normal_(std=scale / 2)
        count, width = embeddings.position_embeddings.weight.shape
        angle = torch.arange(count)[:, None] * 10000 ** (-torch.arange(0, width, 2) / width)
        embeddings.position_embeddings.weight.copy_(torch.stack((angle.sin(), angle.cos()), -1).flatten(1) * scale * math.sqrt(2))

    def trace(self, ids, types, real=None):
        """ids, types [B,T] -> hidden states [B,T,D] after the embedding and after each layer, and each layer's weights
        [B,H,T,T]. `real` [B,T] is false at padding, which no token sees."""
        e = self.bert.embeddings
        places = torch.arange(ids.shape[1])
        x = e.LayerNorm(e.word_embeddings(ids) + e.position_embeddings(places) + e.token_type_embeddings(types))
        mask = torch.zeros((), dtype=x.dtype)
        if real is not None:
            mask = torch.zeros(real.shape, dtype=x.dtype).masked_fill(~real, -math.inf)[:, None, None]
        states, maps = [x], []
        for layer in self.bert.encoder.layer:
            x, weights = layer(x, mask)
            states.append(x)
            maps.append(weights)
        return states, maps

    def logits(self, x):
        """Last hidden states [...,D] -> logits [...,V] of the word at each place."""
        head = self.cls.predictions
        x = head.transform.LayerNorm(F.gelu(head.transform.dense(x)))
        return F.linear(x, self.bert.embeddings.word_embeddings.weight, head.bias)

    def relationship(self, x):
        """Last hidden states [B,T,D] -> logits [B,2]: the second text follows on the first, or it is another's."""
        return self.cls.seq_relationship(self.bert.pooler.dense(x[:, 0]).tanh())


def load_model(folder, dtype=torch.float32):
    model = Bert(json.loads((folder / "config.json").read_text()))
    model.load_state_dict(expanded(load_tensors(folder / "model.safetensors")))
    return model.to(dtype).eval()
