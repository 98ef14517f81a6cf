# SPDX-License-Identifier: Apache-2.0
"""Single steps in all of their forms, each in a tokenizer whose ids show all that the step did: a token for every byte,
and another one where it is the last byte of a word."""

from tokenization.published import (LETTERS, MARK, MARKS, NARROW, added, byte_level, metaspace, precompiled, prepend,
                                    regex, replace, sequence, split, strip, tokenizer)

END = "</w>"
BEHAVIORS = ["Removed", "Isolated", "MergedWithPrevious", "MergedWithNext", "Contiguous"]
SPELLED = byte_level(use_regex=False)


def base():
    vocab = {letter + end: identity for identity, (letter, end) in enumerate(
        (letter, end) for end in ("", END) for letter in LETTERS)}
    model = {"type": "BPE", "dropout": None, "unk_token": None, "continuing_subword_prefix": None,
             "end_of_word_suffix": END, "fuse_unk": False, "byte_fallback": False, "ignore_merges": False,
             "vocab": vocab, "merges": []}
    return tokenizer(model, [], None, SPELLED, None, None)


def norm(*steps):
    return {"normalizer": steps[0] if len(steps) == 1 else sequence("normalizers", *steps)}


def pre(*steps):
    return {"pre_tokenizer": sequence("pretokenizers", *steps, SPELLED)}


def bert_normalizer(clean, apart, accents, lowercase):
    return {"type": "BertNormalizer", "clean_text": clean, "handle_chinese_chars": apart, "strip_accents": accents,
            "lowercase": lowercase}


def _normalizers():
    for name in ("NFC", "NFD", "NFKC", "NFKD", "Lowercase", "StripAccents", "Nmt", "ByteLevel"):
        yield name.lower(), norm({"type": name})
    yield "nfd_accents_lower", norm({"type": "NFD"}, {"type": "StripAccents"}, {"type": "Lowercase"})
    yield "strip_left", norm(strip(True, False))
    yield "strip_right", norm(strip(False, True))
    yield "strip", norm(strip(True, True))
    yield "strip_nfkc_replace", norm(replace(regex(r"\p{P}+"), " "), strip(True, True), {"type": "NFKC"},
                                     replace(regex(r"[\s\u00A0]+"), " "))
    yield "prepend", norm(prepend("ab"))
    yield "replace_text", norm(replace({"String": "."}, "$1\\"))
    yield "replace_by_nothing", norm(replace({"String": "a"}, ""))
    yield "replace_regex", norm(replace(regex(r"(?<=\w)[aeiou]|\d+"), "<>"))
    for bits in range(8):
        clean, apart, lowercase = (bool(bits & bit) for bit in (1, 2, 4))
        yield f"bert_{bits}", norm(bert_normalizer(clean, apart, None, lowercase))
    yield "bert_accents", norm(bert_normalizer(True, False, True, False))
    yield "bert_lower_with_accents", norm(bert_normalizer(True, True, False, True))
    yield "precompiled", norm(precompiled(NARROW))


def _pre_tokenizers():
    for name in ("Whitespace", "WhitespaceSplit", "BertPreTokenizer"):
        yield name.lower(), pre({"type": name})
    yield "digits", pre({"type": "Digits", "individual_digits": False})
    yield "digits_individual", pre({"type": "Digits", "individual_digits": True})
    yield "delimiter", pre({"type": "CharDelimiterSplit", "delimiter": "a"})
    for behavior in BEHAVIORS:
        name = behavior.lower()
        yield f"punctuation_{name}", pre({"type": "Punctuation", "behavior": behavior})
        for invert in (False, True):
            inverted = "_inverted" if invert else ""
            yield f"split_text_{name}{inverted}", pre(split({"String": " "}, behavior, invert))
            yield f"split_regex_{name}{inverted}", pre(split(regex(r"\p{L}+|\s"), behavior, invert))
    for scheme in ("first", "always", "never"):
        for does_split in (True, False):
            name = f"metaspace_{scheme}{'_split' if does_split else ''}"
            yield name, pre(metaspace(scheme, does_split))
            yield f"{name}_of_words", pre({"type": "WhitespaceSplit"}, metaspace(scheme, does_split))
    yield "metaspace_old", pre({"type": "Metaspace", "replacement": "_", "add_prefix_space": True})
    yield "metaspace_old_never", pre({"type": "Metaspace", "replacement": MARK, "add_prefix_space": False,
                                      "prepend_scheme": "never"})
    yield "metaspace_first_after_strip", pre(metaspace("first", False)) | norm(strip(True, False))
    yield "metaspace_first_after_prepend", pre(metaspace("first", False)) | norm(prepend("x"))
    yield "bytes", {"pre_tokenizer": byte_level()}
    yield "bytes_prefix", {"pre_tokenizer": byte_level(prefix=True)}
    yield "bytes_prefix_without_regex", {"pre_tokenizer": byte_level(prefix=True, use_regex=False)}
    words = sequence("pretokenizers", {"type": "Whitespace"}, byte_level(prefix=True))
    yield "words_of_words", {"pre_tokenizer": words}
    for name, pattern in {
        "regex_classes": r"[^\d\s_]+|[[:digit:]_]", "regex_lookbehind": r"(?<!\p{L})\p{L}|(?=\p{N})",
        "regex_case": r"(?i)straße|[a-c]+|ſ", "regex_interval": r"\p{L}{2}|\s{2,}?", "regex_boundary": r"\b",
        "regex_han": r"[\p{Han}\p{Hiragana}\p{Katakana}]+", "regex_cjk_range": "[一-龥]+|[぀-ヿ]",
        "regex_lines": r"^.|.$", "regex_marks": r"\p{M}", "regex_possessive": r"\s++(?!x)|b{1,2}+c",
        "regex_newline": r"\r?\n", "regex_dot": r".{3}",
    }.items():
        yield name, pre(split(regex(pattern)))


def _added_tokens(ids):
    plain = {"special": False, "normalized": True}
    for name, options in {
        "added": {}, "added_left": {"lstrip": True}, "added_right": {"rstrip": True},
        "added_both": {"lstrip": True, "rstrip": True}, "added_single": {"single_word": True},
        "added_single_both": {"single_word": True, "lstrip": True, "rstrip": True},
        "added_normalized": plain,
        "added_normalized_left": plain | {"lstrip": True}, "added_normalized_single": plain | {"single_word": True},
    }.items():
        # "day" and "Day" would be one text when normalized, with an id that the library draws anew in every run.
        texts = ["day", *([] if options.get("normalized") else ["Day"]), "cat", "<s>", "<mask>", "été", "the", "\n"]
        tokens = added(ids.copy(), *((text, options) for text in texts))
        yield name, {"added_tokens": tokens}
        yield f"{name}_lowercase", {"added_tokens": tokens} | norm({"type": "NFC"}, {"type": "Lowercase"})
    long = added(ids.copy(), *((text, plain) for text in ("a", "ab", "abab", "  ", "    ", " ", "\u0301", "ﬁ", "é")))
    yield "added_longest", {"added_tokens": long}
    yield "added_prepended", {"added_tokens": long} | norm(prepend(), MARKS)
    mixed = added(ids.copy(), ("<s>",), ("</s>", plain), ("s>", plain), ("<", {}))
    yield "added_mixed", {"added_tokens": mixed} | pre(metaspace("first", False))


def _models(ids):
    bpe = {"type": "BPE", "dropout": None, "fuse_unk": False, "byte_fallback": False, "ignore_merges": False,
           "continuing_subword_prefix": None, "end_of_word_suffix": None, "unk_token": None}
    letters = {token: identity for identity, token in enumerate(["<unk>", *"abcdehinorst \u2581é世"])}
    inside = {"<unk>": 0} | {token: identity for identity, token in enumerate(
        [*"abcdehinorst", *("##" + letter for letter in "abcdehinorst"), "th", "the", "##in", "##he"], 1)}
    pairs = [["t", "##h"], ["th", "##e"], ["##i", "##n"], ["##h", "##e"]]
    words = {"pre_tokenizer": {"type": "Whitespace"}}
    yield "bpe_nothing_unknown", {"pre_tokenizer": None, "model": bpe | {"vocab": letters, "merges": []}}
    for fuse in (False, True):
        yield f"bpe_unknown{'_fused' if fuse else ''}", {"pre_tokenizer": None, "model": bpe | {
            "vocab": letters, "merges": [], "unk_token": "<unk>", "fuse_unk": fuse}}
    yield "bpe_prefix", words | {"model": bpe | {
        "vocab": inside, "merges": pairs, "unk_token": "<unk>", "fuse_unk": True, "continuing_subword_prefix": "##"}}
    some = {f"<0x{byte:02X}>": 100 + byte for byte in range(256) if byte != 0xA0}
    for fuse in (False, True):
        yield f"bpe_some_bytes{'_fused' if fuse else ''}", {"pre_tokenizer": None, "model": bpe | {
            "vocab": letters | some, "merges": [], "unk_token": "<unk>", "byte_fallback": True, "fuse_unk": fuse}}
    pieces = {token: identity for identity, token in enumerate(
        ["[UNK]", "the", "##r", "##e", "there", "a", "##a", "b", "##ab", "人", "##人", "é"])}
    yield "word_piece_short", words | {"model": {"type": "WordPiece", "unk_token": "[UNK]", "vocab": pieces,
                                                 "continuing_subword_prefix": "##", "max_input_chars_per_word": 5}}
    yield "word_level", words | {"model": {"type": "WordLevel", "unk_token": "[UNK]", "vocab": {
        "[UNK]": 0, "the": 1, "and": 2, ".": 3, ",": 4, "人": 5, "a": 6}}}
    scored = [["<unk>", 0.0], ["a", -1.0], ["b", -2.5], ["ab", -3.5], ["abab", -9.0], ["t", -3.0], ["h", -3.0],
              ["e", -2.0], ["the", -8.0], [" ", -1.5], [" the", -9.5], ["世", -4.0], ["é", -6.0], ["e\u0301", -5.5], ["ﬁn", -7.0]]
    unknown = {"pre_tokenizer": None,
               "model": {"type": "Unigram", "unk_id": 0, "vocab": scored, "byte_fallback": False}}
    yield "unigram_ties", unknown
    bytes_too = scored + [[token, 0.0] for token in some]
    yield "unigram_some_bytes", unknown | {"model": unknown["model"] | {"vocab": bytes_too, "byte_fallback": True}}


def steps():
    """{name: what takes the place of the base's parts}."""
    ids = base()["model"]["vocab"]
    return dict([*_normalizers(), *_pre_tokenizers(), *_added_tokens(ids), *_models(ids)])
