"""The training text: three sources, each split into training and held-out documents. None of the text is committed.

Debian packages are fetched with apt-get download and unpacked under build/corpus. They are not installed.
"""
import hashlib
import random
import re
import subprocess
import zlib

from shared.folders import build
from tiny import generate

FOLDER = build("corpus")
GENERATED = 60000
# Cards say where the texts are from, and under which licences.
CREDITS = [
    {"text": "generated sentences: agreement, pronouns and their antecedents, repeated and invented names, lists, questions, small stories",
     "from": "`web/models/train/tiny/generate.py`", "licence": "Apache-2.0, this project"},
    {"text": "WordNet 3.0: words, glosses, examples; entries marked slang or offensive left out", "from": "Debian `wordnet-base`",
     "licence": "WordNet 3.0 License (permissive, © Princeton University)"},
    {"text": "Jane Austen's six novels", "from": "Debian `r-cran-janeaustenr`", "licence": "texts in the public domain; package MIT"},
]


def package(name):
    """The folder of an unpacked Debian package."""
    target = FOLDER / name
    if not target.exists():
        subprocess.run(["apt-get", "-o", "APT::Sandbox::User=root", "download", name], cwd=FOLDER, check=True, stdout=subprocess.DEVNULL)
        archive = next(FOLDER.glob(name + "_*.deb"))
        subprocess.run(["dpkg-deb", "-x", archive, target], check=True)
    return target


def wordnet():
    """WordNet as 'Lemma: gloss.' with its example sentences, without entries that are marked as slang or offensive."""
    for part in ("noun", "verb", "adj", "adv"):
        for line in (package("wordnet-base") / "usr/share/wordnet" / f"data.{part}").open(encoding="latin-1"):
            if line.startswith("  ") or re.search(r"slang|offensive|obscene|disparag|vulgar|ethnic|sexual|genital", line):
                continue
            fields, gloss = line.split(" | ", 1)
            lemma = re.sub(r"\(.*\)", "", fields.split()[4]).replace("_", " ")
            examples = re.findall(r'"([^"]{12,})"', gloss)
            meaning = re.sub(r';?\s*"[^"]*"[^;]*', "", gloss).strip(" ;\n")
            text = f"{lemma[0].upper() + lemma[1:]}: {meaning}."
            for example in examples:
                example = example.strip(" .")
                text += f" {example[0].upper() + example[1:]}" + ("" if example[-1] in "?!" else ".")
            yield re.sub(r"\s+", " ", text)


def austen():
    """Jane Austen's six novels by paragraph, from an R lazy-load database, whose chunks are a 4-byte length and a zlib
    stream."""
    data = (package("r-cran-janeaustenr") / "usr/lib/R/site-library/janeaustenr/data/Rdata.rdb").read_bytes()
    while data:
        inflate = zlib.decompressobj()
        raw = inflate.decompress(data[4:])
        data = inflate.unused_data
        for paragraph in "\n".join(r_strings(raw)).split("\n\n"):
            text = re.sub(r"\s+", " ", paragraph.replace("_", "").replace("--", " - ")).strip()
            if len(text) > 40 and not text.isupper():
                yield text


def r_strings(raw):
    """The character vector of an R serialization in XDR form, in which an element is flags (type 9), a length and bytes."""
    at = raw.index(b"\0\0\0\x10") + 8  # past the vector's own flags (type 16) and length
    lines = []
    for _ in range(int.from_bytes(raw[at - 4:at], "big")):
        assert raw[at + 3] == 9, "not a vector of strings"
        length = int.from_bytes(raw[at + 4:at + 8], "big")
        lines.append(raw[at + 8:at + 8 + length].decode("utf-8"))
        at += 8 + length
    return lines


def generated():
    r = random.Random(1)
    for _ in range(GENERATED):
        yield generate.document(r)


SOURCES = {"generated": generated, "wordnet": wordnet, "austen": austen}


def documents(source):
    """Returns (training, held-out) documents of a source, shuffled. The hash of a text decides which it is (about 1 in 23 is
    held out), so that no text is in both."""
    train, held = [], []
    for text in SOURCES[source]():
        (held if hashlib.sha256(text.encode()).digest()[0] % 25 == 0 else train).append(text)
    random.Random(2).shuffle(train)
    random.Random(3).shuffle(held)
    return train, held


if __name__ == "__main__":
    for name in SOURCES:
        train, held = documents(name)
        print(f"{name}: {len(train)} + {len(held)} documents, {sum(map(len, train)) / 1e6:.1f} + {sum(map(len, held)) / 1e6:.2f} MB")
        print("  " + "\n  ".join(t[:300] for t in held[:12]))
