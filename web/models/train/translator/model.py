"""A small Marian in PyTorch, with the parameter names of Hugging Face's MarianMTModel.

Shapes: B pairs, S source tokens, T target tokens, D hidden, H heads, L layers, V vocabulary.
"""
import json
import math

import torch
from torch import nn
from torch.nn import functional as F

from shared.weights import expanded, load_tensors


class Attention(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        for name in ("k_proj", "v_proj", "q_proj", "out_proj"):
            self.add_module(name, nn.Linear(width, width))

    def forward(self, x, memory, mask):
        """x [B,T,D], memory [B,S,D], mask that broadcasts to [B,H,T,S] -> output [B,T,D], weights [B,H,T,S]."""
        q, k, v = (part.unflatten(-1, (self.heads, -1)).transpose(1, 2)
                   for part in (self.q_proj(x), self.k_proj(memory), self.v_proj(memory)))
        weights = (q @ k.transpose(-1, -2) / math.sqrt(q.shape[-1]) + mask).softmax(-1)
        return self.out_proj((weights @ v).transpose(1, 2).flatten(2)), weights


class Layer(nn.Module):
    """Each norm stands after a residual sum. Only a decoder's layer looks at a source."""

    def __init__(self, c, stack):
        super().__init__()
        width, heads, inner = c["d_model"], c[f"{stack}_attention_heads"], c[f"{stack}_ffn_dim"]
        self.self_attn, self.self_attn_layer_norm = Attention(width, heads), nn.LayerNorm(width)
        if stack == "decoder":
            self.encoder_attn, self.encoder_attn_layer_norm = Attention(width, heads), nn.LayerNorm(width)
        self.fc1, self.fc2 = nn.Linear(width, inner), nn.Linear(inner, width)
        self.final_layer_norm = nn.LayerNorm(width)

    def forward(self, x, mask, memory=None, memory_mask=None):
        """Returns the hidden state, the weights, and in a decoder the weights on the source."""
        added, weights = self.self_attn(x, x, mask)
        x, cross = self.self_attn_layer_norm(x + added), None
        if memory is not None:
            added, cross = self.encoder_attn(x, memory, memory_mask)
            x = self.encoder_attn_layer_norm(x + added)
        return self.final_layer_norm(x + self.fc2(F.silu(self.fc1(x)))), weights, cross


def sinusoids(length, width):
    """All sines, then all cosines [T,D], which models of this kind are published with as float32."""
    frequency = 10000.0 ** (-2 * torch.arange(width // 2, dtype=torch.float64) / width)
    angles = torch.outer(torch.arange(length, dtype=torch.float64), frequency)
    return torch.cat([angles.sin(), angles.cos()], 1).float()


class Marian(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.config = config
        self.model = nn.Module()
        self.model.shared = nn.Embedding(config["vocab_size"], config["d_model"])
        for stack in ("encoder", "decoder"):
            module = nn.Module()
            module.layers = nn.ModuleList(Layer(config, stack) for _ in range(config[f"{stack}_layers"]))
            self.model.add_module(stack, module)
        self.final_logits_bias = nn.Parameter(torch.zeros(1, config["vocab_size"]))
        self.initialise()

    def initialise(self):
        """Draws weights for which embeddings, when scaled, are as large as positions."""
        nn.init.normal_(self.model.shared.weight, std=self.config["d_model"] ** -0.5)
        for name, p in self.named_parameters():
            if p.dim() == 2 and "layers" in name:
                nn.init.xavier_uniform_(p)
            elif name.endswith("bias"):
                nn.init.zeros_(p)

    def embed(self, ids):
        x = self.model.shared(ids) * math.sqrt(self.config["d_model"])
        return x + sinusoids(*x.shape[-2:]).to(x.dtype)

    def encode(self, source):
        """source [B,S] -> hidden states [B,S,D] of the embedding and of each layer, each layer's weights [B,H,S,S], and the
        mask of padding [B,1,1,S]."""
        x = self.embed(source)
        mask = torch.zeros(source.shape, dtype=x.dtype)
        mask = mask.masked_fill(source == self.config["pad_token_id"], -math.inf)[:, None, None]
        states, maps = [x], []
        for layer in self.model.encoder.layers:
            x, weights, _ = layer(x, mask)
            states.append(x)
            maps.append(weights)
        return states, maps, mask

    def decode(self, target, memory, memory_mask):
        """target [B,T] -> hidden states [B,T,D], each layer's weights [B,H,T,T], and those on the source [B,H,T,S]."""
        x, length = self.embed(target), target.shape[1]
        mask = torch.full((length, length), -math.inf, dtype=x.dtype).triu(1)
        states, maps, crosses = [x], [], []
        for layer in self.model.decoder.layers:
            x, weights, cross = layer(x, mask, memory, memory_mask)
            states.append(x)
            maps.append(weights)
            crosses.append(cross)
        return states, maps, crosses

    def logits(self, x):
        """Last hidden states [...,D] -> logits [...,V]."""
        return F.linear(x, self.model.shared.weight, self.final_logits_bias[0])


def load_model(folder, dtype=torch.float32):
    model = Marian(json.loads((folder / "config.json").read_text()))
    model.load_state_dict(expanded(load_tensors(folder / "model.safetensors")))
    return model.to(dtype).eval()


@torch.no_grad()
def translate(model, sources, most=24):
    """Greedy translations of rows of source ids, with the end: rows of ids without start and end."""
    pad, end = model.config["pad_token_id"], model.config["eos_token_id"]
    source = nn.utils.rnn.pad_sequence([torch.tensor(row) for row in sources], True, pad)
    states, _, mask = model.encode(source)
    target = torch.full((len(sources), 1), model.config["decoder_start_token_id"])
    for _ in range(most):
        logits = model.logits(model.decode(target, states[-1], mask)[0][-1][:, -1])
        logits[:, pad] = -math.inf
        target = torch.cat([target, logits.argmax(-1, keepdim=True)], 1)
        if (target == end).any(1).all():
            break
    rows = [row[1:] for row in target.tolist()]
    return [row[:row.index(end)] if end in row else row for row in rows]
