#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Makes marian/, a folder of the kind in which OPUS-MT is published, and what native/convert.py makes of it:
python3 tests/golden/make_marian.py. It needs the transformers library, as CONTRIBUTING.md says, and sentencepiece with
protobuf.

* `old/` has a small random Marian as config.json and model.safetensors, and its tokenizer: source.spm and target.spm,
  learned from the sentences below, and vocab.json.
* `new/` is what the script makes of it.
* `expected.json` has `texts`, and the ids that MarianTokenizer gives to each as a `source` and as a `target`. For
  thousands of other texts, which are put together at random, the ids of `new/` are compared here.
* `expected.safetensors` has the model's `logits` [1, V] behind the first two texts as source and target.

The files of `old/` are kept where they are there, since another SentencePiece may learn other pieces."""

import json
import random
import shutil
import subprocess
import sys
import warnings
from pathlib import Path

import library  # before the others, since it says how to get what is missing

import sentencepiece
import tokenizers
import torch
import transformers

from files import safetensors

FOLDER = Path(__file__).parent / "marian"
SOURCES = """The cat sat on the mat because it was tired.
The queen saw the king and she laughed.
We walked to the old market and bought bread.
He said: "I'm sure we'll see 12 foxes by 2024".
I don't know what they have done with the letters.
The children are playing in the garden behind the house.""".splitlines()
TARGETS = """Кошка сидела на коврике, потому что устала.
Королева увидела короля и засмеялась.
Мы пошли на старый рынок и купили хлеб.
Он сказал: «я уверен, мы увидим 12 лис».
Я не знаю, что они сделали с письмами.
Дети играют в саду за домом.""".splitlines()
# The last of them is a piece that no model of SentencePiece has, of characters that only the target's knows.
OTHER_PIECES = [">>rus<<", ">>bel_Latn<<", "жы"]
# These characters are replaced before a text is split, as in a small part of SentencePiece's own table.
RULES = {"\t": " ", "\n": " ", "\u00A0": " ", "\u200B": " ", "\u2581": " ", "ﬁ": "fi", "①": "1", "Ａ": "A", "e\u0301": "\u00E9",
         "＞": ">"}
TEXTS = [SOURCES[1], TARGETS[1], *SOURCES[:1], *SOURCES[2:], *TARGETS[:1], *TARGETS[2:]] + [
    "", " ", "   ", "a", " a  b   c ", "cat", "cat кошка cat", "Кошка and the cat", "ж", "the ж end", "the жы end", "жыжы",
    "aжыb", "жы 好", "the жщ end", "😀", "😀 ж😀", "好 hello 你好", "x" * 40, ">>rus<< The cat", ">>rus<<The cat",
    ">>rus<<   The cat", ">>rus<<", ">>bel_Latn<<ж жы", ">>fra<< The cat", ">>fra<<The cat",
    ">>a\nb<< The cat", ">>rus< The cat", "< > <<", "<<>>rus", "＞>fra<< The cat", "a <unk> b", "a<unk>ж", "the </s> cat</s>",
    "<pad>a", "tab\there\nnew", "ﬁne ①", "Ａnd", "cafe\u0301 café", "▁a ▁", "a\u200Bb", "The\u00A0cat", "“quotes” — dash",
    "don't", "12 2024", "[a-z] ^ \\ & ~",
]


def make_pieces(name, sentences):
    rules = FOLDER / "rules.tsv"
    codes = [[" ".join(f"{ord(c):X}" for c in side) for side in rule] for rule in RULES.items()]
    rules.write_text("".join(f"{old}\t{new}\n" for old, new in codes))
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(3 * sentences), model_prefix=str(FOLDER / "spm"), vocab_size=90, character_coverage=1.0,
        hard_vocab_limit=False, normalization_rule_tsv=str(rules), minloglevel=2)
    (FOLDER / "spm.model").rename(FOLDER / "old" / name)
    for file in ["spm.vocab", "rules.tsv"]:
        (FOLDER / file).unlink()


def pieces_of(name):
    model = sentencepiece.SentencePieceProcessor(model_file=str(FOLDER / "old" / name))
    ids = range(model.get_piece_size())
    return [model.id_to_piece(i) for i in ids if not model.is_control(i) and not model.is_unknown(i)]


def make_old(folder):
    folder.mkdir(parents=True)
    make_pieces("source.spm", SOURCES)
    make_pieces("target.spm", TARGETS)
    pieces = sorted({*pieces_of("source.spm"), *pieces_of("target.spm"), *OTHER_PIECES})
    pieces = ["</s>", "<unk>", *pieces, "<pad>"]
    pad = len(pieces) - 1
    ids = {piece: i for i, piece in enumerate(pieces)}
    (folder / "vocab.json").write_text(json.dumps(ids, ensure_ascii=False) + "\n", encoding="utf-8")
    config = transformers.MarianConfig(
        vocab_size=len(pieces), d_model=4, encoder_layers=1, decoder_layers=1, encoder_attention_heads=2,
        decoder_attention_heads=2, encoder_ffn_dim=6, decoder_ffn_dim=6, max_position_embeddings=64, init_std=0.5,
        activation_function="swish", pad_token_id=pad, decoder_start_token_id=pad, eos_token_id=0, forced_eos_token_id=0,
        scale_embedding=True, static_position_embeddings=True)
    torch.manual_seed(7)
    transformers.MarianMTModel(config).to(torch.float16).save_pretrained(folder)
    (folder / "generation_config.json").unlink()
    (folder / "model.safetensors").chmod(0o644)


def random_texts(count):
    letters = "".join(SOURCES + TARGETS) + "   😀好ßéﬁ①<>/"
    words = [word for line in SOURCES + TARGETS for word in line.split()] + ["ж", "щ", "жы", "好", "😀"]
    draw = random.Random(5)
    for _ in range(count):
        yield "".join(draw.choice(letters) for _ in range(draw.randint(1, 30)))
        spaces = draw.choice([" ", "  "])
        yield draw.choice(["", ">>rus<<"]) + spaces.join(draw.choice(words) for _ in range(draw.randint(1, 12)))


def check(tokenizer, made):
    """The library that reads tokenizer.json gives the same ids, but stumbles on members that it does not know."""
    target = made.pop("target_tokenizer")
    for part, side in [(made, "text"), (target, "text_target")]:
        read = tokenizers.Tokenizer.from_str(json.dumps(part))
        for text in [*TEXTS, *random_texts(2000)]:
            got, expected = read.encode(text).ids, tokenizer(**{side: text}).input_ids
            assert got == expected, f"{side} {text!r}: {got}, expected {expected}"


def main():
    warnings.filterwarnings("ignore", "Recommended: pip install sacremoses")
    if not (FOLDER / "old").exists():
        make_old(FOLDER / "old")
    shutil.rmtree(FOLDER / "new", ignore_errors=True)
    script = Path(__file__).parents[2] / "native/convert.py"
    subprocess.run([sys.executable, script, FOLDER / "old", FOLDER / "new"], check=True)
    tokenizer = transformers.MarianTokenizer.from_pretrained(FOLDER / "old")
    check(tokenizer, json.loads((FOLDER / "new/tokenizer.json").read_text(encoding="utf-8")))
    expected = {"texts": TEXTS, "source": [tokenizer(text).input_ids for text in TEXTS],
                "target": [tokenizer(text_target=text).input_ids for text in TEXTS]}
    lines = [f'"{key}": {json.dumps(value, ensure_ascii=False, separators=(",", ":"))}' for key, value in expected.items()]
    (FOLDER / "expected.json").write_text("{" + ",\n".join(lines) + "}\n", encoding="utf-8")
    model = transformers.MarianMTModel.from_pretrained(FOLDER / "old", dtype=torch.float64).eval()
    target = [model.config.decoder_start_token_id, *expected["target"][1][:-1]]
    with torch.no_grad(), library.Wide():
        logits = model(torch.tensor(expected["source"][:1]), decoder_input_ids=torch.tensor([target])).logits[0, -1:]
    (FOLDER / "expected.safetensors").write_bytes(safetensors({"logits": logits.float()}, {"model": "marian"}))
    print(sum(path.stat().st_size for path in FOLDER.rglob("*.*")), "bytes")


if __name__ == "__main__":
    main()
