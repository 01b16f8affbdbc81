# SPDX-License-Identifier: MIT
"""Elements to try operations with."""
import math

import numpy as np

from rules import *

random = np.random.RandomState(20240229)


def int_edges(dtype):
    info, bits = np.iinfo(TYPES[dtype]), width(dtype)
    values = [info.min, info.min + 1, 0, 1, 2, 3, 7, bits - 1, bits, bits + 1,
              1 << (bits // 2), 1 << (bits - 2), 100, info.max - 1, info.max]
    values += [-1, -2, -7] if dtype in SINT else [info.max // 2,
                                                  info.max // 2 + 1, 77]
    return array(dtype, values)


def float_edges(dtype):
    info, tiny = np.finfo(TYPES[dtype]), float(TINY[dtype])
    return array(dtype, [0.0, -0.0, 1, -1, 0.5, -0.5, 1.5, 2, -2.5, 3, 0.1,
                         1e10, 1 / float(ROUNDOFF[dtype]), info.max, -info.max,
                         info.tiny, -info.tiny, float(info.tiny) - tiny, tiny,
                         -tiny, math.inf, -math.inf, math.nan])


def edges(dtype):
    if dtype == "bool":
        return array(dtype, [False, True])
    return float_edges(dtype) if dtype in FLOAT else int_edges(dtype)


def random_bits_of(dtype, shape):
    """Any elements, any NaN too: for what only moves them."""
    if dtype == "bool":
        return random.randint(0, 2, shape).astype(np.bool_)
    size = width(dtype) // 8
    count = int(np.prod(shape, dtype=np.int64))
    return np.frombuffer(random.bytes(size * count),
                         dtype=TYPES[dtype]).reshape(shape).copy()


def ordinary(dtype, shape):
    """Elements whose sums and products are no special cases."""
    if dtype == "bool":
        return random.randint(0, 2, shape).astype(np.bool_)
    if dtype in FLOAT:
        return random.uniform(-2, 2, shape).astype(TYPES[dtype])
    return random_bits_of(dtype, shape)


def for_unary(dtype):
    if dtype not in FLOAT:
        return edges(dtype)
    more = [-0.5, 1.5, math.pi, -3.5, 4.5, -1.5, 0.49999997, 0.75, -0.75,
            1e-3, -1e-3, 1e-10, 10, -10, 20.5, -20.5, 88.5, -88.5, 100, -100,
            700, -700, 745, -745, 1000, -1000, 8388609.0, 2.0 ** 52 - 0.5,
            1e5, 1e15, 1e22, 0.9999999, 1.0000001, 1e-38, 1e-40]
    return np.concatenate([
        float_edges(dtype), array(dtype, more),
        random.uniform(-8, 8, 12).astype(TYPES[dtype]),
        np.exp(random.uniform(-30, 30, 8)).astype(TYPES[dtype])])
