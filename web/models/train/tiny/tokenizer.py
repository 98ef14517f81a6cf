"""Byte-level BPE: learns merges from text, writes them as Hugging Face's tokenizer.json, encodes and decodes.

The word pattern is GPT-2's, which the ByteLevel pre-tokenizer of every Hugging Face implementation applies by itself.
"""
import collections
import itertools
import json

import regex

WORD = regex.compile(r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+")
BOS = "<s>"


def byte_letters():
    """GPT-2's printable letter for each byte: its own character if that is printable, else the next code point from 256 on."""
    printable = [*range(33, 127), *range(161, 173), *range(174, 256)]
    letters, following = {}, 256
    for value in range(256):
        letters[value] = chr(value if value in printable else following)
        following += value not in printable
    return letters


LETTERS = byte_letters()
BYTES = {letter: value for value, letter in LETTERS.items()}


def learn(texts, size):
    """Returns the merges of a vocabulary of `size` ids, which are bos, 256 bytes, and one for each merge."""
    counts = collections.Counter(word for text in texts for word in WORD.findall(text))
    return list(itertools.islice(merges(([LETTERS[b] for b in word.encode()], count) for word, count in counts.items()), size - 257))


def merges(words):
    """Yields pairs of symbols, each the commonest in these words once those before it are merged. Of equally common pairs the
    one whose name is last comes first. `words` are pairs of a word's symbols and its count."""
    words = list(words)
    pairs, places = collections.Counter(), collections.defaultdict(set)

    def count_word(index, sign):
        symbols, count = words[index]
        for pair in zip(symbols, symbols[1:]):
            pairs[pair] += sign * count
            if sign > 0:
                places[pair].add(index)

    for index in range(len(words)):
        count_word(index, 1)
    while True:
        best = max(pairs, key=lambda pair: (pairs[pair], pair))
        yield best
        for index in places.pop(best):
            count_word(index, -1)
            words[index] = (join(words[index][0], best), words[index][1])
            count_word(index, 1)
        del pairs[best]


def join(symbols, pair):
    """The symbols with every occurrence of the pair merged, left to right."""
    out, at = [], 0
    while at < len(symbols):
        if tuple(symbols[at:at + 2]) == pair:
            out.append(pair[0] + pair[1])
            at += 2
        else:
            out.append(symbols[at])
            at += 1
    return out


class Tokenizer:
    def __init__(self, merges):
        self.merges = [tuple(merge) for merge in merges]
        self.rank = {merge: rank for rank, merge in enumerate(self.merges)}
        self.names = [BOS] + sorted(BYTES) + [a + b for a, b in self.merges]
        self.ids = {name: i for i, name in enumerate(self.names)}
        assert len(self.ids) == len(self.names), "two merges give the same token"
        self.cache = {}

    @classmethod
    def load(cls, path):
        return cls(merge.split(" ") for merge in json.loads(path.read_text())["model"]["merges"])

    def word(self, word):
        if word not in self.cache:
            symbols = [LETTERS[b] for b in word.encode()]
            while len(symbols) > 1:
                best = min(zip(symbols, symbols[1:]), key=lambda pair: self.rank.get(pair, len(self.rank)))
                if best not in self.rank:
                    break
                symbols = join(symbols, best)
            self.cache[word] = [self.ids[s] for s in symbols]
        return self.cache[word]

    def encode(self, text):
        """Ids of the text, without bos."""
        return [i for word in WORD.findall(text) for i in self.word(word)]

    def decode(self, ids):
        return bytes(BYTES[letter] for i in ids if i for letter in self.names[i]).decode(errors="replace")

    def save(self, path):
        byte_level = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True}
        special = {"id": BOS, "ids": [0], "tokens": [BOS]}
        bos = {"SpecialToken": {"id": BOS, "type_id": 0}}
        texts = [{"Sequence": {"id": name, "type_id": i}} for i, name in enumerate("AB")]
        path.write_text(json.dumps({
            "version": "1.0", "truncation": None, "padding": None,
            "added_tokens": [{"id": 0, "content": BOS, "single_word": False, "lstrip": False, "rstrip": False,
                              "normalized": False, "special": True}],
            "normalizer": None, "pre_tokenizer": byte_level,
            "post_processor": {"type": "TemplateProcessing", "single": [bos, texts[0]], "pair": [bos, *texts],
                               "special_tokens": {BOS: special}},
            "decoder": byte_level,
            "model": {"type": "BPE", "dropout": None, "unk_token": None, "continuing_subword_prefix": None,
                      "end_of_word_suffix": None, "fuse_unk": False, "byte_fallback": False, "vocab": self.ids,
                      "merges": [" ".join(merge) for merge in self.merges]},
        }, ensure_ascii=False, separators=(",", ":")) + "\n")
