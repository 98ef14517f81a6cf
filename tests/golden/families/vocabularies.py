# SPDX-License-Identifier: Apache-2.0
"""The tokenizers of golden models."""

import json
import pathlib


def byte_characters():
    """The printable character that stands for each byte in byte-level vocabularies (GPT-2's table)."""
    printable = [*range(33, 127), *range(161, 173), *range(174, 256)]
    others = [byte for byte in range(256) if byte not in printable]
    return {byte: chr(byte) for byte in printable} | {byte: chr(256 + i) for i, byte in enumerate(others)}


def special(names, first):
    flags = {"single_word": False, "lstrip": False, "rstrip": False, "normalized": False, "special": True}
    return [{"id": first + i, "content": name, **flags} for i, name in enumerate(names)]


def byte_level_tokenizer():
    """GPT-2's kind: 256 bytes, a few merges, and the end of text."""
    space = byte_characters()[32]
    merges = [("t", "h"), ("th", "e"), (space, "the"), ("a", "t"), (space, "c"), (space + "c", "at")]
    tokens = [*byte_characters().values(), *("".join(pair) for pair in merges)]
    level = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True}
    model = {"type": "BPE", "dropout": None, "unk_token": None, "continuing_subword_prefix": "",
             "end_of_word_suffix": "", "fuse_unk": False, "byte_fallback": False,
             "vocab": {token: i for i, token in enumerate(tokens)}, "merges": [" ".join(pair) for pair in merges]}
    return {"version": "1.0", "truncation": None, "padding": None,
            "added_tokens": special(["<|endoftext|>"], len(tokens)), "normalizer": None, "pre_tokenizer": level,
            "post_processor": level, "decoder": level, "model": model}


def word_piece_tokenizer():
    """BERT's kind: letters, each also as a continuation, and some words."""
    names = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    letters = "abcdefghijklmnopqrstuvwxyz"
    tokens = [*names, *letters, *("##" + letter for letter in letters), "the", "cat", "sat", "##s", ".", ","]
    tokens = list(dict.fromkeys(tokens))
    piece = lambda name, kind: {"SpecialToken": {"id": name, "type_id": kind}}
    single = [piece("[CLS]", 0), {"Sequence": {"id": "A", "type_id": 0}}, piece("[SEP]", 0)]
    pair = [*single, {"Sequence": {"id": "B", "type_id": 1}}, piece("[SEP]", 1)]
    ends = {name: {"id": name, "ids": [tokens.index(name)], "tokens": [name]} for name in ["[CLS]", "[SEP]"]}
    return {"version": "1.0", "truncation": None, "padding": None, "added_tokens": special(names, 0),
            "normalizer": {"type": "BertNormalizer", "clean_text": True, "handle_chinese_chars": True,
                           "strip_accents": None, "lowercase": True},
            "pre_tokenizer": {"type": "BertPreTokenizer"},
            "post_processor": {"type": "TemplateProcessing", "single": single, "pair": pair, "special_tokens": ends},
            "decoder": {"type": "WordPiece", "prefix": "##", "cleanup": True},
            "model": {"type": "WordPiece", "unk_token": "[UNK]", "continuing_subword_prefix": "##",
                      "max_input_chars_per_word": 100, "vocab": {token: i for i, token in enumerate(tokens)}}}


LETTERS = "abcdefghijklmnopqrstuvwxyz.,ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"


def published_tokenizer(name, space, size, first=(), last=()):
    """The steps of tokenizers/NAME/tokenizer.json around `size` tokens: special ones, `space`, some merges, and as many
    letters as fit."""
    path = pathlib.Path(__file__).parent.parent / "tokenizers" / name / "tokenizer.json"
    tokenizer = json.loads(path.read_text(encoding="utf-8"))
    merges = [("t", "h"), ("th", "e"), (space, "the"), ("a", "t"), (space, "c"), (space + "c", "at")]
    words = [space, *("".join(pair) for pair in merges)]
    letters = LETTERS[:size - len(first) - len(words) - len(last)]
    ids = {token: i for i, token in enumerate([*first, *letters, *words, *last])}
    tokenizer["added_tokens"] = [{**token, "id": ids[token["content"]]} for token in tokenizer["added_tokens"]
                                 if token["content"] in [*first, *last]]
    model = tokenizer["model"]
    if model["type"] == "Unigram":
        model["vocab"] = [[token, 0.0 if token in [*first, *last] else -8 / len(token)] for token in ids]
    else:
        separated = isinstance(model["merges"][0], str)
        model |= {"vocab": ids, "merges": [" ".join(pair) if separated else list(pair) for pair in merges]}
    if (tokenizer["normalizer"] or {}).get("type") == "Precompiled":
        tokenizer["normalizer"] = {"type": "NFKC"}  # in the place of its large table of characters
    return tokenizer


def byte_level(name, size, first=(), last=()):
    return published_tokenizer(name, byte_characters()[32], size, first, last)


def vocabulary_size(tokenizer):
    vocabulary = tokenizer["model"]["vocab"]
    ids = vocabulary.values() if isinstance(vocabulary, dict) else range(len(vocabulary))
    return max([*ids, *(token["id"] for token in tokenizer["added_tokens"])]) + 1
