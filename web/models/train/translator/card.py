"""The card of tiny-translator: what is measured of its heads, and how well it translates.

Everything is measured on held-out sentences, which never occur in training. A row is measured at the place where the decoder
emits a word, which is the row of the token before it.
"""
import copy

import torch
from torch.nn import functional as F

from shared.probes import Item, Probe, scores
from translator.model import load_model, translate
from translator.pairs import crossings, held_out
from translator.tokenizer import Tokenizer
from translator.training import GUIDED, Batch

NAME = "tiny-translator"
ABOUT = ("A small translator from English into French, with heads that find the word to translate, the noun of an article, and "
         "ne before pas.")
SOURCES = [{"text": "sentence pairs with their word alignment", "from": "`web/models/train/translator/grammar.py`",
            "licence": "Apache-2.0, this project"}]
SENTENCES = 500
TEXT = "The small girl does not see the red horse."


def load(folder):
    model = load_model(folder)
    model.tokenizer = Tokenizer.load(folder / "tokenizer.json")
    return model


@torch.no_grad()
def attend(model, given):
    found = trace(model, given)
    return {name: found[f"{name}.weights"] for name in ("encoder", "decoder", "cross")}


def trace(model, given):
    """All hidden states [L+1,T,D], weights [L,H,T,S] and logits [T,V] of one pair of rows of ids."""
    states, maps, mask = model.encode(torch.tensor([given["source"]]))
    target_states, target_maps, crosses = model.decode(torch.tensor([given["target"]]), states[-1], mask)
    return {"encoder.hidden": torch.cat(states), "decoder.hidden": torch.cat(target_states), "encoder.weights": torch.cat(maps),
            "decoder.weights": torch.cat(target_maps), "cross.weights": torch.cat(crosses),
            "logits": model.logits(target_states[-1][0])}


def items(pairs, rows_of):
    """The items of those pairs that have such rows."""
    found = [(pair, [[row, columns] for row, columns in rows_of(pair)]) for pair in pairs]
    return [Item({"source": pair.source, "target": pair.target}, rows) for pair, rows in found if rows]


def articles(pair):
    """The rows that emit the translation of an article, with the place of its noun."""
    nouns = {place: noun for role, place, noun in pair.agreements if role == "article"}
    return [(row, [nouns[columns[0]]]) for row, columns in pair.rows if len(columns) == 1 and columns[0] in nouns]


def negations(pair, tokenizer):
    """The row that emits pas or jamais, with the place of ne."""
    names = [tokenizer.names[i] for i in pair.target]
    starts = [i for i, name in enumerate(names) if name in ("▁ne", "▁n'")]
    ends = [i for i, name in enumerate(names) if name in ("▁pas", "▁jamais")]
    return [(end - 1, [start]) for start, end in zip(starts, ends)]


def probes(folder):
    tokenizer = Tokenizer.load(folder / "tokenizer.json")
    pairs = held_out(tokenizer, SENTENCES)
    return [
        Probe("alignment", "The largest weight of the row that emits a French word is on the English word that it translates, "
              f"in {SENTENCES} held-out sentences.", "top", "cross", 0.9, items(pairs, lambda pair: pair.rows)),
        Probe("noun of the article", "The largest weight of the row that emits a French article is on its English noun, whose "
              "gender and number decide its form.", "top", "cross", 0.8, items(pairs, articles)),
        Probe("ne before pas", "The largest weight of the row that emits pas or jamais is on ne, which it completes.", "top",
              "decoder", 0.9, items(pairs, lambda pair: negations(pair, tokenizer))),
    ]


def figures(model):
    tokenizer = model.tokenizer
    pairs = held_out(tokenizer, SENTENCES)
    rows = translate(model, [pair.source for pair in pairs])
    right = [row == pair.target[1:] for row, pair in zip(rows, pairs)]
    crossed = items(pairs, crossings)
    aligned = scores(Probe("", "", "top", "cross", 0, crossed), lambda given: attend(model, given), crossed)
    return {"sentences": len(pairs), "translated exactly": sum(right) / len(pairs), "loss": loss(model, pairs),
            "words": sum(len(pair.rows) for pair in pairs), "crossing words": sum(len(item.rows) for item in crossed),
            "alignment of crossing words": aligned.tolist(), "guided head": list(GUIDED)}


@torch.no_grad()
def loss(model, pairs):
    """The mean loss in nats of a token that the decoder emits, with the end of each sentence."""
    batch = Batch(pairs, model.tokenizer)
    states, _, mask = model.encode(batch.source)
    logits = model.logits(model.decode(batch.target, states[-1], mask)[0][-1])
    counted = batch.next != model.tokenizer.pad
    return F.cross_entropy(logits[counted], batch.next[counted]).item()


@torch.no_grad()
def golden(model):
    """The numbers that PyTorch computes in float64 with TEXT and the translation that the model itself makes of it."""
    source = model.tokenizer.encode(TEXT)
    exact = copy.deepcopy(model).double()
    target = [model.tokenizer.pad, *translate(exact, [source])[0]]
    ids = {"source_ids": torch.tensor(source), "target_ids": torch.tensor(target)}
    texts = {"source": TEXT, "translation": model.tokenizer.decode(target)}
    return ids | trace(exact, {"source": source, "target": target}) | texts


def tables(card):
    """The parts of the README that other models do not have."""
    found = card["figures"]
    layer, head = found["guided head"]
    alignment, crossed = card["probes"][0]["heads"], found["alignment of crossing words"]
    places = [(i, j) for i, row in enumerate(alignment) for j in range(len(row)) if (i, j) != (layer, head)]
    i, j = max(places, key=lambda place: alignment[place[0]][place[1]])
    lines = [
        "| measured | share | of |", "|---|---|---|",
        f"| translated exactly as the grammar says, by greedy decoding | {found['translated exactly']:.1%} | "
        f"{found['sentences']} sentences |",
        f"| source found by layer {layer}, head {head}, which was guided | {alignment[layer][head]:.1%} | "
        f"{found['words']} words |",
        f"| the same of words whose order differs between the languages | {crossed[layer][head]:.1%} | "
        f"{found['crossing words']} words |",
        f"| source found by layer {i}, head {j}, the best of the other heads | {alignment[i][j]:.1%} | {found['words']} words |",
        f"| the same of words whose order differs | {crossed[i][j]:.1%} | {found['crossing words']} words |"]
    return {"translations": "\n".join(lines) + f"\n\nThe loss is {found['loss']:.3f} nats a token."}
