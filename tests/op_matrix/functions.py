# SPDX-License-Identifier: MIT
"""Expected results of functions that are composed of operations, by NumPy and
by their definitions, as make_expected.py has those of the operations."""
import math
from fractions import Fraction

import numpy as np

from case_file import Near, begin, case, define
from elements import *
from rules import *


def near(dtype, values, ulps, scale=0):
    """Real numbers (long double), each off by at most so many units of
    roundoff of itself or of the scale, of one number or of one for each."""
    values = np.asarray(values, dtype=np.longdouble)
    scales = np.broadcast_to(np.asarray(scale, dtype=np.longdouble),
                             values.shape).reshape(-1)
    largest = np.finfo(TYPES[dtype]).max
    flat, bounds = [], []
    for v, s in zip(values.reshape(-1), scales):
        if not np.isfinite(v) or abs(v) > largest:
            flat.append(float(TYPES[dtype](v)))
            bounds.append(0)
        else:
            flat.append(Fraction(float(v)))
            bounds.append(ulps * ROUNDOFF[dtype] *
                          Fraction(float(max(abs(v), s))) + 4 * TINY[dtype])
    return Near(dtype, values.shape, flat, bounds)


def wide(x):
    return x.astype(np.longdouble)


# -- Elementwise --------------------------------------------------------------


def rule_floordiv(dtype, a, b):
    if dtype in INT:
        a, b = int(a), int(b)
        return wrap(dtype, a // b if b else -1)
    if np.isnan(a) or np.isnan(b) or np.isinf(a) or b == 0:
        return a / b
    quotient = TYPES[dtype](exact(a) // exact(b) if np.isfinite(b)
                            else -1 if a * b < 0 else 0)
    return quotient if quotient else np.copysign(quotient, a / b)


def rule_fmod(dtype, a, b):
    if np.isnan(a) or np.isnan(b) or np.isinf(a) or b == 0:
        return TYPES[dtype](math.nan)
    if np.isinf(b):
        return a
    rest = abs(exact(a)) % abs(exact(b))
    return nearest(dtype, -rest if a < 0 else rest)


def rule_floormod(dtype, a, b):
    if dtype in INT:
        a, b = int(a), int(b)
        return wrap(dtype, a % b if b else a)
    rest = rule_fmod(dtype, a, b)
    return rest + b if rest * np.sign(b) < 0 else rest


def each(dtype, rule, *operands):
    """A rule applied to every element of operands broadcast together."""
    operands = np.broadcast_arrays(*operands)
    return array(dtype, [rule(dtype, *elements) for elements in zip(
        *(o.reshape(-1) for o in operands))]).reshape(operands[0].shape)


def quotients():
    """What has a quotient that is exact in the dtype."""
    for dtype in NUM:
        x = edges(dtype)
        if dtype in FLOAT:
            x = array(dtype, [0.0, 1, -1, 0.5, -0.5, 1.5, 2, -2.5, 3, 0.1,
                              -0.1, 7, -7, 1000.25, math.inf, -math.inf,
                              math.nan])
        a = define(dtype + "/a", x.reshape(-1, 1))
        b = define(dtype + "/b", x.reshape(1, -1))
        case("floordiv", [a, b], each(dtype, rule_floordiv, a[1], b[1]))
        case("floormod", [a, b], each(dtype, rule_floormod, a[1], b[1]))
        if dtype in FLOAT:
            case("fmod", [a, b], each(dtype, rule_fmod, a[1], b[1]))
            # Quotients that round up to an integer.
            y = np.arange(1, 60).astype(TYPES[dtype])
            z = TYPES[dtype](0.1) * y
            for name, rule in (("floordiv", rule_floordiv),
                               ("floormod", rule_floormod),
                               ("fmod", rule_fmod)):
                case(name, [z, array(dtype, 0.1)],
                     each(dtype, rule, z, array(dtype, 0.1)))


def bits_of_floats():
    for dtype in FLOAT:
        x = edges(dtype)
        odd = np.array([0x7fc00001, 0xffc00000, 0x7fffffff]
                       if dtype == "f32" else
                       [0x7ff8000000000001, 0xfff8000000000000,
                        0x7fffffffffffffff],
                       dtype="u%d" % (width(dtype) // 8)).view(TYPES[dtype])
        every = np.concatenate([x, odd])
        plain = np.where(np.isnan(every), canonical_nan(dtype), every)
        for to in ("i32", "u32") if dtype == "f32" else ("i64", "u64"):
            case("bitcast", [every], plain.view(TYPES[to]), "bits")
            case("bitcast", [x.view(TYPES[to])], x)
            case("bitcast", [x.view(TYPES[to])[:0]], x[:0])
        case("bitcast", [x], x)
        a = define(dtype + "/all/a", every.reshape(-1, 1))
        b = define(dtype + "/all/b", every.reshape(1, -1))
        case("signbit", [every], np.signbit(plain), "bits")
        case("copysign", [a, b],
             np.copysign(a[1], plain.reshape(1, -1)))
        case("nextafter", [a, b], np.nextafter(a[1], b[1]))
        case("is_nan", [every], np.isnan(every), "bits")
        case("is_inf", [every], np.isinf(every), "bits")
        case("is_finite", [every], np.isfinite(every), "bits")
        case("reciprocal", [x], 1 / x)
    for dtype in INT:
        for to in INT:
            if width(to) == width(dtype):
                x = random_bits_of(dtype, (3, 5))
                case("bitcast", [x], x.view(TYPES[to]), "bits")
    for dtype in ANY:
        x = edges(dtype)
        a, b = x.reshape(-1, 1), x.reshape(1, -1)
        case("logical_xor", [a, b],
             np.logical_xor(a, b), "bits")


def elu(x, alpha):
    return np.where(x > 0, x, alpha * np.expm1(np.minimum(x, 0)))


def activations():
    for dtype in FLOAT:
        t = TYPES[dtype]
        x = np.concatenate([
            array(dtype, [0.0, -0.0, 1, -1, 0.5, 3, -3, 6, -6, 10, -10, 30,
                          -30, 1e-3, -1e-3, 1e-10, 100, -100, math.inf,
                          math.nan]),
            random.uniform(-8, 8, 12).astype(t)])
        below = np.concatenate([x, array(dtype, [-math.inf])])
        y, all_y = wide(x), wide(below)
        case("relu6", [below], near(dtype, np.clip(all_y, 0, 6), 0))
        case("softsign", [x[np.isfinite(x)]],
             near(dtype, y[np.isfinite(y)] / (1 + abs(y[np.isfinite(y)])), 3))
        case("log_sigmoid", [below],
             near(dtype, -np.logaddexp(-all_y, 0), 8))
        scale, alpha = (np.longdouble("1.0507009873554804934193349852946"),
                        np.longdouble("1.6732632423543772848170429916717"))
        case("selu", [below], near(dtype, scale * elu(all_y, alpha), 12))
        # The error of the argument of the exponential grows with it.
        inner = y + np.longdouble(0.044715) * y ** 3
        case("gelu_tanh", [x],
             near(dtype, np.where(np.isinf(y), y, y / (1 + np.exp(
                 -2 * np.sqrt(2 / np.longdouble(math.pi)) * inner))), 600))
        normal = ~(x < -50) # without denormal numbers on the way
        case("mish", [x[normal]],
             near(dtype, (y * np.tanh(np.logaddexp(y, 0)))[normal], 20))
        case("hard_swish", [below[:-1]],
             near(dtype, y * np.clip(y / 6 + np.longdouble(0.5), 0, 1), 4,
                  abs(np.nan_to_num(y))))
        slope = t(0.3)
        for name in ("leaky_relu", "prelu"):
            case(name, [below, slope],
                 near(dtype, np.where(all_y > 0, all_y,
                                      all_y * wide(slope)), 1))
        slopes = random.uniform(-1, 1, (2, 1)).astype(t)
        case("prelu", [below, slopes],
             near(dtype, np.where(all_y > 0, all_y, all_y * wide(slopes)), 1))
        case("elu", [below, t(1.5)], near(dtype, elu(all_y, t(1.5)), 12))
        case("celu", [below, t(1.5)],
             near(dtype, np.where(all_y > 0, all_y, t(1.5) * np.expm1(
                 np.minimum(all_y, 0) / t(1.5))), 14))
        case("thresholded_relu", [below, t(1)],
             np.where(below > 1, below, t(0)))
        case("hard_sigmoid", [below, t(0.25), t(0.5)],
             near(dtype, np.clip(all_y * np.longdouble(0.25) +
                                 np.longdouble(0.5), 0, 1), 2, 1))
        case("shrink", [below, t(1), t(0.25)],
             np.where(below < -1, below + t(0.25),
                      np.where(below > 1, below - t(0.25), t(0))))


def start(name, about):
    """As begin; the file does not depend on those before it."""
    random.seed(20261118)
    begin(name, about)


def elementwise():
    start("elementwise", "functions of single elements")
    quotients()
    bits_of_floats()
    activations()


# -- Shapes and places --------------------------------------------------------


MOVED = ["bool", "u8", "i16", "f32", "i64"] # one of each size, and floats


def shapes():
    start("shapes", "functions that move elements")
    for dtype in MOVED:
        x = define(dtype, random_bits_of(dtype, (2, 3, 4)))
        for first, last in ((0, 2), (0, 1), (1, 2), (-2, -1), (1, 1)):
            a, z = first % 3, last % 3
            shape = x[1].shape
            case("flatten", [x],
                 x[1].reshape(shape[:a] + (-1,) + shape[z + 1:]), "bits",
                 first=first, last=last)
        case("flatten", [x[1][0, 0, 0]], x[1][0, 0, :1], "bits", first=0,
             last=-1)
        case("flatten", [x[1][:, :0]], x[1][:, :0].reshape(2, 0), "bits",
             first=1, last=2)
        ones = x[1].reshape(2, 1, 3, 1, 4)
        case("squeeze", [ones], x[1].reshape(2, 3, 1, 4), "bits", axes=[1])
        case("squeeze", [ones], x[1], "bits", axes=[-2, 1])
        for axis in range(-4, 4):
            case("expand_dims", [x], np.expand_dims(x[1], axis), "bits",
                 axis=axis)
        for axes in ([], [0], [1, 2], [-1], [0, 1, 2]):
            case("reverse", [x], np.flip(x[1], axes), "bits", axes=axes)
        for repeats in ((1, 1, 1), (2, 1, 3), (1, 2, 1), (0, 1, 2)):
            case("tile", [x], np.tile(x[1], repeats), "bits", repeats=repeats)
        case("tile", [x[1][0, 0, 0]], x[1][0, 0, 0], "bits", repeats=())
        for repeats, axis in ((2, 0), (3, 1), (2, -1), (1, 0), (0, 2)):
            case("repeat", [x], np.repeat(x[1], repeats, axis), "bits",
                 repeats=repeats, axis=axis)
        for part in range(2):
            case("split", [x], np.split(x[1], 2, 2)[part], "bits", axis=2,
                 n=2, part=part)
        for part, (low, high) in enumerate(((0, 1), (1, 1), (1, 3))):
            case("split_sizes", [x], x[1][:, low:high], "bits", axis=-2,
                 sizes=(1, 0, 2), part=part)
        lengths = np.array([2, 3, 9], dtype=np.int32)
        rows = random_bits_of(dtype, (3, 4, 2))
        expected = rows.copy()
        for i, n in enumerate(lengths):
            expected[i, :n] = expected[i, :n][::-1]
        case("reverse_sequence", [rows, lengths], expected, "bits",
             batch=0, sequence=1)
        case("reverse_sequence", [rows.transpose(2, 1, 0).copy(), lengths],
             expected.transpose(2, 1, 0), "bits", batch=-1, sequence=1)
        names = ("edge", "reflect", "symmetric", "wrap")
        for kind, name in enumerate(names):
            for axis, low, high in ((0, 1, 2), (2, 3, 0), (-2, 0, 2),
                                    (1, 5, 7), (0, 0, 0)):
                around = [(0, 0)] * 3
                around[axis] = (low, high)
                case("pad_from", [x], np.pad(x[1], around, name), "bits",
                     axis=axis, low=low, high=high, kind=kind)
            one = x[1][:, :1]
            case("pad_from", [one], np.pad(one, ((0, 0), (2, 3), (0, 0)),
                                           "edge"), "bits", axis=1, low=2,
                 high=3, kind=kind)
            case("pad_from_axes", [x],
                 np.pad(x[1], ((1, 0), (2, 1), (0, 0)), name), "bits",
                 low=(1, 2), high=(0, 1), kind=kind)
        depth = random_bits_of(dtype, (2, 3, 2, 12))
        n, h, w, c = depth.shape
        for flags in range(4):
            split = depth.reshape(n, h, w, 3, 2, 2).transpose(
                0, 1, 4, 2, 5, 3) if flags & 2 else \
                depth.reshape(n, h, w, 2, 2, 3).transpose(0, 1, 3, 2, 4, 5)
            a, b = depth, split.reshape(n, h * 2, w * 2, 3)
            if flags & 1:
                a, b = (v.transpose(0, 3, 1, 2).copy() for v in (a, b))
            case("depth_to_space", [a], b, "bits", block=2, flags=flags)
            case("space_to_depth", [b], a, "bits", block=2, flags=flags)
        matrix = random_bits_of(dtype, (2, 3, 4))
        for k in (0, 1, -2, 9):
            case("tril", [matrix], np.tril(matrix, k), "bits", diagonal=k)
            case("triu", [matrix], np.triu(matrix, k), "bits", diagonal=k)
        for rows_, columns, k in ((3, 3, 0), (2, 4, 1), (4, 2, -1), (0, 2, 0)):
            case("eye", [], np.eye(rows_, columns, k).astype(TYPES[dtype]),
                 "bits", dims=(rows_, columns), diagonal=k)
        if dtype == "bool":
            for rows_, columns, k in ((3, 3, 0), (2, 4, 1), (4, 2, -1)):
                case("triangle", [], np.tri(rows_, columns, k).astype(bool),
                     "bits", dims=(rows_, columns), diagonal=k)
    for dtype in NUM:
        for first, stop, step in ((0, 5, 1), (2, 11, 3), (7, 0, -2),
                                  (3, 3, 1), (3, 1, 1)):
            case("arange", [], np.arange(first, stop, step,
                                         dtype=np.int64).astype(TYPES[dtype]),
                 "bits", start=first, stop=stop, step=step)
    for dtype in FLOAT:
        for first, stop, n in ((0, 1, 5), (-2.5, 7.25, 8), (3, -1, 2),
                               (4, 9, 1), (4, 9, 0)):
            case("linspace", [array(dtype, first), array(dtype, stop)],
                 near(dtype, np.linspace(np.longdouble(first), stop, n), 4,
                      max(abs(first), abs(stop))), n=n)


def positions(shape, extent):
    return random.randint(0, extent, shape)


def scattered(x, places, updates, mode):
    """Updates applied to x one by one; places are index tuples."""
    y = x.copy()
    for place, update in zip(places, updates):
        old = y[place]
        if mode == 0:
            y[place] = update
        elif mode == 1:
            y[place] = old + update
        elif mode == 2:
            y[place] = old * update
        else:
            rule = rule_max if mode == 3 else rule_min
            y[place] = each(NAMES[x.dtype], rule, old, update)
    return y


def places():
    start("places", "functions of indices and conditions")
    for dtype in MOVED:
        x = define(dtype, random_bits_of(dtype, (3, 4, 2)))
        plain = define(dtype + "/plain", ordinary(dtype, (3, 4, 2)))
        for own in ("i64", "i32", "u8"):
            at = np.stack([positions((5,), 3), positions((5,), 4)], -1)
            case("gather_nd", [x, at.astype(TYPES[own])],
                 x[1][at[:, 0], at[:, 1]], "bits", batch=0, mode=0)
        at = np.stack([positions((2, 3), 3), positions((2, 3), 4),
                       positions((2, 3), 2)], -1)
        case("gather_nd", [x, at], x[1][at[..., 0], at[..., 1], at[..., 2]],
             "bits", batch=0, mode=0)
        case("gather_nd", [x, at[0, 0]], x[1][tuple(at[0, 0])], "bits",
             batch=0, mode=0)
        one = positions((3, 2, 1), 4)
        case("gather_nd", [x, one],
             np.stack([x[1][i][one[i, :, 0]] for i in range(3)]), "bits",
             batch=1, mode=0)
        far = np.array([[0, 1], [3, 0], [-1, 2], [2, 4], [1, -7]])
        inside = ((far >= 0) & (far < (3, 4))).all(-1)
        clamped = np.clip(far, 0, (2, 3))
        case("gather_nd", [x, far], x[1][clamped[:, 0], clamped[:, 1]],
             "bits", batch=0, mode=1)
        case("gather_nd", [x, far],
             np.where(inside[:, None], x[1][clamped[:, 0], clamped[:, 1]],
                      np.zeros((), TYPES[dtype])), "bits", batch=0, mode=2)
        for axis in (-1, 0, 1):
            shape = list(x[1].shape)
            shape[axis] = 5
            at = positions(shape, x[1].shape[axis])
            case("take_along_axis", [x, at],
                 np.take_along_axis(x[1], at, axis), "bits", axis=axis, mode=0)
        small = positions((2, 6, 1), 4)
        case("take_along_axis", [x, small.astype(np.int32)],
             np.take_along_axis(x[1][:2, :, :1], small, 1), "bits", axis=1,
             mode=0)
        modes = (0, 3, 4) if dtype == "bool" else range(5)
        for mode in modes:
            at = np.stack([positions((6,), 3), positions((6,), 4)], -1)
            updates = ordinary(dtype, (6, 2))
            case("scatter_nd", [plain, at, updates],
                 scattered(plain[1], [tuple(p) for p in at], updates, mode),
                 mode=mode, range=0)
            case("scatter_nd", [plain, far, updates[:5]],
                 scattered(plain[1], [tuple(p) for p in far[inside]],
                           updates[:5][inside], mode), mode=mode, range=1)
            at = positions((3, 6, 2), 4)
            updates = ordinary(dtype, (3, 6, 2))
            where = [(i, at[i, j, k], k) for i in range(3) for j in range(6)
                     for k in range(2)]
            case("put_along_axis", [plain, at, updates],
                 scattered(plain[1], where, updates.reshape(-1), mode),
                 axis=1, mode=mode, range=0)
        sparse = np.where(random.randint(0, 2, (3, 5)), ordinary(
            dtype, (3, 5)), np.zeros((), TYPES[dtype]))
        for axes in ([], [0], [1], [0, 1]):
            case("count_nonzero", [sparse],
                 np.asarray(np.count_nonzero(sparse, tuple(axes)) if axes
                            else (sparse != 0), dtype=np.int64), "bits",
                 axes=axes, keep=0)
        for value in (sparse, sparse[0], sparse[:0], sparse[0, 0]):
            found = np.argwhere(value)
            for most in (20, 4, 0):
                rows = np.full((most, value.ndim), -1, dtype=np.int64)
                rows[:min(len(found), most)] = found[:most]
                case("nonzero", [value], rows, "bits", max=most)
        keep = np.array([True, False, True, True])
        for axis, most in ((1, 4), (1, 3), (1, 2)):
            rows = np.zeros((3, most, 2), TYPES[dtype])
            rows[:, :min(3, most)] = x[1][:, keep][:, :most]
            case("compress", [x, keep], rows, "bits", axis=axis, max=most)


def resize_position(position, i, n, m, scale, crop):
    s = scale or m / n
    if position == 0 or (position == 1 and m > 1):
        return (i + 0.5) / s - 0.5
    if position == 1:
        return 0.0
    if position == 2:
        return i / s
    if position == 3:
        return i * (n - 1) / (m - 1) if m > 1 else 0.0
    if position == 4:
        return (i + 0.5) / s
    if m == 1:
        return 0.5 * (crop[0] + crop[1]) * (n - 1)
    return crop[0] * (n - 1) + i * (crop[1] - crop[0]) * (n - 1) / (m - 1)


def cubic_weights(t, a):
    def inner(d):
        return ((a + 2) * d - (a + 3)) * d * d + 1

    def outer(d):
        return ((a * d - 5 * a) * d + 8 * a) * d - 4 * a
    return [outer(t + 1), inner(t), inner(1 - t), outer(2 - t)]


def resized(x, axis, m, mode, position, nearest=0, a=-0.75, excludes=False,
            scale=0, crop=(0, 1)):
    n = x.shape[axis]
    slices = []
    for i in range(m):
        at = resize_position(position, i, n, m, scale, crop)
        if mode == 0:
            whole = (math.ceil(at - 0.5), math.floor(at + 0.5),
                     math.floor(at), math.ceil(at))[nearest]
            slices.append(np.take(x, min(max(whole, 0), n - 1), axis))
            continue
        whole = math.floor(at)
        t = at - whole
        taps = range(whole, whole + 2) if mode == 1 \
            else range(whole - 1, whole + 3)
        weights = [1 - t, t] if mode == 1 else cubic_weights(t, a)
        if excludes:
            weights = [w if 0 <= k < n else 0 for k, w in zip(taps, weights)]
            weights = [w / sum(weights) for w in weights]
        slices.append(sum(w * np.take(x, min(max(k, 0), n - 1), axis)
                          for k, w in zip(taps, weights)))
    return np.stack(slices, axis)


def sampled(x, grid, mode, outside, aligns):
    """Of [n, channel, height, width], element by element."""
    n, channels, h, w = x.shape

    def reflect(p, low, high):
        if high == low:
            return 0.0
        span = high - low
        d = abs(p - low)
        rest = d - math.floor(d / (2 * span)) * 2 * span
        return min(rest, 2 * span - rest) + low

    def unnormal(p, size):
        at = (p + 1) / 2 * (size - 1) if aligns else ((p + 1) * size - 1) / 2
        if outside == 2:
            at = reflect(at, 0, size - 1) if aligns \
                else reflect(at, -0.5, size - 0.5)
        if outside and mode != 2:
            at = min(max(at, 0), size - 1)
        return at

    def index(k, size):
        if mode == 2 and outside == 2:
            k = int(reflect(k, 0, size - 1) if aligns
                    else reflect(k, -0.5, size - 0.5))
        return min(max(k, 0), size - 1) if outside else k

    def taps(at):
        if mode == 0:
            return [(int(np.rint(at)), 1.0)]
        whole = math.floor(at)
        t = at - whole
        if mode == 1:
            return [(whole, 1 - t), (whole + 1, t)]
        return list(zip(range(whole - 1, whole + 3),
                        cubic_weights(t, -0.75)))

    out = np.zeros((n, channels) + grid.shape[1:-1], dtype=np.longdouble)
    for e in range(n):
        for place in np.ndindex(grid.shape[1:-1]):
            px, py = (float(v) for v in grid[(e,) + place])
            for i, wi in taps(unnormal(py, h)):
                for j, wj in taps(unnormal(px, w)):
                    i_, j_ = index(i, h), index(j, w)
                    if 0 <= i_ < h and 0 <= j_ < w:
                        out[(e, slice(None)) + place] += \
                            wide(x[e, :, i_, j_]) * wi * wj
    return out


def images():
    start("images", "resampling")
    for dtype in MOVED:
        x = define(dtype, random_bits_of(dtype, (2, 5, 3)))
        for position in range(5):
            for nearest in range(4):
                case("resize", [x],
                     resized(resized(x[1], 1, 7, 0, position, nearest), 2, 2,
                             0, position, nearest), "bits", axes=(1, 2),
                     sizes=(7, 2), mode=0, position=position, nearest=nearest)
        case("resize", [x], resized(x[1], 1, 1, 0, 3), "bits", axes=[1],
             sizes=[1], mode=0, position=3, nearest=0)
    for dtype in FLOAT:
        x = define(dtype + "/image", ordinary(dtype, (2, 5, 4)))
        for mode in (1, 2):
            for position in range(6):
                crop = (0.25, 0.5)
                y = wide(x[1])
                for axis, m in ((1, 9), (2, 3)):
                    y = resized(y, axis, m, mode, position, crop=crop)
                case("resize", [x], near(dtype, y, 40, 2), axes=(1, 2),
                     sizes=(9, 3), mode=mode, position=position, nearest=0)
            y = resized(wide(x[1]), 1, 8, mode, 0, excludes=True)
            case("resize", [x], near(dtype, y, 40, 2), axes=[1], sizes=[8],
                 mode=mode, position=0, nearest=0, excludes=1)
        for mode in range(3):
            for outside in range(3):
                for aligns in (0, 1):
                    grid = random.uniform(-1.6, 1.6, (2, 3, 2, 2)).astype(
                        TYPES[dtype])
                    image = ordinary(dtype, (2, 3, 4, 5))
                    case("grid_sample", [image, grid],
                         near(dtype, sampled(image, grid, mode, outside,
                                             aligns), 400, 4),
                         mode=mode, outside=outside, aligns=aligns)


# -- Order and reductions -----------------------------------------------------


def order_keys(x):
    """Integers in the order of the elements: -0 < +0, NaN is largest."""
    if x.dtype.kind != "f":
        return [int(v) for v in x]
    bits = 8 * x.dtype.itemsize
    plain = np.where(np.isnan(x), canonical_nan(NAMES[x.dtype]), x)
    found = plain.astype(x.dtype).view("i%d" % (bits // 8))
    return [int(v) if v >= 0 else -(int(v) + (1 << (bits - 1))) - 1
            for v in found]


def stable_order(x, descending):
    keys = order_keys(x)
    return sorted(range(len(keys)),
                  key=lambda i: -keys[i] if descending else keys[i])


def argsorted(x, axis, descending):
    return np.apply_along_axis(
        lambda row: np.array(stable_order(row, descending), dtype=np.int64),
        axis, x) if x.size else np.zeros(x.shape, dtype=np.int64)


def order():
    start("order", "sorting and what follows from it")
    for dtype in ("bool", "i8", "u8", "i32", "i64", "u64", "f32", "f64"):
        long = edges(dtype)
        long = np.concatenate([long, long[::-1], ordinary(dtype, (41,))])
        cases = [(edges(dtype), 0), (long, 0), (ordinary(dtype, (3, 5, 2)), 1),
                 (ordinary(dtype, (4, 3)), 0), (ordinary(dtype, (4, 0)), 1),
                 (ordinary(dtype, (0, 3)), -1), (ordinary(dtype, (2, 1)), -1)]
        if dtype in ("bool", "u8", "f32", "i64"):
            cases.append((ordinary(dtype, (2, 129)), 1))
        for x, axis in cases:
            for flags in (0, 1):
                at = argsorted(x, axis, flags)
                case("argsort", [x], at, "bits", axis=axis, flags=flags)
                case("sort", [x], np.take_along_axis(x, at, axis),
                     axis=axis, flags=flags)
        x = ordinary(dtype, (3, 7))
        for k in (0, 1, 3, 7):
            for flags in (0, 1):
                at = argsorted(x, 1, flags)[:, :k]
                case("top_k", [x], np.take_along_axis(x, at, 1), axis=1,
                     k=k, flags=flags)
                case("top_k_indices", [x], at, "bits", axis=1, k=k,
                     flags=flags)
        some = np.concatenate([edges(dtype)[:9], edges(dtype)[3:12]])
        some = some.reshape(2, -1)
        values, indices, inverse, counts = np.unique(
            some, return_index=True, return_inverse=True, return_counts=True)
        for most in (30, len(values), 3):
            kept = min(most, len(values))

            def filled(x, rest):
                full = np.full((most,), rest, dtype=x.dtype)
                full[:kept] = x[:kept]
                return full
            case("unique_counts", [some], filled(counts.astype(np.int64), 0),
                 "bits", max=most)
            case("unique_inverse", [some],
                 np.where(inverse < most, inverse, -1).reshape(some.shape)
                 .astype(np.int64), "bits", max=most)
            case("unique_n", [some], np.int64(len(values)), "bits", max=most)
            case("unique_values", [some],
                 filled(some.reshape(-1)[indices], 0), max=most)
            case("unique_indices", [some],
                 filled(indices.astype(np.int64), -1), "bits", max=most)
    for dtype in FLOAT:
        x = ordinary(dtype, (4, 5, 3))
        for axes in ([0], [1, 2], [0, 1, 2]):
            for keep in (0, 1):
                for percent in (0, 30, 100):
                    for mode, name in enumerate(("linear", "lower", "higher",
                                                 "midpoint")):
                        case("quantile", [x], near(dtype, np.quantile(
                            wide(x), percent / 100, tuple(axes),
                            keepdims=bool(keep), method=name)
                            .astype(np.longdouble), 4, 2), axes=axes,
                            keep=keep, percent=percent, mode=mode)
                case("median", [x], near(dtype, np.median(
                    wide(x), tuple(axes), keepdims=bool(keep)), 4, 2),
                    axes=axes, keep=keep)
        x[0, 0, 0] = math.nan
        x[1, 1, 1], x[2, 1, 1] = math.inf, math.inf
        case("median", [x], near(dtype, np.median(wide(x), 0), 4, 2),
             axes=[0], keep=0)
        rows = array(dtype, [[math.inf, math.inf, 1], [-math.inf, 3, 2]])
        case("median", [rows], array(dtype, [math.inf, 2]), axes=[1], keep=0)


def reductions():
    start("reductions", "reductions composed of others")
    for dtype in ("i8", "u16", "i64", "f32", "f64"):
        x = ordinary(dtype, (3, 4, 5))
        for axes in ([0], [2], [0, 2], [0, 1, 2]):
            for keep in (0, 1):
                how = dict(axis=tuple(axes), keepdims=bool(keep))
                if dtype in INT:
                    square = (x * x).sum(dtype=TYPES[dtype], **how)
                    case("sum_square", [x], square, axes=axes, keep=keep)
                    size = np.abs(x) if dtype in SINT else x
                    case("norm_l1", [x], size.sum(dtype=TYPES[dtype], **how),
                         axes=axes, keep=keep)
                    continue
                y = wide(x)
                case("sum_square", [x], near(dtype, (y * y).sum(**how), 70),
                     axes=axes, keep=keep)
                case("norm_l1", [x], near(dtype, abs(y).sum(**how), 70),
                     axes=axes, keep=keep)
                case("norm_l2", [x],
                     near(dtype, np.sqrt((y * y).sum(**how)), 70),
                     axes=axes, keep=keep)
                case("logsumexp", [x],
                     near(dtype, np.log(np.exp(y).sum(**how)), 80, 4),
                     axes=axes, keep=keep)
    for dtype in FLOAT:
        rows = array(dtype, [[-math.inf] * 2, [math.inf, 1], [1000, 1000],
                             [-math.inf, 3], [math.nan, 1]])
        case("logsumexp", [rows],
             near(dtype, np.logaddexp(wide(rows)[:, 0], wide(rows)[:, 1]), 8),
             axes=[1], keep=0)
    for dtype in MOVED:
        x = random.randint(0, 3, (3, 4, 5)).astype(TYPES[dtype])
        for axes in ([1], [0, 2], [0, 1, 2]):
            moved = np.moveaxis(x, axes, range(-len(axes), 0))
            flat = moved.reshape(moved.shape[:-len(axes)] + (-1,))
            for keep in (0, 1):
                for last in (0, 1):
                    for name, f in (("argmax_axes", np.argmax),
                                    ("argmin_axes", np.argmin)):
                        at = flat.shape[-1] - 1 - f(flat[..., ::-1], -1) \
                            if last else f(flat, -1)
                        at = np.asarray(at, dtype=np.int64)
                        if keep:
                            at = at.reshape([1 if i in axes else n for i, n
                                             in enumerate(x.shape)])
                        case(name, [x], at, "bits", axes=axes, keep=keep,
                             last=last)


# -- Networks -----------------------------------------------------------------


def softmax(x):
    e = np.exp(x - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


def networks():
    start("networks", "normalisation, attention and losses")
    for dtype in FLOAT:
        t = TYPES[dtype]
        a, b = ordinary(dtype, (3, 4)), ordinary(dtype, (4, 5))
        c = ordinary(dtype, (5,))
        for flags in range(4):
            left = a.T.copy() if flags & 1 else a
            right = b.T.copy() if flags & 2 else b
            case("gemm", [left, right, c],
                 near(dtype, wide(a) @ wide(b) * 0.5 + wide(c) * 2, 20, 16),
                 flags=flags)
        x, scale = ordinary(dtype, (2, 3, 6)), ordinary(dtype, (6,))
        y = wide(x)
        case("rms_norm", [x, scale],
             near(dtype, y / np.sqrt((y * y).mean(-1, keepdims=True) + 1e-5) *
                  wide(scale), 40, 4))
        shift = ordinary(dtype, (6,))
        for groups in (1, 2, 3, 6):
            g = y.reshape(2, 3, groups, -1)
            mean = g.mean((1, 3), keepdims=True)
            variance = g.var((1, 3), keepdims=True)
            z = ((g - mean) / np.sqrt(variance + np.longdouble(1e-3))) \
                .reshape(y.shape) * wide(scale) + wide(shift)
            for first in (0, 1):
                v, w = (x, z) if not first else (
                    x.transpose(0, 2, 1).copy(), z.transpose(0, 2, 1))
                case("group_norm", [v, scale, shift], near(dtype, w, 200, 4),
                     groups=groups, layout=first)
                if groups == 6:
                    case("instance_norm", [v, scale, shift],
                         near(dtype, w, 200, 4), layout=first)
        for size in (1, 3, 4):
            square = np.pad(y * y, ((0, 0), (0, 0), ((size - 1) // 2,
                                                     size // 2)))
            sums = sum(square[..., i:i + 6] for i in range(size))
            z = y / (2 + np.longdouble(0.5) / size * sums) ** 0.75
            case("local_response_norm", [x], near(dtype, z, 40), size=size,
                 layout=0)
            case("local_response_norm", [x.transpose(0, 2, 1).copy()],
                 near(dtype, z.transpose(0, 2, 1), 40), size=size, layout=1)
        q, k = ordinary(dtype, (2, 3, 4)), ordinary(dtype, (2, 5, 4))
        v = ordinary(dtype, (2, 5, 3))
        scores = np.einsum("bij,bkj->bik", wide(q), wide(k)) / 2
        case("attention", [q, k, v], near(
            dtype, softmax(scores) @ wide(v), 60, 2), causal=0, first=0)
        for first in (0, 2):
            seen = np.arange(5) <= np.arange(3).reshape(3, 1) + first
            case("attention", [q, k, v], near(dtype, softmax(np.where(
                seen, scores, -1e30)) @ wide(v), 60, 2), causal=1, first=first)
        mask = array("bool", [[1, 0, 1, 1, 0], [0, 0, 0, 0, 1],
                              [1, 1, 1, 1, 1]])
        case("attention", [q, k, v, mask], near(dtype, softmax(np.where(
            mask, scores, -1e30)) @ wide(v), 60, 2), causal=0, first=0)
        bias = ordinary(dtype, (3, 5))
        case("attention", [q, k, v, bias], near(dtype, softmax(
            scores + wide(bias)) @ wide(v), 60, 2), causal=0, first=0)
        logits = ordinary(dtype, (6, 4))
        logs = np.log(softmax(wide(logits)))
        weights = (ordinary(dtype, (4,)) + t(3)).astype(t)
        labels = np.array([2, 0, -1, 3, 1, 3], dtype=np.int32)
        valid = np.array([1, 1, 0, 1, 1, 1], dtype=bool)
        for ignores in (0, 1):
            counted = valid & (labels != 3) if ignores else valid
            for given in (0, 1):
                w = wide(weights)[labels] if given else np.ones(
                    6, dtype=np.longdouble)
                w = np.where(counted, w, 0)
                rows = -w * logs[np.arange(6), labels]
                for reduction, z in enumerate((rows.sum() / w.sum(),
                                               rows.sum(), rows)):
                    inputs = [logits, labels] + [weights] * given
                    case("class_loss", inputs, near(dtype, z, 60, 8),
                         reduction=reduction, ignores=ignores, logs=0)
                    case("class_loss", [logs.astype(t)] + inputs[1:],
                         near(dtype, z, 60, 8), reduction=reduction,
                         ignores=ignores, logs=1)


def write_all():
    elementwise()
    shapes()
    places()
    images()
    order()
    reductions()
    networks()
