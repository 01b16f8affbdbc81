# SPDX-License-Identifier: MIT
"""f16 and bf16. Elements are their bits, in arrays of one field of 16 bits, which
NumPy moves like any others; each result is that of f32 or of exact numbers,
rounded here."""
import math
from fractions import Fraction

import numpy as np

from case_file import begin, case, define
from rules import *

random = np.random.RandomState(16)
HALVES = {"f16": (11, -24, 15), "bf16": (8, -133, 127)} # digits, unit, range
for name in HALVES:
    TYPES[name] = np.dtype([(name, np.uint16)])
    NAMES[TYPES[name]] = name


def of_bits(dtype, bits):
    return np.asarray(bits, dtype=np.uint16).view(TYPES[dtype])


def bits_of(x):
    return np.ascontiguousarray(x).view(np.uint16).reshape(x.shape)


def round_one(dtype, value):
    """The bits of the half nearest to a number, ties to even."""
    digits, lowest, highest = HALVES[dtype]
    infinity = ((1 << (16 - digits)) - 1) << (digits - 1)
    if isinstance(value, (float, np.floating)):
        if np.isnan(value):
            return infinity | 1 << (digits - 2)
        sign = 0x8000 if np.signbit(value) else 0
        if np.isinf(value):
            return sign | infinity
        value = Fraction(*value.as_integer_ratio())
    else:
        value = Fraction(value)
        sign = 0x8000 if value < 0 else 0
    value = abs(value)
    if value == 0:
        return sign
    exponent = value.numerator.bit_length() - value.denominator.bit_length()
    exponent -= value < Fraction(2) ** exponent
    unit = max(exponent - digits + 1, lowest)
    whole = round(value / Fraction(2) ** unit) # of fractions: ties to even
    if whole * Fraction(2) ** unit >= Fraction(2) ** (highest + 1):
        return sign | infinity
    return sign | ((unit - lowest) << (digits - 1)) + whole


def rounded(dtype, values):
    values = np.asarray(values)
    bits = [round_one(dtype, v if v.dtype.kind == "f" else int(v))
            for v in values.reshape(-1)]
    return of_bits(dtype, np.array(bits, np.uint16).reshape(values.shape))


def wide(x):
    """As f32, which is exact."""
    dtype = NAMES[x.dtype]
    bits = bits_of(x).astype(np.uint32)
    if dtype == "bf16":
        return (bits << 16).view(np.float32).reshape(x.shape)
    return bits.astype(np.uint16).view(np.float16).astype(np.float32) \
        .reshape(x.shape)


def edges(dtype):
    digits = HALVES[dtype][0]
    one = ((1 << (15 - digits)) - 1) << (digits - 1)
    infinity = ((1 << (16 - digits)) - 1) << (digits - 1)
    least = 1 << (digits - 1)
    sizes = [0, 1, 2, least - 1, least, least + 1, one - 1, one, one + 1,
             one + (1 << (digits - 2)), infinity - 1, infinity,
             infinity | 1 << (digits - 2)]
    return of_bits(dtype, sizes + [s | 0x8000 for s in sizes])


def any_bits(dtype, shape):
    return of_bits(dtype, random.randint(0, 1 << 16, shape).astype(np.uint16))


def ordinary(dtype, shape):
    return rounded(dtype, random.uniform(0.25, 2, shape))


def moves(dtype):
    x, y = any_bits(dtype, (2, 3)), any_bits(dtype, (2, 3))
    for value in (x, x[0, 0:1].reshape(()), x[:, :0]):
        for name in ("constant", "param", "variable", "read",
                     "stop_gradient"):
            case(name, [value], value, "bits")
    case("assign", [x, y], [y, y], "bits")
    for name in ("call", "result"):
        case(name, [x, y[0]], y[0], "bits", index=0)
    case("switch", [x, y], y, "bits", index=1)
    case("loop", [x, y], y, "bits", iterations=3)
    case("print", [rounded(dtype, np.array([1.5, -0.25, 0.1, math.nan,
                                            -math.inf, 3]))], [],
         text="[1.5 -0.25 0.1 nan -inf 3]")
    case("broadcast", [x[:1]], np.broadcast_to(x[:1], (4, 3)), "bits",
         dims=(4, 3))
    case("reshape", [x], x.reshape(3, 2), "bits", dims=(3, 2))
    case("transpose", [x], x.transpose(), "bits", perm=(1, 0))
    case("slice", [x], x[:, ::-2], "bits", axis=1, start=2, stop=(1 << 63) - 1,
         step=-2)
    line = any_bits(dtype, (9,))
    case("window", [line], np.stack([line[i:i + 3] for i in range(0, 7, 2)]),
         "bits", axes=[0], sizes=[3], strides=[2], dilations=[1])
    zero = rounded(dtype, np.zeros(()))
    padded = np.concatenate([np.repeat(zero.reshape(1, 1), 2, 0).repeat(3, 1),
                             x])
    case("pad", [x, zero], padded, "bits", axis=0, low=2, high=0)
    case("concat", [x, y], np.concatenate([x, y], 1), "bits", axis=1)
    at = np.array([1, 0, 1], np.int32)
    case("gather", [x, at], x[at], "bits", axis=0, mode=0)
    case("dynamic_slice", [line, np.array(4, np.int32)], line[4:7], "bits",
         axis=0, size=3)
    updated = line.copy()
    updated[4:7] = x[0]
    case("dynamic_update", [line, x[0], np.array(4, np.int32)], updated,
         "bits", axis=0)
    updated = line.copy()
    updated[[8, 0]] = x[0, :2]
    case("scatter", [line, np.array([8, 0], np.int32), x[0, :2]], updated,
         "bits", axis=0, mode=0, range=0)
    m = np.array([[1, 0, 1], [0, 1, 1]], np.bool_)
    case("select", [m, x, y], np.where(m, x, y), "bits")
    e = edges(dtype)
    quiet = round_one(dtype, math.nan)
    plain = np.where(np.isnan(wide(e)), np.uint16(quiet), bits_of(e))
    for to in ("i16", "u16"):
        case("bitcast", [e], plain.astype(np.uint16).view(TYPES[to]), "bits")
        case("bitcast", [bits_of(e).view(TYPES[to])], e, "value")
    other = "bf16" if dtype == "f16" else "f16"
    case("bitcast", [e], of_bits(other, plain.astype(np.uint16)), "value")
    case("bitcast", [e], of_bits(dtype, bits_of(e)), "value")


def casts():
    for dtype in HALVES:
        x = np.concatenate([edges(dtype), rounded(dtype, np.array(
            [0.9, -0.9, 127.5, 255.5, -129, 256, 1e4, -1e4, 65000, 3.4e38]))])
        named = define(dtype + "/cast", x)
        for to in TYPES:
            w = wide(x)
            if to in HALVES:
                out = x if to == dtype else rounded(to, w)
            else:
                out = array(to, [rule_cast(v, to) for v in w])
            case("cast", [named], out)
    for dtype in ANY:
        if dtype == "bool":
            values = array(dtype, [0, 1])
        elif dtype in FLOAT:
            bits = np.arange(1, 1 << 15, 577, dtype=np.uint16)
            ties = []
            for half in HALVES:
                below = wide(of_bits(half, bits)).astype(np.float64)
                above = wide(of_bits(half, bits + np.uint16(1)))
                tie = (below + above.astype(np.float64)) / 2
                ties += [tie, np.nextafter(tie, 0), np.nextafter(tie, 1e300),
                         -tie]
            with np.errstate(all="ignore"):
                values = np.concatenate(ties).astype(TYPES[dtype])
            values = np.concatenate([values, array(dtype, [
                0.0, -0.0, 65519.996, 65520, 1e30, 3.3961775e38, math.inf,
                -math.inf, math.nan, 1e-45, -1e-30])])
        else:
            info = np.iinfo(TYPES[dtype])
            values = [0, 1, info.max, info.max - 1, info.min]
            for n in range(8, width(dtype) - 1):
                values += [(1 << n) + d for d in (
                    -1, 0, 1, 1 << (n - 8), (1 << (n - 8)) + 1,
                    (1 << (n - 8)) - 1)]
            for n in range(11, min(17, width(dtype) - 1)):
                values += [(1 << n) + (1 << (n - 11)) + d for d in (-1, 0, 1)]
            values = array(dtype, [v for v in values
                                   if info.min <= v <= info.max])
        named = define(dtype + "/to", values)
        for half in HALVES:
            case("cast", [named], rounded(half, values))


MATH = {"exp": np.exp, "exp2": np.exp2, "log1p": np.log1p, "sin": np.sin,
        "cos": np.cos, "tanh": np.tanh, "sinh": np.sinh, "cbrt": np.cbrt,
        "sigmoid": lambda x: 1 / (1 + np.exp(-x)), "sqrt": np.sqrt,
        "rsqrt": lambda x: 1 / np.sqrt(x), "reciprocal": lambda x: 1 / x,
        "square": lambda x: x * x}
BINARY = {"add": np.add, "sub": np.subtract, "mul": np.multiply,
          "div": np.divide}


def arithmetic(dtype):
    e = edges(dtype)
    w = wide(e)
    canonical = of_bits(dtype, round_one(dtype, math.nan))
    named = define(dtype + "/edges", e)
    for name, function in (("neg", np.negative), ("abs", np.abs),
                           ("floor", np.floor), ("ceil", np.ceil),
                           ("round", np.rint), ("trunc", np.trunc),
                           ("sqrt", np.sqrt)):
        case(name, [named], rounded(dtype, function(w)), "value")
    case("sign", [named], rounded(dtype, [rule_sign("f32", v) for v in w]),
         "value")
    case("is_nan", [named], np.isnan(w))
    case("signbit", [named], np.signbit(w) & ~np.isnan(w))
    column, row = e.reshape(-1, 1), e.reshape(1, -1)
    a, b = np.broadcast_arrays(wide(column), wide(row))
    for name, function in BINARY.items(): # f32 has all bits that matter
        case(name, [column, row], rounded(dtype, function(a, b)), "value")
    for name, rule in (("max", rule_max), ("min", rule_min)):
        out = [rule("f32", x, y) for x, y in zip(a.reshape(-1),
                                                 b.reshape(-1))]
        case(name, [column, row],
             rounded(dtype, np.array(out, np.float32).reshape(a.shape)))
    for name, function in (("eq", np.equal), ("ne", np.not_equal),
                           ("lt", np.less), ("le", np.less_equal),
                           ("gt", np.greater), ("ge", np.greater_equal)):
        case(name, [column, row], function(a, b))
    finite = [rounded(dtype, random.uniform(-3, 3, 40)) for _ in range(3)]
    product = [np.float32(0)] * 40
    for i in range(40):
        value = exact(wide(finite[0])[i]) * exact(wide(finite[1])[i]) + \
            exact(wide(finite[2])[i])
        product[i] = nearest("f32", value)
    case("fma", finite, rounded(dtype, np.array(product)))
    case("nextafter", [e, e[::-1].copy()], next_after(dtype, e, e[::-1]))
    x = rounded(dtype, random.uniform(0.1, 6, 60))
    for name, function in MATH.items():
        case(name, [x], rounded(dtype, function(wide(x).astype(np.longdouble))
                                .astype(np.float64)), "ulp4")
    y = rounded(dtype, random.uniform(-2, 2, 60))
    case("pow", [x, y], rounded(dtype, np.power(
        wide(x).astype(np.float64), wide(y).astype(np.float64))), "ulp4")


def next_after(dtype, x, to):
    out = []
    for a, b in zip(x.reshape(-1), to.reshape(-1)):
        v, t = float(wide(np.array(a))), float(wide(np.array(b)))
        bits = int(bits_of(np.array(a)))
        if math.isnan(v) or math.isnan(t):
            out.append(round_one(dtype, math.nan))
        elif v == t:
            out.append(int(bits_of(np.array(b))))
        elif v == 0:
            out.append(1 if t > 0 else 0x8001)
        else:
            out.append(bits + (1 if (t > v) == (v > 0) else -1))
    return of_bits(dtype, np.array(out, np.uint16).reshape(x.shape))


def sums(dtype):
    x = ordinary(dtype, (7, 90))
    w = wide(x).astype(np.float64)
    for axes in ([0], [1], [0, 1]):
        total = w.sum(tuple(axes))
        args = dict(axes=axes, keep=0)
        case("sum", [x], rounded(dtype, total), "ulp4", **args)
        case("mean", [x], rounded(dtype, w.mean(tuple(axes))), "ulp4", **args)
        case("reduce_max", [x], rounded(dtype, w.max(tuple(axes))), "bits",
             **args)
        case("reduce_min", [x], rounded(dtype, w.min(tuple(axes))), "bits",
             **args)
    # The mean of numbers whose sum is too large for f16, and that of many.
    large = rounded(dtype, np.full(3000, 60000.0))
    case("mean", [large], large[0:1].reshape(()), "bits", axes=[0], keep=0)
    case("argmax", [x], w.argmax(1), axis=1)
    case("argmin", [x], w.argmin(0), axis=0)
    a, b = ordinary(dtype, (5, 70)), ordinary(dtype, (70, 6))
    case("matmul", [a, b], rounded(dtype, wide(a).astype(np.float64) @
                                   wide(b).astype(np.float64)), "ulp4",
         flags=0)


# What remains of the rows of floats, on ranges without poles.
FUNCTIONS = {
    "expm1": (-2, 2, math.expm1), "log": (0.1, 6, math.log),
    "log2": (0.1, 6, math.log2), "log10": (0.1, 6, math.log10),
    "tan": (-1.4, 1.4, math.tan), "asin": (-1, 1, math.asin),
    "acos": (-1, 0.9, math.acos), "atan": (-6, 6, math.atan),
    "cosh": (-4, 4, math.cosh), "asinh": (-6, 6, math.asinh),
    "acosh": (1.1, 6, math.acosh), "atanh": (-0.9, 0.9, math.atanh),
    "erf": (-3, 3, math.erf), "erfc": (-3, 3, math.erfc),
    "silu": (-6, 6, lambda x: x / (1 + math.exp(-x))),
    "softplus": (-6, 6, lambda x: math.log1p(math.exp(x))),
    "gelu": (-4, 4, lambda x: x / 2 * math.erfc(-x / math.sqrt(2)))}
FUNCTIONS_2 = {"hypot": math.hypot, "atan2": math.atan2,
               "atan2_fast": math.atan2}


def functions_of(dtype, draw):
    for name, (low, high, function) in FUNCTIONS.items():
        x = rounded(dtype, draw.uniform(low, high, 40))
        out = rounded(dtype, np.array([function(float(v)) for v in wide(x)]))
        case(name, [x], out, "ulp4")
        if name in ("log", "log2", "log10", "sin", "cos", "tan", "atan", "erf",
                    "erfc", "silu", "gelu"):
            case(name + "_fast", [x], out, "ulp4")
    for name, function in (("sin", math.sin), ("cos", math.cos),
                           ("tanh", math.tanh),
                           ("sigmoid", lambda v: 1 / (1 + math.exp(-v)))):
        x = rounded(dtype, draw.uniform(-4, 4, 40))
        case(name + "_fast", [x], rounded(dtype, np.array(
            [function(float(v)) for v in wide(x)])), "ulp4")
    for name, function in FUNCTIONS_2.items():
        x, y = (rounded(dtype, draw.uniform(0.1, 6, 40)) for _ in range(2))
        case(name, [x, y], rounded(dtype, np.array(
            [function(float(p), float(q)) for p, q in zip(wide(x), wide(y))])),
             "ulp4")
    x = rounded(dtype, draw.uniform(0.8, 1.25, (5, 12)))
    w = wide(x).astype(np.float64)
    for axes in ([0], [1]):
        case("prod", [x], rounded(dtype, w.prod(tuple(axes))), "ulp4",
             axes=axes, keep=0)
    a, b = (rounded(dtype, draw.uniform(-1, 1, (9, 3))) for _ in range(2))
    h, states = np.zeros(3), []
    for i in range(9):
        h = wide(a)[i].astype(np.float64) * h + wide(b)[i]
        states.append(h)
    case("linear_scan", [a, b], rounded(dtype, np.array(states)), "ulp4",
         axis=0, one=0)
    x = rounded(dtype, draw.uniform(0.25, 2, (2, 6, 3)))
    f = rounded(dtype, draw.uniform(0.25, 2, (3, 3, 4)))
    out = np.zeros((2, 4, 4))
    for i in range(4):
        out[:, i] = np.einsum("bwc,wcf->bf", wide(x)[:, i:i + 3].astype(
            np.float64), wide(f).astype(np.float64))
    case("conv", [x, f], rounded(dtype, out), "ulp4", strides=[1],
         dilations=[1])


def write_functions():
    """With a generator of its own, so that other files stay as they are."""
    begin("halves_functions", "elementary functions of f16 and bf16")
    draw = np.random.RandomState(1616)
    for dtype in HALVES:
        functions_of(dtype, draw)


def write_all():
    begin("halves", "f16 and bf16")
    for dtype in HALVES:
        moves(dtype)
        arithmetic(dtype)
        sums(dtype)
    casts()
