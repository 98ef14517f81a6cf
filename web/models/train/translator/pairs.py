"""Sentence pairs as token ids. Those on which the model is measured never occur in training: a hash says which."""
import dataclasses
import zlib

from translator.grammar import Grammar

HELD_OUT = 32  # one source of so many is held out


@dataclasses.dataclass
class Pair:
    """`source` ends with the end. `target` begins with the start and has no end, as a decoder reads it: the row of one token
    emits the next. `rows` are (row, places of the source tokens that the emitted token translates); the last row emits the end.
    `agreements` are those of the sentence."""
    source: list
    target: list
    rows: list
    agreements: list


def is_held_out(sentence):
    return zlib.crc32("".join(sentence.source).encode()) % HELD_OUT == 0


def encoded(tokenizer, sentence):
    source, target = (tokenizer.ids_of(tokens) for tokens in (sentence.source, sentence.target))
    rows = [*enumerate(sentence.alignment), (len(target), [len(source)])]
    return Pair([*source, tokenizer.end], [tokenizer.pad, *target], rows, sentence.agreements)


def training_pairs(tokenizer, grammar, count):
    out = []
    while len(out) < count:
        sentence = grammar.sentence()
        if not is_held_out(sentence):
            out.append(encoded(tokenizer, sentence))
    return out


def held_out(tokenizer, count, seed=1, least=3):
    """Returns `count` different held-out pairs of at least so many source words. Their targets have no row for the end."""
    grammar, out = Grammar(seed), {}
    while len(out) < count:
        sentence = grammar.sentence()
        words = sum(token not in ".?" for token in sentence.source)
        if is_held_out(sentence) and words >= least:
            pair = encoded(tokenizer, sentence)
            out["".join(sentence.source)] = dataclasses.replace(pair, rows=pair.rows[:-1])
    return list(out.values())


def crossings(pair):
    """The rows whose word stands on the other side of some word than its source does, which is the first of its tokens."""
    places = [columns[0] for _, columns in pair.rows]
    return [(row, columns) for i, (row, columns) in enumerate(pair.rows)
            if any((i - j) * (columns[0] - other) < 0 for j, other in enumerate(places))]
