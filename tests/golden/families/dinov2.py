# SPDX-License-Identifier: Apache-2.0
"""DINOv2 (Oquab et al. 2023), and with registers (Darcet et al. 2023): ViT with a scale of what each layer adds, and
positions for images of any size."""

import math

import torch
from torch import nn
from torch.nn import functional as F

from .parts import Architecture, Dense, GoldenModel, Layer, attend, everything, linear, split, through_layers
from .vit import VitEmbeddings


def cubic(x, a):
    """The kernel of cubic convolution (Keys 1981)."""
    x = abs(x)
    if x <= 1:
        return ((a + 2) * x - (a + 3)) * x * x + 1
    return ((a * x - 5 * a) * x + 8 * a) * x - 4 * a if x < 2 else 0.0


def resizing(before, after, smooth):
    """The matrix [after, before] that resizes a side. At the edge, cells outside are those on it. If it is smooth, the
    kernel is as wide as what it shrinks, and only cells inside count."""
    step = before / after
    matrix = torch.zeros(after, before, dtype=torch.float64)
    for i in range(after):
        middle = (i + 0.5) * step
        if smooth:
            wide = max(step, 1.0)
            weights = {j: cubic((j + 0.5 - middle) / wide, -0.5) for j in range(before)}
            for j, weight in weights.items():
                matrix[i, j] = weight / sum(weights.values())
        else:
            first = math.floor(middle - 0.5) - 1
            for j in range(first, first + 4):
                matrix[i, min(max(j, 0), before - 1)] += cubic(j + 0.5 - middle, -0.75)
    return matrix


class Dinov2Embeddings(VitEmbeddings):
    """The mask's token is for training only."""

    def __init__(self, c):
        super().__init__(c)
        self.registers = c.get("num_register_tokens", 0)
        self.mask_token = nn.Parameter(torch.empty(1, c["hidden_size"]))
        if self.registers > 0:
            self.register_tokens = nn.Parameter(torch.empty(1, self.registers, c["hidden_size"]))
            self.tokens = ("cls_token", "register_tokens")

    def positions(self, rows, columns):
        first, others = self.position_embeddings[0, :1], self.position_embeddings[0, 1:]
        side = math.isqrt(len(others))
        down, across = (resizing(side, size, smooth=self.registers > 0) for size in (rows, columns))
        resized = torch.einsum("rs,ct,std->rcd", down, across, others.unflatten(0, (side, side))).flatten(0, 1)
        return torch.cat([first, first.new_zeros(self.registers, first.shape[1]), resized])


class SwiGlu(nn.Module):
    """Shazeer 2020, with both matrices in one."""

    def __init__(self, width, inner):
        super().__init__()
        inner = (inner * 2 // 3 + 7) // 8 * 8
        self.weights_in, self.weights_out = nn.Linear(width, 2 * inner), nn.Linear(inner, width)

    def forward(self, x):
        gate, up = self.weights_in(x).chunk(2, -1)
        return self.weights_out(F.silu(gate) * up)


class FeedForward(nn.Module):
    def __init__(self, width, inner):
        super().__init__()
        self.fc1, self.fc2 = nn.Linear(width, inner), nn.Linear(inner, width)

    def forward(self, x):
        return self.fc2(F.gelu(self.fc1(x)))


class Dinov2Layer(nn.Module):
    def __init__(self, c):
        super().__init__()
        width, eps = c["hidden_size"], c["layer_norm_eps"]
        self.heads = c["num_attention_heads"]
        self.norm1, self.norm2 = nn.LayerNorm(width, eps), nn.LayerNorm(width, eps)
        self.attention = nn.Module()
        self.attention.attention = nn.ModuleDict({name: nn.Linear(width, width) for name in ["query", "key", "value"]})
        self.attention.output = Dense(width, width)
        self.layer_scale1, self.layer_scale2 = nn.Module(), nn.Module()
        for scale in (self.layer_scale1, self.layer_scale2):
            scale.lambda1 = nn.Parameter(torch.empty(width))
        self.mlp = (SwiGlu if c["use_swiglu_ffn"] else FeedForward)(width, width * c["mlp_ratio"])

    def forward(self, record, x):
        normal, project = self.norm1(x), self.attention.attention
        q, k, v = (split(project[name](normal), self.heads) for name in ["query", "key", "value"])
        heads = attend(record, q, k, v, q.shape[-1] ** -0.5, everything(len(x)))
        x = x + self.attention.output.dense(heads) * self.layer_scale1.lambda1
        return x + self.mlp(self.norm2(x)) * self.layer_scale2.lambda1


class Dinov2(nn.Module):
    def __init__(self, c):
        super().__init__()
        self.name, body = c["model_type"], nn.Module()
        setattr(self, self.name, body)
        body.embeddings, body.encoder = Dinov2Embeddings(c), nn.Module()
        body.encoder.layer = nn.ModuleList(Dinov2Layer(c) for _ in range(c["num_hidden_layers"]))
        body.layernorm = nn.LayerNorm(c["hidden_size"], c["layer_norm_eps"])
        self.classifier = nn.Linear(2 * c["hidden_size"], len(c["id2label"]))

    @property
    def body(self):
        return getattr(self, self.name)

    def forward(self, record, inputs):
        return self.logits(through_layers(record, self.body.encoder.layer, self.body.embeddings(inputs)))

    def pool(self, x):
        """The class token and the mean of the patches side by side."""
        return torch.cat([x[0], x[1 + self.body.embeddings.registers:].mean(0)]).unsqueeze(0)

    def logits(self, x):
        return self.classifier(self.pool(self.body.layernorm(x)))


def architecture(model, c):
    def layer_of(layer):
        def scaling(scale):
            return lambda x: scale.lambda1.expand_as(x)

        a = layer.attention
        q, k, v = (linear(a.attention[name]) for name in ["query", "key", "value"])
        down = layer.mlp.weights_out if c["use_swiglu_ffn"] else layer.mlp.fc2
        return Layer(layer.norm1, q, k, v, a.output.dense, down, (c["hidden_size"] // heads) ** -0.5,
                     written=(scaling(layer.layer_scale1), scaling(layer.layer_scale2)))

    heads, body = c["num_attention_heads"], model.body
    return Architecture(heads, heads, [layer_of(layer) for layer in body.encoder.layer], body.embeddings.parts,
                        final_norm=body.layernorm, decoder=linear(model.classifier), pool=model.pool)


def image_of(height, width):
    """An image of another size than the one that the positions are for."""
    return lambda config, length, generator: {
        "image": torch.randn([config["num_channels"], height, width], generator=generator)}


CONFIG = {"model_type": "dinov2", "architectures": ["Dinov2ForImageClassification"], "apply_layernorm": True,
          "hidden_size": 16, "num_attention_heads": 4, "num_hidden_layers": 2, "mlp_ratio": 2, "hidden_act": "gelu",
          "image_size": 20, "patch_size": 4, "num_channels": 3, "qkv_bias": True, "layer_norm_eps": 1e-6,
          "layerscale_value": 1.0, "drop_path_rate": 0.0, "use_swiglu_ffn": False, "reshape_hidden_states": True,
          "id2label": {"0": "cat", "1": "dog", "2": "house"}, "label2id": {"cat": 0, "dog": 1, "house": 2},
          "torch_dtype": "float32"}
PREPROCESSOR = {"crop_size": {"height": 12, "width": 12}, "do_center_crop": True, "do_convert_rgb": True,
                "do_normalize": True, "do_rescale": True, "do_resize": True, "image_mean": [0.485, 0.456, 0.406],
                "image_processor_type": "BitImageProcessor", "image_std": [0.229, 0.224, 0.225], "resample": 3,
                "rescale_factor": 0.00392156862745098, "size": {"shortest_edge": 16}}


def golden(changes, library, inputs):
    return GoldenModel({**CONFIG, **changes}, Dinov2, architecture, library, "attention.output.dense", inputs=inputs,
                       preprocessor=PREPROCESSOR, causal=False)


MODELS = {
    "dinov2": golden({}, "Dinov2ForImageClassification", image_of(12, 12)),
    "dinov2_registers": golden(
        {"model_type": "dinov2_with_registers", "architectures": ["Dinov2WithRegistersForImageClassification"],
         "num_register_tokens": 2, "use_swiglu_ffn": True},
        "Dinov2WithRegistersForImageClassification", image_of(12, 16)),
}
