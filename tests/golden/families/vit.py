# SPDX-License-Identifier: Apache-2.0
"""ViT (Dosovitskiy et al. 2021)."""

import torch
from torch import nn
from torch.nn import functional as F

from .parts import Architecture, Dense, GoldenModel, Layer, attend, everything, linear, split, through_layers


class VitLayer(nn.Module):
    def __init__(self, c):
        super().__init__()
        width, inner, eps = c["hidden_size"], c["intermediate_size"], c["layer_norm_eps"]
        self.heads, bias = c["num_attention_heads"], c.get("qkv_bias", True)
        self.layernorm_before, self.layernorm_after = nn.LayerNorm(width, eps), nn.LayerNorm(width, eps)
        self.attention = nn.Module()
        self.attention.attention = nn.ModuleDict(
            {name: nn.Linear(width, width, bias=bias) for name in ["query", "key", "value"]})
        self.attention.output = Dense(width, width)
        self.intermediate, self.output = Dense(width, inner), Dense(inner, width)

    def forward(self, record, x):
        normal, project = self.layernorm_before(x), self.attention.attention
        q, k, v = (split(project[name](normal), self.heads) for name in ["query", "key", "value"])
        x = x + self.attention.output.dense(attend(record, q, k, v, q.shape[-1] ** -0.5, everything(len(x))))
        return x + self.output.dense(F.gelu(self.intermediate.dense(self.layernorm_after(x))))


class VitEmbeddings(nn.Module):
    """`tokens` are the names of the vectors that stand before the patches."""

    def __init__(self, c, tokens=("cls_token",)):
        super().__init__()
        width, patch = c["hidden_size"], c["patch_size"]
        for name in tokens:
            setattr(self, name, nn.Parameter(torch.empty(1, 1, width)))
        self.tokens = tokens
        patches = (c["image_size"] // patch) ** 2
        self.position_embeddings = nn.Parameter(torch.empty(1, patches + len(tokens), width))
        self.patch_embeddings = nn.Module()
        self.patch_embeddings.projection = nn.Conv2d(c["num_channels"], width, patch, stride=patch)

    def positions(self, rows, columns):
        """The vectors [T, D] of all positions for this many patches."""
        return self.position_embeddings[0]

    def parts(self, inputs):
        """The embeddings whose sum is a token's vector."""
        projection = self.patch_embeddings.projection
        patches = F.conv2d(inputs["image"].unsqueeze(0), projection.weight, stride=projection.stride)[0]
        tokens = torch.cat([getattr(self, name)[0] for name in self.tokens])
        bias = projection.bias.repeat(patches[0].numel(), 1)
        return {"token": torch.cat([tokens, patches.flatten(1).T]), "position": self.positions(*patches.shape[1:]),
                "bias": torch.cat([torch.zeros_like(tokens), bias])}

    def forward(self, inputs):
        return sum(self.parts(inputs).values())


class VitBody(nn.Module):
    def __init__(self, c, tokens=("cls_token",)):
        super().__init__()
        self.embeddings = VitEmbeddings(c, tokens)
        self.encoder = nn.Module()
        self.encoder.layer = nn.ModuleList(VitLayer(c) for _ in range(c["num_hidden_layers"]))
        self.layernorm = nn.LayerNorm(c["hidden_size"], c["layer_norm_eps"])

    def forward(self, record, inputs):
        return through_layers(record, self.encoder.layer, self.embeddings(inputs))


class Vit(nn.Module):
    def __init__(self, c):
        super().__init__()
        self.vit = VitBody(c)
        self.classifier = nn.Linear(c["hidden_size"], len(c["id2label"]))

    def forward(self, record, inputs):
        return self.logits(self.vit(record, inputs))

    def logits(self, x):
        return self.classifier(self.vit.layernorm(x)[:1])


def layer_of(layer):
    a, heads = layer.attention, layer.heads
    q, k, v = (linear(a.attention[name]) for name in ["query", "key", "value"])
    return Layer(layer.layernorm_before, q, k, v, a.output.dense, layer.output.dense, (len(q[0]) // heads) ** -0.5)


def architecture_of(body, c, **logits):
    heads = c["num_attention_heads"]
    return Architecture(heads, heads, [layer_of(layer) for layer in body.encoder.layer], body.embeddings.parts,
                        final_norm=body.layernorm, **logits)


def architecture(model, c):
    return architecture_of(model.vit, c, decoder=linear(model.classifier), pool=lambda x: x[:1])


def image(config, length, generator):
    return {"image": torch.randn([config["num_channels"], config["image_size"], config["image_size"]],
                                 generator=generator)}


CONFIG = {"model_type": "vit", "hidden_size": 20, "num_attention_heads": 4, "num_hidden_layers": 2,
          "intermediate_size": 36, "image_size": 12, "patch_size": 4, "num_channels": 3, "hidden_act": "gelu",
          "layer_norm_eps": 1e-12, "id2label": {"0": "cat", "1": "dog", "2": "house"}}
PREPROCESSOR = {"do_resize": True, "size": {"height": 12, "width": 12}, "resample": 2, "do_rescale": True,
                "rescale_factor": 1 / 255, "do_normalize": True, "image_mean": [0.485, 0.456, 0.406],
                "image_std": [0.229, 0.224, 0.225], "image_processor_type": "ViTImageProcessor"}


def golden(changes, library, **how):
    return GoldenModel({**CONFIG, **changes}, Vit, architecture, library, "attention.o_proj", inputs=image,
                       saved=False, causal=False, **how)


MODELS = {
    "vit": golden({}, "ViTForImageClassification", preprocessor=PREPROCESSOR, picture=(31, 10)),
    "vit_f16_bare": golden({"qkv_bias": False, "num_channels": 1, "patch_size": 3}, "ViTModel", dtype=torch.float16,
                           has_logits=False,
                           rename=lambda name: None if name.startswith("classifier.") else name.replace("vit.", "")),
}
