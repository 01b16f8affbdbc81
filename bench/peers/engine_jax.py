# SPDX-License-Identifier: MIT
"""engine_jax.py - JAX, compiled by XLA."""
import os

import numpy as np

from expressions import ArrayOps, adam_formula

jax = lax = jnp = None


def start(name, threads):
    global jax, lax, jnp
    os.environ["JAX_PLATFORMS"] = "cpu"
    os.environ["JAX_ENABLE_X64"] = "1"
    if threads == 1:
        os.environ["XLA_FLAGS"] = (
            "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1"
        )
    import jax
    import jax.numpy as jnp
    from jax import lax


class Ops(ArrayOps):
    def __getattr__(self, name):
        """tanh, exp, …"""
        return getattr(jnp, name)

    def sigmoid(self, x):
        return jax.nn.sigmoid(x)

    def relu(self, x):
        return jax.nn.relu(x)

    def softplus(self, x):
        return jax.nn.softplus(x)

    def erf(self, x):
        return lax.erf(x)

    def softmax(self, x):
        return jax.nn.softmax(x)

    def layer_norm(self, x, gain, bias, epsilon):
        d = x - x.mean(-1, keepdims=True)
        variance = (d * d).mean(-1, keepdims=True)
        return d * lax.rsqrt(variance + epsilon) * gain + bias

    def add_border(self, x):
        return jnp.pad(x, 1)

    def dense(self, x, weights, bias):
        return x @ weights + bias

    def attention(self, q, k, v, scale):
        return jax.nn.softmax(scale * (q @ k.swapaxes(1, 2))) @ v

    def rows(self, table, words):
        return table[words]

    def add_rows(self, table, words, gradient):
        return jnp.zeros_like(table).at[words].add(gradient)

    def conv(self, x, w, bias=None, groups=1):
        y = lax.conv_general_dilated(
            x, w, (1, 1), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC"),
            feature_group_count=groups,
        )  # fmt: skip
        return y if bias is None else y + bias

    def depthwise(self, x, w):
        return self.conv(x, w, groups=x.shape[-1])

    def conv_images(self, x, w, gradient):
        return jax.vjp(lambda x: self.conv(x, w), x)[1](gradient)[0]

    def conv_filters(self, x, w, gradient):
        return jax.vjp(lambda w: self.conv(x, w), w)[1](gradient)[0]

    def pool(self, x, start, function, size, stride):
        return lax.reduce_window(
            x, np.array(start, x.dtype), function, (1, size, size, 1),
            (1, stride, stride, 1), "SAME" if size % 2 else "VALID",
        )  # fmt: skip

    def max_pool(self, x, size, stride):
        return self.pool(x, -np.inf, lax.max, size, stride)

    def avg_pool(self, x, size, stride):
        ones = jnp.ones_like(x[:1, :, :, :1])
        return self.pool(x, 0, lax.add, size, stride) / self.pool(
            ones, 0, lax.add, size, stride
        )

    def flatten(self, x):
        return x.reshape(x.shape[0], -1)

    def cross_entropy(self, logits, labels):
        chosen = jnp.take_along_axis(
            jax.nn.log_softmax(logits), labels[:, None], 1
        )
        return -chosen.mean()

    def scan(self, step, start, x):
        return lax.scan(step, start, x)

    def repeat(self, n, step, start):
        return lax.fori_loop(0, n, lambda i, state: step(*state), start)

    def value_and_gradients(self, loss_of, parameters):
        every = tuple(range(len(parameters)))
        return jax.value_and_grad(loss_of, every)(*parameters)

    def subtract(self, parameter, gradient, rate):
        return parameter - rate * gradient

    def adam(self, p, m, v, n, gradient):
        return adam_formula(self, p, m, v, n, gradient)


class Run:
    def __init__(self, expression, inputs):
        self.given, self.expression = inputs, expression
        ops = Ops()

        def step(variables, others):
            variables, others = iter(variables), iter(others)
            arguments = [
                next(variables if given.is_variable else others)
                for given in inputs
            ]
            results = expression.function(ops, *arguments)
            return results if expression.updates else (results, ())

        # Without updates the variables are constants that are passed again.
        donated = (0,) if expression.updates else ()
        self.step = jax.jit(step, donate_argnums=donated)
        self.reset()

    def select(self, is_variable):
        return [
            jax.device_put(given.array.copy())
            for given in self.given
            if given.is_variable == is_variable
        ]

    def reset(self):
        self.variables, self.others = self.select(True), self.select(False)

    def run(self):
        self.last, variables = jax.block_until_ready(
            self.step(self.variables, self.others)
        )
        if self.expression.updates:
            self.variables = variables

    def results(self):
        return [np.asarray(x) for x in jax.tree.leaves(self.last)]


def prepare(expression, inputs):
    return [Run(expression, inputs)]
