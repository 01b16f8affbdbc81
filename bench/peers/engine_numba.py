# SPDX-License-Identifier: MIT
"""engine_numba.py - Numba: loops over elements, fused by hand, with fast math.
Kernels get the inputs and the results, which they overwrite."""
import math

import numba
import numpy as np
from numba import prange

from expressions import (
    BETA_1,
    BETA_2,
    EPSILON,
    LORENZ_STEP,
    LORENZ_STEPS,
    RATE,
    WAVE_SPEED,
    WAVE_STEPS,
)

f32 = np.float32
parallel = numba.njit(parallel=True, fastmath=True)
serial = numba.njit(fastmath=True)


def start(name, threads):
    numba.set_num_threads(threads)


@parallel
def chain(x, a, b, c, y):
    for i in prange(x.size):
        s = f32(1) / (f32(1) + math.exp(-c * x[i]))
        y[i] = math.tanh(a * x[i] + b) * s - f32(0.5) * x[i]


@parallel
def black_scholes(spot, strike, years, rate, volatility, call, put):
    root = math.sqrt(0.5)
    for i in prange(spot.size):
        spread = volatility * math.sqrt(years[i])
        drift = 0.5 * volatility * volatility + rate
        d1 = (drift * years[i] + math.log(spot[i] / strike[i])) / spread
        owed = strike[i] * math.exp(-rate * years[i])
        n1 = 0.5 * math.erf(d1 * root) + 0.5
        n2 = 0.5 * math.erf((d1 - spread) * root) + 0.5
        call[i] = spot[i] * n1 - owed * n2
        put[i] = owed * (1 - n2) - spot[i] * (1 - n1)


@parallel
def scale(x, a, y):
    for i in prange(x.size):
        y[i] = a * x[i]


@parallel
def axpy(x, z, a, y):
    for i in prange(x.size):
        y[i] = a * x[i] + z[i]


@parallel
def copy(x, y):
    for i in prange(x.size):
        y[i] = x[i]


@parallel
def softmax(x, y):
    for i in prange(x.shape[0]):
        greatest = x[i, 0]
        for j in range(x.shape[1]):
            greatest = max(greatest, x[i, j])
        total = f32(0)
        for j in range(x.shape[1]):
            y[i, j] = math.exp(x[i, j] - greatest)
            total += y[i, j]
        for j in range(x.shape[1]):
            y[i, j] *= f32(1) / total


@parallel
def layer_norm(x, gain, bias, epsilon, y):
    n = f32(x.shape[1])
    for i in prange(x.shape[0]):
        mean, variance = f32(0), f32(0)
        for j in range(x.shape[1]):
            mean += x[i, j]
        mean /= n
        for j in range(x.shape[1]):
            variance += (x[i, j] - mean) * (x[i, j] - mean)
        by = f32(1) / math.sqrt(variance / n + epsilon)
        for j in range(x.shape[1]):
            y[i, j] = (x[i, j] - mean) * by * gain[j] + bias[j]


@parallel
def sum(x, y):
    blocks = 64
    parts = np.zeros(blocks, np.float32)
    for block in prange(blocks):
        mine = x[x.size * block // blocks : x.size * (block + 1) // blocks]
        part = f32(0)
        for i in range(mine.size):
            part += mine[i]
        parts[block] = part
    y[()] = parts.sum()


@parallel
def transpose(x, y):
    tile = 16
    for i0 in prange((x.shape[0] + tile - 1) // tile):
        for j0 in range(0, x.shape[1], tile):
            for j in range(j0, min(j0 + tile, x.shape[1])):
                for i in range(
                    i0 * tile, min(i0 * tile + tile, x.shape[0])
                ):
                    y[j, i] = x[i, j]


@parallel
def jacobi(x, y):
    rows, columns = x.shape
    y[0] = 0
    y[rows - 1] = 0
    for i in prange(1, rows - 1):
        y[i, 0] = 0
        y[i, columns - 1] = 0
        for j in range(1, columns - 1):
            vertical = x[i - 1, j] + x[i + 1, j]
            y[i, j] = (vertical + x[i, j - 1] + x[i, j + 1]) * f32(0.25)


@serial
def scan_3x3(x, start, a, last, every):
    last[:] = start
    for step in range(x.size):
        for i in range(3):
            for j in range(3):
                total = x[step]
                for k in range(3):
                    total += a[i, k] * last[k, j]
                every[step, i, j] = total
        last[:] = every[step]


@serial
def lorenz(x, y, z, out_x, out_y, out_z):
    for _ in range(LORENZ_STEPS):
        dx, dy, dz = (y - x) * 10.0, x * (28.0 - z) - y, x * y - z * (8 / 3)
        x += dx * LORENZ_STEP
        y += dy * LORENZ_STEP
        z += dz * LORENZ_STEP
    out_x[()], out_y[()], out_z[()] = x, y, z


@serial
def wave_step(u, next):
    """Overwrites the previous state. Slices: an index that could be negative
    is not vectorised."""
    left, here, right, inner = u[:-2], u[1:-1], u[2:], next[1:-1]
    for i in range(inner.size):
        bend = left[i] + right[i] - 2 * here[i]
        inner[i] = 2 * here[i] - inner[i] + bend * WAVE_SPEED
    next[0] = 0
    next[next.size - 1] = 0


@serial
def wave_1d(before, now, out_before, out_now):
    out_before[:], out_now[:] = before, now
    for _ in range(WAVE_STEPS // 2):
        wave_step(out_now, out_before)
        wave_step(out_before, out_now)


@parallel
def adam(p, m, v, n, gradient, y):
    n[()] += 1
    rate = f32(RATE / (1 - BETA_1 ** n[()]))
    scale = f32(1 / (1 - BETA_2 ** n[()]))
    for i in prange(p.size):
        m[i] += (gradient[i] - m[i]) * f32(1 - BETA_1)
        v[i] += (gradient[i] * gradient[i] - v[i]) * f32(1 - BETA_2)
        p[i] -= rate * m[i] / (math.sqrt(scale * v[i]) + f32(EPSILON))
    for i in range(y.size):
        y[i] = p[p.size - y.size + i]


class Run:
    def __init__(self, expression, inputs, results):
        self.kernel = globals()[expression.function.__name__]
        self.given, self.last = inputs, results
        self.reset()

    def reset(self):
        """Scalars are passed by value, unless they are variables."""
        self.inputs = [
            given.array.copy()
            if given.array.ndim or given.is_variable
            else given.array[()]
            for given in self.given
        ]

    def run(self):
        self.kernel(*self.inputs, *self.last)

    def results(self):
        return self.last


SHAPES = {
    "sum": lambda x: [()],
    "transpose": lambda x: [x.shape[::-1]],
    "black_scholes": lambda x: [x.shape, x.shape],
    "adam": lambda x: [(16,)],
    "scan_3x3": lambda x: [(3, 3), (x.size, 3, 3)],
    "lorenz": lambda x: [()] * 3,
    "wave_1d": lambda x: [x.shape] * 2,
}


def prepare(expression, inputs):
    x = inputs[0].array
    shapes = SHAPES.get(expression.function.__name__, lambda x: [x.shape])(x)
    return [Run(expression, inputs, [np.empty(s, x.dtype) for s in shapes])]
