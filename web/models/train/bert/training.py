"""Trains the reader: masked words and pairs of texts.

First it learns only to find a hidden token in the other text of a pair of copies, until it has heads that do so (they appear
abruptly). Then it learns English, with that task mixed in so that it keeps these heads.

Two heads of the first layer are guided: a loss on their weights asks one to look at the next token, and the other at the
one before. It is strong at first and falls to nothing, so that in the end the heads stay only because the model uses them.
Seeds are fixed, and head scores are printed as training goes.
"""
import random
import time

import torch
from torch.nn import functional as F

from bert.model import Bert
from bert.texts import IGNORE, LONGEST, SHARES, SIZE, Source, batch, copies, masked, rows, vocabulary
from shared.checkpoint import Checkpoint
from shared.optimiser import Muon, update
from shared.weights import save_model

CONFIG = {
    "architectures": ["BertForPreTraining"], "model_type": "bert", "hidden_size": 128, "intermediate_size": 384,
    "num_hidden_layers": 4, "num_attention_heads": 8, "hidden_act": "gelu", "layer_norm_eps": 1e-12, "vocab_size": SIZE,
    "max_position_embeddings": LONGEST, "type_vocab_size": 2, "position_embedding_type": "absolute", "pad_token_id": 0,
    "tie_word_embeddings": True, "torch_dtype": "float16",
}
FEW, FIRST_STEPS = 256, 1500  # different tokens of copies, and steps at most, until the heads are there
STEPS, ROWS = 3000, 48
POOL = 16  # steps whose rows are drawn together and sorted by length, so that rows of a step need little padding
MATRIX_RATE, OTHER_RATE = 0.01, 3e-3
GUIDED = {0: 1, 1: -1}  # head of the first layer: where it is to look, from its own place


def neighbours(maps, real, offset):
    """The weights [B,H,N] at this offset, of every token that has one there, and which of them [B,N] count: [CLS] and the last
    [SEP] do not."""
    weights = maps.diagonal(offset, -2, -1)
    inner = real[:, 2:]  # of tokens 1, 2, ...: another follows
    return (weights[..., 1:], inner) if offset > 0 else (weights[..., :-1], inner)


class Training:
    def __init__(self):
        torch.manual_seed(1)
        self.tokenizer = vocabulary()
        self.sources = {name: Source.kept(name, self.tokenizer) for name in SHARES}
        self.model = Bert(CONFIG)
        self.pool = None, []
        self.started = time.time()
        matrices = [p for p in self.model.bert.encoder.parameters() if p.dim() == 2]
        others = [p for p in self.model.parameters() if not any(p is matrix for matrix in matrices)]
        self.matrices, self.others = Muon(matrices, 0), torch.optim.AdamW(others, 0, (0.9, 0.98), weight_decay=0.01)
        parts = {"model": self.model, "matrices": self.matrices, "others": self.others}
        self.checkpoint = Checkpoint("tiny-bert", parts, {})
        self.progress = {"stage": "stand up", "step": 0} | self.checkpoint.restore()

    def run(self):
        if self.progress["stage"] == "stand up":
            self.stand_up()
        if self.progress["stage"] == "read":
            self.read()

    def advance(self, **progress):
        """Notes how far the training is. The start of another stage is saved at once."""
        self.progress |= progress
        self.checkpoint.save(self.progress, now="stage" in progress)

    def step(self, loss, rate):
        update(self.model, loss, [(self.matrices, MATRIX_RATE), (self.others, OTHER_RATE)], rate)

    def stand_up(self):
        """Learns copies of few different tokens alone."""
        mean = 6.0
        for step in range(self.progress["step"] + 1, FIRST_STEPS + 1):
            loss, found, maps = self.copied(step, FEW, 600, 28)
            guided, heads = self.guided(maps, torch.ones(maps[0].shape[0], maps[0].shape[-1], dtype=torch.bool))
            self.step(loss + 0.3 * guided, min(1, step / 100))
            mean = 0.9 * mean + 0.1 * loss.item()
            if step % 25 == 0:
                self.report(step, copies=mean, copy=found, next=heads[0], previous=heads[1])
            if mean < 0.6:
                return self.advance(stage="read", step=0, first=step)
            self.advance(step=step)
        raise SystemExit(f"no heads that find copies after {FIRST_STEPS} steps: try another seed")

    def read(self):
        """Learns English, with some copies of all tokens, whose weight falls. The learning rate falls to zero."""
        figures = []
        for step in range(self.progress["step"] + 1, STEPS + 1):
            left = 1 - step / STEPS
            words, pairs, maps, real = self.guessed(step)
            guided, heads = self.guided(maps, real)
            copied, found, _ = self.copied(step, SIZE, 200, 60)
            self.step(words + 0.3 * pairs + (0.05 + 0.25 * left) * copied + 0.3 * left * guided, min(1, 0.2 + step / 200, 1.4 * left))
            figures.append([words.item(), pairs.item(), copied.item(), found, *heads])
            if step % 50 == 0:
                means = torch.tensor(figures).mean(0).tolist()
                self.report(step, **dict(zip(("words", "pairs", "copies", "copy", "next", "previous"), means)))
                figures.clear()
            self.advance(step=step)
        self.advance(stage="done")

    def report(self, step, **figures):
        print(f"{time.time() - self.started:6.0f} s  step {step:5d}  " + "  ".join(f"{name} {x:.3f}" for name, x in figures.items()),
              flush=True)

    def drawn(self, step):
        """The rows of this step. The seed is the pool's number, so that a run that was interrupted goes on with the same."""
        pool, at = divmod(step, POOL)
        if pool != self.pool[0]:
            r = random.Random(pool)
            found = sorted(rows(r, self.tokenizer, self.sources, POOL * ROWS), key=lambda row: len(row[0]["ids"]))
            self.pool = pool, r.sample([found[start:start + ROWS] for start in range(0, len(found), ROWS)], POOL)
        return batch(self.pool[1][at], self.tokenizer)

    def guessed(self, step):
        """Returns the losses of masked words and of pairs, the maps, and what is no padding."""
        ids, types, real, others = self.drawn(step)
        hidden, targets = masked(torch.Generator().manual_seed(step), ids, self.tokenizer)
        states, maps = self.model.trace(hidden, types, real)
        counted = targets != IGNORE
        words = F.cross_entropy(self.model.logits(states[-1][counted]), targets[counted])
        pairs = torch.zeros(())
        if (others != IGNORE).any():
            pairs = F.cross_entropy(self.model.relationship(states[-1]), others, ignore_index=IGNORE)
        return words, pairs, maps, real

    def copied(self, step, different, count, longest):
        """Returns the loss of hidden tokens in copies of so many different tokens, the largest mean weight that a head has on the
        copy of each token, and the maps."""
        tokens = torch.arange(self.tokenizer.mask + 1, min(self.tokenizer.mask + 1 + different, SIZE))
        ids, types, counted = copies(torch.Generator().manual_seed(step), tokens, count, longest, self.tokenizer)
        states, maps = self.model.trace(ids.masked_fill(counted, self.tokenizer.mask), types)
        half = (ids.shape[1] - 3) // 2
        found = max(weights.diagonal(side * (half + 1), -2, -1)[..., 1:half + 1].mean((0, 2)).max().item()
                    for weights in maps for side in (1, -1))
        return F.cross_entropy(self.model.logits(states[-1][counted]), ids[counted]), found, maps

    def guided(self, maps, real):
        """Returns the loss of the guided heads, and the mean weight that each has on its neighbour."""
        loss, means = 0, []
        for head, offset in GUIDED.items():
            weights, inner = neighbours(maps[0][:, head:head + 1], real, offset)
            weights = weights[:, 0][inner]
            loss = loss - weights.clamp(min=1e-9).log().mean()
            means.append(weights.mean().item())
        return loss, means


def save(folder, model, tokenizer):
    tokenizer.save(folder / "tokenizer.json")
    save_model(folder, CONFIG, model.state_dict())


def train():
    """Trains, or goes on training. Returns the model, the tokenizer and a sentence about the training."""
    training = Training()
    training.run()
    first, spent = training.progress["first"], training.checkpoint.core_seconds() / 60
    return training.model, training.tokenizer, f"This took {first} and {STEPS} steps, and {spent:.0f} minutes of a core."
