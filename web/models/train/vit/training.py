"""Trains the image model to name shapes, on pictures that are drawn as it learns. Seeds are fixed, and what its heads look at is
printed as training goes."""
import json
import time

import numpy
import torch
from torch.nn import functional as F

from shared.checkpoint import Checkpoint
from shared.optimiser import Muon, update
from shared.weights import save_model
from vit.model import Vit, normalised
from vit.pictures import HELD_OUT, LABELS, PATCH, SIZE, patch_shares, picture
from vit.png import write_png

CONFIG = {
    "architectures": ["ViTForImageClassification"], "model_type": "vit", "hidden_size": 96, "intermediate_size": 256,
    "num_hidden_layers": 4, "num_attention_heads": 6, "hidden_act": "gelu", "layer_norm_eps": 1e-12, "qkv_bias": True,
    "image_size": SIZE, "patch_size": PATCH, "num_channels": 3, "id2label": {str(i): label for i, label in enumerate(LABELS)},
    "label2id": {label: i for i, label in enumerate(LABELS)}, "torch_dtype": "float16",
}
PREPROCESSOR = {
    "image_processor_type": "ViTImageProcessor", "do_resize": True, "size": {"height": SIZE, "width": SIZE}, "resample": 2,
    "do_rescale": True, "rescale_factor": 1 / 255, "do_normalize": True, "image_mean": [0.5] * 3, "image_std": [0.5] * 3,
}
STEPS, BATCH = 3000, 64
MATRIX_RATE, OTHER_RATE = 0.01, 2e-3
EXAMPLES, VALIDATION = 8, HELD_OUT + 10 ** 6  # pictures beside the weights, and the first picture of what is printed


def batch(first, count):
    """Returns the pictures [B,3,S,S] from this number on, their labels [B], and what share of each patch the shape covers [B,P]."""
    images, labels, covered = zip(*(picture(first + i) for i in range(count)))
    shares = numpy.stack([patch_shares(one) for one in covered])
    return normalised(numpy.stack(images)), torch.tensor(labels), torch.from_numpy(shares).float()


def on_object(maps, shares):
    """The mean weight [L,H] that CLS gives to patches of which the shape covers at least half. maps [L,B,H,T,T]."""
    return (maps[:, :, :, 0, 1:] * (shares >= 0.5).float()[:, None]).sum(-1).mean(1)


def near():
    """Matrix [P,P] that is 1 where two patches are the same or touch."""
    side = SIZE // PATCH
    place = torch.stack([torch.arange(side ** 2) // side, torch.arange(side ** 2) % side], 1)
    return ((place[:, None] - place).abs().amax(-1) <= 1).float()


def on_near(maps):
    """The mean weight [L,H] that patches give to themselves and to the patches around them."""
    return (maps[..., 1:, 1:] * near()).sum(-1).mean((1, 3))


class Training:
    def __init__(self):
        torch.manual_seed(1)
        self.model, self.started = Vit(CONFIG), time.time()
        matrices = [p for p in self.model.vit.encoder.parameters() if p.dim() == 2]
        others = [p for p in self.model.parameters() if not any(p is matrix for matrix in matrices)]
        self.matrices = Muon(matrices, 0)
        self.others = torch.optim.AdamW(others, 0, (0.9, 0.98), weight_decay=0.01)
        self.checkpoint = Checkpoint("tiny-vit", {"model": self.model, "matrices": self.matrices, "others": self.others}, {})
        self.progress = {"step": 0} | self.checkpoint.restore()
        self.validation = batch(VALIDATION, 200)

    def run(self):
        """The learning rate rises for 100 steps, and falls to zero."""
        optimisers = [(self.matrices, MATRIX_RATE), (self.others, OTHER_RATE)]
        for step in range(self.progress["step"] + 1, STEPS + 1):
            images, labels, shares = batch((step - 1) * BATCH, BATCH)
            states, maps, logits = self.model.trace(images)
            loss = F.cross_entropy(logits, labels)
            update(self.model, loss, optimisers, min(1, step / 100, 1.3 * (1 - (step - 1) / STEPS)))
            if step % 50 == 0:
                self.report(step, f"{loss.item():.3f}")
            self.progress["step"] = step
            self.checkpoint.save(self.progress, now=step == STEPS)

    @torch.no_grad()
    def report(self, step, loss):
        images, labels, shares = self.validation
        _, maps, logits = self.model.trace(images)
        maps = torch.stack(maps)
        found, local = on_object(maps, shares), on_near(maps)
        print(f"{time.time() - self.started:6.0f} s  step {step:5d}  loss {loss}  right {(logits.argmax(-1) == labels).float().mean():.2f}  "
              f"on the object {found.max():.2f}  near {local.max():.2f}", flush=True)


def save(folder, model, rest):
    """Writes config, weights, the settings of pictures, and examples. `rest` is not needed."""
    save_model(folder, CONFIG, model.state_dict())
    (folder / "preprocessor_config.json").write_text(json.dumps(PREPROCESSOR, indent=2) + "\n")
    (folder / "examples").mkdir(exist_ok=True)
    for i in range(EXAMPLES):
        write_png(folder / f"examples/{i:02}.png", picture(HELD_OUT + i)[0])


def train():
    """Trains, or goes on training. Returns the model, nothing more that saving needs, and a sentence about the training."""
    training = Training()
    training.run()
    spent = training.checkpoint.core_seconds() / 60
    return training.model, None, f"This took {STEPS} steps of {BATCH} pictures, and {spent:.0f} minutes of a core."
