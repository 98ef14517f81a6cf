# SPDX-License-Identifier: Apache-2.0
"""Small tokenizers with the pipelines of published models: every step is theirs, and vocabularies are learned here."""

import json

from tokenizers import Tokenizer, models, pre_tokenizers, trainers

from tokenization.charsmap import charsmap, nmt_nfkc
from tokenization.texts import SENTENCES

MARK = "▁"
BYTES = [f"<0x{byte:02X}>" for byte in range(256)]
CONTRACTIONS = "(?i:'s|'t|'re|'ve|'m|'ll|'d)"
WORDS = {
    "llama3": CONTRACTIONS + r"|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+",
    "qwen2": CONTRACTIONS + r"|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+",
    "o200k": "|".join([
        r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?",
        r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?",
        r"\p{N}{1,3}", r" ?[^\s\p{L}\p{N}]+[\r\n/]*", r"\s*[\r\n]+", r"\s+(?!\S)", r"\s+"]),
    "bloom": " ?[^(\\s|[.,!?…。，、।۔،])]+",
    "clip": r"'s|'t|'re|'ve|'m|'ll|'d|[\p{L}]+|[\p{N}]|[^\s\p{L}\p{N}]+",
}


# --- the parts that files are made of --------------------------------------------------------------------------------


def regex(pattern):
    return {"Regex": pattern}


def split(pattern, behavior="Isolated", invert=False):
    return {"type": "Split", "pattern": pattern, "behavior": behavior, "invert": invert}


def byte_level(prefix=False, use_regex=True, trim_offsets=True):
    return {"type": "ByteLevel", "add_prefix_space": prefix, "trim_offsets": trim_offsets, "use_regex": use_regex}


def metaspace(scheme="always", does_split=True):
    return {"type": "Metaspace", "replacement": MARK, "prepend_scheme": scheme, "split": does_split}


def replace(pattern, content):
    return {"type": "Replace", "pattern": pattern, "content": content}


def prepend(text=MARK):
    return {"type": "Prepend", "prepend": text}


def strip(left, right):
    return {"type": "Strip", "strip_left": left, "strip_right": right}


def sequence(kind, *steps):
    return {"type": "Sequence", kind: list(steps)}


def template(ids, single, pair):
    """`single` and `pair` are words such as "<s> A </s>"."""
    def pieces(words):
        return [{"Sequence": {"id": word, "type_id": int(word == "B")}} if word in ("A", "B") else
                {"SpecialToken": {"id": word, "type_id": 0}} for word in words.split()]
    names = sorted({word for word in (single + " " + pair).split()} - {"A", "B"})
    return {"type": "TemplateProcessing", "single": pieces(single), "pair": pieces(pair),
            "special_tokens": {name: {"id": name, "ids": [ids[name]], "tokens": [name]} for name in names}}


def added(ids, *tokens):
    """Each token is its text and what is not as special tokens have it. The ids of new tokens follow those of `ids`."""
    result = []
    for content, *changes in tokens:
        identity = ids.setdefault(content, max(ids.values()) + 1)
        token = {"id": identity, "content": content, "single_word": False, "lstrip": False, "rstrip": False,
                 "normalized": False, "special": True}
        result.append(token | (changes[0] if changes else {}))
    return sorted(result, key=lambda token: token["id"])


def tokenizer(model, tokens, normalizer=None, pre_tokenizer=None, post_processor=None, decoder=None):
    return {"version": "1.0", "truncation": None, "padding": None, "added_tokens": tokens, "normalizer": normalizer,
            "pre_tokenizer": pre_tokenizer, "post_processor": post_processor, "decoder": decoder, "model": model}


# --- what is learned -------------------------------------------------------------------------------------------------


def _learned(model, trainer, normalizer, pre_tokenizer):
    empty = tokenizer(json.loads(Tokenizer(model).to_str())["model"], [], normalizer, pre_tokenizer)
    learner = Tokenizer.from_str(json.dumps(empty))
    learner.train_from_iterator([sentence.rstrip("\n") for sentence in SENTENCES], trainer)
    return json.loads(learner.to_str())["model"]


def bpe(size, first=(), last=(), alphabet=(), normalizer=None, pre_tokenizer=None, as_text=False, **options):
    """The merges that are learned, in a vocabulary that begins with `first` and ends with `last`."""
    suffix = {"end_of_word_suffix": options["end_of_word_suffix"]} if options.get("end_of_word_suffix") else {}
    trainer = trainers.BpeTrainer(vocab_size=size, show_progress=False, initial_alphabet=list(alphabet), **suffix)
    model = models.BPE(**suffix)
    learned = _learned(model, trainer, normalizer, pre_tokenizer)
    vocab = list(dict.fromkeys([*first, *sorted(learned["vocab"], key=learned["vocab"].get), *last]))
    merges = [" ".join(pair) for pair in learned["merges"]] if as_text else learned["merges"]
    return {"type": "BPE", "dropout": None, "unk_token": None, "continuing_subword_prefix": None,
            "end_of_word_suffix": None, "fuse_unk": False, "byte_fallback": False, "ignore_merges": False, **options,
            "vocab": {token: identity for identity, token in enumerate(vocab)}, "merges": merges}


def word_piece(size, specials, normalizer, pre_tokenizer):
    trainer = trainers.WordPieceTrainer(vocab_size=size, show_progress=False, special_tokens=specials)
    return _learned(models.WordPiece(unk_token="[UNK]"), trainer, normalizer, pre_tokenizer)


def unigram(size, specials, unknown, normalizer, pre_tokenizer, byte_fallback=False, lacks=""):
    """The likeliest tokens come first. Those that hold a character of `lacks` are left out."""
    trainer = trainers.UnigramTrainer(vocab_size=size, show_progress=False, special_tokens=specials, unk_token=unknown,
                                      n_sub_iterations=1)
    vocab = _learned(models.Unigram(), trainer, normalizer, pre_tokenizer)["vocab"]
    kept = [(token, 0.0 if token in specials else round(score, 4)) for token, score in vocab
            if token in specials or not set(token) & set(lacks)]
    kept = kept[:len(specials)] + sorted(kept[len(specials):], key=lambda pair: (-pair[1], pair[0]))
    return {"type": "Unigram", "unk_id": specials.index(unknown), "byte_fallback": byte_fallback, "vocab": kept}


# --- byte pairs of bytes ---------------------------------------------------------------------------------------------

LETTERS = sorted(pre_tokenizers.ByteLevel.alphabet())
BYTE_DECODER = byte_level(prefix=True)


def gpt2():
    words = byte_level()
    model = bpe(600, last=["<|endoftext|>"], alphabet=LETTERS, pre_tokenizer=words, as_text=True, unk_token="",
                continuing_subword_prefix="", end_of_word_suffix="")
    del model["byte_fallback"], model["ignore_merges"]
    del words["use_regex"]
    tokens = added(model["vocab"].copy(), ("<|endoftext|>", {"normalized": True}))
    return tokenizer(model, tokens, None, words, byte_level(prefix=True, trim_offsets=False), BYTE_DECODER)


def gpt_neox():
    words = byte_level()
    model = bpe(550, first=["<|endoftext|>", "<|padding|>"], alphabet=LETTERS, normalizer={"type": "NFC"},
                pre_tokenizer=words, as_text=True)
    runs = [(" " * count, {"normalized": True, "special": False}) for count in range(24, 1, -1)]
    tokens = added(model["vocab"].copy(), ("<|endoftext|>",), ("<|padding|>",), *runs)
    return tokenizer(model, tokens, {"type": "NFC"}, words, byte_level(prefix=True, trim_offsets=False), BYTE_DECODER)


def roberta():
    words = byte_level()
    model = bpe(600, first=["<s>", "<pad>", "</s>", "<unk>"], last=["<mask>"], alphabet=LETTERS, pre_tokenizer=words,
                continuing_subword_prefix="", end_of_word_suffix="")
    ids = model["vocab"]
    tokens = added(ids.copy(), *((name, {"normalized": True}) for name in ("<s>", "<pad>", "</s>", "<unk>")),
                   ("<mask>", {"lstrip": True}))
    ends = {"type": "RobertaProcessing", "sep": ["</s>", ids["</s>"]], "cls": ["<s>", ids["<s>"]],
            "trim_offsets": True, "add_prefix_space": False}
    return tokenizer(model, tokens, None, words, ends, BYTE_DECODER)


def with_split(pattern, names, normalizer=None, behavior="Isolated", invert=False, begin=None, size=600, **options):
    """Llama 3's way, which many share: a Split, bytes without GPT-2's expression, special tokens behind all others."""
    words = sequence("pretokenizers", split(regex(pattern), behavior, invert), byte_level(use_regex=False))
    model = bpe(size, alphabet=LETTERS, normalizer=normalizer, pre_tokenizer=words, **options)
    ids = model["vocab"].copy()
    tokens = added(ids, *names)
    ends = byte_level(trim_offsets=False, use_regex=False)
    if begin:
        ends = sequence("processors", byte_level(prefix=True, trim_offsets=False),
                        template(ids, f"{begin} A", f"{begin} A {begin} B"))
    return tokenizer(model, tokens, normalizer, words, ends, BYTE_DECODER)


def llama3():
    names = [(name,) for name in ("<|begin_of_text|>", "<|end_of_text|>", "<|start_header_id|>", "<|end_header_id|>",
                                  "<|eot_id|>")]
    made = with_split(WORDS["llama3"], names[:0], ignore_merges=True, last=["Ġunmergeable", "unmerge"])
    ids = made["model"]["vocab"].copy()
    made["added_tokens"] = added(ids, *names)
    made["post_processor"] = sequence("processors", byte_level(prefix=True, trim_offsets=False), template(
        ids, "<|begin_of_text|> A", "<|begin_of_text|> A <|begin_of_text|> B"))
    return made


def qwen2():
    return with_split(WORDS["qwen2"], [("<|endoftext|>",), ("<|im_start|>",), ("<|im_end|>",)], {"type": "NFC"},
                      as_text=True, continuing_subword_prefix="", end_of_word_suffix="")


def qwen3():
    plain = {"special": False}
    return with_split(WORDS["qwen2"], [("<|endoftext|>",), ("<|im_start|>",), ("<|im_end|>",), ("<think>", plain),
                                       ("</think>", plain), ("<tool_call>", plain)], {"type": "NFC"}, size=400)


def olmo2():
    """GPT-4's expression, which Llama 3 has as well, finds the words, and what is between them, nothing, is removed."""
    runs = [("|||IP_ADDRESS|||", {"special": False}), ("<|endoftext|>",), ("<|pad|>",)]
    return with_split(WORDS["llama3"], runs, {"type": "NFC"}, "Removed", True, size=400)


def gpt4o():
    return with_split(WORDS["o200k"], [("<|endoftext|>",), ("<|endofprompt|>",)], behavior="Removed", invert=True,
                      size=450)


def bloom():
    return with_split(WORDS["bloom"], [("<unk>",), ("<s>",), ("</s>",), ("<pad>",)], size=450)


def falcon():
    words = sequence("pretokenizers", {"type": "Punctuation", "behavior": "Contiguous"}, byte_level(),
                     {"type": "Digits", "individual_digits": False}, split(regex("[0-9][0-9][0-9]")))
    model = bpe(450, alphabet=LETTERS, pre_tokenizer=words, as_text=True)
    tokens = added(model["vocab"].copy(), (">>TITLE<<",), ("<|endoftext|>",))
    return tokenizer(model, tokens, None, words, byte_level(prefix=True, trim_offsets=False), BYTE_DECODER)


def starcoder():
    words = sequence("pretokenizers", {"type": "Digits", "individual_digits": True}, byte_level())
    model = bpe(400, first=["<|endoftext|>", "<fim_prefix>"], alphabet=LETTERS, pre_tokenizer=words, as_text=True)
    tokens = added(model["vocab"].copy(), ("<|endoftext|>",), ("<fim_prefix>",))
    return tokenizer(model, tokens, None, words, None, BYTE_DECODER)


def clip():
    normalizer = sequence("normalizers", {"type": "NFC"}, replace(regex(r"\s+"), " "), {"type": "Lowercase"})
    words = sequence("pretokenizers", split(regex(WORDS["clip"]), "Removed", True), byte_level())
    model = bpe(800, last=["<|startoftext|>", "<|endoftext|>"], normalizer=normalizer, pre_tokenizer=words,
                alphabet=LETTERS, as_text=True, unk_token="<|endoftext|>", continuing_subword_prefix="",
                end_of_word_suffix="</w>")
    tokens = added(model["vocab"].copy(), ("<|startoftext|>", {"normalized": True}), ("<|endoftext|>",))
    ids = model["vocab"]
    ends = {"type": "RobertaProcessing", "sep": ["<|endoftext|>", ids["<|endoftext|>"]],
            "cls": ["<|startoftext|>", ids["<|startoftext|>"]], "trim_offsets": False, "add_prefix_space": False}
    return tokenizer(model, tokens, normalizer, words, ends, BYTE_DECODER)


# --- byte pairs of characters ----------------------------------------------------------------------------------------

MARKS = replace({"String": " "}, MARK)
SPACES = sequence("decoders", replace({"String": MARK}, " "), {"type": "ByteFallback"}, {"type": "Fuse"},
                  {"type": "Strip", "content": " ", "start": 1, "stop": 0})
LACKS = "你世안नДЖжღ"


def characters(size, first=("<unk>", "<s>", "</s>"), normalizer=None, pre_tokenizer=None, fallback=True, **options):
    """SentencePiece's byte pairs: some characters have no token, and are spelled in bytes."""
    learned = bpe(size, first=[*first, *(BYTES if fallback else [])], normalizer=normalizer,
                  pre_tokenizer=pre_tokenizer or metaspace(), unk_token=first[0] if first[0] == "<unk>" else "<unk>",
                  fuse_unk=True, byte_fallback=fallback, **options)
    kept = [token for token in learned["vocab"] if token in first or token in BYTES or not set(token) & set(LACKS)]
    merges = [pair for pair in learned["merges"]
              if not set("".join(pair) if isinstance(pair, list) else pair) & set(LACKS)]
    return learned | {"vocab": {token: identity for identity, token in enumerate(kept)}, "merges": merges}


def llama(normalizer, pre_tokenizer, *names, fallback=True, as_text=True):
    model = characters(1000, fallback=fallback, as_text=as_text)
    ids = model["vocab"].copy()
    tokens = added(ids, ("<unk>",), ("<s>",), ("</s>",), *names)
    return tokenizer(model, tokens, normalizer, pre_tokenizer, template(ids, "<s> A", "<s> A <s> B"), SPACES)


LEGACY = sequence("normalizers", prepend(), MARKS)


def llama2():
    return llama(LEGACY, None)


def llama2_metaspace():
    return llama(None, metaspace("first", False))


def mistral():
    """Version 3: some of its special tokens come before the bytes."""
    names = ["<unk>", "<s>", "</s>", "[INST]", "[/INST]", "[TOOL_CALLS]"]
    model = characters(900, first=names)
    ids = model["vocab"].copy()
    tokens = added(ids, *((name,) for name in names))
    return tokenizer(model, tokens, None, metaspace("first", False), template(ids, "<s> A", "<s> A <s> B"), SPACES)


def phi3():
    taking = {"rstrip": True}
    return llama(LEGACY, None, ("</s>", taking | {"special": False}), ("<|endoftext|>",), ("<|assistant|>", taking),
                 ("<|end|>", taking), ("<|user|>", taking))


def gemma2():
    """Gemma 2 and 3: no space before the text, words end in a space, and lines and runs of spaces are tokens."""
    first = ["<pad>", "<eos>", "<bos>", "<unk>", "<mask>", "<start_of_turn>", "<end_of_turn>"]
    model = characters(1000, first=first, normalizer=MARKS, pre_tokenizer=metaspace("never", True))
    plain = {"special": False}
    ids = model["vocab"].copy()
    runs = ["\n" * count for count in range(1, 12)] + [MARK * count for count in range(2, 12)] + ["\t" * 2]
    tokens = added(ids, *((name,) for name in first), *((run, plain) for run in runs), ("<table>", plain))
    ids.update({token["content"]: token["id"] for token in tokens})
    return tokenizer(model, tokens, MARKS, split({"String": " "}, "MergedWithPrevious"),
                     template(ids, "<bos> A", "<bos> A <bos> B"), SPACES)


# --- WordPiece -------------------------------------------------------------------------------------------------------

BERT = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]


def bert(lowercase, own_processor=False):
    """Uncased also DistilBERT's; `own_processor` is how old files add [CLS] and [SEP]."""
    normalizer = {"type": "BertNormalizer", "clean_text": True, "handle_chinese_chars": True, "strip_accents": None,
                  "lowercase": lowercase}
    words = {"type": "BertPreTokenizer"}
    model = word_piece(1100, BERT, normalizer, words)
    ids = model["vocab"]
    ends = template(ids, "[CLS] A [SEP]", "[CLS] A [SEP] B [SEP]")
    if own_processor:
        ends = {"type": "BertProcessing", "sep": ["[SEP]", ids["[SEP]"]], "cls": ["[CLS]", ids["[CLS]"]]}
    tokens = added(ids.copy(), *((name,) for name in BERT))
    return tokenizer(model, tokens, normalizer, words, ends, {"type": "WordPiece", "prefix": "##", "cleanup": True})


# --- Unigram ---------------------------------------------------------------------------------------------------------

WIDE = [(0x80, 0x24F), (0x340, 0x3FF), (0x400, 0x482), (0x622, 0x626), (0x675, 0x678), (0x929, 0x934), (0x958, 0x95F),
        (0xE33, 0xE33), (0x1E00, 0x1EFF), (0x1F00, 0x1FFE), (0x2000, 0x2063), (0x2070, 0x209C), (0x2100, 0x214F),
        (0x2150, 0x2189), (0x2460, 0x2473), (0x304C, 0x30FF), (0x3131, 0x318E), (0x3300, 0x3357), (0xF900, 0xF920),
        (0xFB00, 0xFB4F), (0xFDFA, 0xFDFC), (0xFE70, 0xFE80), (0xFF01, 0xFFEE), (0x1D400, 0x1D433), (0x2F800, 0x2F806)]
NARROW = [(0xA0, 0x17F), (0x384, 0x3CE), (0x2000, 0x200A), (0x2160, 0x216F), (0xFB00, 0xFB06), (0xFF01, 0xFF5E)]
SPACE_RUNS = replace(regex(" {2,}"), MARK)
WORDS_WITH_MARKS = sequence("pretokenizers", {"type": "WhitespaceSplit"}, metaspace())


def precompiled(ranges, fold=False):
    return {"type": "Precompiled", "precompiled_charsmap": charsmap(nmt_nfkc(ranges, fold))}


def xlm_roberta():
    normalizer = precompiled(WIDE)
    specials = ["<s>", "<pad>", "</s>", "<unk>"]
    model = unigram(900, specials, "<unk>", normalizer, WORDS_WITH_MARKS, lacks=LACKS)
    del model["byte_fallback"]
    model["vocab"].append(("<mask>", 0.0))
    ids = {token: identity for identity, (token, _) in enumerate(model["vocab"])}
    tokens = added(ids, *((name,) for name in specials), ("<mask>", {"lstrip": True}))
    return tokenizer(model, tokens, normalizer, WORDS_WITH_MARKS,
                     template(ids, "<s> A </s>", "<s> A </s> </s> B </s>"), metaspace())


def t5():
    """As newer files have it: runs of spaces are replaced, and the words are not split at other blanks."""
    normalizer = sequence("normalizers", precompiled(NARROW), strip(False, True), SPACE_RUNS)
    specials = ["<pad>", "</s>", "<unk>"]
    model = unigram(900, specials, "<unk>", normalizer, metaspace(), lacks=LACKS)
    names = [f"<extra_id_{i}>" for i in range(3, -1, -1)]
    model["vocab"] += [(name, 0.0) for name in names]
    ids = {token: identity for identity, (token, _) in enumerate(model["vocab"])}
    tokens = added(ids, *((name,) for name in [*specials, *names]))
    return tokenizer(model, tokens, normalizer, metaspace(), template(ids, "A </s>", "A </s> B </s>"), metaspace())


def albert():
    normalizer = sequence("normalizers", replace({"String": "``"}, '"'), replace({"String": "''"}, '"'),
                          {"type": "NFKD"}, {"type": "StripAccents"}, {"type": "Lowercase"}, precompiled(NARROW, True))
    specials = ["<pad>", "<unk>", "[CLS]", "[SEP]"]
    model = unigram(900, specials, "<unk>", normalizer, WORDS_WITH_MARKS, lacks=LACKS)
    model["vocab"].append(("[MASK]", 0.0))
    ids = {token: identity for identity, (token, _) in enumerate(model["vocab"])}
    tokens = added(ids, *((name,) for name in specials), ("[MASK]", {"lstrip": True}))
    return tokenizer(model, tokens, normalizer, WORDS_WITH_MARKS,
                     template(ids, "[CLS] A [SEP]", "[CLS] A [SEP] B [SEP]"), metaspace())


def unigram_bytes():
    """SentencePiece's Unigram with byte fallback, in the older form that puts marks into the normalizer."""
    specials = ["<unk>", "<s>", "</s>"]
    learned = unigram(900, specials, "<unk>", None, metaspace(), byte_fallback=True, lacks=LACKS)
    vocab = learned["vocab"]
    learned["vocab"] = vocab[:3] + [(name, 0.0) for name in BYTES] + vocab[3:]
    ids = {token: identity for identity, (token, _) in enumerate(learned["vocab"])}
    tokens = added(ids, *((name,) for name in specials))
    return tokenizer(learned, tokens, LEGACY, None, template(ids, "<s> A", "<s> A <s> B"), SPACES)


PUBLISHED = {
    "gpt2": gpt2, "gpt_neox": gpt_neox, "roberta": roberta, "llama3": llama3, "qwen2": qwen2, "qwen3": qwen3,
    "olmo2": olmo2, "gpt4o": gpt4o, "bloom": bloom, "falcon": falcon, "starcoder": starcoder, "clip": clip,
    "llama2": llama2, "llama2_metaspace": llama2_metaspace, "mistral": mistral, "phi3": phi3, "gemma2": gemma2,
    "bert_uncased": lambda: bert(True), "bert_cased": lambda: bert(False, own_processor=True),
    "xlm_roberta": xlm_roberta, "t5": t5, "albert": albert, "unigram_bytes": unigram_bytes,
}
