"""Measures the committed model and rewrites the figures in its card: python3 web/models/train/card.py.

Everything is measured on the committed weights (F16, computed in float32), with text from corpus.py. Losses are in nats a
token, on held-out documents that are each read from <s>. The exit status is 1 if the model has no previous-token head of at
least 0.6 or no induction head of at least 0.5.
"""
import collections
import math
import re
import sys
from pathlib import Path

import torch
from torch.nn import functional as F

import corpus
from model import load_model, repeat_scores, repeated, text_scores
from tokenizer import Tokenizer
from train import SHARES, plausible

FOLDER = Path(__file__).resolve().parents[1] / "tiny"
LIMIT, DOCUMENTS = 128, 400  # tokens read of each document, and held-out documents of each source
SEEDS, HALF, TEXT = range(5), 32, 32
LENGTHS = (8, 16, 32, 64, 96, 120)


def rows(tokenizer, texts):
    return [[0] + tokenizer.encode(text + "\n")[:LIMIT] for text in texts]


class Counts:
    """Models of one source's whole training text: unigram (add one) and bigram (interpolated Kneser-Ney, discount n1 / (n1 + 2
    n2))."""

    def __init__(self, rows, size):
        self.size, self.unigrams, self.bigrams = size, collections.Counter(), collections.Counter()
        for row in rows:
            self.unigrams.update(row[1:])
            self.bigrams.update(zip(row, row[1:]))
        self.before, self.after, self.followed = collections.Counter(), collections.Counter(), collections.Counter()
        for (a, b), count in self.bigrams.items():
            self.before[b] += 1
            self.after[a] += 1
            self.followed[a] += count
        once, twice = (sum(count == n for count in self.bigrams.values()) for n in (1, 2))
        self.discount = once / (once + 2 * twice)
        self.total = sum(self.unigrams.values())

    def unigram(self, token):
        return (self.unigrams[token] + 1) / (self.total + self.size)

    def bigram(self, previous, token):
        base = (self.before[token] + 1) / (len(self.bigrams) + self.size)
        seen = self.followed[previous]
        if not seen:
            return base
        kept = max(self.bigrams[previous, token] - self.discount, 0) / seen
        return kept + self.discount * self.after[previous] / seen * base

    def losses(self, rows):
        pairs = [pair for row in rows for pair in zip(row, row[1:])]
        return (-sum(math.log(self.unigram(b)) for _, b in pairs) / len(pairs),
                -sum(math.log(self.bigram(a, b)) for a, b in pairs) / len(pairs))


@torch.no_grad()
def model_loss(model, rows):
    total = count = 0
    for row in rows:
        ids = torch.tensor(row)
        logits = model.logits(model.trace(ids[None, :-1])[0][-1][0])
        total += F.cross_entropy(logits, ids[1:], reduction="sum").item()
        count += len(row) - 1
    return total / count, count


def loss_table(model, tokenizer):
    """Returns a Markdown table, and the training ids of each source."""
    lines, data, sums = [], {}, [0.0] * 3
    for source, share in SHARES.items():
        train, held = corpus.documents(source)
        encoded = [[0] + tokenizer.encode(text + "\n") for text in train]
        data[source] = torch.tensor([i for row in encoded for i in row[1:]]), None
        test = rows(tokenizer, held[:DOCUMENTS])
        loss, count = model_loss(model, test)
        losses = *Counts(encoded, len(tokenizer.names)).losses(test), loss
        lines.append(f"| {source} | {count} | " + " | ".join(f"{x:.3f}" for x in losses) + " |")
        sums = [a + share * b for a, b in zip(sums, losses)]
    lines.append("| mixed as in training | | " + " | ".join(f"{x:.3f}" for x in sums) + " |")
    return "\n".join(["| held-out text | tokens | unigram | bigram | model |", "|---|---|---|---|---|", *lines]), data


def head_scores(model, tokenizer, data):
    """Returns {name: tensor [L,H]} of the four scores, the widest difference between seeds, and the number of tokens to draw
    from."""
    tokens = plausible(data)
    pairs = [repeat_scores(model, repeated(torch.Generator().manual_seed(seed), tokens, 16, HALF), HALF) for seed in SEEDS]
    texts = [row[:TEXT + 1] for source in SHARES
             for row in rows(tokenizer, corpus.documents(source)[1]) if len(row) > TEXT]
    step = max(1, len(texts) // 300)
    entropy, positional = text_scores(model, torch.tensor(texts[::step]))
    previous, induction = (torch.stack(score) for score in zip(*pairs))
    spread = max((score.amax((1, 2)).max() - score.amax((1, 2)).min()).item() for score in (previous, induction))
    scores = {"previous": previous.mean(0), "induction": induction.mean(0), "entropy": entropy, "positional": positional}
    return scores, spread, len(tokens)


def reach(model, data):
    """Says how the best induction score depends on the length of the repeated sequence."""
    tokens = plausible(data)
    scores = {n: repeat_scores(model, repeated(torch.Generator().manual_seed(0), tokens, 8, n), n)[1].max() for n in LENGTHS}
    return "Induction by the length n of the repeated sequence: " + ", ".join(f"{n}: {x:.2f}" for n, x in scores.items()) + "."


def best(scores):
    layer, head = divmod(scores.argmax().item(), scores.shape[1])
    return f"layer {layer}, head {head} ({scores.max():.2f})"


def rewrite(card, name, text):
    """Replaces what stands between <!-- name --> and <!-- /name -->."""
    pattern = re.compile(rf"(<!-- {name} -->\n).*?(<!-- /{name} -->)", re.S)
    assert pattern.search(card), f"the card has no place for {name}"
    return pattern.sub(lambda match: match[1] + text + "\n" + match[2], card)


def main():
    torch.set_num_threads(2)
    model, tokenizer = load_model(FOLDER), Tokenizer.load(FOLDER / "tokenizer.json")
    losses, data = loss_table(model, tokenizer)
    scores, spread, tokens = head_scores(model, tokenizer, data)
    named = {"Previous-token head": "previous", "Induction head": "induction",
             "Broadest head": "entropy", "Most positional head": "positional"}
    summary = "\n".join(f"- {title}: **{best(scores[key])}**" for title, key in named.items())
    summary += (f"\n\nOver the {len(SEEDS)} seeds the best previous-token and induction scores differ by at most {spread:.3f}; "
                f"ids drawn from {tokens} tokens.\n\n" + reach(model, data))
    table = ["| layer | head | previous | induction | entropy | positional |", "|---|---|---|---|---|---|"]
    for layer in range(scores["entropy"].shape[0]):
        for head in range(scores["entropy"].shape[1]):
            table.append(f"| {layer} | {head} | " + " | ".join(f"{scores[key][layer, head]:.2f}" for key in named.values()) + " |")
    parameters = sum(p.numel() for p in model.parameters())
    size = sum(path.stat().st_size for path in FOLDER.iterdir() if path.name != "README.md")
    card = (FOLDER / "README.md").read_text()
    figures = {"size": f"{parameters:,} parameters, {size / 1e6:.2f} MB in all.", "losses": losses,
               "heads": summary, "table": "\n".join(table)}
    for name, text in figures.items():
        card = rewrite(card, name, text)
        print(text + "\n")
    (FOLDER / "README.md").write_text(card)
    return 0 if scores["previous"].max() >= 0.6 and scores["induction"].max() >= 0.5 else 1


if __name__ == "__main__":
    sys.exit(main())
