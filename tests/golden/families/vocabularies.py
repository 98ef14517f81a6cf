# SPDX-License-Identifier: Apache-2.0
"""The tokenizers of golden models."""


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


def vocabulary_size(tokenizer):
    return max([*tokenizer["model"]["vocab"].values(), *(token["id"] for token in tokenizer["added_tokens"])]) + 1
