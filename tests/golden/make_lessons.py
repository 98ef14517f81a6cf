#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs the PyTorch examples of the book's lessons and writes what they print to lessons/.

python3 tests/golden/make_lessons.py [NAME...] runs all of them, or those whose names begin so. Each entry has the hash
of its example, so that a test notices an example that was changed and not run again. Examples that load a model need
the transformers library; CONTRIBUTING.md says how to get it.
"""
import hashlib
import json
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).parent
CHAPTERS = HERE.parent.parent / "web" / "learn" / "chapters"


def run(example):
    ended = subprocess.run([sys.executable, example], capture_output=True, text=True, check=True, cwd=CHAPTERS.parent.parent.parent)
    return {"sha256": hashlib.sha256(example.read_bytes()).hexdigest(), "printed": ended.stdout.strip().split("\n")}


names = tuple(sys.argv[1:]) or ("",)
for example in sorted(CHAPTERS.glob("*/*/example.py")):
    if not example.parent.name.startswith(names):
        continue
    file = HERE / "lessons" / f"{example.parent.name}.json"
    file.parent.mkdir(exist_ok=True)
    file.write_text(json.dumps(run(example), indent=1, ensure_ascii=False) + "\n")
