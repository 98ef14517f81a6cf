"""The card of tiny-bert: what is measured of the reader's heads, and of its guesses.

Losses are in nats a masked token, on held-out documents.
"""
import copy
import functools
import random

import torch
from torch.nn import functional as F

from bert import probes as known
from bert.model import load_model
from bert.texts import IGNORE, SHARES, Source, batch, masked
from bert.tokenizer import Tokenizer
from shared.probes import scores
from tiny import corpus

NAME = "tiny-bert"
ABOUT = ("A small bidirectional reader of one text or a pair: it guesses masked words, and has heads that find the next token, the one "
         "before, and the same word or words that fit in the other sentence.")
SOURCES = corpus.CREDITS
ROWS, AT_ONCE = 640, 32  # held-out rows of each source on which guesses are measured
FIRST = "When Mary and John went to the market, John gave a cup to Mary."
SECOND = "She put the [MASK] on the table."


@functools.lru_cache
def tokenizer_of(folder):
    return Tokenizer.load(folder / "tokenizer.json")


def load(folder):
    model = load_model(folder)
    model.tokenizer = tokenizer_of(folder)
    return model


def attend(model, given):
    return {"encoder": torch.cat(model.trace(torch.tensor([given["ids"]]), torch.tensor([given["types"]]))[1])}


def probes(folder):
    return known.probes(tokenizer_of(folder))


@functools.lru_cache
def unigrams(tokenizer):
    """Returns {source: log probability of each token}, counted in its training texts, with one added to each."""
    found = {}
    for source in SHARES:
        ids = torch.from_numpy(Source.of(tokenizer, corpus.documents(source)[0]).ids.astype("int64"))
        counts = torch.bincount(ids, minlength=len(tokenizer.names)).double() + 1
        found[source] = (counts / counts.sum()).log()
    return found


@torch.no_grad()
def guesses(model, source):
    """Returns {"words": tokens, losses and accuracies where [MASK] is put in the place of one token in five, "pairs": pairs and
    accuracy of whether the second text follows on the first} on held-out rows of a source."""
    tokenizer, r = model.tokenizer, random.Random(30)
    rows = sorted((known.held_out(tokenizer)[source].row(r, tokenizer) for _ in range(ROWS)), key=lambda row: len(row[0]["ids"]))
    unigram, generator = unigrams(tokenizer)[source], torch.Generator().manual_seed(30)
    words, pairs = torch.zeros(5, dtype=torch.float64), torch.zeros(2)
    for start in range(0, ROWS, AT_ONCE):
        ids, types, real, others = batch(rows[start:start + AT_ONCE], tokenizer)
        counted = masked(generator, ids, tokenizer)[1] != IGNORE
        right = ids[counted]
        logits = model.logits(model.trace(ids.masked_fill(counted, tokenizer.mask), types, real)[0][-1][counted])
        words += torch.tensor([len(right), -unigram[right].sum(), F.cross_entropy(logits, right, reduction="sum"),
                               (right == unigram.argmax()).sum(), (logits.argmax(-1) == right).sum()])
        asked = others != IGNORE
        if asked.any():  # of whole texts, without [MASK]
            found = model.relationship(model.trace(ids, types, real)[0][-1]).argmax(-1)
            pairs += torch.tensor([asked.sum(), (found == others)[asked].sum()])
    count, *sums = words.tolist()
    names = ("unigram loss", "loss", "unigram accuracy", "accuracy")
    return {"words": {"tokens": int(count)} | {name: total / count for name, total in zip(names, sums)},
            "pairs": {"pairs": int(pairs[0]), "accuracy": (pairs[1] / pairs[0]).item()}}


@torch.no_grad()
def into_other(model):
    """Returns the mean weight [L,H] that rows of words put on words of the other sentence, and the share of the tokens that these
    are, over held-out pairs of all sources. [CLS] and [SEP] are no words."""
    tokenizer, r = model.tokenizer, random.Random(31)
    weight, share, count = 0, 0, 0
    for source in SHARES:
        rows = [known.held_out(tokenizer)[source].row(r, tokenizer) for _ in range(4 * known.TEXTS)]
        for given in (row for row, other in rows if other is False):
            ids, types = torch.tensor(given["ids"]), torch.tensor(given["types"])
            word = (ids != tokenizer.cls) & (ids != tokenizer.sep)
            other = (types[:, None] != types) & word
            weight = weight + (attend(model, given)["encoder"] * other).sum(-1)[..., word].double().sum(-1)
            share += other.sum(-1)[word].sum().item() / len(ids)
            count += word.sum().item()
    return weight / count, share / count


def figures(model):
    found = {source: guesses(model, source) for source in SHARES}
    weight, share = into_other(model)
    layer, head = divmod(weight.argmax().item(), weight.shape[1])
    return {"words": {source: found[source]["words"] for source in SHARES}, "pairs": {source: found[source]["pairs"] for source in SHARES},
            "other sentence": {"layer": layer, "head": head, "weight": weight.max().item(), "share of tokens": share},
            "into other sentence": weight.tolist(), "on random tokens": on_random_tokens(model),
            "on the right word": on_right(model)}


def best_elsewhere(model, items):
    """{name of a probe: the score on other items, {name: items}, of the head that is best in this probe}."""
    def measured(probe, given):
        return scores(probe, lambda one: attend(model, one), given).flatten()
    return {probe.name: measured(probe, items[probe.name])[measured(probe, probe.items).argmax()].item()
            for probe in known.probes(model.tokenizer) if probe.name in items}


def on_random_tokens(model):
    return best_elsewhere(model, {"next token": known.random_tokens(model.tokenizer, 1),
                                  "previous token": known.random_tokens(model.tokenizer, -1),
                                  "same word in the other sentence": known.random_copies(model.tokenizer)})


def on_right(model):
    return best_elsewhere(model, {"words that fit in the other sentence": known.right(model.tokenizer)})


@torch.no_grad()
def golden(model):
    """One pair: `ids` and `types` [T], `hidden` [L+1,T,D] after the embedding and after each layer, `weights` [L,H,T,T] and
    `logits` [T,V]."""
    exact = copy.deepcopy(model).double()
    given = model.tokenizer.input(model.tokenizer.encode(FIRST), model.tokenizer.encode(SECOND))
    ids, types = torch.tensor(given["ids"]), torch.tensor(given["types"])
    states, maps = exact.trace(ids[None], types[None])
    return {"ids": ids, "types": types, "hidden": torch.cat(states), "weights": torch.cat(maps),
            "logits": exact.logits(states[-1])[0], "first": FIRST, "second": SECOND}


def tables(card):
    """The parts of the README that other models do not have."""
    found = card["figures"]
    words = ["| held-out text | masked tokens | unigram loss | loss | unigram accuracy | accuracy | pairs | accuracy of pairs |",
             "|---|---|---|---|---|---|---|---|"]
    for source, guessed in found["words"].items():
        pairs = found["pairs"][source]
        words.append(f"| {source} | {guessed['tokens']} | {guessed['unigram loss']:.3f} | {guessed['loss']:.3f} | "
                     f"{guessed['unigram accuracy']:.1%} | {guessed['accuracy']:.1%} | {pairs['pairs']} | {pairs['accuracy']:.1%} |")
    other, on_random = found["other sentence"], found["on random tokens"]
    name, right = next(iter(found["on the right word"].items()))
    more = (f"The head that looks most into the other sentence is **layer {other['layer']}, head {other['head']}**: words put "
            f"{other['weight']:.2f} of their weight on words of the other sentence, which are {other['share of tokens']:.2f} of the tokens. On "
            + ", ".join(f"{score:.2f} ({name})" for name, score in on_random.items()).join(["random tokens the best heads have ", "."])
            + f" The best head for {name} puts {right:.2f} on the right one, of two or three.")
    columns = {probe["name"]: probe["heads"] for probe in card["probes"]} | {"into the other sentence": found["into other sentence"]}
    table = ["| layer | head | " + " | ".join(columns) + " |", "|---" * (2 + len(columns)) + "|"]
    for layer, row in enumerate(found["into other sentence"]):
        for head in range(len(row)):
            table.append(f"| {layer} | {head} | " + " | ".join(f"{scores[layer][head]:.2f}" for scores in columns.values()) + " |")
    return {"words": "\n".join(words), "more": more, "table": "\n".join(table)}
