"""Trains the reader: masked words and pairs of texts.

Two heads of the first layer are guided: a loss on their weights asks one to look at the next token, and the other at the
one before. It is strong at first and falls to nothing, so that in the end the heads stay only because the model uses them.
Seeds are fixed, and head scores are printed as training goes.
"""
import json
import random
import time

import torch
from torch.nn import functional as F

from bert.model import Bert
from bert.texts import IGNORE, LONGEST, SHARES, SIZE, Source, batch, masked, rows, vocabulary
from shared.checkpoint import Checkpoint
from shared.optimiser import Muon, update
from shared.weights import QUANTIZATION, compressed, save_tensors

CONFIG = {
    "architectures": ["BertForPreTraining"], "model_type": "bert", "hidden_size": 128, "intermediate_size": 384,
    "num_hidden_layers": 4, "num_attention_heads": 8, "hidden_act": "gelu", "layer_norm_eps": 1e-12, "vocab_size": SIZE,
    "max_position_embeddings": LONGEST, "type_vocab_size": 2, "position_embedding_type": "absolute", "pad_token_id": 0,
    "tie_word_embeddings": True, "torch_dtype": "float16",
}
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
        self.progress = {"step": 0} | self.checkpoint.restore()

    def run(self):
        optimisers = [(self.matrices, MATRIX_RATE), (self.others, OTHER_RATE)]
        sums = torch.zeros(5)
        for step in range(self.progress["step"] + 1, STEPS + 1):
            left = 1 - step / STEPS
            total, parts = self.loss(step, left)
            update(self.model, total, optimisers, min(1, step / 200, 1.4 * left))
            sums += torch.tensor(parts)
            if step % 50 == 0:
                word, pair, *heads = (sums / 50).tolist()
                sums.zero_()
                print(f"{time.time() - self.started:6.0f} s  step {step:5d}  words {word:.3f}  pairs {pair:.3f}  "
                      f"next {heads[0]:.2f}  previous {heads[1]:.2f}  tokens {heads[2]:.0f}", flush=True)
            self.progress["step"] = step
            self.checkpoint.save(self.progress, now=step == STEPS)

    def drawn(self, step):
        """The rows of this step. The seed is the pool's number, so that a run that was interrupted goes on with the same."""
        pool, at = divmod(step, POOL)
        if pool != self.pool[0]:
            r = random.Random(pool)
            found = sorted(rows(r, self.tokenizer, self.sources, POOL * ROWS), key=lambda row: len(row[0]["ids"]))
            self.pool = pool, r.sample([found[start:start + ROWS] for start in range(0, len(found), ROWS)], POOL)
        return batch(self.pool[1][at], self.tokenizer)

    def loss(self, step, left):
        """Returns the whole loss, and [loss of words, loss of pairs, mean weights of the guided heads, tokens]."""
        ids, types, real, others = self.drawn(step)
        hidden, targets = masked(torch.Generator().manual_seed(step), ids, self.tokenizer)
        states, maps = self.model.trace(hidden, types, real)
        counted = targets != IGNORE
        words = F.cross_entropy(self.model.logits(states[-1][counted]), targets[counted])
        pairs = torch.zeros(())
        if (others != IGNORE).any():
            pairs = F.cross_entropy(self.model.relationship(states[-1]), others, ignore_index=IGNORE)
        total, means = words + 0.3 * pairs, []
        for head, offset in GUIDED.items():
            weights, inner = neighbours(maps[0][:, head:head + 1], real, offset)
            weights = weights[:, 0][inner]
            total = total - 0.3 * left * weights.clamp(min=1e-9).log().mean()
            means.append(weights.mean().item())
        return total, [words.item(), pairs.item(), *means, real.sum().item()]


def save(folder, model, tokenizer):
    tokenizer.save(folder / "tokenizer.json")
    (folder / "config.json").write_text(json.dumps(CONFIG | {"quantization_config": QUANTIZATION}, indent=2) + "\n")
    save_tensors(folder / "model.safetensors", compressed(model.state_dict()), {"format": "pt"})


def train():
    """Trains, or goes on training. Returns the model, the tokenizer and a sentence about the training."""
    training = Training()
    training.run()
    spent = training.checkpoint.core_seconds() / 60
    return training.model, training.tokenizer, f"This took {STEPS} steps of {ROWS} rows, and {spent:.0f} minutes of a core."
