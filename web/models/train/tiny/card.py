"""The card of tiny: what is measured of the storyteller's heads.

Losses are in nats a token, on held-out documents that are each read from <s>.
"""
import collections
import copy
import functools
import math

import torch
from torch.nn import functional as F

from shared.probes import scores
from shared.weights import compressed, expanded
from tiny import corpus, probes as known
from tiny.golden import golden  # noqa: F401: a part of every card
from tiny.model import load_model, repeat_scores, repeated, text_scores
from tiny.tokenizer import Tokenizer
from tiny.training import SHARES, plausible

NAME = "tiny"
ABOUT = "A small language model that continues English, with heads that find the token before, repeats, subjects, antecedents and quotation marks."
SOURCES = corpus.CREDITS
LIMIT, DOCUMENTS, TEXT = 128, 400, 32  # tokens read of each document, held-out documents of each source, tokens of head figures
LENGTHS = (8, 16, 32, 64, 96, 120)


@functools.lru_cache
def tokenizer_of(folder):
    return Tokenizer.load(folder / "tokenizer.json")


def load(folder):
    model = load_model(folder)
    model.tokenizer = tokenizer_of(folder)
    return model


def attend(model, given):
    return {"decoder": torch.cat(model.trace(torch.tensor([given["ids"]]))[1])}


def probes(folder):
    tokenizer = tokenizer_of(folder)
    return known.probes(tokenizer, common(tokenizer))


@functools.lru_cache
def texts(tokenizer):
    """Returns {source: (training rows, held-out rows)}. Rows begin with <s>, and held-out ones are cut to what is read of them."""
    def rows(documents):
        return [[0] + tokenizer.encode(text + "\n") for text in documents]
    found = {}
    for source in SHARES:
        train, held = corpus.documents(source)
        found[source] = rows(train), [row[:LIMIT + 1] for row in rows(held)]
    return found


@functools.lru_cache
def common(tokenizer):
    """The ids that the training text uses often."""
    return plausible({source: (torch.tensor([i for row in train for i in row[1:]]), None)
                      for source, (train, _) in texts(tokenizer).items()})


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


def held_out(tokenizer):
    """Returns {source: rows} on which losses are measured."""
    return {source: held[:DOCUMENTS] for source, (_, held) in texts(tokenizer).items()}


@torch.no_grad()
def model_loss(model, rows):
    total = count = 0
    for row in rows:
        ids = torch.tensor(row)
        logits = model.logits(model.trace(ids[None, :-1])[0][-1][0])
        total += F.cross_entropy(logits, ids[1:], reduction="sum").item()
        count += len(row) - 1
    return total / count, count


def mixed(losses):
    return sum(share * losses[source] for source, share in SHARES.items())


def losses(model):
    """Returns {source: {"tokens", "unigram", "bigram", "model"}} on held-out text, and their mean as training mixes them."""
    found = {}
    for source, rows in held_out(model.tokenizer).items():
        counts = Counts(texts(model.tokenizer)[source][0], len(model.tokenizer.names))
        (loss, tokens), (unigram, bigram) = model_loss(model, rows), counts.losses(rows)
        found[source] = {"tokens": tokens, "unigram": unigram, "bigram": bigram, "model": loss}
    kinds = ("unigram", "bigram", "model")
    return found | {"mixed": {kind: mixed({source: found[source][kind] for source in SHARES}) for kind in kinds}}


def figures(model):
    tokenizer = model.tokenizer
    rows = [row[:TEXT + 1] for _, held in texts(tokenizer).values() for row in held if len(row) > TEXT]
    entropy, positional = text_scores(model, torch.tensor(rows[::max(1, len(rows) // 300)]))
    tokens = common(tokenizer)
    reach = {n: repeat_scores(model, repeated(torch.Generator().manual_seed(0), tokens, 8, n), n)[1].max() for n in LENGTHS}
    return {"losses": losses(model), "entropy": entropy.tolist(), "positional": positional.tolist(),
            "induction by length": {str(n): score.item() for n, score in reach.items()}, "common tokens": len(tokens),
            "weight on the other": rivals(model)}


def rivals(model):
    """{name: the weight that the best head of this probe puts on the other noun, which is nearer}."""
    def measured(items):
        return scores(probe, lambda given: attend(model, given), items).flatten()
    found, others = {}, known.rivals(model.tokenizer)
    for probe in known.probes(model.tokenizer, common(model.tokenizer)):
        if probe.name in others:
            found[probe.name] = measured(others[probe.name])[measured(probe.items).argmax()].item()
    return found


def of_training(model, tokenizer):
    """Returns {name: Markdown} of what only the end of training can measure: what the trained weights lose in smaller forms."""
    model.tokenizer = tokenizer
    shapes = [(p.numel(), p.shape[0] if p.dim() == 2 else 0) for p in model.parameters()]
    found = known.probes(model.tokenizer, common(model.tokenizer))
    state, copied = model.state_dict(), copy.deepcopy(model)
    forms = {"F32": (32, state), "F16": (16, {name: weight.half().float() for name, weight in state.items()})}
    forms |= {f"{bits}-bit rows": (bits, expanded(compressed(state, bits))) for bits in (8, 6, 5, 4)}
    lines = ["| weights | bytes | loss | " + " | ".join(probe.name for probe in found) + " |", "|---" * (3 + len(found)) + "|"]
    for form, (bits, weights) in forms.items():
        copied.load_state_dict(weights)
        size = sum(count * bits / 8 + (2 * rows if bits < 16 else 0) if rows else count * min(bits, 16) / 8 for count, rows in shapes)
        loss = mixed({source: model_loss(copied, rows)[0] for source, rows in held_out(model.tokenizer).items()})
        best = [scores(probe, lambda given: attend(copied, given), probe.items).max().item() for probe in found]
        lines.append(f"| {form} | {size / 1e6:.2f} MB | {loss:.4f} | " + " | ".join(f"{score:.3f}" for score in best) + " |")
    return {"precision": "\n".join(lines)}


def tables(card):
    """The parts of the README that other models do not have."""
    found = card["figures"]
    lines = ["| held-out text | tokens | unigram | bigram | model |", "|---|---|---|---|---|"]
    for source, loss in found["losses"].items():
        title = "mixed as in training" if source == "mixed" else source
        lines.append(f"| {title} | {loss.get('tokens', '')} | " + " | ".join(f"{loss[kind]:.3f}" for kind in ("unigram", "bigram", "model")) + " |")
    reach = ", ".join(f"{n}: {score:.2f}" for n, score in found["induction by length"].items())
    other = ", and ".join(f"{weight:.2f} for the {name}" for name, weight in found["weight on the other"].items())
    more = (f"On the other noun, which stands nearer, these heads have a mean weight of {other}.\n\nInduction by the length n of the repeated sequence: {reach}. "
            f"Random tokens are drawn from {found['common tokens']}.")
    columns = {probe["name"]: probe["heads"] for probe in card["probes"]} | {key: found[key] for key in ("entropy", "positional")}
    table = ["| layer | head | " + " | ".join(columns) + " |", "|---" * (2 + len(columns)) + "|"]
    for layer, row in enumerate(found["entropy"]):
        for head in range(len(row)):
            table.append(f"| {layer} | {head} | " + " | ".join(f"{scores[layer][head]:.2f}" for scores in columns.values()) + " |")
    return {"losses": "\n".join(lines), "more": more, "table": "\n".join(table)}
