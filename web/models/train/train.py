"""Trains the built-in model: python3 web/models/train/train.py [--out FOLDER]. It takes under an hour on two CPU cores.

First it learns only the repeated-sequence task, until it has previous-token and induction heads (they appear abruptly). Then
it learns English, with that task mixed in so that it keeps these heads. Seeds are fixed, and head scores are printed as
training goes. card.py measures the result.
"""
import argparse
import json
import random
import time
from pathlib import Path

import numpy
import torch
from torch.nn import functional as F

import corpus
from model import Llama, repeat_scores, repeated, save_tensors
from tokenizer import Tokenizer, learn

CONFIG = {
    "architectures": ["LlamaForCausalLM"], "model_type": "llama", "hidden_size": 128, "intermediate_size": 352,
    "num_hidden_layers": 4, "num_attention_heads": 8, "num_key_value_heads": 8, "head_dim": 16, "hidden_act": "silu",
    "rms_norm_eps": 1e-5, "rope_theta": 10000.0, "vocab_size": 2048, "max_position_embeddings": 256,
    "tie_word_embeddings": True, "attention_bias": False, "mlp_bias": False, "bos_token_id": 0, "eos_token_id": 0,
    "torch_dtype": "float16",
}
BUILD = Path(__file__).resolve().parents[3] / "build" / "model"
SHARES = {"generated": 0.3, "wordnet": 0.4, "austen": 0.3}
LENGTH, ROWS, REPEATS = 128, 16, 3  # tokens in a row, rows in a step, and how many of the rows are repeated sequences
FEW, FIRST_STEPS, TEXT_STEPS = 256, 3000, 4000
MATRIX_RATE, OTHER_RATE = 0.01, 3e-3
IGNORE = -100


def prepare():
    """Returns (tokenizer, {source: (ids, starts)}), the tokenizer and the training ids of each source. build/model keeps
    them for the next run."""
    BUILD.mkdir(parents=True, exist_ok=True)
    path = BUILD / "tokenizer.json"
    if not path.exists():
        print("learning the vocabulary")
        Tokenizer(learn((t for s in SHARES for t in corpus.documents(s)[0]), CONFIG["vocab_size"])).save(path)
    tokenizer = Tokenizer.load(path)
    data = {}
    for source in SHARES:
        cache = BUILD / f"{source}.npz"
        if not cache.exists():
            rows = [tokenizer.encode(text + "\n") for text in corpus.documents(source)[0]]
            starts = numpy.cumsum([0] + [len(row) for row in rows[:-1]])
            numpy.savez(cache, ids=numpy.concatenate([numpy.array(row, numpy.int16) for row in rows]), starts=starts)
        loaded = numpy.load(cache)
        data[source] = torch.from_numpy(loaded["ids"].astype(numpy.int64)), loaded["starts"]
        print(f"{source}: {len(loaded['ids'])} tokens")
    return tokenizer, data


def plausible(data, least=100):
    """Ids that the text uses at least `least` times, the commonest first."""
    counts = sum(torch.bincount(ids, minlength=CONFIG["vocab_size"]) for ids, _ in data.values())
    order = counts.argsort(descending=True)
    return order[counts[order] >= least]


def text_rows(r, data, rows, length):
    """Returns rows [bos][text], each from the beginning of a document, and their targets, the next tokens."""
    out = []
    for source in r.choices(list(SHARES), list(SHARES.values()), k=rows):
        ids, starts = data[source]
        start = r.choice(starts)
        row = ids[start:start + length]
        out.append(F.pad(row, (1, length - len(row))))
    rows = torch.stack(out)
    return rows[:, :-1], rows[:, 1:]


def repeat_rows(r, generator, tokens, rows, length):
    """Returns rows [bos][random prefix][s][s] and their targets, of which only the second copy of s counts, from its second
    token on."""
    half = r.randint(20, length // 2 - 8)
    ids = repeated(generator, tokens, rows, half, prefix=length - 2 * half)
    targets = ids[:, 1:].clone()
    targets[:, :-half + 1] = IGNORE
    return ids[:, :-1], targets


class Muon(torch.optim.Optimizer):
    """Momentum whose update is made nearly orthogonal by five Newton-Schulz steps (Jordan et al. 2024).

    It trains the layers' matrices on text. It was also tried in the first stage, at rate 0.02: after 400 steps the model
    had none of the heads, when with AdamW it nearly had them.
    """

    def __init__(self, parameters, lr, momentum=0.95, decay=0.01):
        super().__init__(parameters, {"lr": lr, "momentum": momentum, "decay": decay})

    @torch.no_grad()
    def step(self):
        for group in self.param_groups:
            for p in group["params"]:
                velocity = self.state[p].setdefault("velocity", torch.zeros_like(p))
                velocity.lerp_(p.grad, 1 - group["momentum"])
                update = p.grad.lerp(velocity, group["momentum"])
                p.mul_(1 - group["lr"] * group["decay"])
                p.add_(orthogonal(update), alpha=-group["lr"] * max(1, p.shape[0] / p.shape[1]) ** 0.5)


def orthogonal(x):
    tall = x.shape[0] > x.shape[1]
    x = x.T if tall else x
    x = x / (x.norm() + 1e-7)
    for _ in range(5):
        a = x @ x.T
        x = 3.4445 * x + (-4.775 * a + 2.0315 * a @ a) @ x
    return x.T if tall else x


class Training:
    def __init__(self, data):
        torch.manual_seed(1)
        self.random, self.generator = random.Random(1), torch.Generator().manual_seed(1)
        self.data, self.tokens = data, plausible(data)
        self.model = Llama(CONFIG)
        self.started = time.time()

    def loss(self, ids, targets):
        """The mean loss over the targets that count."""
        counted = targets != IGNORE
        return F.cross_entropy(self.model.logits(self.model.trace(ids)[0][-1][counted]), targets[counted])

    def step(self, loss, optimisers, rate):
        """Makes one update. `optimisers` holds pairs of an optimiser and its full rate, which is multiplied by `rate`."""
        self.model.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)
        for optimiser, full in optimisers:
            for group in optimiser.param_groups:
                group["lr"] = full * rate
            optimiser.step()
        return loss.item()

    def report(self, step, losses, tokens):
        """Prints mean losses and the best head scores on repeated random sequences of these tokens. Returns true when the model
        has both kinds of heads."""
        previous, induction = repeat_scores(self.model, repeated(torch.Generator().manual_seed(9), tokens, 8, 32), 32)
        print(f"{time.time() - self.started:6.0f} s  step {step:5d}  loss {losses}  "
              f"previous {previous.max():.2f}  induction {induction.max():.2f}", flush=True)
        return previous.max() >= 0.7 and induction.max() >= 0.7

    def stand_up(self):
        """Learns the repeated-sequence task alone: with few different tokens until the heads are there, then with all."""
        optimisers = [(torch.optim.AdamW(self.model.parameters(), 0, (0.9, 0.98), weight_decay=0.05), 1e-3)]
        tokens, total = self.tokens[:FEW], 0
        for step in range(1, FIRST_STEPS + 1):
            rows = repeat_rows(self.random, self.generator, tokens, 32, 96)
            total += self.step(self.loss(*rows), optimisers, 1)
            if step % 25 == 0:
                if self.report(step, f"{total / 25:.3f}", tokens):
                    if tokens is self.tokens:
                        return
                    tokens = self.tokens
                    self.renew(self.tokens[FEW:], self.tokens[:FEW])
                total = 0
        raise SystemExit(f"no previous-token and induction heads after {FIRST_STEPS} steps: try another seed")

    @torch.no_grad()
    def renew(self, ids, like):
        """Gives new embeddings to ids that were only wrong answers so far, with the spread of the embeddings in use.

        The heads work on such tokens at once: this alone raises induction on all tokens from 0.03 to 0.4.
        """
        weight = self.model.model.embed_tokens.weight
        weight[ids] = weight[like].mean(0) + torch.randn(len(ids), weight.shape[1]) * weight[like].std(0)

    def read(self):
        """Learns English, with some rows of the task, whose weight falls, so that the heads stay.

        The learning rate falls to zero. In the last tenth of the steps rows are twice as long.
        """
        matrices = [p for p in self.model.model.layers.parameters() if p.dim() == 2]
        others = [p for p in self.model.parameters() if not any(p is matrix for matrix in matrices)]
        optimisers = [(Muon(matrices, 0), MATRIX_RATE),
                      (torch.optim.AdamW(others, 0, (0.9, 0.98), weight_decay=0.01), OTHER_RATE)]
        totals = [0, 0]
        for step in range(1, TEXT_STEPS + 1):
            longer = 2 if step > 0.9 * TEXT_STEPS else 1
            length = LENGTH * longer
            text = self.loss(*text_rows(self.random, self.data, (ROWS - REPEATS) // longer, length))
            repeats = self.loss(*repeat_rows(self.random, self.generator, self.tokens, max(1, REPEATS // longer), length))
            left = 1 - step / TEXT_STEPS
            self.step(text + (0.05 + 0.25 * left) * repeats, optimisers, min(1, 0.2 + step / 200, 1.4 * left))
            totals = [totals[0] + text.item(), totals[1] + repeats.item()]
            if step % 100 == 0:
                self.report(step, f"{totals[0] / 100:.3f} {totals[1] / 100:.3f}", self.tokens)
                totals = [0, 0]


def save(folder, model, tokenizer):
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "config.json").write_text(json.dumps(CONFIG, indent=2) + "\n")
    tokenizer.save(folder / "tokenizer.json")
    save_tensors(folder / "model.safetensors", {k: v.half() for k, v in model.state_dict().items()}, {"format": "pt"})


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, default=Path(__file__).resolve().parents[1] / "tiny")
    folder = parser.parse_args().out
    torch.set_num_threads(2)
    tokenizer, data = prepare()
    training = Training(data)
    training.stand_up()
    training.read()
    save(folder, training.model, tokenizer)


if __name__ == "__main__":
    main()
