# SPDX-License-Identifier: MIT
"""engine_numpy.py - NumPy."""
import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from expressions import BETA_1, BETA_2, EPSILON, RATE, ArrayOps


def start(name, threads):
    pass


class Ops(ArrayOps):
    def __getattr__(self, name):
        """tanh, exp, …"""
        return getattr(np, name)

    def number(self, value, like):
        return like.dtype.type(value)

    def sigmoid(self, x):
        return 1 / (1 + np.exp(-x))

    def relu(self, x):
        return np.maximum(x, 0)

    def softmax(self, x):
        y = np.exp(x - x.max(-1, keepdims=True))
        y /= y.sum(-1, keepdims=True)
        return y

    def layer_norm(self, x, gain, bias, epsilon):
        d = x - x.mean(-1, keepdims=True)
        d /= np.sqrt((d * d).mean(-1, keepdims=True) + epsilon)
        d *= gain
        d += bias
        return d

    def transpose(self, x):
        return np.ascontiguousarray(x.T)

    def add_border(self, x):
        return np.pad(x, 1)

    def dense(self, x, weights, bias):
        y = x @ weights
        y += bias
        return y

    def attention(self, q, k, v, scale):
        return self.softmax(np.float32(scale) * (q @ k.swapaxes(1, 2))) @ v

    def rows(self, table, words):
        return table[words]

    def add_rows(self, table, words, gradient):
        y = np.zeros_like(table)
        np.add.at(y, words, gradient)
        return y

    def conv(self, x, w):
        padded = np.pad(x, ((0, 0), (1, 1), (1, 1), (0, 0)))
        windows = sliding_window_view(padded, (3, 3), (1, 2))
        return np.tensordot(windows, w, ((4, 5, 3), (0, 1, 2)))

    def adam(self, p, m, v, n, gradient):
        n += 1
        m += (gradient - m) * np.float32(1 - BETA_1)
        v += (gradient * gradient - v) * np.float32(1 - BETA_2)
        y = np.sqrt(v / np.float32(1 - BETA_2**n))
        y += np.float32(EPSILON)
        np.divide(m, y, out=y)
        y *= np.float32(RATE / (1 - BETA_1**n))
        p -= y
        return p, m, v, n


class Run:
    def __init__(self, expression, inputs):
        self.expression, self.given = expression, inputs
        self.reset()

    def reset(self):
        self.inputs = [given.array.copy() for given in self.given]

    def run(self):
        self.last = self.expression.function(Ops(), *self.inputs)
        if self.expression.updates:
            self.last = self.last[0]

    def results(self):
        return self.last if isinstance(self.last, tuple) else [self.last]


def prepare(expression, inputs):
    return [Run(expression, inputs)]
