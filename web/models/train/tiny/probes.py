"""Probes whose answers are known: sentences from the grammar of generate.py in which words that belong together are marked.

A marked sentence has {words|label} around such words: "The {dog|subject} that saw the {cats|other} {is|verb} hungry." None of
the sentences is in the training text. A decoder looks for a verb's subject or a pronoun's antecedent when it is about to say
the word, so the row that is measured is that of the token before it.
"""
import functools
import random
import re

import torch

from shared.probes import Item, Probe
from tiny import corpus
from tiny.generate import (BROKEN, DO, GIVE, GO, GOOD, ROOMS, SEE, SIT, TAKE, THINGS, TIRED, Someone, a, place, plain, sentence,
                           singular)
from tiny.model import repeated

ITEMS, HALF = 200, 32


def mark(words, label):
    return "{" + words + "|" + label + "}"


def marked(who, label):
    """The text of someone, whose noun or name is marked."""
    noun = getattr(who, "noun", who.text)
    return who.text[:-len(noun)] + mark(noun, label)


def subject(r):
    """The {dog|subject} that saw the {cats|other} {is|verb} hungry. The other noun differs in number from the subject."""
    past = r.random() < 0.4
    things = r.random() < 0.5
    head = Someone(r, "thing" if things else "animal person")
    other = Someone(r, "thing person place" if things else "animal person", "one" if head.many else "many")
    if things:
        link, end = r.choice(["near", "beside", "of", "behind", "from"]), r.choice(BROKEN + GOOD)
    else:
        link = r.choice([f"that {head.verb(r.choice(SEE), past)}", f"who {head.verb(r.choice(SEE), past)}", "with", "near"])
        end = r.choice(TIRED)
    verb = head.be(past)
    if r.random() < 0.3:
        verb, end = head.verb(r.choice(SIT), past), place(r)
    return sentence(f"{marked(head, 'subject')} {link} {marked(other, 'other')} {mark(verb, 'verb')} {end}")


def pronoun(r):
    """One of two has another pronoun: the {antecedent} is the one that the {pronoun} stands for by grammar, not the {other}."""
    one, two = Someone(r, number="one"), Someone(r, "name person animal", "one")
    while one.he == two.he or one.short == two.short:
        two = Someone(r, "name person animal", "one")
    names = [marked(one, "antecedent"), marked(two, "other")]
    if r.random() < 0.5:  # Anna saw the king and she laughed.
        past = r.random() < 0.6
        act, verb = (who.verb(r.choice(verbs), past) for who, verbs in ((one, SEE), (one, DO)))
        return sentence(f"{names[0]} {act} {names[1]} and {mark(one.he, 'pronoun')} {verb}")
    return sentence(f"{names[0]} {one.was} {r.choice(TIRED)}, so {names[1]} helped {mark(one.him, 'pronoun')}")


def quotation(r):
    """A sentence, and one that has a quotation between {"|open} and {."|close}."""
    thing = singular(r.choice(THINGS))
    words, end, verb = r.choice([(f"Where is my {thing}", "?", "asked"), (f"I am {r.choice(TIRED)}", ",", "said"),
                                 (f"Your {thing} is {place(r)}", ",", "said")])
    speaker = Someone(r, "name person", "one").short
    return plain(r) + " " + mark('"', "open") + words + mark(end + '"', "close") + f" {verb} {speaker}."


def parsed(text, tokenizer):
    """Returns the plain text, its ids after <s>, and {label: [row, ...]} of the tokens that have a part of marked words."""
    whole, spans = "", []
    for words, label, between in re.findall(r"\{(.*?)\|(\w+)\}|([^{]+)", text):
        if label:
            spans.append((len(whole), len(whole) + len(words), label))
        whole += words or between
    ids, rows, at = [0], {}, 0
    for token in tokenizer.encode(whole):
        end = at + len(tokenizer.names[token])  # all letters of the grammar are single bytes
        for begin, stop, label in spans:
            if at < stop and begin < end:
                rows.setdefault(label, []).append(len(ids))
        ids.append(token)
        at = end
    return whole, ids, rows


@functools.lru_cache
def training_text():
    return "\n".join(corpus.documents("generated")[0])


def items(build, seed, tokenizer, of, answer):
    """Items of different sentences: the row from which the words labelled `of` are predicted, or for quotations of which they
    are, and the columns labelled `answer`."""
    r, seen, found = random.Random(seed), set(), []
    while len(found) < ITEMS:
        text, ids, rows = parsed(build(r), tokenizer)
        if text in seen or text in training_text():
            continue
        seen.add(text)
        row = rows[of][0] - (of != "close")
        found.append(Item({"ids": ids}, [[row, rows[answer]]]))
    return found


def repeats(tokens, answer):
    """Items <s>[s][s] of random tokens: five seeds of 16. `answer(row)` is the column that the row is to look at, or None."""
    rows = range(1, 2 * HALF + 1)
    known = [[row, [answer(row)]] for row in rows if answer(row) is not None]
    return [Item({"ids": ids.tolist()}, known) for seed in range(5)
            for ids in repeated(torch.Generator().manual_seed(seed), tokens, 16, HALF)]


def probes(tokenizer, tokens):
    """The probes of tiny. `tokens` are the ids from which random ones are drawn."""
    random_text = f"`<s>` and {HALF} different random tokens twice"
    def mass(name, about, threshold, found):
        return Probe(name, about, "mass", "decoder", threshold, found)
    return [
        mass("previous token", f"the weight on the token before, in every row of {random_text}", 0.6,
             repeats(tokens, lambda row: row - 1)),
        mass("induction", f"the weight on the token after the same token's first occurrence, in the second copy of {random_text}",
             0.5, repeats(tokens, lambda row: row - HALF + 1 if row > HALF else None)),
        mass("subject of a verb", "the weight on the subject's noun in the row from which the verb is predicted, with a noun of the other "
             "number between them: from “cats” to “dog” in “The dog that saw the cats is hungry.”", 0.3,
             items(subject, 11, tokenizer, "verb", "subject")),
        mass("antecedent of a pronoun", "the weight on the name or noun that a pronoun stands for in the row from which the pronoun is "
             "predicted, where another stands nearer whose pronoun differs: from “and” to “Anna” in “Anna saw the king and she "
             "laughed.”", 0.5, items(pronoun, 12, tokenizer, "pronoun", "antecedent")),
        mass("opening quotation mark", "the weight on the opening mark in the row of the closing one, after another sentence", 0.6,
             items(quotation, 13, tokenizer, "close", "open")),
    ]


def rivals(tokenizer):
    """{name of a probe: its sentences, with the other noun as the answer}."""
    return {"subject of a verb": items(subject, 11, tokenizer, "verb", "other"),
            "antecedent of a pronoun": items(pronoun, 12, tokenizer, "pronoun", "other")}
