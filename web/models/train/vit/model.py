"""A small Vision Transformer in PyTorch, with the parameter names of Hugging Face's ViTForImageClassification.

Shapes: L layers, B pictures, T tokens (CLS, then the patches row by row), D hidden, H heads, E head width.
"""
import json
import math

import torch
from torch import nn
from torch.nn import functional as F

from shared.weights import expanded, load_tensors


class Dense(nn.Module):
    def __init__(self, inputs, outputs):
        super().__init__()
        self.dense = nn.Linear(inputs, outputs)

    def forward(self, x):
        return self.dense(x)


class Attention(nn.Module):
    def __init__(self, c):
        super().__init__()
        width = c["hidden_size"]
        self.width = width // c["num_attention_heads"]
        self.attention = nn.ModuleDict({name: nn.Linear(width, width) for name in ("query", "key", "value")})
        self.output = Dense(width, width)

    def forward(self, x):
        """x [B,T,D] -> output [B,T,D], weights [B,H,T,T]."""
        q, k, v = (linear(x).unflatten(-1, (-1, self.width)).transpose(1, 2) for linear in self.attention.values())
        weights = (q / math.sqrt(self.width) @ k.transpose(-1, -2)).softmax(-1)
        return self.output((weights @ v).transpose(1, 2).flatten(2)), weights


class Layer(nn.Module):
    def __init__(self, c):
        super().__init__()
        width, inner, eps = c["hidden_size"], c["intermediate_size"], c["layer_norm_eps"]
        self.layernorm_before, self.layernorm_after = nn.LayerNorm(width, eps), nn.LayerNorm(width, eps)
        self.attention = Attention(c)
        self.intermediate, self.output = Dense(width, inner), Dense(inner, width)

    def forward(self, x):
        attended, weights = self.attention(self.layernorm_before(x))
        x = x + attended
        return x + self.output(F.gelu(self.intermediate(self.layernorm_after(x)))), weights


class Embeddings(nn.Module):
    def __init__(self, c):
        super().__init__()
        width, side = c["hidden_size"], c["image_size"] // c["patch_size"]
        self.cls_token = nn.Parameter(torch.zeros(1, 1, width))
        self.position_embeddings = nn.Parameter(torch.cat([torch.zeros(1, width), waves(side, width)])[None])
        self.patch_embeddings = nn.Module()
        self.patch_embeddings.projection = nn.Conv2d(c["num_channels"], width, c["patch_size"], c["patch_size"])

    def forward(self, images):
        patches = self.patch_embeddings.projection(images).flatten(2).transpose(1, 2)
        return torch.cat([self.cls_token.expand(len(images), -1, -1), patches], 1) + self.position_embeddings


def waves(side, width, norm=5):
    """Positions [side*side,D] whose products fall with the distance of two patches, as a Gaussian of the width of a patch: sines
    and cosines of the row, and of the column."""
    frequency = torch.arange(1, width // 4 + 1) * math.pi / side / 2
    angle, amplitude = torch.arange(side)[:, None] * frequency, torch.exp(-frequency ** 2 / 2)
    line = torch.cat([angle.sin(), angle.cos()], 1) * (norm * amplitude / amplitude.norm()).repeat(2)
    return torch.cat([line[:, None].expand(-1, side, -1), line[None].expand(side, -1, -1)], -1).flatten(0, 1)


class Vit(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.config = config
        self.vit = nn.Module()
        self.vit.embeddings = Embeddings(config)
        self.vit.encoder = nn.Module()
        self.vit.encoder.layer = nn.ModuleList(Layer(config) for _ in range(config["num_hidden_layers"]))
        self.vit.layernorm = nn.LayerNorm(config["hidden_size"], config["layer_norm_eps"])
        self.classifier = nn.Linear(config["hidden_size"], len(config["id2label"]))
        self.initialise()

    @torch.no_grad()
    def initialise(self):
        """Draws normal weights of fan-in scale. Matrices that write to the residual stream start smaller. Queries and keys start
        equal, so that patches look first at what is like them and near them. They are larger in the first layer, whose heads
        so start as local ones."""
        for name, p in self.named_parameters():
            if name.endswith("bias"):
                p.zero_()
            elif p.dim() == 2 or p.dim() == 4:
                small = 1 / math.sqrt(2 * self.config["num_hidden_layers"]) if "output" in name else 1
                nn.init.normal_(p, std=0.7 * small / math.sqrt(p[0].numel()))
        for i, layer in enumerate(self.vit.encoder.layer):
            query, key = layer.attention.attention["query"].weight, layer.attention.attention["key"].weight
            key.copy_(query.mul_(2 if i == 0 else 1))

    def trace(self, images):
        """images [B,3,S,S] -> hidden states [B,T,D] after the embedding and after each layer, each layer's weights [B,H,T,T], and
        logits [B,labels]."""
        states, maps = [self.vit.embeddings(images)], []
        for layer in self.vit.encoder.layer:
            x, weights = layer(states[-1])
            states.append(x)
            maps.append(weights)
        return states, maps, self.classifier(self.vit.layernorm(states[-1][:, 0]))


def normalised(images):
    """Bytes [B,S,S,3] -> what the model takes, [B,3,S,S] from -1 to 1."""
    return (torch.as_tensor(images).permute(0, 3, 1, 2) / 255 - 0.5) / 0.5


def load_model(folder):
    model = Vit(json.loads((folder / "config.json").read_text()))
    model.load_state_dict(expanded(load_tensors(folder / "model.safetensors")))
    return model.eval()
