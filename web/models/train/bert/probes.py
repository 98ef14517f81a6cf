"""Probes whose answers are known: neighbours in held-out texts, and pairs of sentences from the grammar of tiny/generate.py in
which words that belong together are marked.

A marked text has {words|label} around such words: "The lamp is on the {road|answer}. The key is in the {box|rival}.". None of the
pairs is in the training text.
"""
import functools
import random
import re

from bert.texts import SHARES, Source
from shared.probes import Item, Probe
from tiny import corpus
from tiny.generate import FRUITS, ROOMS, THINGS, Someone, listing, place, sentence, singular

ITEMS, TEXTS = 200, 50  # pairs of a probe, and held-out texts of each source


def mark(words, label):
    return "{" + words + "|" + label + "}"


def repeated(r):
    """Lucy wanted pears, {eggs|answer} and milk. | She bought pears, {eggs|row} and milk."""
    who, items = Someone(r, "name person"), r.sample(FRUITS, r.randint(2, 5))
    chosen = r.randrange(len(items))
    def listed(label):
        return listing([mark(item, label) if i == chosen else item for i, item in enumerate(items)])
    return (sentence(f"{who.text} {r.choice(['wanted', 'needed', 'asked for'])} {listed('answer')}"),
            sentence(f"{who.he} {r.choice(['bought', 'found', 'took', 'brought home'])} {listed('row')}"))


def answered(r):
    """The lamp is on the {road|answer}. The key is in the {box|rival}. Where is the lamp? | The lamp is on the {road|row}."""
    things, places, n = [singular(t) for t in r.sample(THINGS, 3)], [], r.randint(2, 3)
    while len(places) < n:
        spot = place(r) if r.random() < 0.7 else f"in the {r.choice(ROOMS)}"
        if all(spot.split()[-1] != other.split()[-1] for other in places):
            places.append(spot)
    chosen = r.randrange(n)
    def at(i, label):
        before, noun = places[i].rsplit(" ", 1)
        return f"{before} {mark(noun, label)}"
    facts = [f"The {things[i]} is {at(i, 'answer' if i == chosen else 'rival')}." for i in range(n)]
    return (" ".join(facts) + f" Where is the {things[chosen]}?",
            (f"The {things[chosen]}" if r.random() < 0.5 else "It") + f" is {at(chosen, 'row')}.")


def parsed(text, tokenizer):
    """Returns the plain text, its ids, and {label: [place, ...]} of the ids of marked words."""
    whole, ids, places = "", [], {}
    for words, label, between in re.findall(r"\{(.*?)\|(\w+)\}|([^{]+)", text):
        found = tokenizer.encode(words or between)
        if label:
            places.setdefault(label, []).extend(range(len(ids), len(ids) + len(found)))
        ids += found
        whole += words or between
    return whole, ids, places


@functools.lru_cache
def training_text():
    return "\n".join(corpus.documents("generated")[0])


def pairs(build, seed, tokenizer, labels=("answer",), hidden=False):
    """Items of different pairs: the rows are those of the words labelled "row", which may be hidden behind [MASK], and the columns
    those of the words with one of these labels."""
    r, seen, found = random.Random(seed), set(), []
    while len(found) < ITEMS:
        (first, before, places), (second, after, own) = (parsed(text, tokenizer) for text in build(r))
        text = f"{first} {second}"
        if text in seen or text in training_text():
            continue
        seen.add(text)
        given = tokenizer.input(before, after)
        rows = [len(before) + 2 + row for row in own["row"]]
        for row in rows if hidden else []:
            given["ids"][row] = tokenizer.mask
        columns = [1 + place for label in labels for place in places[label]]
        found.append(Item(given, [[row, columns] for row in rows]))
    return found


@functools.lru_cache
def held_out(tokenizer):
    """Returns {source: its held-out texts}."""
    return {source: Source.of(tokenizer, corpus.documents(source)[1]) for source in SHARES}


def neighbours(given, tokenizer, offset):
    """The rows of all tokens but special ones, which are to look at their neighbour."""
    return Item(given, [[row, [row + offset]] for row, i in enumerate(given["ids"]) if i not in (tokenizer.cls, tokenizer.sep)])


def texts(tokenizer, offset):
    """Items of held-out texts and pairs of each source in turn."""
    r = random.Random(20)
    return [neighbours(held_out(tokenizer)[source].row(r, tokenizer)[0], tokenizer, offset) for _ in range(TEXTS) for source in SHARES]


def random_tokens(tokenizer, offset):
    """Items of 48 random tokens."""
    r = random.Random(21)
    common = range(tokenizer.mask + 1, len(tokenizer.names))
    return [neighbours(tokenizer.input(r.choices(common, k=48)), tokenizer, offset) for _ in range(TEXTS)]


def random_copies(tokenizer):
    """Items of 24 random tokens twice, in which each is to look at itself in the other text."""
    r, half, found = random.Random(22), 24, []
    for _ in range(TEXTS):
        text = r.sample(range(tokenizer.mask + 1, len(tokenizer.names)), half)
        pairs = [(1 + i, half + 2 + i) for i in range(half)]
        found.append(Item(tokenizer.input(text, text), [[a, [b]] for a, b in pairs] + [[b, [a]] for a, b in pairs]))
    return found


def probes(tokenizer):
    def mass(name, about, threshold, items):
        return Probe(name, about, "mass", "encoder", threshold, items)
    return [
        mass("next token", "the weight on the token after, in the row of every word of held-out texts", 0.6, texts(tokenizer, 1)),
        mass("previous token", "the weight on the token before, in the row of every word of held-out texts", 0.6, texts(tokenizer, -1)),
        mass("same word in the other sentence", "the weight on a word's own occurrence in the other sentence: from “eggs” to “eggs” in "
             "“Lucy wanted pears, eggs and milk.” and “She bought pears, eggs and milk.”", 0.3, pairs(repeated, 11, tokenizer)),
        mass("words that fit in the other sentence", "the weight on all words that could be what [MASK] hides, right or wrong: from “[MASK]” "
             "to “road” and “box” in “The lamp is on the road. The key is in the box. Where is the lamp?” and “It is on the [MASK].”",
             0.3, pairs(answered, 13, tokenizer, ("answer", "rival"), hidden=True)),
    ]


def right(tokenizer):
    """The pairs with words that fit, of which only the right one is the answer."""
    return pairs(answered, 13, tokenizer, hidden=True)
