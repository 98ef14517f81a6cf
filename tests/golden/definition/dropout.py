# SPDX-License-Identifier: Apache-2.0
"""Dropout keeps or drops a weight by its number and the seed. The generator is Philox4x32-10 (Salmon et al. 2011,
§4)."""

import sys

import numpy as np
import torch

MULTIPLIERS, STEPS = (0xD2511F53, 0xCD9E8D57), (0x9E3779B9, 0xBB67AE85)
LOW = np.uint64(0xFFFFFFFF)


def philox(key, counter):
    """Turns a key of two words and a counter of four arrays of words into four such arrays, all in 64-bit integers."""
    x, key = [np.asarray(c, np.uint64) for c in counter], [np.uint64(k) for k in key]
    for _ in range(10):
        a, b = x[0] * np.uint64(MULTIPLIERS[0]), x[2] * np.uint64(MULTIPLIERS[1])
        x = [(b >> np.uint64(32)) ^ x[1] ^ key[0], b & LOW, (a >> np.uint64(32)) ^ x[3] ^ key[1], a & LOW]
        key = [(k + np.uint64(step)) & LOW for k, step in zip(key, STEPS)]
    return x


def kept(shape, seed, p):
    """Returns [B,H,T,S], True where a weight is kept. Weight i, counted row by row, is kept when word i mod 4 of
    counter i div 4, read as a number in [0, 1), is at least p."""
    count = int(np.prod(shape))
    blocks = np.arange((count + 3) // 4, dtype=np.uint64)
    none = np.zeros_like(blocks)
    words = np.stack(philox((seed & 0xFFFFFFFF, seed >> 32), (blocks & LOW, blocks >> np.uint64(32), none, none)), -1)
    return torch.from_numpy(words.reshape(-1)[:count] / 2.0**32 >= p).reshape(shape)


def check():
    """Compares the generator with the known answers that were published with it (Random123's kat_vectors)."""
    ones, words = [0xFFFFFFFF] * 4, lambda *args: [int(w) for w in philox(*args)]
    if (words((0, 0), [0] * 4) != [0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8]
            or words((0xFFFFFFFF, 0xFFFFFFFF), ones) != [0x408F276D, 0x41C83B0E, 0xA20BC7C6, 0x6D5451FD]):
        sys.exit("not Philox4x32-10: the published answers differ")


check()
