# SPDX-License-Identifier: Apache-2.0
import torch


def fits(width, heads):
    try:
        torch.nn.MultiheadAttention(width, heads)
    except AssertionError:
        return False
    return True


print(*(fits(16, heads) for heads in range(1, 9)))
