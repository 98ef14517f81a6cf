"""One word is one token, in both languages.

A token begins with "▁" where a blank comes before it in the text, so that joined tokens are natural French: "l'" is "▁l'", and
"homme" after it has no mark. The tokens of tokenizer.json, and those here, come of the same rules.
"""
import json
import unicodedata

import regex

from translator import grammar, lexicon

END, UNKNOWN, PAD = "</s>", "▁" + lexicon.UNKNOWN, "<pad>"
# A text is changed in these ways before it is cut into words, after lowercasing: [expression, replacement].
REPLACED = [["’", "'"], ["can't\\b|cannot\\b", "can not"], ["won't\\b", "will not"], ["n't\\b", " not"], ["'m\\b", " am"],
            ["'re\\b", " are"], ["'ll\\b", " will"], ["(?<=\\bit|\\bhe|\\bshe|\\bthere|\\bwho|\\bwhat|\\bwhere)'s\\b", " is"],
            ["[,;:\"()]", " "], ["!", "."], ["\\s+", " "], ["^ | $", ""]]
# These are tokens on their own: the English 's, punctuation, and a French word that lost its vowel.
PIECES = "'s\\b|▁?[.?]|[^'.?]+'(?!s\\b)"


def vocabulary():
    """Returns {token: id} of all that the grammar says in a hundred thousand sentences."""
    said, sentences = set(), grammar.Grammar(0)
    for _ in range(100_000):
        pair = sentences.sentence()
        said.update(pair.source, pair.target)
    return {token: i for i, token in enumerate([END, UNKNOWN, *sorted(said - {UNKNOWN}), PAD])}


class Tokenizer:
    def __init__(self, ids):
        self.ids = ids
        self.names = [name for name, _ in sorted(ids.items(), key=lambda item: item[1])]
        self.end, self.pad = ids[END], ids[PAD]

    @classmethod
    def load(cls, path):
        held = json.loads(path.read_text())
        return cls(held["model"]["vocab"])

    def ids_of(self, tokens):
        """The ids of the grammar's own tokens. One that it hardly ever says is unknown."""
        return [self.ids.get(token, self.ids[UNKNOWN]) for token in tokens]

    def encode(self, text):
        """The ids of a text and of the end."""
        text = unicodedata.normalize("NFC", text).lower()
        for expression, replacement in REPLACED:
            text = regex.sub(expression, replacement, text)
        words = [piece for word in text.split(" ") if word for piece in pieces_of("▁" + word)]
        return [self.ids.get(word, self.ids[UNKNOWN]) for word in words] + [self.end]

    def decode(self, ids):
        return grammar.text_of(self.names[i] for i in ids if i not in (self.end, self.pad))

    def save(self, path):
        marks = {"type": "Metaspace", "replacement": "▁", "prepend_scheme": "always", "split": True}
        replacing = [{"type": "Replace", "pattern": {"Regex": expression}, "content": content}
                     for expression, content in REPLACED]
        pieces = {"type": "Split", "pattern": {"Regex": PIECES}, "behavior": "Isolated", "invert": False}
        texts = [{"Sequence": {"id": name, "type_id": i}} for i, name in enumerate("AB")]
        end = {"SpecialToken": {"id": END, "type_id": 0}}
        special = {"single_word": False, "lstrip": False, "rstrip": False, "normalized": False, "special": True}
        path.write_text(json.dumps({
            "version": "1.0", "truncation": None, "padding": None,
            "added_tokens": [{"id": self.ids[token], "content": token} | special for token in (END, PAD)],
            "normalizer": {"type": "Sequence", "normalizers": [{"type": "NFC"}, {"type": "Lowercase"}, *replacing]},
            "pre_tokenizer": {"type": "Sequence", "pretokenizers": [marks, pieces]},
            "post_processor": {"type": "TemplateProcessing", "single": [texts[0], end], "pair": [*texts, end],
                               "special_tokens": {END: {"id": END, "ids": [self.end], "tokens": [END]}}},
            "decoder": marks,
            "model": {"type": "WordLevel", "vocab": self.ids, "unk_token": UNKNOWN},
        }, ensure_ascii=False, separators=(",", ":")) + "\n")


def pieces_of(word):
    """A word cut where PIECES says, with all of it kept."""
    return [piece for piece in regex.split(f"({PIECES})", word) if piece]
