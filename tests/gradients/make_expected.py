#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Writes the *.txt files of this folder: derivatives of formulas and small
networks, by PyTorch (2.13.0; convolutions: 2.15.0; on the CPU, in float64),
never by the library. tests/api/test_gradient_expected.c reads them; nothing
else needs Python.

    make_expected.py [FOLDER]

The formulas are those of the same names in tests/gradient_formulas*.c. The
files are words between blanks. A '#' begins a comment line.

    case NAME DERIVATIVE     a formula, and what of it is computed
    in TYPE SHAPE NUMBERS    its inputs; f32 can hold those of type "real"
    out SHAPE NUMBERS        what comes out, in the order told below

A SHAPE is 2x3, or . for a scalar. The derivatives:

    gradients       the value, then the gradient of its sum for each real input
    jacobian        of the value, for the first input
    hessian         of the sum, for the first input
    hessian_vector  that times the last input, which the formula does not get
    jvp             the Jacobian times the last input, likewise
    penalty         gradients of the sum of squares of the first gradient

tests/api/test_optimiser.c reads optimisers.txt, whose cases have no derivative.
"""
import math
import os
import random
import sys

import torch
import torch.nn.functional as F
from torch.autograd.functional import hessian, hvp, jacobian, jvp
from torch.func import functional_call
from torch.utils.checkpoint import checkpoint

torch.set_default_dtype(torch.float64)
torch.set_num_threads(1)
folder = sys.argv[1] if len(sys.argv) > 1 \
    else os.path.dirname(os.path.abspath(__file__))
out = None

# -- Files --------------------------------------------------------------------


def begin(name, about):
    """Starts NAME.txt; cases go there from now on."""
    global out
    if out:
        out.close()
    out = open(os.path.join(folder, name + ".txt"), "w")
    out.write("# Written by make_expected.py: %s.\n" % about)


def write(words):
    """A line of words, folded."""
    column = 0
    for word in words:
        if column and column + 1 + len(word) > 79:
            out.write("\n ")
            column = 1
        out.write(" " * bool(column) + word)
        column += bool(column) + len(word)
    out.write("\n")


def number(x):
    """The shortest digits that are read as the same number."""
    return "%d" % x if x == int(x) and abs(x) < 1e15 else repr(x)


def elements(x):
    shape = "x".join(str(n) for n in x.shape) or "."
    return [shape] + [number(e) for e in x.detach().reshape(-1).tolist()]


# -- Inputs -------------------------------------------------------------------


def real(*shape, low=-2.0, high=2.0):
    """Multiples of 1/1024, none of them zero."""
    def make(source):
        n = math.prod(shape)
        grid = [k for k in range(int(low * 1024), int(high * 1024)) if k]
        return torch.tensor([source.choice(grid) / 1024 for _ in range(n)]
                            ).reshape(shape)
    return make


def given(*values):
    """These very numbers, as a vector."""
    return lambda source: torch.tensor(values)


def whole(*values):
    """Integers, as a vector; of one: a scalar."""
    return lambda source: torch.tensor(values if len(values) > 1
                                       else values[0])


def positive(*shape, low=0.25, high=3.0):
    return real(*shape, low=low, high=high)


# -- Derivatives --------------------------------------------------------------


def gradients_of(target, inputs, create_graph=False):
    reals = [x for x in inputs if x.is_floating_point()]
    found = torch.autograd.grad(target.sum(), reals, allow_unused=True,
                                create_graph=create_graph)
    return [torch.zeros_like(x) if g is None else g
            for g, x in zip(found, reals)]


def gradients(f, inputs, extra):
    y = f(*inputs)
    return [y] + gradients_of(y, inputs)


def penalty(f, inputs, extra):
    first = gradients_of(f(*inputs), inputs, create_graph=True)[0]
    return gradients_of(first * first, inputs)


def with_others(f, inputs):
    """As a function of the first input."""
    others = [x.detach() for x in inputs[1:]]
    return lambda x: f(x, *others)


DERIVATIVES = {
    "gradients": gradients,
    "penalty": penalty,
    "jacobian": lambda f, inputs, extra:
        [jacobian(with_others(f, inputs), inputs[0])],
    "hessian": lambda f, inputs, extra:
        [hessian(lambda x: with_others(f, inputs)(x).sum(), inputs[0])],
    "hessian_vector": lambda f, inputs, extra:
        [hvp(lambda x: with_others(f, inputs)(x).sum(), inputs[0], extra)[1]],
    "jvp": lambda f, inputs, extra:
        [jvp(with_others(f, inputs), inputs[0], extra)[1]],
}


def case(derivatives, **kinds):
    """The function below is a formula with inputs of these kinds."""
    def decorate(f):
        source = random.Random(f.__name__)
        inputs = [make(source) for make in kinds.values()]
        for name in derivatives.split():
            given_inputs = list(inputs)
            extra = None
            if name in ("hessian_vector", "jvp"):
                extra = real(*inputs[0].shape)(source)
                given_inputs.append(extra)
            write(["case", f.__name__, name])
            for x in given_inputs:
                write(["in", "real" if x.is_floating_point() else "i64"] +
                      elements(x))
            leaves = [x.clone().requires_grad_(x.is_floating_point())
                      for x in inputs]
            for result in DERIVATIVES[name](f, leaves, extra):
                assert torch.isfinite(result).all(), f.__name__
                write(["out"] + elements(result))
        return f
    return decorate


# -- Functions of single elements ---------------------------------------------

begin("elementwise", "functions of single elements")


@case("gradients hessian jvp", x=real(5))
def polynomial(x):
    return x * x * x - 2 * x + 1 / x


@case("gradients penalty", x=real(3, 4), a=real(), b=real(), c=real())
def chain(x, a, b, c):
    return torch.tanh(a * x + b) * torch.sigmoid(c * x) - 0.5 * x


@case("gradients penalty", x=positive(6))
def exponentials(x):
    y = torch.exp(x) + torch.exp2(x) * torch.expm1(x)
    return torch.log(y) * torch.log2(x + 1) + torch.log10(x) * torch.log1p(x)


@case("gradients penalty jvp", x=real(5, high=1.0), y=real(5))
def trigonometry(x, y):
    return torch.sin(x) * torch.cos(y) + torch.tan(x / 2)


@case("gradients penalty", x=real(6, low=-0.9, high=0.9), y=real(6))
def inverse_trigonometry(x, y):
    return torch.asin(x) * torch.acos(x / 2) + torch.atan(y) * \
        torch.atan2(x, y)


@case("gradients penalty", x=real(5), y=real(5, low=-0.9, high=0.9))
def hyperbolics(x, y):
    z = torch.sinh(x) * torch.cosh(y) + torch.asinh(x) * torch.atanh(y)
    return z + torch.acosh(x * x + 1.5)


@case("gradients penalty", x=positive(6), y=positive(6))
def roots(x, y):
    return torch.sqrt(x) * torch.rsqrt(y) + y ** (1 / 3) + torch.hypot(x, y)


@case("gradients penalty jvp", x=positive(5), y=real(5))
def powers(x, y):
    return torch.pow(x, y) + torch.pow(x + 1, 2.5)


@case("gradients", x=given(-2.0, -0.5, 0.0, 1.5), y=given(3.0, 2.0, 2.0, 4.0))
def whole_powers(x, y):
    return torch.pow(x, y.detach())


@case("gradients penalty", x=real(7))
def error_functions(x):
    return torch.erf(x) * torch.erfc(x / 2) + F.gelu(x)


@case("gradients penalty", x=real(7, low=-4.0, high=4.0))
def activations(x):
    return F.silu(x) * F.softplus(x) + torch.sigmoid(x) + torch.tanh(x)


@case("gradients", x=given(-1.5, -0.25, 0.75, 2.0, 1.0),
      y=given(0.5, -1.0, 0.5, 3.0, -2.0))
def piecewise(x, y):
    z = torch.maximum(x, y) * torch.minimum(x, 2 * y) + torch.abs(x * y)
    z = z + torch.clamp(x, -1, 1.25) * torch.relu(y)
    return torch.where(x > y, z * x, z - y)


@case("gradients", x=real(6))
def steps(x):
    return torch.floor(x) * x + torch.round(x) * torch.sign(x) * x


@case("gradients penalty", s=positive(4, low=0.75, high=1.5),
      k=positive(4, low=0.75, high=1.5), t=positive(), r=positive(high=0.5),
      v=positive(4, low=0.125, high=0.5))
def black_scholes(s, k, t, r, v):
    def phi(x):
        return 0.5 * torch.erfc(x * -math.sqrt(0.5))
    d1 = (torch.log(s / k) + (r + 0.5 * v * v) * t) / (v * torch.sqrt(t))
    d2 = d1 - v * torch.sqrt(t)
    return s * phi(d1) - k * torch.exp(-r * t) * phi(d2)


@case("gradients hessian hessian_vector", x=real(4))
def rosenbrock(x):
    a, b = x[:-1], x[1:]
    return 100 * (b - a * a) ** 2 + (1 - a) ** 2


@case("gradients", x=real(4), y=real(4))
def stopped(x, y):
    return (x * y).detach() * x + torch.exp(y.detach()) * y


# -- Shapes and places --------------------------------------------------------

begin("shapes", "shapes and places")


@case("gradients penalty", x=real(2, 3, 4), y=real(3, 1), z=real(4), s=real())
def broadcasts(x, y, z, s):
    return x * y + z * s - y * z


@case("gradients jacobian", x=real(1, 3), y=real(2, 1))
def outer(x, y):
    return x * y * x


@case("gradients", x=real(2, 3, 4), y=real(4, 6))
def transposed(x, y):
    z = x.permute(2, 0, 1).reshape(4, 6)
    return z * y + z.t().reshape(4, 6)


@case("gradients jacobian", x=real(9))
def strided(x):
    return x[1:8:3] * x[2:5] + torch.flip(x, [0])[0:6:2]


@case("gradients", x=real(2, 3), v=real())
def padded(x, v):
    y = torch.cat([v.reshape(1, 1).expand(1, 3), x,
                   v.reshape(1, 1).expand(2, 3)], 0)
    y = F.pad(y, (2, 1))
    return y * y * torch.arange(6.0)


@case("gradients", x=real(2, 3), y=real(2, 1), z=real(2, 2))
def joined(x, y, z):
    return torch.cat([x, y, z, x], 1) ** 2 * torch.arange(9.0)


@case("gradients penalty", table=real(5, 3), i=whole(4, 0, 4, 2, 4))
def embedding(table, i):
    return F.embedding(i, table) ** 3


@case("gradients", x=real(3, 4), i=whole(-1, 1, 3, 9, 0))
def clamped_places(x, i):
    return x.index_select(1, torch.clamp(i, 0, 3)) ** 2


@case("gradients", x=real(3, 4), i=whole(7, 1, 3, 1, 4))
def zeroed_places(x, i):
    inside = ((i >= 0) & (i < 4)).to(x.dtype)
    y = x.index_select(1, torch.clamp(i, 0, 3)) * inside
    return (y + 1) ** 2


@case("gradients penalty", x=real(5, 2), y=real(4, 2), i=whole(0, 3, 3, 1))
def scattered_sums(x, y, i):
    return x.index_add(0, i, y) ** 3


@case("gradients", x=real(5, 2), y=real(3, 2), i=whole(4, 0, 2))
def scattered(x, y, i):
    return x.index_copy(0, i, y * y) ** 2


@case("gradients", x=real(6, 2), y=real(2, 2), at=whole(3))
def moved_window(x, y, at):
    window = x.narrow(0, int(at), 2) * y
    return torch.cat([x[:1], window, x[3:]], 0) ** 2


@case("gradients", x=real(2, 3, 9), w=real(4, 3, 3), b=real(4))
def convolution_1d(x, w, b):
    return torch.tanh(F.conv1d(x, w, b))


@case("gradients", x=real(1, 2, 5, 5), w=real(3, 2, 3, 3))
def convolution_2d(x, w):
    return torch.tanh(F.conv2d(x, w, stride=2, padding=1))


@case("gradients", x=real(2, 4, 6))
def max_pool(x):
    return F.max_pool2d(x, 2) ** 2


@case("gradients hessian_vector", u=real(4, 5))
def laplacian(u):
    inner = u[1:-1, 1:-1]
    around = u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:]
    return (around - 4 * inner) ** 2 * inner


# -- Reductions ---------------------------------------------------------------

begin("reductions", "reductions")


@case("gradients penalty", x=real(3, 5))
def standard_score(x):
    mean = x.mean(1, keepdim=True)
    variance = ((x - mean) ** 2).mean(1, keepdim=True)
    return ((x - mean) / torch.sqrt(variance + 0.125)) ** 3


@case("gradients penalty jacobian", x=real(2, 4))
def products(x):
    return x.prod(1)


@case("gradients", x=given(1.5, 0.0, -2.0, 0.5))
def product_with_a_zero(x):
    return x.prod()


@case("gradients penalty", x=given(1.5, 0.0, -2.0, 0.0, 3.0))
def product_with_zeros(x):
    return x.prod()


@case("gradients", x=real(2, 3, 4), y=real(3))
def product_of_axes(x, y):
    return x.prod(2).prod(0) * y


@case("gradients", x=real(3, 4), y=real(3))
def extremes(x, y):
    return x.amax(1) * y - x.amin(0, keepdim=True).sum() * y


@case("gradients hessian", x=real(5))
def log_sum_exp(x):
    return torch.logsumexp(x, 0)


@case("gradients penalty", x=real(2, 4), y=real(2, 4))
def cosine(x, y):
    return F.cosine_similarity(x, y, dim=1)


@case("gradients jacobian", x=real(5), y=real(5))
def running_sums(x, y):
    return torch.cumsum(x * y, 0) * y


@case("gradients penalty", x=positive(4))
def running_products(x):
    return torch.cumprod(x, 0) ** 2


# -- Products of matrices -----------------------------------------------------

begin("products", "products of matrices")


@case("gradients penalty", a=real(3, 4), b=real(4, 2))
def product(a, b):
    return (a @ b) ** 2


@case("gradients", a=real(2, 1, 3, 4), b=real(3, 4, 2))
def product_of_batches(a, b):
    return torch.tanh(a @ b)


@case("gradients", a=real(4, 3), b=real(2, 4), c=real(2, 3))
def product_transposed(a, b, c):
    return (a.t() @ b.t()) ** 2 + (b @ a).t() * c.t()


@case("gradients hessian hessian_vector", x=real(4), a=real(4, 4))
def quadratic_form(x, a):
    return x @ (a @ x)


@case("gradients", a=real(3, 4), x=real(4), y=real(3))
def matrix_and_vectors(a, x, y):
    return torch.sin(a @ x) * y + torch.dot(y @ a, x)


@case("gradients", x=real(2, 3, 4), y=real(2, 4, 2), z=real(2))
def einsum_of_three(x, y, z):
    return torch.einsum("bij,bjk,k->bi", x, y, z) ** 2


@case("gradients", x=real(3, 3), y=real(3))
def einsum_of_diagonals(x, y):
    return torch.einsum("ii,i->i", x, y) * torch.einsum("ii", x)


@case("gradients", x=real(2, 3, 4), y=real(4, 2, 3))
def contraction(x, y):
    return torch.tensordot(x, y, dims=([0, 2], [1, 0])) ** 2


# -- Layers and networks ------------------------------------------------------

begin("networks", "layers and networks")


@case("gradients jacobian penalty", x=real(2, 4))
def softmax(x):
    return torch.softmax(x, 1) ** 2


@case("gradients jvp", x=real(3, 4), y=real(3, 4))
def log_softmax(x, y):
    return torch.log_softmax(x, 0) * y


@case("gradients penalty", x=real(4, 5), i=whole(2, 0, 4, 2))
def cross_entropy(x, i):
    return F.cross_entropy(x, i, reduction="none")


@case("gradients", x=real(3, 4), y=positive(3, 4))
def cross_entropy_of_shares(x, y):
    return F.cross_entropy(x, y / y.sum(1, keepdim=True), reduction="none")


@case("gradients penalty", x=real(3, 6), scale=real(6), shift=real(6))
def layer_norm(x, scale, shift):
    return F.layer_norm(x, (6,), scale, shift, 1e-3) ** 2


@case("gradients", x=real(5, 3), scale=real(3), shift=real(3))
def batch_norm(x, scale, shift):
    return F.batch_norm(x, None, None, scale, shift, training=True,
                        eps=1e-3) ** 3


@case("gradients penalty", q=real(2, 3, 4), k=real(2, 5, 4), v=real(2, 5, 4))
def attention(q, k, v):
    return F.scaled_dot_product_attention(q, k, v)


@case("gradients", x=real(3, 4), scale=real(4), shift=real(4),
      qkv=real(4, 12, low=-0.5, high=0.5), mix=real(4, 4),
      up=real(4, 6, low=-0.5, high=0.5), down=real(6, 4))
def transformer_block(x, scale, shift, qkv, mix, up, down):
    y = F.layer_norm(x, (4,), scale, shift, 1e-3)
    q, k, v = (part.reshape(3, 2, 2).transpose(0, 1)
               for part in (y @ qkv).split(4, 1))
    mask = torch.ones(3, 3).tril().bool()
    heads = F.scaled_dot_product_attention(q, k, v, attn_mask=mask)
    x = x + heads.transpose(0, 1).reshape(3, 4) @ mix
    y = F.layer_norm(x, (4,), scale, shift, 1e-3)
    return x + F.gelu(y @ up) @ down


@case("gradients hessian hessian_vector", w=real(4), b=real(), x=real(6, 4),
      y=given(0.0, 1.0, 1.0, 0.0, 1.0, 0.0))
def logistic_regression(w, b, x, y):
    return F.binary_cross_entropy_with_logits(x @ w + b, y)


@case("gradients penalty hessian_vector", w1=real(5, 6), x=real(4, 5),
      b1=real(6), w2=real(6, 4), b2=real(4), w3=real(4, 3), b3=real(3),
      i=whole(0, 2, 1, 2))
def perceptron(w1, x, b1, w2, b2, w3, b3, i):
    h = torch.tanh(x @ w1 + b1)
    h = torch.relu(h @ w2 + b2)
    return F.cross_entropy(h @ w3 + b3, i)


@case("gradients", table=real(6, 4), w=real(4, 3), i=whole(5, 1, 1, 0, 2, 5),
      label=whole(0, 2))
def bag_of_words(table, w, i, label):
    bags = F.embedding_bag(i.reshape(2, 3), table, mode="mean")
    return F.cross_entropy(bags @ w, label)


@case("gradients", x=real(3, 4), w=real(4, 4), v=real(4, 2), u=real(2, 4),
      noise=real(3, 2))
def autoencoder(x, w, v, u, noise):
    h = torch.tanh(x @ w)
    mean, spread = h @ v, (h @ v.flip(1)) * 0.25
    z = mean + torch.exp(spread) * noise
    kl = 0.5 * (mean ** 2 + torch.exp(2 * spread) - 1 - 2 * spread)
    return ((z @ u - x) ** 2).sum() + kl.sum()


# -- Branches and loops -------------------------------------------------------

begin("loops", "branches and loops")


@case("gradients penalty", h=real(2, 3), xs=real(5, 2, 4), w=real(4, 3),
      u=real(3, 3), b=real(3))
def recurrent(h, xs, w, u, b):
    all_h = []
    for x in xs:
        h = torch.tanh(x @ w + h @ u + b)
        all_h.append(h)
    return torch.stack(all_h).sum() + (h * h).sum()


@case("gradients", h=real(1, 2), c=real(1, 2), xs=real(4, 1, 3),
      w=real(8, 3), u=real(8, 2), b=real(8))
def long_short_memory(h, c, xs, w, u, b):
    net = torch.nn.LSTM(3, 2)
    names = ["weight_ih_l0", "weight_hh_l0", "bias_ih_l0", "bias_hh_l0"]
    values = dict(zip(names, [w, u, b, torch.zeros(8)]))
    ys, (h, c) = torch.func.functional_call(net, values,
                                            (xs, (h[None], c[None])))
    return ys.sum() * c.sum()


@case("gradients penalty hessian", rates=positive(4, high=1.0),
      start=positive(2))
def predators_and_prey(rates, start):
    def slope(y):
        return torch.stack([y[0] * (rates[0] - rates[1] * y[1]),
                            y[1] * (rates[2] * y[0] - rates[3])])
    y, step = start, 0.125
    for _ in range(12):
        k1 = slope(y)
        k2 = slope(y + 0.5 * step * k1)
        k3 = slope(y + 0.5 * step * k2)
        k4 = slope(y + step * k3)
        y = y + (k1 + 2 * k2 + 2 * k3 + k4) * (step / 6)
    return y * y


@case("gradients penalty", x=real(3), y=given(-1.0, 0.5, 2.5))
def branch(x, y):
    def either(a, b):
        return torch.sin(a) * b if (a * b).sum() > 0 else a * a - b
    return either(x, y) * either(x, -y)


@case("gradients", x=real(3), i=whole(2))
def one_of_three(x, i):
    ways = [torch.exp, torch.tanh, lambda x: x * x * x]
    return ways[i](x) * ways[i - 1](x) + ways[0](x)


@case("gradients penalty jvp", x=positive(4, low=20.0, high=90.0), a=real(4))
def halved_until_small(x, a):
    y = x
    while y.sum() > 3:
        y = y * (0.5 + 0.125 * torch.sin(a))
    return y * y


@case("gradients hessian_vector", x=positive(3))
def newton_root(x):
    y = torch.ones(())
    while (y * y - x.sum()).abs() > 0.001:
        y = 0.5 * (y + x.sum() / y)
    return y


@case("gradients penalty", x=real(3), n=whole(5))
def nested_loops(x, n):
    y = x
    for i in range(int(n)):
        for j in range(i):
            y = torch.sin(y) * x + j
        y = y + float(i)
    return y


@case("gradients", xs=real(3, 2), y=real(2))
def loop_in_branch_in_loop(xs, y):
    for x in xs:
        if x.sum() > 0:
            for _ in range(3):
                y = torch.tanh(y + x)
        else:
            y = y * x
    return y


@case("gradients", xs=real(4, 3), w=real(3))
def mapped(xs, w):
    return torch.stack([torch.softmax(x * w, 0) for x in xs]) ** 2


@case("gradients penalty", x=real(2, 3), w=real(3, 3))
def recomputed(x, w):
    def body(x, w):
        return torch.tanh(torch.sin(x @ w) @ w)
    x = checkpoint(body, x, w, use_reentrant=False)
    return checkpoint(body, x, w, use_reentrant=False)


@case("gradients", x=real(4))
def straight_through(x):
    hard = torch.sign(x)
    return (x + (hard - x).detach()) ** 3 * torch.arange(4.0)


@case("gradients", w=real(2, 2), x=real(4, 2), y=real(4, 2))
def gradient_descent(w, x, y):
    """Through the steps of a training, as in meta-learning."""
    start = w
    for _ in range(3):
        loss = ((torch.tanh(x @ w) - y) ** 2).mean()
        w = w - 0.25 * torch.autograd.grad(loss, w, create_graph=True)[0]
    return w * start


# -- Losses and functions around training -------------------------------------

begin("training", "losses and functions around training")


@case("gradients", w=real(4, 3), i=whole(2, 0, -1, 3, 2))
def one_hot_rows(w, i):
    rows = (i[:, None] == torch.arange(4)).to(w.dtype)
    return (rows @ w) ** 2


@case("gradients penalty", x=real(2, 3), y=real(2, 3), z=real(2, 3))
def stacked(x, y, z):
    s = torch.stack([x, y * z, y], 1)
    a, b, c = torch.unbind(s, 1)
    return s ** 3 * torch.stack([a, b, c], 1).cumsum(1)


@case("gradients", x=real(3, 5), w=real(3, 5))
def rolled(x, w):
    return torch.roll(x, 2, 1) ** 2 * w + torch.roll(x * w, -4, 0)


@case("gradients penalty", x=real(4, 5))
def variance(x):
    return torch.var(x, 1, correction=1) * torch.var(x, correction=0)


@case("gradients hessian", x=real(4, 3))
def deviation(x):
    return torch.std(x, 0, correction=0) + torch.std(x, 0, correction=1) ** 2


@case("gradients hessian", x=real(3, 4, low=-9.0, high=9.0),
      y=real(3, 4, low=0.0, high=1.0))
def sigmoid_of_shares(x, y):
    return F.binary_cross_entropy_with_logits(x, y, reduction="none")


@case("gradients", x=real(6, low=-30.0, high=30.0),
      i=whole(0, 1, 1, 0, 1, 0))
def sigmoid_of_classes(x, i):
    return F.binary_cross_entropy_with_logits(x, i.to(x.dtype),
                                              reduction="none")


@case("gradients hessian_vector", x=real(3, 4), y=real(3, 4))
def squared_error(x, y):
    return F.mse_loss(x, y)


@case("gradients", x=real(3, 4), y=real(3, 4))
def absolute_error(x, y):
    return F.l1_loss(x, y)


@case("gradients", x=real(3, 4), y=real(3, 4))
def huber(x, y):
    return F.huber_loss(x, y, delta=0.75)


# -- Convolutions and pooling -------------------------------------------------

begin("convolutions", "convolutions and pooling")


@case("gradients penalty", x=real(2, 2, 5, 4), w=real(3, 2, 3, 2))
def conv_strided(x, w):
    return F.conv2d(x, w, stride=(2, 1), padding=1) ** 2


@case("gradients", x=real(1, 2, 5, 6), w=real(2, 2, 3, 2))
def conv_dilated(x, w):
    return F.conv2d(x, w, dilation=(2, 3), padding=2) ** 2


@case("gradients", x=real(1, 4, 4, 4), w=real(6, 2, 2, 3))
def conv_groups(x, w):
    return F.conv2d(x, w, groups=2) ** 2


@case("gradients penalty", x=real(2, 3, 5, 4), w=real(3, 1, 3, 3))
def conv_depthwise(x, w):
    return F.conv2d(x, w, groups=3, stride=2, padding=1) ** 2


@case("gradients", x=real(1, 2, 3, 4, 3), w=real(2, 2, 2, 2, 2))
def conv_3d(x, w):
    return F.conv3d(x, w, stride=(1, 2, 1)) ** 2


@case("gradients", x=real(2, 3, 3, 2), w=real(3, 2, 3, 4))
def conv_transposed(x, w):
    return F.conv_transpose2d(x, w, stride=(2, 3), padding=1) ** 2


@case("gradients", x=real(1, 4, 3, 3), w=real(4, 1, 2, 2))
def conv_transposed_groups(x, w):
    return F.conv_transpose2d(x, w, groups=2, dilation=(2, 1)) ** 2


@case("gradients", x=real(2, 2, 5, 4))
def max_pool_overlapping(x):
    return F.max_pool2d(x, (3, 2), stride=(2, 1)) ** 2


@case("gradients", x=real(1, 2, 5, 6))
def max_pool_padded(x):
    return F.max_pool2d(x, 3, stride=2, padding=1) ** 2


@case("gradients", x=real(1, 2, 5, 6))
def avg_pool_counting(x):
    return F.avg_pool2d(x, 3, stride=2, padding=1) ** 2


@case("gradients", x=real(1, 2, 5, 6))
def avg_pool_inside(x):
    return F.avg_pool2d(x, 3, stride=2, padding=1, count_include_pad=False) ** 2


@case("gradients", x=positive(1, 2, 4, 6))
def lp_pool(x):
    return F.lp_pool2d(x, 3, (2, 3))


# -- Layers -------------------------------------------------------------------

begin("layers", "layers; the last inputs are their variables")


@case("gradients", x=real(2, 3, 4), w=real(4, 5), b=real(5))
def dense(x, w, b):
    return F.linear(x, w.T, b) ** 2


@case("gradients", i=whole(2, 0, 2, 3), table=real(4, 3))
def embedding(i, table):
    return F.embedding(i, table) ** 3


@case("gradients", x=real(2, 4, 3), scale=real(3), shift=real(3),
      mean=real(3), variance=positive(3))
def batch_norm_training(x, scale, shift, mean, variance):
    y = F.batch_norm(x.reshape(8, 3), None, None, scale, shift, True, 0.1,
                     1e-3)
    return y.reshape(2, 4, 3) ** 3


@case("gradients", x=real(4, 3), scale=real(3), shift=real(3), mean=real(3),
      variance=positive(3))
def batch_norm_inference(x, scale, shift, mean, variance):
    return ((x - mean) / torch.sqrt(variance + 1e-3) * scale + shift) ** 2


def lstm_of(x, h, c, wx, wh, b):
    module = torch.nn.LSTM(wx.shape[0], wh.shape[0])
    weights = {"weight_ih_l0": wx.T, "weight_hh_l0": wh.T, "bias_ih_l0": b,
               "bias_hh_l0": torch.zeros_like(b)}
    return functional_call(module, weights, (x, (h[None], c[None])))


@case("gradients", x=real(2, 3), h=real(2, 4), c=real(2, 4), wx=real(3, 16),
      wh=real(4, 16), b=real(16))
def lstm_cell(x, h, c, wx, wh, b):
    _, (h, c) = lstm_of(x[None], h, c, wx, wh, b)
    return torch.cat([h[0], c[0] ** 2])


@case("gradients", x=real(5, 2, 3), wx=real(3, 8), wh=real(2, 8), b=real(8))
def lstm_sequence(x, wx, wh, b):
    zeros = torch.zeros(2, 2)
    ys, (h, c) = lstm_of(x, zeros, zeros, wx, wh, b)
    return torch.cat([ys ** 2, h, c])


def gru_of(x, h, wx, wh, bx, bh):
    module = torch.nn.GRU(wx.shape[0], wh.shape[0])
    weights = {"weight_ih_l0": wx.T, "weight_hh_l0": wh.T, "bias_ih_l0": bx,
               "bias_hh_l0": bh}
    return functional_call(module, weights, (x, h[None]))


@case("gradients", x=real(2, 3), h=real(2, 4), wx=real(3, 12),
      wh=real(4, 12), bx=real(12), bh=real(12))
def gru_cell(x, h, wx, wh, bx, bh):
    return gru_of(x[None], h, wx, wh, bx, bh)[1][0] ** 2


@case("gradients", x=real(5, 2, 3), h=real(2, 2), wx=real(3, 6),
      wh=real(2, 6), bx=real(6), bh=real(6))
def gru_sequence(x, h, wx, wh, bx, bh):
    ys, h = gru_of(x, h, wx, wh, bx, bh)
    return torch.cat([ys ** 2, h])


def attention_of(x, context, weights, biases, mask):
    q, k, v, o = weights
    n = q.shape[0]
    module = torch.nn.MultiheadAttention(n, 2, batch_first=True,
                                         kdim=k.shape[0], vdim=v.shape[0])
    if k.shape[0] == n:
        projections = {"in_proj_weight": torch.cat([q.T, k.T, v.T])}
    else:
        projections = {"q_proj_weight": q.T, "k_proj_weight": k.T,
                       "v_proj_weight": v.T}
    projections.update({"in_proj_bias": torch.cat(biases[:3]),
                        "out_proj.weight": o.T, "out_proj.bias": biases[3]})
    return functional_call(module, projections, (x, context, context),
                           {"attn_mask": mask, "need_weights": False})[0]


@case("gradients", x=real(2, 3, 4), wq=real(4, 4), bq=real(4), wk=real(4, 4),
      wv=real(4, 4), bv=real(4), wo=real(4, 4), bo=real(4))
def self_attention(x, wq, bq, wk, wv, bv, wo, bo):
    """A bias of the keys has the gradient 0."""
    mask = torch.ones(3, 3, dtype=torch.bool).triu(1)
    return attention_of(x, x, (wq, wk, wv, wo),
                        (bq, torch.zeros(4), bv, bo), mask) ** 2


@case("gradients", x=real(2, 4), context=real(3, 6), wq=real(4, 4),
      wk=real(6, 4), wv=real(6, 4), wo=real(4, 4))
def cross_attention(x, context, wq, wk, wv, wo):
    zero = torch.zeros(4)
    return attention_of(x[None], context[None], (wq, wk, wv, wo), (zero,) * 4,
                        None)[0] ** 2

# -- Optimisers ---------------------------------------------------------------

begin("optimisers", "five steps of each optimiser. Inputs: weights, bias, x\n"
      "# and y of a regression; results: weights and bias after every step")


def optimised(name, make, max_norm=None):
    """make(parameters) is the optimiser; its rate is 0.1."""
    source = random.Random("optimisers")
    w, b = real(3, 2)(source), real(2)(source)
    x, y = real(4, 3)(source), real(4, 2)(source)
    write(["case", name])
    for value in (w, b, x, y):
        write(["in", "real"] + elements(value))
    parameters = [w.clone().requires_grad_(), b.clone().requires_grad_()]
    optimiser = make(parameters)
    for _ in range(5):
        optimiser.zero_grad()
        F.mse_loss(x @ parameters[0] + parameters[1], y).backward()
        if max_norm:
            norm = math.sqrt(sum(float((p.grad ** 2).sum())
                                 for p in parameters))
            for p in parameters:
                p.grad *= max_norm / max(norm, max_norm)
        optimiser.step()
        for p in parameters:
            write(["out"] + elements(p))


optimised("sgd", lambda p: torch.optim.SGD(p, 0.1))
optimised("momentum", lambda p: torch.optim.SGD(p, 0.1, momentum=0.75))
optimised("nesterov",
          lambda p: torch.optim.SGD(p, 0.1, momentum=0.75, nesterov=True))
optimised("adam", lambda p: torch.optim.Adam(p, 0.1, (0.75, 0.96875), 1e-3))
optimised("adamw", lambda p: torch.optim.AdamW(p, 0.1, (0.75, 0.96875), 1e-3,
                                               weight_decay=0.25))
optimised("rmsprop", lambda p: torch.optim.RMSprop(p, 0.1, 0.96875, 1e-3))
optimised("adagrad", lambda p: torch.optim.Adagrad(p, 0.1, eps=1e-3))
optimised("decayed_momentum", lambda p: torch.optim.SGD(
    p, 0.1, momentum=0.75, weight_decay=0.25))
optimised("decayed_adam", lambda p: torch.optim.Adam(
    p, 0.1, (0.75, 0.96875), 1e-3, weight_decay=0.25))
optimised("clipped_adam", lambda p: torch.optim.Adam(
    p, 0.1, (0.75, 0.96875), 1e-3), max_norm=0.5)

# -- Functions composed of operations -----------------------------------------

begin("functions", "functions composed of operations")


@case("gradients penalty", x=real(9, low=-4.0, high=4.0))
def smooth_activations(x):
    return F.mish(x) + F.gelu(x, approximate="tanh") * F.softsign(x) + \
        F.logsigmoid(x)


@case("gradients", x=given(-20.0, -3.5, -1.5, -0.25, 0.125, 1.25, 3.5, 20.0))
def exponential_units(x):
    return F.elu(x, 1.5) + 2 * F.celu(x, 0.75) + 3 * F.selu(x)


@case("gradients", x=given(-8.0, -3.5, -1.5, -0.25, 0.125, 1.25, 3.5, 8.0),
      slope=positive())
def linear_units(x, slope):
    return F.leaky_relu(x, 0.25) + F.prelu(x, slope.reshape(1)) + \
        F.relu6(x) * 2 + F.hardswish(x) * 3


@case("gradients", x=given(-8.0, -3.5, -1.5, -0.25, 0.125, 1.25, 3.5, 8.0))
def hard_units(x):
    return torch.clamp(x / 6 + 0.5, 0, 1) + F.threshold(x, 1.0, 0.0) * 2 + \
        F.softshrink(x, 0.75) * 3 + F.hardshrink(x, 0.5) * 5


@case("gradients", x=real(7), y=positive(7))
def remainders(x, y):
    return torch.remainder(x, y) + 2 * torch.fmod(x, y) + \
        torch.floor_divide(x.detach(), y.detach()) * x


@case("gradients", x=real(6), y=real(6))
def signs_copied(x, y):
    return torch.copysign(x, y) * y + torch.reciprocal(y)


@case("gradients", x=real(2, 3, 2))
def repeated(x):
    y = x.tile(1, 2, 1).reshape(-1) ** 2
    z = x.repeat_interleave(2, 2).reshape(-1)
    return y * torch.flip(z, [0])


@case("gradients", x=real(3, 6), y=real(3, 2))
def split_parts(x, y):
    a, b, c = torch.split(x, 2, 1)
    d, e = torch.split(x, [1, 5], 1)
    return (a * b - c * y).flatten() * torch.cat([d, e[:, :1]], 1).flatten()


@case("gradients", x=real(2, 5))
def padded_from_itself(x):
    y = F.pad(x, (2, 3), mode="reflect")
    z = F.pad(x[None], (1, 4), mode="replicate")[0]
    w = F.pad(x[None], (2, 3), mode="circular")[0]
    return y * z + w ** 2


@case("gradients", x=real(2, 8, 2, 3))
def blocks_moved(x):
    y = F.pixel_shuffle(x, 2) ** 2
    return F.pixel_unshuffle(y[:, :, :, :4], 2)


@case("gradients", x=real(3, 3), y=real(3, 3))
def triangles(x, y):
    return torch.tril(x) @ torch.triu(y, 1)


@case("gradients penalty", x=real(3, 4), i=whole(2, 0, 3, 3, 1, 2))
def taken_along(x, i):
    return torch.gather(x, 1, i.reshape(3, 2)) ** 3


@case("gradients", x=real(3, 4), i=whole(0, 1, 2, 3, 0, 1, 1, 2))
def gathered_by_pairs(x, i):
    pairs = i.reshape(4, 2)
    return x[pairs[:, 0], pairs[:, 1]] ** 2


@case("gradients", x=real(3, 4), u=real(3, 3),
      i=whole(0, 0, 2, 1, 3, 1, 2, 2, 2))
def put_sums(x, u, i):
    return x.scatter_add(1, i.reshape(3, 3), u) ** 2


@case("gradients", x=real(3, 4), u=real(3, 3),
      i=whole(0, 0, 2, 1, 3, 1, 2, 2, 2))
def put_products(x, u, i):
    return x.scatter_reduce(1, i.reshape(3, 3), u, "prod") ** 2


@case("gradients", x=real(3, 4), u=real(3, 3),
      i=whole(0, 0, 2, 1, 3, 1, 2, 2, 2))
def put_extremes(x, u, i):
    at = i.reshape(3, 3)
    return x.scatter_reduce(1, at, u, "amax") * \
        x.scatter_reduce(1, at, u, "amin")


@case("gradients", x=given(2.0, 0.0, 3.0, 0.0), u=given(0.0, 5.0, 0.0, 0.0),
      i=whole(0, 0, 2, 1))
def put_products_of_zeros(x, u, i):
    zeros = torch.zeros(4, dtype=torch.int64).scatter_add(
        0, i, (u == 0).to(torch.int64))
    return x.scatter_reduce(0, i, u, "prod") * 7 + zeros


@case("gradients penalty", x=real(1, 2, 4, 3))
def resized_linear(x):
    return F.interpolate(x, size=(7, 5), mode="bilinear") ** 3


@case("gradients", x=real(1, 2, 4, 3))
def resized_cubic(x):
    return F.interpolate(x, size=(6, 7), mode="bicubic",
                         align_corners=True) ** 2


@case("gradients", x=real(2, 2, 3, 4), g=real(2, 3, 2, 2, low=-1.5, high=1.5))
def sampled_linear(x, g):
    return F.grid_sample(x, g, align_corners=False) ** 2


@case("gradients", x=real(2, 2, 3, 4), g=real(2, 3, 2, 2, low=-1.5, high=1.5))
def sampled_cubic(x, g):
    return F.grid_sample(x, g, mode="bicubic", padding_mode="border",
                         align_corners=True)


@case("gradients", x=real(5), keep=whole(1, 0, 1, 1, 0))
def compressed(x, keep):
    y = x[keep != 0]
    return torch.cat([y * y, torch.zeros(1)])


@case("gradients penalty", x=real(3, 5), w=real(5))
def sorted_rows(x, w):
    return torch.sort(x, 1)[0] ** 3 * w


@case("gradients", x=real(60), w=real(60))
def sorted_long(x, w):
    return torch.sort(x, stable=True, dim=0, descending=True)[0] ** 2 * w


@case("gradients", x=real(4, 3))
def largest(x):
    return torch.topk(x, 2, 0)[0] ** 3


@case("gradients", x=real(4, 5))
def quantiles(x):
    return torch.quantile(x, 0.3, 1) ** 2 + torch.quantile(x, 0.5) * x[:, 0]


@case("gradients", x=real(3, 4), y=real(3))
def norms(x, y):
    return torch.logsumexp(x, 1) * y + torch.linalg.vector_norm(x, 1, 1) * \
        torch.linalg.vector_norm(x, 2, 1) + (x * x).sum(1)


@case("gradients penalty", a=real(3, 4), b=real(5, 4), c=real(5))
def general_product(a, b, c):
    return torch.addmm(c.expand(3, 5), a, b.t(), beta=2, alpha=0.5) ** 2


@case("gradients", x=real(2, 3, 4), scale=real(4))
def root_mean_square(x, scale):
    return F.rms_norm(x, (4,), scale, 1e-3) ** 2


@case("gradients", x=real(2, 6, 3), scale=real(6), shift=real(6))
def group_normal(x, scale, shift):
    y = F.group_norm(x, 3, scale, shift, 1e-3)
    return y * F.instance_norm(x, weight=scale, bias=shift, eps=1e-3)


@case("gradients", x=real(2, 5, 3))
def local_response(x):
    return F.local_response_norm(x, 3, 0.5, 0.75, 2.0)


@case("gradients", q=real(2, 3, 4), k=real(2, 5, 4), v=real(2, 5, 3),
      mask=real(3, 5))
def attended(q, k, v, mask):
    y = F.scaled_dot_product_attention(q, k, v, mask)
    return y * F.scaled_dot_product_attention(q, k, v, is_causal=True)


@case("gradients", x=real(6, 4), w=positive(4),
      labels=whole(2, 0, 1, 3, 1, 3))
def class_losses(x, w, labels):
    z = F.cross_entropy(x, labels, reduction="none")
    weighted = z * w[labels]
    counts = labels != 3
    y = weighted[counts].sum() / w[labels][counts].sum()
    return y * z + weighted.sum()


out.close()
