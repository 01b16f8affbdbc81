# SPDX-License-Identifier: MIT
"""Element types, and what operations give where we differ from NumPy."""
import math
from fractions import Fraction

import numpy as np

# -- Element types ------------------------------------------------------------

TYPES = {
    "bool": np.bool_,
    "i8": np.int8, "i16": np.int16, "i32": np.int32, "i64": np.int64,
    "u8": np.uint8, "u16": np.uint16, "u32": np.uint32, "u64": np.uint64,
    "f32": np.float32, "f64": np.float64,
}
NAMES = {np.dtype(t): name for name, t in TYPES.items()}
SINT = ["i8", "i16", "i32", "i64"]
UINT = ["u8", "u16", "u32", "u64"]
FLOAT = ["f32", "f64"]
INT = SINT + UINT
NUM = INT + FLOAT
BITS = ["bool"] + INT
ANY = ["bool"] + NUM


def width(dtype):
    return 8 * np.dtype(TYPES[dtype]).itemsize


def array(dtype, values):
    return np.array(values, dtype=TYPES[dtype])


def exact(x):
    """A finite element as a fraction."""
    return Fraction(float(x)) if np.asarray(x).dtype.kind == "f" \
        else Fraction(int(x))


def wrap(dtype, value):
    """The integer that is equal to `value` modulo 2^width."""
    bits = width(dtype)
    value = int(value) & ((1 << bits) - 1)
    if dtype in SINT and value >= 1 << (bits - 1):
        value -= 1 << bits
    return TYPES[dtype](value)


# Unit roundoff, and half the distance of the smallest numbers.
ROUNDOFF = {"f32": Fraction(1, 1 << 24), "f64": Fraction(1, 1 << 53)}
TINY = {"f32": Fraction(1, 1 << 149), "f64": Fraction(1, 1 << 1074)}


def nearest(dtype, value):
    """The element nearest to a fraction, halves to even."""
    digits, lowest = (24, -149) if dtype == "f32" else (53, -1074)
    if value == 0:
        return TYPES[dtype](0)
    sign, value = (-1, -value) if value < 0 else (1, value)
    exponent = value.numerator.bit_length() - value.denominator.bit_length()
    exponent -= value < Fraction(2) ** exponent
    unit = max(exponent - digits + 1, lowest)
    scaled = value / Fraction(2) ** unit
    whole = scaled.numerator // scaled.denominator
    rest = scaled - whole
    whole += rest > Fraction(1, 2) or (rest == Fraction(1, 2) and whole & 1)
    largest = (Fraction(2) - Fraction(1, 1 << (digits - 1))) * \
        Fraction(2) ** (127 if dtype == "f32" else 1023)
    if whole * Fraction(2) ** unit > largest:
        return TYPES[dtype](sign * math.inf)
    return TYPES[dtype](sign * math.ldexp(whole, unit))


# -- Our rules, where they are not NumPy's ------------------------------------
#
# Integers wrap. Division goes towards zero; x/0 = -1 (all bits set in an
# unsigned type), x%0 = x, MIN/-1 = MIN, MIN%-1 = 0. Shifts by a count that is
# not in 0 ... width-1 give 0 on the left and sign bits on the right.


def rule_div(dtype, a, b):
    if dtype in FLOAT:
        return a / b
    a, b = int(a), int(b)
    if b == 0:
        return wrap(dtype, -1)
    quotient = abs(a) // abs(b)
    return wrap(dtype, quotient if (a < 0) == (b < 0) else -quotient)


def rule_rem(dtype, a, b):
    a, b = int(a), int(b)
    if b == 0:
        return wrap(dtype, a)
    rest = abs(a) % abs(b)
    return wrap(dtype, -rest if a < 0 else rest)


def rule_shl(dtype, a, b):
    fits = 0 <= int(b) < width(dtype)
    return wrap(dtype, int(a) << int(b) if fits else 0)


def rule_shr(dtype, a, b):
    fits = 0 <= int(b) < width(dtype)
    return wrap(dtype, int(a) >> (int(b) if fits else width(dtype)))


# min and max: NaN if either operand is, and that the canonical one; -0 is less
# than +0. The same for reductions.


def canonical_nan(dtype):
    return np.array(0x7fc00000 if dtype == "f32" else 0x7ff8 << 48,
                    dtype="u%d" % (width(dtype) // 8)).view(TYPES[dtype])[()]


def rule_max(dtype, a, b):
    if dtype in FLOAT:
        if np.isnan(a) or np.isnan(b):
            return canonical_nan(dtype)
        if a == b:
            return b if np.signbit(a) else a
    return a if a > b else b


def rule_min(dtype, a, b):
    if dtype in FLOAT:
        if np.isnan(a) or np.isnan(b):
            return canonical_nan(dtype)
        if a == b:
            return a if np.signbit(a) else b
    return a if a < b else b


# sign keeps zeros, and gives the canonical NaN for any.


def rule_sign(dtype, x):
    if dtype in FLOAT and np.isnan(x):
        return canonical_nan(dtype)
    return x if x == 0 else TYPES[dtype](1 if x > 0 else -1)


# The magnitude of the smallest integer is itself; not of bool is logical.


def rule_abs(dtype, x):
    return np.abs(x) if dtype in FLOAT else wrap(dtype, abs(int(x)))


def rule_not(dtype, x):
    return np.bool_(not x) if dtype == "bool" else wrap(dtype, ~int(x))


# Casts: to bool x != 0 (so NaN is true); float to integer truncates and
# saturates, NaN gives 0; integer to integer wraps.


def rule_cast(x, to):
    if to == "bool":
        return np.bool_(x != 0)
    if to in FLOAT:
        return TYPES[to](x)
    if x.dtype.kind != "f":
        return wrap(to, int(x))
    if np.isnan(x):
        return TYPES[to](0)
    info = np.iinfo(TYPES[to])
    if np.isinf(x):
        return TYPES[to](info.max if x > 0 else info.min)
    return TYPES[to](min(max(math.trunc(float(x)), info.min), info.max))


# fma rounds once.


def rule_fma(dtype, a, b, c):
    if not (np.isfinite(a) and np.isfinite(b) and np.isfinite(c)):
        if np.isfinite(a) and np.isfinite(b): # a product too large is finite
            return c
        return TYPES[dtype](np.longdouble(a) * np.longdouble(b) +
                            np.longdouble(c))
    value = exact(a) * exact(b) + exact(c)
    if value != 0:
        return nearest(dtype, value)
    if exact(a) * exact(b) != 0:
        return TYPES[dtype](0)
    minus = np.signbit(a) != np.signbit(b)
    return TYPES[dtype](-0.0 if minus and np.signbit(c) else 0.0)


# A sum or product of integers keeps its type and wraps; of nothing it is 0 or
# 1, and the mean of nothing is NaN. any and all of nothing are false and true.
