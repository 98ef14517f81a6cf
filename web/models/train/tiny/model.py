"""A small Llama-type decoder in PyTorch, with the parameter names of Hugging Face's LlamaForCausalLM.

Shapes: L layers, B texts, T tokens, D hidden, H heads, E head width, V vocabulary. The previous, induction and
entropy scores have the formulas of headlens's own metrics.
"""
import json
import math

import torch
from torch import nn
from torch.nn import functional as F

from shared.weights import expanded, load_tensors


class RMSNorm(nn.Module):
    def __init__(self, width, eps):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(width))
        self.eps = eps

    def forward(self, x):
        return self.weight * (x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + self.eps))


def rotate(x, cos, sin):
    """Turns x [B,H,T,E] by rotary positions, half-split as in Hugging Face: feature e is paired with e + E/2."""
    a, b = x.chunk(2, -1)
    return torch.cat((a * cos - b * sin, b * cos + a * sin), -1)


class Attention(nn.Module):
    def __init__(self, c):
        super().__init__()
        self.heads, self.width = c["num_attention_heads"], c["head_dim"]
        inner = self.heads * self.width
        self.q_proj = nn.Linear(c["hidden_size"], inner, bias=False)
        self.k_proj = nn.Linear(c["hidden_size"], inner, bias=False)
        self.v_proj = nn.Linear(c["hidden_size"], inner, bias=False)
        self.o_proj = nn.Linear(inner, c["hidden_size"], bias=False)

    def forward(self, x, cos, sin, mask):
        """x [B,T,D] -> output [B,T,D], weights [B,H,T,T]."""
        q, k, v = (p(x).unflatten(-1, (self.heads, self.width)).transpose(1, 2)
                   for p in (self.q_proj, self.k_proj, self.v_proj))
        q, k = rotate(q, cos, sin) / math.sqrt(self.width), rotate(k, cos, sin)
        weights = (q @ k.transpose(-1, -2) + mask).softmax(-1)
        return self.o_proj((weights @ v).transpose(1, 2).flatten(2)), weights


class MLP(nn.Module):
    def __init__(self, c):
        super().__init__()
        self.gate_proj = nn.Linear(c["hidden_size"], c["intermediate_size"], bias=False)
        self.up_proj = nn.Linear(c["hidden_size"], c["intermediate_size"], bias=False)
        self.down_proj = nn.Linear(c["intermediate_size"], c["hidden_size"], bias=False)

    def forward(self, x):
        return self.down_proj(F.silu(self.gate_proj(x)) * self.up_proj(x))


class Layer(nn.Module):
    def __init__(self, c):
        super().__init__()
        self.input_layernorm = RMSNorm(c["hidden_size"], c["rms_norm_eps"])
        self.self_attn = Attention(c)
        self.post_attention_layernorm = RMSNorm(c["hidden_size"], c["rms_norm_eps"])
        self.mlp = MLP(c)

    def forward(self, x, *position):
        attended, weights = self.self_attn(self.input_layernorm(x), *position)
        x = x + attended
        return x + self.mlp(self.post_attention_layernorm(x)), weights


class Llama(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.config = config
        self.model = nn.Module()
        self.model.embed_tokens = nn.Embedding(config["vocab_size"], config["hidden_size"])
        self.model.layers = nn.ModuleList(Layer(config) for _ in range(config["num_hidden_layers"]))
        self.model.norm = RMSNorm(config["hidden_size"], config["rms_norm_eps"])
        self.initialise()

    def initialise(self):
        """Draws normal weights of fan-in scale. Matrices that write to the residual stream start smaller the more layers there
        are."""
        layers = self.config["num_hidden_layers"]
        for name, p in self.named_parameters():
            if p.dim() == 2:
                std = 0.5 / math.sqrt(p.shape[1])
                if "o_proj" in name or "down_proj" in name:
                    std /= math.sqrt(2 * layers)
                nn.init.normal_(p, std=std)

    def trace(self, ids):
        """ids [B,T] -> hidden states [B,T,D] after the embedding and after each layer, and each layer's weights [B,H,T,T]."""
        c, length = self.config, ids.shape[1]
        x = self.model.embed_tokens(ids)
        half = c["head_dim"] // 2
        frequency = c["rope_theta"] ** (-torch.arange(half, dtype=x.dtype) / half)
        angle = torch.arange(length, dtype=x.dtype)[:, None] * frequency
        mask = torch.full((length, length), -math.inf, dtype=x.dtype).triu(1)
        states, maps = [x], []
        for layer in self.model.layers:
            x, weights = layer(x, angle.cos(), angle.sin(), mask)
            states.append(x)
            maps.append(weights)
        return states, maps

    def logits(self, x):
        """Last hidden states [...,D] -> logits [...,V]."""
        return F.linear(self.model.norm(x), self.model.embed_tokens.weight)


def load_model(folder, dtype=torch.float32):
    model = Llama(json.loads((folder / "config.json").read_text()))
    model.load_state_dict(expanded(load_tensors(folder / "model.safetensors")))
    return model.to(dtype).eval()


def repeated(generator, tokens, rows, half, prefix=0, bos=0):
    """Returns rows [bos][prefix][s][s] as [rows, 1+prefix+2*half]. `tokens` holds the ids to draw from; those of s are
    distinct."""
    out = []
    for _ in range(rows):
        s = tokens[torch.randperm(len(tokens), generator=generator)[:half]]
        head = tokens[torch.randint(len(tokens), (prefix,), generator=generator)]
        out.append(torch.cat((torch.tensor([bos]), head, s, s)))
    return torch.stack(out)


@torch.no_grad()
def repeat_scores(model, ids, half):
    """Previous-token and strict induction score of each head on rows ending in [s][s]: two tensors [L,H].

    previous = mean of A[i, i-1] over every i >= 1; induction = mean of A[i, i-(n-1)] over the second copy, n = half.
    """
    maps = torch.stack(model.trace(ids)[1]).double()  # [L,B,H,T,T]
    previous = maps.diagonal(-1, -2, -1).mean((1, 3))
    stripe = maps.diagonal(-(half - 1), -2, -1)[..., -half:]
    return previous, stripe.mean((1, 3))


@torch.no_grad()
def text_scores(model, ids):
    """Normalised entropy and positional score of each head, two tensors [L,H], on texts of one length, ids [B,T] that begin
    with bos.

    entropy = mean over rows of H_i / ln(i+1), i >= 1. positional = 1 - the mean total variation distance between a row and
    that row's mean over the texts, both without the bos column and renormalised. 1 means that content does not matter.
    """
    maps = torch.stack(model.trace(ids)[1]).double()
    rows = torch.arange(2, maps.shape[-1] + 1, dtype=torch.float64).log()
    entropy = (-torch.special.xlogy(maps, maps).sum(-1)[..., 1:] / rows).mean((1, 3))
    inner = maps[..., 2:, 1:]  # row 1 has only one key besides bos
    inner = inner / inner.sum(-1, keepdim=True)
    distance = (inner - inner.mean(1, keepdim=True)).abs().sum(-1) / 2
    return entropy, 1 - distance.mean((1, 3))
