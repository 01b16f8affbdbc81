# SPDX-License-Identifier: MIT
"""expressions.py - what the cases of tgjit-bench compute, once for all engines.

An expression is a function of the operations `o` of an engine and the inputs of
the case, in the order of case_*.c. It returns the results; one that updates its
variables returns the results and the new variables, in order. The roles of
inputs and results tell engines with other layouts what to convert:

  image       NHWC
  filter      HWIO
  depthwise   filters, HW1C
  weights     constant when a model is used
  flattened   weights whose rows are the elements of an image (HWC)
  plain       anything else
"""

RATE = 0.01
BETA_1, BETA_2, EPSILON = 0.9, 0.999, 1e-8
ATTENTION_SCALE = 0.125
CNN_FILTERS = 64  # channels of the flattened image
LORENZ_STEPS, LORENZ_STEP = 100000, 1e-4
WAVE_STEPS, WAVE_SPEED = 1000, 0.25

EXPRESSIONS = {}


class Expression:
    def __init__(self, function, roles, results, updates):
        self.function = function
        self.roles, self.results, self.updates = roles, results, updates

    def role(self, i):
        return self.roles[i] if i < len(self.roles) else "plain"

    def result_role(self, i):
        return self.results[i] if i < len(self.results) else "plain"


def expression(roles="", results="", updates=False):
    def add(function):
        EXPRESSIONS[function.__name__] = Expression(
            function, roles.split(), results.split(), updates
        )
        return function

    return add


class ArrayOps:
    """Operations that are the same for arrays of all engines."""

    def number(self, value, like):
        """A constant with the dtype of `like`."""
        return value

    def sum_axis(self, x, axis):
        return x.sum(axis)

    def elements(self, table, words):
        return self.rows(table, words)

    def add_elements(self, table, words, gradient):
        return self.add_rows(table, words, gradient)

    def inner(self, x, down, right):
        """The inner points of a grid, shifted."""
        rows, columns = x.shape
        return x[1 + down : rows - 1 + down, 1 + right : columns - 1 + right]


# -- Elementwise --------------------------------------------------------------


@expression()
def chain(o, x, a, b, c):
    return o.tanh(a * x + b) * o.sigmoid(c * x) - o.number(0.5, x) * x


@expression()
def black_scholes(o, spot, strike, years, rate, volatility):
    half, one = o.number(0.5, spot), o.number(1, spot)
    spread = volatility * o.sqrt(years)
    drift = half * volatility * volatility + rate
    d1 = (drift * years + o.log(spot / strike)) / spread
    owed = strike * o.exp(-rate * years)

    def cdf(x):
        return half * o.erf(x * o.number(0.5**0.5, spot)) + half

    n1, n2 = cdf(d1), cdf(d1 - spread)
    return spot * n1 - owed * n2, owed * (one - n2) - spot * (one - n1)


@expression()
def scale(o, x, a):
    return a * x


@expression()
def axpy(o, x, y, a):
    return a * x + y


@expression()
def copy(o, x):
    return o.copy(x)


# -- Rows and grids -----------------------------------------------------------


@expression()
def softmax(o, x):
    return o.softmax(x)


@expression()
def layer_norm(o, x, gain, bias, epsilon):
    return o.layer_norm(x, gain, bias, 1e-5)


@expression()
def sum(o, x):
    return o.sum(x)


@expression()
def sum_axis_0(o, x):
    return o.sum_axis(x, 0)


@expression()
def sum_axis_1(o, x):
    return o.sum_axis(x, 1)


@expression()
def sum_axis_2(o, x):
    return o.sum_axis(x, 2)


@expression()
def transpose(o, x):
    return o.transpose(x)


@expression()
def jacobi(o, x):
    vertical = o.inner(x, -1, 0) + o.inner(x, 1, 0)
    horizontal = o.inner(x, 0, -1) + o.inner(x, 0, 1)
    return o.add_border((vertical + horizontal) * o.number(0.25, x))


# -- Matrix products ----------------------------------------------------------


@expression()
def matmul(o, a, b):
    return o.matmul(a, b)


@expression("plain weights weights")
def matmul_bias_relu(o, x, weights, bias):
    return o.relu(o.dense(x, weights, bias))


@expression("plain" + " weights" * 6)
def mlp_forward(o, x, w1, b1, w2, b2, w3, b3):
    first = o.relu(o.dense(x, w1, b1))
    second = o.relu(o.dense(first, w2, b2))
    return o.dense(second, w3, b3)


@expression()
def attention(o, q, k, v):
    return o.attention(q, k, v, ATTENTION_SCALE)


@expression()
def embedding(o, table, words):
    return o.rows(table, words)


@expression()
def embedding_gradient(o, table, words, gradient):
    return o.add_rows(table, words, gradient)


@expression()
def gather(o, table, words):
    return o.elements(table, words)


@expression()
def scatter_add(o, table, words, gradient):
    return o.add_elements(table, words, gradient)


# -- Convolutions -------------------------------------------------------------


@expression("image filter", "image")
def conv(o, x, w):
    return o.conv(x, w)


@expression("image filter image", "image")
def conv_images(o, x, w, gradient):
    return o.conv_images(x, w, gradient)


@expression("image filter image", "filter")
def conv_filters(o, x, w, gradient):
    return o.conv_filters(x, w, gradient)


@expression("image depthwise", "image")
def depthwise(o, x, w):
    return o.depthwise(x, w)


@expression("image", "image")
def max_pool_3x3(o, x):
    return o.max_pool(x, 3, 1)


@expression("image", "image")
def max_pool_2x2(o, x):
    return o.max_pool(x, 2, 2)


@expression("image", "image")
def avg_pool_3x3(o, x):
    return o.avg_pool(x, 3, 1)


@expression("image", "image")
def avg_pool_2x2(o, x):
    return o.avg_pool(x, 2, 2)


# -- Loops --------------------------------------------------------------------


@expression()
def scan_3x3(o, x, c, a):
    def step(c, x):
        c = o.matmul(a, c) + x
        return c, c

    return o.scan(step, c, x)


@expression()
def scan_3x3_gradient(o, x, c, a):
    def target(x, c, a):
        every = scan_3x3(o, x, c, a)[1]
        return o.sum(every * every)

    return tuple(o.value_and_gradients(target, (x, c, a))[1])


@expression()
def lorenz(o, x, y, z):
    def step(x, y, z):
        dx, dy, dz = 10.0 * (y - x), x * (28.0 - z) - y, x * y - 8 / 3 * z
        return x + LORENZ_STEP * dx, y + LORENZ_STEP * dy, z + LORENZ_STEP * dz

    return o.repeat(LORENZ_STEPS, step, (x, y, z))


@expression()
def wave_1d(o, before, now):
    def step(before, now):
        here = now[1:-1]
        bend = now[:-2] + now[2:] - 2 * here
        return now, o.add_border(2 * here - before[1:-1] + WAVE_SPEED * bend)

    return o.repeat(WAVE_STEPS, step, (before, now))


# -- Training -----------------------------------------------------------------


def descend(o, loss_of, parameters, shown):
    """One step of gradient descent; results are the loss and a parameter."""
    loss, gradients = o.value_and_gradients(loss_of, parameters)
    after = [o.subtract(p, g, RATE) for p, g in zip(parameters, gradients)]
    return (loss, after[shown]), after


@expression(updates=True)
def mlp_train(o, x, labels, *parameters):
    def loss_of(*parameters):
        return o.cross_entropy(mlp_forward(o, x, *parameters), labels)

    return descend(o, loss_of, parameters, 1)


@expression(updates=True)
def logistic_train(o, x, labels, *parameters):
    def loss_of(weights, bias):
        z = o.matmul(x, weights) + bias
        return o.mean(o.softplus(z) - labels * z)

    return descend(o, loss_of, parameters, 0)


@expression(
    "image plain filter plain filter plain flattened plain",
    "plain filter",
    updates=True,
)
def cnn_train(o, x, labels, *parameters):
    def layer(x, filters, bias):
        return o.max_pool(o.relu(o.conv(x, filters, bias)), 2, 2)

    def loss_of(k1, b1, k2, b2, w, b):
        features = o.flatten(layer(layer(x, k1, b1), k2, b2))
        return o.cross_entropy(o.dense(features, w, b), labels)

    return descend(o, loss_of, parameters, 0)


@expression(updates=True)
def adam(o, p, m, v, n, gradient):
    p, m, v, n = o.adam(p, m, v, n, gradient)
    return p[-16:], (p, m, v, n)


def adam_formula(o, p, m, v, n, gradient):
    """Adam, for engines without an operation for it."""
    n = n + 1
    rate, scale = RATE / (1 - BETA_1**n), 1 / (1 - BETA_2**n)
    m = m + (gradient - m) * (1 - BETA_1)
    v = v + (gradient * gradient - v) * (1 - BETA_2)
    return p - rate * m / (o.sqrt(scale * v) + EPSILON), m, v, n
