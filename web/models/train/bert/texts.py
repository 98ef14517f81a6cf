"""The texts that the model reads: single ones and pairs of texts with some of their tokens masked, and pairs of copies.

A pair is cut from one document between two of its sentences. In half of the pairs the second text is put in the place of it
from another document of the same source.
"""
import numpy
import regex
import torch

from bert.tokenizer import Tokenizer, learn
from shared.folders import build
from tiny import corpus

SHARES = {"generated": 0.4, "wordnet": 0.3, "austen": 0.3}
SIZE = 2560  # pieces of the vocabulary
PAIRS = 0.8  # share of the documents of two and more sentences that are read as pairs
MASKED = 0.2  # share of the tokens to be guessed
USUAL, LONGEST = 64, 128  # tokens of most rows, and of one in ten
IGNORE = -100
ENDS = regex.compile(r"""(?<=[^.]{2}[.?!]["']?)(?<!\b(?:Mr|Mrs|Dr|St)\.) (?=["']?[A-Z])""")


def sentences(text):
    return ENDS.split(text)


def vocabulary():
    """The tokenizer, which is kept for the next run."""
    path = build("tiny-bert") / "tokenizer.json"
    if not path.exists():
        print("learning the vocabulary", flush=True)
        Tokenizer(learn((text for source in SHARES for text in corpus.documents(source)[0]), SIZE)).save(path)
    return Tokenizer.load(path)


class Source:
    """Documents as sentences of ids."""

    def __init__(self, ids, sentences, documents):
        self.ids, self.sentences, self.documents = ids, sentences, documents  # numbers where sentences and documents start

    @classmethod
    def of(cls, tokenizer, texts):
        ids, starts, documents = [], [0], [0]
        for text in texts:
            for sentence in sentences(text):
                ids += tokenizer.encode(sentence)
                starts.append(len(ids))
            documents.append(len(starts) - 1)
        return cls(numpy.array(ids, numpy.int16), numpy.array(starts), numpy.array(documents))

    @classmethod
    def kept(cls, name, tokenizer):
        """The training texts of a source, which are kept for the next run."""
        path = build("tiny-bert") / f"{name}.npz"
        if not path.exists():
            source = cls.of(tokenizer, corpus.documents(name)[0])
            numpy.savez(path, ids=source.ids, sentences=source.sentences, documents=source.documents)
        stored = numpy.load(path)
        source = cls(stored["ids"], stored["sentences"], stored["documents"])
        print(f"{name}: {len(source.documents) - 1} documents, {len(source.ids)} tokens", flush=True)
        return source

    def text(self, first, end):
        """The ids of the sentences from `first` up to `end`."""
        return self.ids[self.sentences[first]:self.sentences[end]].tolist()

    def cut(self, r):
        """Returns the first sentence of a document, one within it before which it is cut, and its end. A document of one sentence
        is cut nowhere."""
        first, end = (lambda d: (self.documents[d], self.documents[d + 1]))(r.randrange(len(self.documents) - 1))
        return first, (r.randrange(first + 1, end) if end > first + 1 else end), end

    def row(self, r, tokenizer):
        """Returns an input and whether its second text is another's, or None if it has no second text."""
        room = (LONGEST if r.random() < 0.1 else USUAL) - 3
        first, at, end = self.cut(r)
        if at == end or r.random() > PAIRS:
            return tokenizer.input(self.text(first, end)[:room]), None
        before, after = self.text(first, at), self.text(at, end)
        other = r.random() < 0.5
        if other:
            at = end
            while at == end:
                _, at, end = self.cut(r)
            after = self.text(at, end)
        keep = max(room // 2, room - len(after))
        before = before[-keep:]
        return tokenizer.input(before, after[:room - len(before)]), other


def rows(r, tokenizer, sources, count):
    """Returns rows of all sources by their shares."""
    return [sources[name].row(r, tokenizer) for name in r.choices(list(SHARES), list(SHARES.values()), k=count)]


def batch(rows, tokenizer):
    """Returns ids, types and what is no padding, each [B,T], and [B] whether the second text is another's, or IGNORE."""
    length = max(len(row["ids"]) for row, _ in rows)
    ids, types = (torch.tensor([row[key] + [fill] * (length - len(row[key])) for row, _ in rows])
                  for key, fill in (("ids", tokenizer.pad), ("types", 0)))
    real = ids != tokenizer.pad
    return ids, types, real, torch.tensor([IGNORE if other is None else int(other) for _, other in rows])


def masked(generator, ids, tokenizer):
    """Returns the ids with some hidden, and targets: what was at those places, and IGNORE at the others.

    Of ten hidden tokens eight become [MASK], one becomes a random one, and one stays, so that the model has to understand
    every token, whether it is masked or not (Devlin et al. 2019).
    """
    def drawn():
        return torch.rand(ids.shape, generator=generator)
    chosen = (drawn() < MASKED) & (ids > tokenizer.mask)
    fate = drawn()
    random = torch.randint(tokenizer.mask + 1, len(tokenizer.names), ids.shape, generator=generator)
    hidden = torch.where(chosen & (fate < 0.8), tokenizer.mask, ids)
    hidden = torch.where(chosen & (fate >= 0.9), random, hidden)
    return hidden, torch.where(chosen, ids, IGNORE)


def copies(generator, tokens, count, longest, tokenizer):
    """Returns ids, types and which tokens are to be hidden, each [B,T], of pairs of the same random tokens, of which each is hidden
    in one of its two places at most. `count` is about how many tokens a text of all pairs has together."""
    half = torch.randint(8, longest + 1, (), generator=generator).item()
    rows = max(1, count // half)
    text = torch.stack([tokens[torch.randperm(len(tokens), generator=generator)[:half]] for _ in range(rows)])
    ids, types = (torch.tensor([row[key] for row in (tokenizer.input(one, one) for one in text.tolist())]) for key in ("ids", "types"))
    fate = torch.rand(rows, half, generator=generator)
    hidden = torch.zeros(ids.shape, dtype=torch.bool)
    hidden[:, 1:half + 1], hidden[:, half + 2:-1] = fate < 0.15, fate > 0.85
    return ids, types, hidden
