# SPDX-License-Identifier: Apache-2.0
"""DeiT (Touvron et al. 2021): ViT with a second token, which has a classifier of its own."""

import torch
from torch import nn

from .parts import GoldenModel
from .vit import CONFIG as VIT
from .vit import VitBody, architecture_of, image


class Deit(nn.Module):
    def __init__(self, c):
        super().__init__()
        self.deit = VitBody(c, ("cls_token", "distillation_token"))
        self.cls_classifier = nn.Linear(c["hidden_size"], len(c["id2label"]))
        self.distillation_classifier = nn.Linear(c["hidden_size"], len(c["id2label"]))

    def forward(self, record, inputs):
        return self.logits(self.deit(record, inputs))

    def logits(self, x):
        normal = self.deit.layernorm(x)
        return (self.cls_classifier(normal[:1]) + self.distillation_classifier(normal[1:2])) / 2


def architecture(model, c):
    first, second = model.cls_classifier, model.distillation_classifier
    return architecture_of(model.deit, c, pool=lambda x: x[:2].flatten().unsqueeze(0),
                           decoder=(torch.cat([first.weight, second.weight], 1) / 2, (first.bias + second.bias) / 2))


CONFIG = VIT | {"model_type": "deit", "architectures": ["DeiTForImageClassificationWithTeacher"], "qkv_bias": True,
                "label2id": {"cat": 0, "dog": 1, "house": 2}, "torch_dtype": "float32"}
PREPROCESSOR = {"crop_size": 12, "do_center_crop": True, "do_normalize": True, "do_resize": True,
                "feature_extractor_type": "DeiTFeatureExtractor", "image_mean": [0.485, 0.456, 0.406],
                "image_std": [0.229, 0.224, 0.225], "resample": 3, "size": 16}

MODELS = {"deit": GoldenModel(CONFIG, Deit, architecture, "DeiTForImageClassificationWithTeacher", "attention.o_proj",
                              inputs=image, preprocessor=PREPROCESSOR, picture=(20, 35), causal=False)}
