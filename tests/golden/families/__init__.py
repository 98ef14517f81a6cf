# SPDX-License-Identifier: Apache-2.0
"""The families of models: each file has the published definition of one family, its golden models, and the parts that
its numbers are sums of. The models of t5 and marian are encoder–decoders, which make_encoder_decoders.py takes."""

import pathlib

from . import (bert, deit, dinov2, distilbert, gemma2, gemma3, gpt2, gpt_neo, gpt_neox, llama, olmo2, phi3, qwen3,
               roberta, vit)

FOLDER = pathlib.Path(__file__).parent.parent / "models"
FAMILIES = [llama, gpt2, gpt_neox, bert, vit, qwen3, gpt_neo, roberta, distilbert, gemma2, gemma3, olmo2, deit, dinov2,
            phi3]
MODELS = {name: model for family in FAMILIES for name, model in family.MODELS.items()}
