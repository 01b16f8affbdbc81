#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Writes the *.txt files of this folder: what every operation must give, for
every element type it takes, by NumPy and by the rules of rules.py, never by
the library. tests/api/test_op_matrix.c reads them; nothing else needs Python.

    make_expected.py [FOLDER]

case_file.py tells the form of the files.
"""
import math
import os
import sys
from decimal import Decimal, getcontext
from fractions import Fraction

import numpy as np

sys.dont_write_bytecode = True # the folder may be read-only
import case_file
import functions
import halves
from case_file import Near, begin, case, define
from elements import *
from rules import *

case_file.folder = sys.argv[1] if len(sys.argv) > 1 \
    else os.path.dirname(os.path.abspath(__file__))
np.seterr(all="ignore")
getcontext().prec = 120

# -- Elementwise --------------------------------------------------------------


PI = Decimal("3.14159265358979323846264338327950288419716939937510582097")


def decimal_erf(x):
    """The series, with digits enough to bear its cancellation."""
    term, total, k = x, x, 0
    while abs(term) > Decimal(10) ** -100:
        k += 1
        term = -term * x * x / k
        total += term / (2 * k + 1)
    return total * 2 / PI.sqrt()


def decimal_erfc(x):
    """Of large x: the continued fraction."""
    if x < 4:
        return 1 - decimal_erf(max(x, Decimal(-12)))
    fraction = Decimal(0)
    for k in range(300, 0, -1):
        fraction = Decimal(k) / 2 / (x + fraction)
    return (-x * x).exp() / (x + fraction) / PI.sqrt()


def by_decimal(function, below, above):
    """A function of arrays; with the limits at -Inf and Inf."""
    def one(x):
        if np.isnan(x) or x == 0 and function(Decimal(0)) == 0:
            return x
        if np.isinf(x):
            return np.longdouble(above if x > 0 else below)
        return np.longdouble("%.40e" % function(Decimal(float(x))))

    return lambda x: np.array([one(x_) for x_ in x.reshape(-1)],
                              dtype=np.longdouble).reshape(x.shape)


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def silu(x):
    return np.where(x == -np.inf, -np.longdouble(0), x * sigmoid(x))


MATH = {
    "exp": np.exp, "exp2": np.exp2, "expm1": np.expm1, "log": np.log,
    "log2": np.log2, "log10": np.log10, "log1p": np.log1p, "sin": np.sin,
    "cos": np.cos, "tan": np.tan, "asin": np.arcsin, "acos": np.arccos,
    "atan": np.arctan, "tanh": np.tanh,
    "erf": by_decimal(lambda x: 1 - decimal_erfc(x) if abs(x) > 4
                      else decimal_erf(x), -1, 1),
    "erfc": by_decimal(decimal_erfc, 2, 0),
    "gelu": by_decimal(lambda x: x / 2 * decimal_erfc(-x / Decimal(2).sqrt()),
                       -0.0, np.inf),
    "sinh": np.sinh, "cosh": np.cosh, "asinh": np.arcsinh,
    "acosh": np.arccosh, "atanh": np.arctanh, "cbrt": np.cbrt,
    "sigmoid": sigmoid, "silu": silu,
    "softplus": lambda x: np.logaddexp(x, 0),
}
MATH.update({name + "_fast": MATH[name] for name in (
    "log", "log2", "log10", "sin", "cos", "tan", "atan", "tanh", "erf", "erfc",
    "sigmoid", "silu", "gelu")})


def each(dtype, rule, *operands):
    """A rule applied to every element of operands broadcast together."""
    operands = np.broadcast_arrays(*operands)
    results = [rule(*elements) for elements in zip(*(o.reshape(-1)
                                                     for o in operands))]
    return array(dtype, results).reshape(operands[0].shape)


def unary():
    begin("unary", "elementwise, one operand")
    rows = [("neg", NUM, lambda d: lambda x: -x if d in FLOAT
             else wrap(d, -int(x)), "value"),
            ("abs", NUM, lambda d: lambda x: rule_abs(d, x), "value"),
            ("sign", NUM, lambda d: lambda x: rule_sign(d, x), "bits"),
            ("floor", FLOAT, lambda d: np.floor, "value"),
            ("ceil", FLOAT, lambda d: np.ceil, "value"),
            ("round", FLOAT, lambda d: np.rint, "value"),
            ("trunc", FLOAT, lambda d: np.trunc, "value"),
            ("sqrt", FLOAT, lambda d: np.sqrt, "value"),
            ("rsqrt", FLOAT, lambda d: lambda x: 1 / np.sqrt(np.longdouble(x)),
             "ulp4"),
            ("stop_gradient", ANY, lambda d: lambda x: x, "bits"),
            ("not", BITS, lambda d: lambda x: rule_not(d, x), "bits"),
            ("square", NUM, lambda d: lambda x: x * x, "value"),
            ("relu", NUM, lambda d: lambda x: rule_max(d, x, TYPES[d](0)),
             "bits")]
    for dtype in ANY:
        x = define(dtype, for_unary(dtype))
        for name, types, rule, mode in rows:
            if dtype not in types:
                continue
            case(name, [x], each(dtype, rule(dtype), x[1]), mode)
            case(name, [x[1][3:4].reshape(())],
                 each(dtype, rule(dtype), x[1][3:4]).reshape(()), mode) \
                if len(x[1]) > 3 else None
            case(name, [x[1][:0].reshape(2, 0)], x[1][:0].reshape(2, 0), mode)
        if dtype not in FLOAT:
            continue
        for name, function in MATH.items():
            precise = function(x[1].astype(np.longdouble))
            case(name, [x], precise.astype(TYPES[dtype]), "ulp4")


def binary():
    begin("binary", "elementwise, two operands, every pair of edges")

    def arithmetic(function):
        return lambda d: lambda a, b: function(a, b) if d in FLOAT \
            else wrap(d, function(int(a), int(b)))

    rows = [("add", NUM, arithmetic(lambda a, b: a + b), "value"),
            ("sub", NUM, arithmetic(lambda a, b: a - b), "value"),
            ("mul", NUM, arithmetic(lambda a, b: a * b), "value"),
            ("div", NUM, lambda d: lambda a, b: rule_div(d, a, b), "value"),
            ("rem", INT, lambda d: lambda a, b: rule_rem(d, a, b), "bits"),
            ("min", ANY, lambda d: lambda a, b: rule_min(d, a, b), "bits"),
            ("max", ANY, lambda d: lambda a, b: rule_max(d, a, b), "bits"),
            ("and", BITS, lambda d: lambda a, b: a & b, "bits"),
            ("or", BITS, lambda d: lambda a, b: a | b, "bits"),
            ("xor", BITS, lambda d: lambda a, b: a ^ b, "bits"),
            ("shl", INT, lambda d: lambda a, b: rule_shl(d, a, b), "bits"),
            ("shr", INT, lambda d: lambda a, b: rule_shr(d, a, b), "bits")]
    compare = {"eq": np.equal, "ne": np.not_equal, "lt": np.less,
               "le": np.less_equal, "gt": np.greater, "ge": np.greater_equal}
    for dtype in ANY:
        values = edges(dtype)
        n = len(values)
        column = define(dtype + "/column", values.reshape(n, 1))
        row = define(dtype + "/row", values.reshape(1, n))
        some = define(dtype + "/some", ordinary(dtype, (2, 1, 3)))
        other = define(dtype + "/other", ordinary(dtype, (4, 1)))
        one = define(dtype + "/one", values[-2:-1].reshape(()))
        none = define(dtype + "/none", values[:0].reshape(0, 1))
        pairs = [(column, row), (some, other), (other, one), (none, some)]
        for a, b in pairs:
            is_edges = a is column
            for name, types, rule, mode in rows:
                if dtype in types:
                    case(name, [a, b], each(dtype, rule(dtype), a[1], b[1]),
                         mode)
            for name, function in compare.items():
                case(name, [a, b], function(a[1], b[1]), "bits")
            if dtype not in FLOAT:
                continue
            wide = a[1].astype(np.longdouble), b[1].astype(np.longdouble)
            case("pow", [a, b], np.power(*wide).astype(TYPES[dtype]), "ulp4")
            case("hypot", [a, b], np.hypot(*wide).astype(TYPES[dtype]),
                 "ulp4")
            for name in "atan2", "atan2_fast":
                case(name, [a, b], np.arctan2(*wide).astype(TYPES[dtype]),
                     "ulp4")
            if is_edges: # ordinary powers
                base = np.exp(random.uniform(-3, 3, 20)).astype(TYPES[dtype])
                power = random.uniform(-9, 9, 20).astype(TYPES[dtype])
                case("pow", [base, power],
                     np.power(base.astype(np.longdouble),
                              power.astype(np.longdouble))
                     .astype(TYPES[dtype]), "ulp4")


def ternary():
    begin("ternary", "elementwise, three operands")
    for dtype in FLOAT:
        info = np.finfo(TYPES[dtype])
        values = array(dtype, [0.0, -0.0, 1, -1, 0.5, 0.1, 3, 1e10, info.max,
                               -info.max, info.tiny, float(TINY[dtype]),
                               math.inf, -math.inf, math.nan])
        n = len(values)
        a, b, c = (values.reshape(n, 1, 1), values.reshape(1, n, 1),
                   values.reshape(1, 1, n))
        case("fma", [a, b, c],
             each(dtype, lambda a, b, c: rule_fma(dtype, a, b, c), a, b, c))
        x, y, z = (ordinary(dtype, (40,)) for _ in range(3))
        z = (-x * y).astype(TYPES[dtype]) # what is left is the rounding error
        case("fma", [x, y, z],
             each(dtype, lambda a, b, c: rule_fma(dtype, a, b, c), x, y, z))
        case("fma", [x[:0], y[:1], z[0]], x[:0])
    for dtype in ANY:
        a, b = random_bits_of(dtype, (3, 4)), random_bits_of(dtype, (4,))
        c = array("bool", random.randint(0, 2, (3, 1)))
        case("select", [c, a, b], np.where(c, a, b), "bits")
        case("select", [c[0, 0], b, a], np.where(c[0, 0], b, a), "bits")
        case("select", [c[:0], a[:0], b], a[:0], "bits")
        values = edges(dtype)
        low, high = values[len(values) // 3], values[-1]
        case("clamp", [values, low, high],
             each(dtype, lambda x, l, h: rule_min(dtype, rule_max(dtype, x, l),
                                                  h), values, low, high),
             "bits")
        if dtype in FLOAT:
            case("clamp", [values, TYPES[dtype](-1), TYPES[dtype](2)],
                 each(dtype, lambda x, l, h: rule_min(
                     dtype, rule_max(dtype, x, l), h), values,
                      TYPES[dtype](-1), TYPES[dtype](2)), "bits")


def cast():
    begin("cast", "casts from every type to every other")
    for dtype in ANY:
        values = edges(dtype)
        if dtype in FLOAT:
            limits = [s * 2.0 ** n for n in (7, 8, 15, 16, 31, 32, 63, 64)
                      for s in (1, -1)]
            values = np.concatenate([
                values, array(dtype, limits),
                np.nextafter(array(dtype, limits), TYPES[dtype](0)),
                array(dtype, [-0.9, 0.9, 127.5, 255.5, -128.5, -129, 256,
                              16777217, 1e300, 65535.4])])
        elif dtype != "bool":
            bits = width(dtype)
            more = [n for n in (16777217, 33554435, (1 << 53) + 1,
                                (1 << 24) + 3, 255, 256, 65535, 128)
                    if n < 1 << (bits - 1)]
            values = np.concatenate([values, array(dtype, more)])
        x = define(dtype, values)
        for to in ANY:
            case("cast", [x], array(to, [rule_cast(v, to) for v in values]))
        case("cast", [x[1][0]], rule_cast(x[1][0], "f32"))
        case("cast", [x[1][:0]], array("i16", []))


# -- Leaves, state, regions ---------------------------------------------------


def leaf():
    begin("leaf", "leaves, state and regions, which move elements only")
    for dtype in ANY:
        x, y = random_bits_of(dtype, (2, 3)), random_bits_of(dtype, (2, 3))
        for value in (x, x[0, 0], x[:, :0]):
            for name in ("constant", "param", "variable", "read"):
                case(name, [value], value, "bits")
            for axis in range(-value.ndim, value.ndim):
                case("extent", [value], np.int64(value.shape[axis]), "bits",
                     axis=axis)
        case("assign", [x, y], [y, y], "bits")
        case("assign", [x, y[0, 0]], [np.full_like(x, y[0, 0])] * 2, "bits")
        case("assign", [x[:0], y[:0]], [y[:0], y[:0]], "bits")
        for index in (0, 1): # the callee returns its arguments swapped
            case("call", [x, y[0]], y[0] if index == 0 else x, "bits",
                 index=index)
            case("result", [x, y[0]], y[0] if index == 0 else x, "bits",
                 index=index)
        for index in (-1, 0, 1, 5): # branches that return an argument each
            case("switch", [x, y], x if index < 1 else y, "bits", index=index)
        for iterations in (0, 1, 2, 3): # the body swaps what the loop carries
            case("loop", [x, y], y if iterations % 2 else x, "bits",
                 iterations=iterations)
        shown = array(dtype, [0, 1, 1 if dtype == "bool" else 7])
        case("print", [shown], [], text="[false true true]"
             if dtype == "bool" else "[0 1 7]")
        if dtype in FLOAT:
            case("print", [array(dtype, [1.5, -0.25, 0.1, math.nan,
                                         -math.inf])], [],
                 text="[1.5 -0.25 0.1 nan -inf]")
        if dtype in SINT:
            info = np.iinfo(TYPES[dtype])
            case("print", [array(dtype, [info.min, -1, info.max])], [],
                 text="[%d -1 %d]" % (info.min, info.max))
        case("print", [array(dtype, 1)], [],
             text="true" if dtype == "bool" else "1")
        if dtype == "bool":
            continue
        for shape, axis in (((5,), 0), ((2, 3), 0), ((2, 3), 1), ((2, 3), -1),
                            ((2, 0, 3), 2), ((1,), 0)):
            grid = np.indices(shape)[axis].astype(TYPES[dtype])
            case("iota", [], grid, "bits", dims=shape, axis=axis)
        a, b = ordinary(dtype, (2, 3)), ordinary(dtype, (2, 3))
        total, rest = a + b, a - b
        case("assign_add", [a, b], [total, total])
        case("assign_sub", [a, b], [rest, rest])


# -- Shapes -------------------------------------------------------------------

END = (1 << 63) - 1


def view():
    begin("view", "broadcast, reshape, transpose and slice")
    for dtype in ANY:
        x = define(dtype, random_bits_of(dtype, (3, 4, 2)))
        for source, shape in ((x[1][0, 0], (3, 2)), (x[1][0, :1], (4, 2)),
                              (x[1][:, :1], (3, 4, 2)), (x[1], (2, 3, 4, 2)),
                              (x[1][0, 0, 0], ()), (x[1][0, 0, 0], (2, 0)),
                              (x[1][:1, :0, :1], (5, 0, 1))):
            case("broadcast", [source], np.broadcast_to(source, shape),
                 "bits", dims=shape)
        for shape in ((24,), (2, 12), (4, 3, 2), (1, 24, 1), (-1, 8),
                      (2, -1, 3)):
            case("reshape", [x], x[1].reshape(shape), "bits", dims=shape)
        case("reshape", [x[1][:0]], x[1][:0].reshape(7, 0), "bits",
             dims=(7, 0))
        case("reshape", [x[1][0, 0, :1]], x[1][0, 0, 0], "bits", dims=())
        for perm in ((0, 1, 2), (2, 1, 0), (1, 2, 0), (0, 2, 1), (-1, 0, 1)):
            case("transpose", [x], x[1].transpose(perm), "bits", perm=perm)
        case("transpose", [x[1][0, 0, 0]], x[1][0, 0, 0], "bits", perm=())
        case("transpose", [x[1][:, :0]], x[1][:, :0].transpose(2, 1, 0),
             "bits", perm=(2, 1, 0))
        long = define(dtype + "/long", random_bits_of(dtype, (2, 9)))
        for start, stop, step in ((0, 9, 1), (2, 7, 1), (0, END, 2),
                                  (1, 9, 3), (-3, END, 1), (-8, -2, 4),
                                  (8, 0, -1), (8, END, -1), (-1, END, -2),
                                  (7, 2, -3), (-2, -8, -5), (4, 4, 1),
                                  (0, 0, 2), (9, END, 1), (3, 3, -1),
                                  (0, 9, 100), (5, END, -100)):
            index = slice(start, None if stop == END else stop, step)
            case("slice", [long], long[1][:, index], "bits", axis=1,
                 start=start, stop=stop, step=step)
        case("slice", [long], long[1][::-1], "bits", axis=-2, start=1,
             stop=END, step=-1)
        case("slice", [long], long[1][1:], "bits", axis=0, start=1, stop=2,
             step=1)


def index():
    begin("index", "pad, concat and gather")
    for dtype in ANY:
        x = define(dtype, random_bits_of(dtype, (3, 4)))
        fill = random_bits_of(dtype, ())
        for axis, low, high in ((0, 1, 2), (1, 0, 3), (1, 2, 0), (-1, 0, 0),
                                (-2, 1, 1)):
            around = [(0, 0), (0, 0)]
            around[axis] = (low, high)
            case("pad", [x, fill],
                 np.pad(x[1], around, constant_values=fill), "bits",
                 axis=axis, low=low, high=high)
        case("pad", [x[1][:0], fill], np.full((2, 4), fill), "bits", axis=0,
             low=1, high=1)
        y = random_bits_of(dtype, (2, 4))
        z = random_bits_of(dtype, (3, 1))
        case("concat", [x], x[1], "bits", axis=0)
        case("concat", [x, y, x], np.concatenate([x[1], y, x[1]]), "bits",
             axis=0)
        case("concat", [z, x, z[:, :0]], np.concatenate([z, x[1]], 1),
             "bits", axis=-1)
        case("concat", [y[:, :0], y[:, :0]], y[:, :0], "bits", axis=1)
        for shape in ((2,), (2, 3), (), (0,)):
            at = random.randint(0, 3, shape).astype(np.int64)
            case("gather", [x, at], np.take(x[1], at, 0), "bits", axis=0,
                 mode=0)
            at = random.randint(0, 4, shape).astype(np.int32)
            case("gather", [x, at], np.take(x[1], at, 1), "bits", axis=-1,
                 mode=0)
        at = array("i64", [-1, 0, 2, 3, 99, -(1 << 63), (1 << 63) - 1])
        case("gather", [x, at], np.take(x[1], np.clip(at, 0, 2), 0), "bits",
             axis=0, mode=1)
        zeros = np.take(x[1], np.clip(at, 0, 2), 0)
        zeros[(at < 0) | (at > 2)] = array(dtype, 0)
        case("gather", [x, at], zeros, "bits", axis=0, mode=2)
        case("gather", [x[1][:0], at], np.zeros((7, 4), TYPES[dtype]),
             "bits", axis=0, mode=2)
    x = random_bits_of("f32", (3, 2))
    for dtype in INT: # types of indices
        at = array(dtype, [2, 0, 1, 2])
        case("gather", [x, at], x[[2, 0, 1, 2]], "bits", axis=0, mode=0)
        info = np.iinfo(TYPES[dtype])
        at = array(dtype, [info.min, 1, info.max])
        case("gather", [x, at], x[[0, 1, 2]], "bits", axis=0, mode=1)


def part_of(x, start, axis, size):
    """Where a slice that starts there, clamped, lies."""
    start = min(max(int(start), 0), x.shape[axis] - size)
    index = [slice(None)] * x.ndim
    index[axis] = slice(start, start + size)
    return tuple(index)


def scattered(x, at, updates, axis, mode):
    """Slices set or added one after the other; others are dropped."""
    out = np.moveaxis(x.copy(), axis, 0)
    n = range(at.ndim)
    moved = np.moveaxis(updates, [axis % x.ndim + i for i in n], n)
    for where in np.ndindex(at.shape):
        index = int(at[where])
        if 0 <= index < len(out):
            out[index] = out[index] + moved[where] if mode else moved[where]
    return np.moveaxis(out, 0, axis)


def scatter():
    begin("scatter", "slices by indices, in their order")
    for dtype in ANY:
        x = define(dtype, random_bits_of(dtype, (5, 7)))
        for axis, shape in ((0, ()), (0, (9,)), (-1, (2, 3)), (1, (0,)),
                            (0, (2, 3)), (-1, (11,))):
            extent = x[1].shape[axis]
            whole = list(x[1].shape)
            whole[axis % 2:axis % 2 + 1] = shape
            at = random.randint(0, extent, shape).astype(np.int32)
            updates = random_bits_of(dtype, tuple(whole))
            case("scatter", [x, at, updates],
                 scattered(x[1], at, updates, axis, 0), "bits", axis=axis,
                 mode=0, range=0)
            if dtype == "bool":
                continue
            if dtype in FLOAT: # NaN are not told apart by sums
                updates = ordinary(dtype, tuple(whole))
                y = ordinary(dtype, x[1].shape)
            else:
                y = x[1]
            case("scatter", [y, at, updates],
                 scattered(y, at, updates, axis, 1), "bits", axis=axis,
                 mode=1, range=0)
            at = random.randint(-2, extent + 2, shape).astype(np.int64)
            for mode in (0, 1) if len(shape) == 1 else ():
                case("scatter", [y, at, updates],
                     scattered(y, at, updates, axis, mode), "bits",
                     axis=axis, mode=mode, range=1)
    x = random_bits_of("i32", (40,))
    for dtype in INT: # types of indices
        info = np.iinfo(TYPES[dtype])
        at = array(dtype, [3, info.min, 39, info.max, 3])
        updates = random_bits_of("i32", (5,))
        case("scatter", [x, at, updates], scattered(x, at, updates, 0, 1),
             "bits", axis=0, mode=1, range=1)


def dynamic():
    begin("dynamic", "to and from where only the run can tell")
    for dtype in ANY:
        x = define(dtype, random_bits_of(dtype, (5, 7)))
        for start, axis, size in ((2, 0, 2), (0, 1, 3), (4, -1, 3), (5, 1, 3),
                                  (-1, 0, 4), (99, -2, 1), (3, 0, 5),
                                  (1, 1, 0)):
            case("dynamic_slice", [x, array("i32", start)],
                 x[1][part_of(x[1], start, axis, size)], "bits", axis=axis,
                 size=size)
            shape = list(x[1].shape)
            shape[axis] = size
            update = random_bits_of(dtype, tuple(shape))
            updated = x[1].copy()
            updated[part_of(x[1], start, axis, size)] = update
            case("dynamic_update", [x, update, array("i32", start)], updated,
                 "bits", axis=axis)
    x = random_bits_of("f32", (40,))
    for dtype in INT: # types of starts
        info = np.iinfo(TYPES[dtype])
        for start in (info.min, 3, info.max):
            case("dynamic_slice", [x, array(dtype, start)],
                 x[part_of(x, start, 0, 33)], "bits", axis=0, size=33)
            updated = x.copy()
            updated[part_of(x, start, 0, 5)] = x[7:12]
            case("dynamic_update", [x, x[7:12], array(dtype, start)], updated,
                 "bits", axis=0)


# -- Reductions ---------------------------------------------------------------


def groups(x, axes):
    """The elements behind every result, in row-major order, and its shape."""
    kept = [a for a in range(x.ndim) if a not in axes]
    shape = tuple(x.shape[a] for a in kept)
    moved = x.transpose(kept + sorted(axes))
    n = int(np.prod([x.shape[a] for a in axes], dtype=np.int64))
    return moved.reshape(shape + (n,)), shape, n


def special(values):
    """What a sum is if not all is finite, or None."""
    if all(np.isfinite(values)):
        return None
    return float(np.sum(np.asarray(values, np.float64)))


def sum_near(dtype, x, axes, mean=False):
    """Any order of additions is within (n - 1) u (|x1| + ... + |xn|)."""
    rows, shape, n = groups(x, axes)
    values, bounds = [], []
    u = ROUNDOFF[dtype]
    for row in rows.reshape(-1, n) if rows.size else \
            [[]] * int(np.prod(shape, dtype=np.int64)):
        other = special(row) if len(row) else None
        total, bound = other, Fraction(0)
        if other is None:
            total = sum(map(exact, row), Fraction(0))
            bound = n * u * sum(abs(exact(v)) for v in row)
        if mean and other is None:
            if n == 0:
                total = math.nan
            else:
                total, bound = total / n, bound / n + 2 * u * abs(total) / n
        values.append(total)
        bounds.append(bound)
    return values, bounds, shape


def prod_near(dtype, x, axes):
    """Every multiplication is off by at most a factor 1 + u."""
    rows, shape, n = groups(x, axes)
    values = []
    for row in rows.reshape(-1, n) if rows.size else \
            [[]] * int(np.prod(shape, dtype=np.int64)):
        product = Fraction(1)
        for v in row:
            product *= exact(v)
        values.append(product)
    return values, [abs(v) * (n + 1) * ROUNDOFF[dtype] for v in values], shape


def kept_shape(x, axes, keep, shape):
    return tuple(1 if a in axes else n for a, n in enumerate(x.shape)) \
        if keep else shape


def reduce():
    begin("reduce", "reductions")
    for dtype in ANY:
        x = define(dtype, ordinary(dtype, (2, 3, 4)))
        e = define(dtype + "/edges", edges(dtype))
        empty = define(dtype + "/empty", x[1][:, :0])
        odd = define(dtype + "/odd", x[1][0] | array(dtype, 1)
                     if dtype not in FLOAT else x[1][0])
        cases = [(x, (0,), False), (x, (1,), True), (x, (2,), False),
                 (x, (0, 2), True), (x, (1, 2), False), (x, (), False),
                 (x, (0, 1, 2), False), (e, (0,), False), (odd, (1,), False),
                 (odd, (0, 1), True)]
        for a, axes, keep in cases + [(empty, (1,), False),
                                      (empty, (0,), False),
                                      (empty, (0, 1, 2), True)]:
            rows, shape, n = groups(a[1], axes)
            shape = kept_shape(a[1], axes, keep, shape)
            args = {"axes": list(axes), "keep": keep}
            if dtype in INT:
                case("sum", [a], np.sum(a[1], axis=axes, dtype=TYPES[dtype])
                     .reshape(shape) if axes else a[1], "bits", **args)
                case("prod", [a], np.prod(a[1], axis=axes, dtype=TYPES[dtype])
                     .reshape(shape) if axes else a[1], "bits", **args)
            elif dtype in FLOAT:
                values, bounds, _ = sum_near(dtype, a[1], axes)
                case("sum", [a], Near(dtype, shape, values, bounds), **args)
                if a is not e:
                    values, bounds, _ = prod_near(dtype, a[1], axes)
                    case("prod", [a], Near(dtype, shape, values, bounds),
                         **args)
                values, bounds, _ = sum_near(dtype, a[1], axes, True)
                case("mean", [a], Near(dtype, shape, values, bounds), **args)
            else:
                count = rows.sum(-1, dtype=np.int64).reshape(shape)
                case("any", [a], count > 0, "bits", **args)
                case("all", [a], count == n, "bits", **args)
            if n == 0 and axes != (0,):
                continue # the largest of nothing is an error
            for name, rule in (("reduce_max", rule_max),
                               ("reduce_min", rule_min)):
                best = []
                for row in rows.reshape(-1, max(n, 1)):
                    value = row[0]
                    for v in row:
                        value = rule(dtype, value, v)
                    best.append(value)
                case(name, [a], array(dtype, best).reshape(shape), "bits",
                     **args)
        for axis in (0, 1, 2, -1):
            case("argmax", [x], np.argmax(x[1], axis), "bits", axis=axis)
            case("argmin", [x], np.argmin(x[1], axis), "bits", axis=axis)
        case("argmax", [empty], np.zeros((0, 4), np.int64), "bits", axis=0)
        case("argmin", [empty], np.zeros((2, 0), np.int64), "bits", axis=2)
        case("argmax", [e], np.argmax(e[1], 0), "bits", axis=0)
        case("argmin", [e], np.argmin(e[1], 0), "bits", axis=0)
        ties = np.concatenate([e[1][:4], e[1][:4]]) if dtype != "bool" \
            else array(dtype, [0, 1, 0, 1])
        case("argmax", [ties], np.argmax(ties, 0), "bits", axis=0)
        case("argmin", [ties], np.argmin(ties, 0), "bits", axis=0)
        if dtype not in FLOAT:
            continue
        zeros = array(dtype, [[0.0, -0.0, 0.0], [-0.0, 0.0, -0.0],
                              [-0.0, -0.0, -0.0]])
        case("reduce_max", [zeros], array(dtype, [0.0, 0.0, -0.0]), "bits",
             axes=[1], keep=0)
        case("reduce_min", [zeros], array(dtype, [-0.0, -0.0, -0.0]), "bits",
             axes=[1], keep=0)
        case("argmax", [zeros], array("i64", [0, 0, 0]), "bits", axis=1)
        finite = e[1][:-3]
        case("reduce_max", [finite], np.max(finite), "bits", axes=[0], keep=0)
        case("reduce_min", [finite], np.min(finite), "bits", axes=[0], keep=0)
        for row in ([math.inf, 1], [math.inf, -math.inf], [math.nan, 1],
                    [-math.inf, 1, 2]):
            row = array(dtype, row)
            values, bounds, shape = sum_near(dtype, row, (0,))
            case("sum", [row], Near(dtype, shape, values, bounds), axes=[0],
                 keep=0)
        many = ordinary(dtype, (1000,))
        values, bounds, shape = sum_near(dtype, many, (0,))
        case("sum", [many], Near(dtype, shape, values, bounds), axes=[0],
             keep=0)


# -- Products -----------------------------------------------------------------


def matmul_near(dtype, a, b):
    """n fused steps and the additions of panels: n + 1 roundings at most."""
    columns = b.reshape(-1, 1) if b.ndim == 1 else b
    rows = a.reshape(1, -1) if a.ndim == 1 else a
    batch = np.broadcast(np.empty(rows.shape[:-2]),
                         np.empty(columns.shape[:-2])).shape \
        if rows.ndim > 2 or columns.ndim > 2 else ()
    n = rows.shape[-1]
    rows = np.broadcast_to(rows, batch + rows.shape[-2:])
    columns = np.broadcast_to(columns, batch + columns.shape[-2:])
    full = batch + (rows.shape[-2], columns.shape[-1])
    values, bounds = [], []
    for at in np.ndindex(*full):
        x = [exact(v) for v in rows[at[:-2] + (at[-2],)]]
        y = [exact(v) for v in columns[at[:-2] + (slice(None), at[-1])]]
        products = [p * q for p, q in zip(x, y)]
        values.append(sum(products, Fraction(0)))
        bounds.append((n + 1) * ROUNDOFF[dtype] * sum(map(abs, products)))
    shape = list(full)
    if b.ndim == 1:
        shape.pop(-1)
    if a.ndim == 1:
        shape.pop(-2 if b.ndim > 1 else -1)
    return Near(dtype, tuple(shape), values, bounds)


def matmul():
    begin("matmul", "matrix products")
    shapes = [((2, 3), (3, 4)), ((3,), (3, 4)), ((2, 3), (3,)), ((3,), (3,)),
              ((2, 2, 3), (3, 4)), ((2, 3), (2, 3, 1)),
              ((2, 1, 2, 3), (3, 3, 2)), ((1, 1), (1, 1)), ((2, 0), (0, 3)),
              ((0, 2), (2, 3)), ((0,), (0,)), ((3,), (2, 3, 2)),
              ((0, 2, 3), (3, 2))]
    long = [((2, 5), (5, 33)), ((1, 300), (300, 2))] # more than a block
    for dtype in NUM:
        for left, right in shapes + (long if dtype in FLOAT + ["i32"] else []):
            a, b = ordinary(dtype, left), ordinary(dtype, right)
            product = matmul_near(dtype, a, b) if dtype in FLOAT \
                else np.matmul(a, b, dtype=TYPES[dtype])
            for flags in range(4):
                if flags and left not in ((2, 3), (2, 2, 3)):
                    continue
                p = np.swapaxes(a, -1, -2) if flags & 1 and a.ndim > 1 else a
                q = np.swapaxes(b, -1, -2) if flags & 2 and b.ndim > 1 else b
                case("matmul", [p, q], product, "bits", flags=flags)
        # Every pair of edges, added to +0.
        values = edges(dtype)
        a, b = values.reshape(-1, 1), values.reshape(1, -1)
        zero = TYPES[dtype](0)
        rule = (lambda p, q: rule_fma(dtype, p, q, zero)) if dtype in FLOAT \
            else lambda p, q: wrap(dtype, int(p) * int(q))
        case("matmul", [a, b], each(dtype, rule, a, b), flags=0)


# -- Windows and convolutions -------------------------------------------------


def windows_of(x, sizes, strides, dilations):
    """The windows of the first axes of x, whose elements are the last axes."""
    n = len(sizes)
    counts = [(x.shape[i] - (sizes[i] - 1) * dilations[i] - 1) // strides[i]
              + 1 for i in range(n)]
    result = np.empty(tuple(counts) + x.shape[n:] + tuple(sizes), x.dtype)
    for at in np.ndindex(*counts):
        for e in np.ndindex(*sizes):
            place = tuple(p * s + i * d for p, s, i, d
                          in zip(at, strides, e, dilations))
            result[at + (slice(None),) * (x.ndim - n) + e] = x[place]
    return result


def conv():
    begin("conv", "sliding windows and convolutions")
    for dtype in ANY:
        x = define(dtype, random_bits_of(dtype, (5, 6, 2)))
        for sizes, strides, dilations in (((3,), (1,), (1,)), ((2,), (2,), (3,)),
                                          ((2, 3), (3, 1), (1, 2)),
                                          ((5, 1), (1, 4), (1, 7))):
            case("window", [x], windows_of(x[1], sizes, strides, dilations),
                 "bits", axes=tuple(range(len(sizes))), sizes=sizes,
                 strides=strides, dilations=dilations)
        case("window", [x[1][:, :, :0]],
             windows_of(x[1][:, :, :0], (2,), (1,), (1,)), "bits", axes=(0,),
             sizes=(2,), strides=(1,), dilations=(1,))
    for dtype in NUM:
        for shape, filters, strides, dilations in (
                ((2, 5, 2), (3, 2, 4), (1,), (1,)),
                ((1, 6, 5, 3), (2, 3, 3, 2), (2, 1), (3, 1)),
                ((2, 3), (3, 4), (), ()), ((0, 4, 1), (2, 1, 3), (1,), (1,)),
                ((2, 4, 0), (2, 0, 3), (1,), (1,))):
            a, b = ordinary(dtype, shape), ordinary(dtype, filters)
            n, k = len(strides), int(np.prod(filters[:-1]))
            rows = np.moveaxis(a, 0, -2) # [spatial, example, channel]
            rows = windows_of(rows, filters[:n], strides, dilations)
            # [example, spatial, window, channel]
            rows = np.moveaxis(np.moveaxis(rows, n, 0), n + 1, -1)
            points = rows.shape[:n + 1]
            rows = rows.reshape(int(np.prod(points)), k)
            w = b.reshape(k, filters[-1])
            if dtype in FLOAT:
                product = matmul_near(dtype, rows, w)
                product.shape = points + filters[-1:]
            else:
                product = np.matmul(rows, w, dtype=TYPES[dtype]) \
                    .reshape(points + filters[-1:])
            case("conv", [a, b], product, "bits", strides=strides,
                 dilations=dilations)


# -- Scans --------------------------------------------------------------------


def scan_of(dtype, a, b, start):
    """h[i] = a[i] * h[i-1] + b[i] along the first axis, rounded once."""
    result = np.empty_like(b)
    h = np.full(b.shape[1:], start, TYPES[dtype])
    for i in range(b.shape[0]):
        for at in np.ndindex(*b.shape[1:]):
            h[at] = rule_fma(dtype, a[i][at], h[at], b[i][at]) \
                if dtype in FLOAT else wrap(dtype, int(a[i][at]) * int(h[at])
                                            + int(b[i][at]))
        result[i] = h
    return result


def wrap(dtype, n):
    bits = 8 * np.dtype(TYPES[dtype]).itemsize
    n %= 1 << bits
    is_signed = np.issubdtype(TYPES[dtype], np.signedinteger)
    return n - (1 << bits) if is_signed and n >= 1 << (bits - 1) else n


def scan():
    begin("scan", "linear recurrences")
    for dtype in NUM:
        for shape in ((7,), (3, 5), (2, 4, 3), (0, 2), (1, 3)):
            for axis in range(len(shape)):
                a, b = ordinary(dtype, shape), ordinary(dtype, shape)
                for one in (0, 1):
                    start = 1 if one else -0.0 if dtype in FLOAT else 0
                    h = scan_of(dtype, np.moveaxis(a, axis, 0),
                                np.moveaxis(b, axis, 0), start)
                    case("linear_scan", [a, b], np.moveaxis(h, 0, axis), "bits",
                         axis=axis, one=one)


# -- Random numbers -----------------------------------------------------------


def philox(key, block):
    """Philox4x32-10 of Salmon et al., written from the paper."""
    c = [block & 0xffffffff, block >> 32, 0, 0]
    k = [key & 0xffffffff, key >> 32]
    for _ in range(10):
        p, q = 0xD2511F53 * c[0], 0xCD9E8D57 * c[2]
        c = [(q >> 32) ^ c[1] ^ k[0], q & 0xffffffff,
             (p >> 32) ^ c[3] ^ k[1], p & 0xffffffff]
        k = [(k[0] + 0x9E3779B9) & 0xffffffff, (k[1] + 0xBB67AE85) & 0xffffffff]
    return c


# The known answers of the authors' test file.
assert philox(0, 0) == [0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8]


def stream(key, first, n):
    """n words from word `first` on, whose number wraps."""
    numbers = [(first + i) & (1 << 64) - 1 for i in range(n)]
    return [philox(key, w // 4)[w % 4] for w in numbers]


def pairs(drawn):
    return [a | b << 32 for a, b in zip(drawn[::2], drawn[1::2])]


def random_numbers():
    begin("random", "random words and numbers, by a Philox of our own")
    for key, first in ((0, 0), (42, 0), (42, 3), (2 ** 64 - 1, 2 ** 33 + 1),
                       (0xdeadbeef01234567, 2 ** 64 - 5)):
        inputs = [np.uint64(key), np.uint64(first)]
        for shape in ((7,), (2, 3), (), (0, 2)):
            n = int(np.prod(shape, dtype=np.int64))
            case("random_bits", inputs,
                 array("u32", stream(key, first, n)).reshape(shape), "bits",
                 dims=shape)
            case("random_bits", inputs,
                 array("u64", pairs(stream(key, first, 2 * n)))
                 .reshape(shape), "bits", dims=shape)
    pi = np.longdouble("3.14159265358979323846264338327950288")
    for key in (0, 42, 2 ** 63 + 12345):
        for shape in ((9,), (2, 3), (), (3, 0)):
            n = int(np.prod(shape, dtype=np.int64))
            upper = [w >> 8 for w in stream(key, 0, n)]
            case("random_uniform", [np.uint64(key)],
                 (array("f64", upper) / 2 ** 24).astype(np.float32)
                 .reshape(shape), "bits", dims=shape)
            upper = [w >> 11 for w in pairs(stream(key, 0, 2 * n))]
            case("random_uniform", [np.uint64(key)],
                 (array("u64", upper).astype(np.float64) / 2 ** 53)
                 .reshape(shape), "bits", dims=shape)
            for dtype in FLOAT:
                kept = 24 if dtype == "f32" else 53
                drawn = stream(key, 0, 2 * n) if dtype == "f32" \
                    else pairs(stream(key, 0, 4 * n))
                drawn = [w >> (8 if dtype == "f32" else 11) for w in drawn]
                values, bounds = [], []
                for low, high in zip(drawn[::2], drawn[1::2]):
                    u = ROUNDOFF[dtype]
                    radius = np.sqrt(-2 * np.log(
                        np.longdouble(low + 1) / 2 ** kept))
                    cosine = np.cos(2 * pi * np.longdouble(high) / 2 ** kept)
                    # log 4 ulp, halved by the root; times and root round;
                    # the angle, below 6.3, is off by 2 u; cos 4 ulp.
                    value = Fraction(float(radius * cosine))
                    bound = (Fraction(float(abs(value))) * (4 + 1 + 1 + 1 + 8) +
                             Fraction(float(radius)) * 13) * u
                    values.append(value)
                    bounds.append(bound)
                case("random_normal", [np.uint64(key)],
                     Near(dtype, shape, values, bounds), dims=shape)


# -- Functions made of others -------------------------------------------------


def softmax_near(dtype, x, logarithm):
    """Along the last axis. d = x - max is off by u|d|, so exp(d) by a factor
    1 + u|d| + 8u (exp: 4 ulp, at most 8u); the sum, of positive terms, by the
    largest of these and n u."""
    u = ROUNDOFF[dtype]
    values, bounds = [], []
    n = x.shape[-1]
    for row in x.reshape(-1, n):
        d = row.astype(np.longdouble) - np.max(row).astype(np.longdouble)
        e = np.exp(d)
        total = np.sum(e)
        off = [Fraction(float(abs(v))) * u + 8 * u for v in d]
        off_total = max(off) + n * u
        for i in range(n):
            if logarithm:
                log_total = np.log(total)
                value = Fraction(float(d[i] - log_total))
                bound = Fraction(float(abs(d[i]))) * u + off_total + \
                    Fraction(float(log_total)) * 8 * u + abs(value) * u
            else:
                value = Fraction(float(e[i] / total))
                bound = value * (off[i] + off_total + 2 * u)
            values.append(value)
            bounds.append(bound * Fraction(101, 100))
    return values, bounds


def cross_entropy_of_classes(dtype, x, labels):
    """Minus the logarithm at the class; 0 if there is none such."""
    values, bounds = softmax_near(dtype, x, True)
    n = x.shape[-1]
    places = [row * n + label if 0 <= label < n else None
              for row, label in enumerate(labels.reshape(-1).tolist())]
    return Near(dtype, labels.shape,
                [Fraction(0) if p is None else -values[p] for p in places],
                [Fraction(0) if p is None else bounds[p] for p in places])


def cross_entropy_of_weights(dtype, x, weights):
    """n products and their sum: n + 1 roundings at most."""
    values, bounds = softmax_near(dtype, x, True)
    n = x.shape[-1]
    w = [exact(v) for v in weights.reshape(-1)]
    rows = [range(i, i + n) for i in range(0, len(w), n)]
    return Near(dtype, x.shape[:-1],
                [-sum(w[i] * values[i] for i in row) for row in rows],
                [sum(abs(w[i]) * (bounds[i] + abs(values[i]) * (n + 1) *
                                  ROUNDOFF[dtype]) for i in row) *
                 Fraction(101, 100) for row in rows])


def layer_norm_near(dtype, x, scale, shift, epsilon):
    """Errors of the mean, of what is left without it, of the variance and of
    its root, each carried into the next."""
    u = ROUNDOFF[dtype]
    n = x.shape[-1]
    epsilon = exact(TYPES[dtype](epsilon))
    values, bounds = [], []
    for row in x.reshape(-1, n):
        row = [exact(v) for v in row]
        mean = sum(row) / n
        off_mean = n * u * sum(map(abs, row)) / n + u * abs(mean)
        centred = [v - mean for v in row]
        off = [off_mean + u * (abs(c) + off_mean) for c in centred]
        variance = sum(c * c for c in centred) / n
        off_variance = sum(2 * abs(c) * o + o * o
                           for c, o in zip(centred, off)) / n
        off_variance += (n + 2) * u * (variance + off_variance)
        whole = variance + epsilon
        inverse = Fraction(float(1 / np.sqrt(np.longdouble(float(whole)))))
        # d(1/sqrt(w)) is half of dw/w; three roundings follow.
        factor = off_variance / whole / 2 + 3 * u
        for i in range(n):
            gain, offset = exact(scale[i]), exact(shift[i])
            normal = centred[i] * inverse
            off_normal = off[i] * inverse + abs(normal) * (factor + u)
            value = normal * gain + offset
            values.append(value)
            bounds.append((off_normal * abs(gain) + abs(value) * u) *
                          Fraction(101, 100) + ROUNDOFF["f64"] * abs(value))
    return values, bounds


def composite():
    begin("composite", "functions made of operations")
    for dtype in FLOAT:
        for shape, axis in (((3, 7), 1), ((3, 7), -1), ((3, 7), 0), ((4,), 0),
                            ((2, 1), 1), ((2, 3, 4), 1), ((0, 3), 1)):
            for scale in (1, 20):
                a = (ordinary(dtype, shape) * scale).astype(TYPES[dtype])
                moved = np.moveaxis(a, axis, -1)
                for name in ("softmax", "log_softmax"):
                    values, bounds = softmax_near(dtype, moved,
                                                  name == "log_softmax")
                    order = np.moveaxis(
                        np.arange(a.size).reshape(moved.shape), -1,
                        axis).reshape(-1)
                    case(name, [a],
                         Near(dtype, shape, [values[i] for i in order],
                              [bounds[i] for i in order]), axis=axis)
        for shape in ((9, 7), (5,), (2, 3, 4), (0, 3)):
            count = int(np.prod(shape))
            a = (np.cos(np.arange(count) * 2.5) * 9).reshape(shape) \
                .astype(TYPES[dtype])
            weights = (np.sin(np.arange(count) * 1.5) + 1).reshape(shape) \
                .astype(TYPES[dtype])
            case("softmax_cross_entropy", [a, weights],
                 cross_entropy_of_weights(dtype, a, weights))
            for own in INT:
                labels = array(own, np.arange(int(np.prod(shape[:-1])))
                               - (own in SINT)).reshape(shape[:-1])
                case("softmax_cross_entropy", [a, labels],
                     cross_entropy_of_classes(dtype, a, labels))
        for shape in ((3, 8), (5,), (2, 2, 3), (0, 4)):
            a = ordinary(dtype, shape)
            scale = ordinary(dtype, shape[-1:])
            shift = ordinary(dtype, shape[-1:])
            values, bounds = layer_norm_near(dtype, a, scale, shift, 1e-5)
            case("layer_norm", [a, scale, shift],
                 Near(dtype, shape, values, bounds))


unary()
binary()
ternary()
cast()
leaf()
view()
index()
reduce()
matmul()
random_numbers()
composite()
dynamic()
scatter()
conv()
scan()
functions.write_all()
halves.write_all()
halves.write_functions()
case_file.end()
