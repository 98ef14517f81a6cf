# SPDX-License-Identifier: Apache-2.0
"""Which weights dropout keeps: Philox4x32-10 (Salmon et al. 2011, §4), by seed and number of the weight."""

import sys

import numpy as np
import torch

MULTIPLIERS, STEPS = (0xD2511F53, 0xCD9E8D57), (0x9E3779B9, 0xBB67AE85)
LOW = np.uint64(0xFFFFFFFF)


def philox(key, counter):
    """key (two words), counter: four arrays of words → four arrays of words, all in 64-bit integers."""
    x, key = [np.asarray(c, np.uint64) for c in counter], [np.uint64(k) for k in key]
    for _ in range(10):
        a, b = x[0] * np.uint64(MULTIPLIERS[0]), x[2] * np.uint64(MULTIPLIERS[1])
        x = [(b >> np.uint64(32)) ^ x[1] ^ key[0], b & LOW, (a >> np.uint64(32)) ^ x[3] ^ key[1], a & LOW]
        key = [(k + np.uint64(step)) & LOW for k, step in zip(key, STEPS)]
    return x


def kept(shape, seed, p):
    """[B,H,T,S], True: kept. Weight i, row-major, has word i mod 4 of counter i div 4, as a number in [0, 1)."""
    count = int(np.prod(shape))
    blocks = np.arange((count + 3) // 4, dtype=np.uint64)
    none = np.zeros_like(blocks)
    words = np.stack(philox((seed & 0xFFFFFFFF, seed >> 32), (blocks & LOW, blocks >> np.uint64(32), none, none)), -1)
    return torch.from_numpy(words.reshape(-1)[:count] / 2.0**32 >= p).reshape(shape)


def check():
    """Known answers published with the generator (Random123's kat_vectors)."""
    ones, words = [0xFFFFFFFF] * 4, lambda *args: [int(w) for w in philox(*args)]
    if (words((0, 0), [0] * 4) != [0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8]
            or words((0xFFFFFFFF, 0xFFFFFFFF), ones) != [0x408F276D, 0x41C83B0E, 0xA20BC7C6, 0x6D5451FD]):
        sys.exit("not Philox4x32-10: the published answers differ")


check()
