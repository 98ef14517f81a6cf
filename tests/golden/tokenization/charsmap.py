# SPDX-License-Identifier: Apache-2.0
"""Writes SentencePiece's `precompiled_charsmap`: the size in bytes of a trie, the trie as a double array of 32-bit
units (as https://github.com/s-yata/darts-clone lays them out), and the replacements, each of which ends in a zero
byte."""

import base64
import struct
import unicodedata

LEAF, IS_VALUE = 1 << 8, 1 << 31


def _trie(keys):
    root = {}
    for key, value in keys.items():
        node = root
        for byte in key:
            node = node.setdefault(byte, {})
        node[0] = value  # no key has a zero byte
    return root


def _double_array(root):
    """A node with the base b has its child for byte c at b ^ c, and its value at b. No two nodes have the same base."""
    units, taken, bases, first_free = {0: 0}, {0}, set(), 1

    def base_for(labels):
        nonlocal first_free
        while first_free in taken:
            first_free += 1
        place = first_free
        while True:
            base = place ^ labels[0]
            if base not in bases and not any((base ^ label) in taken for label in labels):
                return base
            place += 1
            while place in taken:
                place += 1

    todo = [(0, root)]
    while todo:
        at, node = todo.pop()
        labels = sorted(node)
        base = base_for(labels)
        bases.add(base)
        taken.update(base ^ label for label in labels)
        offset = at ^ base
        if offset >= 1 << 21:
            raise ValueError("the trie is too large for small offsets")
        units[at] |= offset << 10 | (LEAF if 0 in node else 0)
        for label in labels:
            if label == 0:
                units[base] = IS_VALUE | node[0]
            else:
                units[base ^ label] = label
                todo.append((base ^ label, node[label]))
    size = -(-(max(units) + 1) // 256) * 256
    return [units.get(i, 0) for i in range(size)]


def charsmap(replacements):
    """The charsmap, in Base64, of {text: what it becomes}."""
    values, places, keys = b"", {}, {}
    for text, becomes in sorted(replacements.items()):
        if becomes not in places:
            places[becomes] = len(values)
            values += becomes.encode() + b"\0"
        keys[text.encode()] = places[becomes]
    array = _double_array(_trie(keys))
    return base64.b64encode(struct.pack(f"<I{len(array)}I", 4 * len(array), *array) + values).decode()


def nmt_nfkc(ranges, fold=False):
    """SentencePiece's rules `nmt_nfkc`, or with `fold` its `nmt_nfkc_cf`, for the characters of some ranges: NFKC,
    spaces for all that is blank, nothing for control characters; and letters that combine with marks."""
    rules = {}
    for first, last in ranges:
        for code in range(first, last + 1):
            c = chr(code)
            then = unicodedata.ucd_3_2_0
            if then.category(c) in ("Cn", "Cs"):
                continue
            becomes = then.normalize("NFKC", c)
            if fold:
                becomes = becomes.lower()
            if becomes != c:
                rules[c] = becomes
            apart = then.normalize("NFD", c)
            if len(apart) > 1 and then.normalize("NFC", apart) == c:
                rules[apart] = becomes
    for code in [*range(1, 9), 0xB, *range(0xE, 0x20), 0x7F, 0x8F, 0x9F]:
        rules[chr(code)] = ""
    for code in [9, 0xA, 0xC, 0xD, 0x1680, *range(0x200B, 0x2010), 0x2028, 0x2029, 0x2581, 0xFEFF, 0xFFFD]:
        rules[chr(code)] = " "
    return rules
