"""WordPiece: learns pieces from text, writes them as Hugging Face's tokenizer.json, and cuts texts into them.

Texts are read as BertNormalizer and BertPreTokenizer read them: in lower case and without accents, with every mark of
punctuation as a word of its own. A word is cut from its start, each time at the longest piece that is known.
"""
import collections
import json
import string
import unicodedata

import regex

from tiny.tokenizer import merges

SPECIAL = PAD, UNK, CLS, SEP, MASK = "[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"
PUNCTUATION = r"\p{P}$+<=>^`|~"
WORD = regex.compile(rf"[^\s{PUNCTUATION}]+|[{PUNCTUATION}]")
DROPPED = regex.compile(r"[\p{C}\uFFFD--[\t\n\r]]", regex.V1)
CHINESE = regex.compile(r"([\u4E00-\u9FFF\u3400-\u4DBF\U00020000-\U0002A6DF\U0002A700-\U0002CEAF\uF900-\uFAFF\U0002F800-\U0002FA1F])")
START = "\0"  # marks the symbols that begin a word while pieces are learned
LONGEST = 100  # characters of a word


def normalised(text):
    text = CHINESE.sub(r" \1 ", DROPPED.sub("", text))
    return "".join(c for c in unicodedata.normalize("NFD", text) if unicodedata.category(c) != "Mn").lower()


def words_of(text):
    return WORD.findall(normalised(text))


def learn(texts, size):
    """Returns a vocabulary of `size` pieces: the special ones, all characters that can be typed in English, alone and within a
    word, and then the pieces that merging the commonest pairs gives."""
    counts = collections.Counter(word for text in texts for word in words_of(text))
    known = sorted(set(string.printable.lower()) - set(string.whitespace))
    pieces = dict.fromkeys([*SPECIAL, *known, *("##" + c for c in string.digits + string.ascii_lowercase)])
    spelled = (([START + word[0], *word[1:]], count) for word, count in counts.items() if set(word) <= set(known))
    for first, second in merges(spelled):
        if len(pieces) == size:
            return list(pieces)
        piece = first + second
        pieces[piece[1:] if piece[0] == START else "##" + piece] = None


class Tokenizer:
    def __init__(self, names):
        self.names = names
        self.ids = {name: i for i, name in enumerate(names)}
        self.pad, self.unk, self.cls, self.sep, self.mask = (self.ids[name] for name in SPECIAL)
        self.cache = {}

    @classmethod
    def load(cls, path):
        return cls(list(json.loads(path.read_text())["model"]["vocab"]))

    def word(self, word):
        if word not in self.cache:
            self.cache[word] = self.cut(word)
        return self.cache[word]

    def cut(self, word):
        found, start = [], 0
        while start < len(word) <= LONGEST:
            prefix = "##" if start else ""
            end = next((end for end in range(len(word), start, -1) if prefix + word[start:end] in self.ids), None)
            if end is None:
                return [self.unk]
            found.append(self.ids[prefix + word[start:end]])
            start = end
        return found or [self.unk]

    def encode(self, text):
        """Ids of the text, without special ones, except that [MASK] may stand in it."""
        parts = text.split(MASK)
        ids = [i for part in parts for i in (*(i for word in words_of(part) for i in self.word(word)), self.mask)]
        return ids[:-1]

    def input(self, first, second=None):
        """The model's input for one text or two, as ids and types."""
        ids = [self.cls, *first, self.sep]
        types = [0] * len(ids)
        if second is not None:
            ids += [*second, self.sep]
            types += [1] * (len(second) + 1)
        return {"ids": ids, "types": types}

    def save(self, path):
        first, second = ({"Sequence": {"id": name, "type_id": i}} for i, name in enumerate("AB"))
        start, end, last = ({"SpecialToken": {"id": name, "type_id": i}} for name, i in ((CLS, 0), (SEP, 0), (SEP, 1)))
        path.write_text(json.dumps({
            "version": "1.0", "truncation": None, "padding": None,
            "added_tokens": [{"id": self.ids[name], "content": name, "single_word": False, "lstrip": False, "rstrip": False,
                              "normalized": False, "special": True} for name in SPECIAL],
            "normalizer": {"type": "BertNormalizer", "clean_text": True, "handle_chinese_chars": True, "strip_accents": None,
                           "lowercase": True},
            "pre_tokenizer": {"type": "BertPreTokenizer"},
            "post_processor": {"type": "TemplateProcessing", "single": [start, first, end],
                               "pair": [start, first, end, second, last],
                               "special_tokens": {name: {"id": name, "ids": [self.ids[name]], "tokens": [name]} for name in (CLS, SEP)}},
            "decoder": {"type": "WordPiece", "prefix": "##", "cleanup": True},
            "model": {"type": "WordPiece", "unk_token": UNK, "continuing_subword_prefix": "##",
                      "max_input_chars_per_word": LONGEST, "vocab": self.ids},
        }, ensure_ascii=False, separators=(",", ":")) + "\n")
