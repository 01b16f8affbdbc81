# SPDX-License-Identifier: MIT
"""Writes the files of cases.

The files are words between blanks. A '#' begins a comment line.

    set @NAME TYPE SHAPE DIGITS...  elements that several cases use
    case NAME                       a row of op.def or a function of the API
    with KEY=[N[,N...]] ...         its attributes
    in TYPE SHAPE DIGITS...         an operand, or: in @NAME
    out TYPE SHAPE MODE DIGITS...   what comes out
    bound DIGITS...                 after an out whose mode is "near"
    text REST OF THE LINE           what is printed

A SHAPE is 2x3, or . for a scalar; DIGITS are the bits of the elements in
hexadecimal, as many digits for each as its type has (one for bool), split
anywhere. How elements are compared is the MODE:

    bits    bit by bit
    value   bit by bit, but all NaNs are equal: arithmetic may make any
    ulp4    at most 4 units in the last place off (halves: 1); NaN, infinity and the sign
            of zero are to be right
    near    digits are those of f64; no further off than the bound, f64 too
"""
import os
from fractions import Fraction

import numpy as np

from rules import NAMES, ROUNDOFF, TINY

folder = "."
out = None


def end():
    if out:
        out.close()


def begin(name, about):
    """Starts NAME.txt; cases go there from now on."""
    global out
    end()
    out = open(os.path.join(folder, name + ".txt"), "w")
    out.write("# Written by make_expected.py: %s.\n" % about)


def write(line):
    """A line of words, folded."""
    column, text = 0, []
    for word in line.split():
        if column and column + 1 + len(word) > 79:
            text.append("\n  ")
            column = 2
        elif column:
            text.append(" ")
            column += 1
        text.append(word)
        column += len(word)
    out.write("".join(text) + "\n")


def digits(elements):
    flat = np.ascontiguousarray(elements).reshape(-1)
    size = flat.dtype.itemsize
    if flat.dtype == np.bool_:
        text = "".join("01"[int(x)] for x in flat)
    else:
        text = "".join("%0*x" % (2 * size, int(x))
                       for x in flat.view("u%d" % size))
    return " ".join(text[i:i + 64] for i in range(0, len(text), 64))


def shape_word(shape):
    return "x".join(str(n) for n in shape) or "."


def kind(elements):
    return NAMES[elements.dtype] + " " + shape_word(elements.shape)


def define(name, elements):
    """Elements that later cases of the file may name."""
    write("set @%s %s %s" % (name, kind(elements), digits(elements)))
    return "@" + name, elements


class Near:
    """A result known as real numbers with a bound of the error of each; NaN
    and infinity stand for themselves."""

    def __init__(self, dtype, shape, values, bounds):
        self.dtype, self.shape = dtype, shape
        self.values = [v if isinstance(v, float) else float(v)
                       for v in values]
        # The reference is rounded too, and the bound must not round down.
        self.bounds = [0.0 if isinstance(v, float)
                       else float((b + abs(Fraction(v)) * ROUNDOFF["f64"] +
                                   TINY[dtype]) * Fraction(1001, 1000))
                       for v, b in zip(values, bounds)]


def case(name, inputs, outputs, compare="value", text=None, **attributes):
    """Inputs are arrays, or what define returned; outputs arrays or Near."""
    write("case " + name)
    if attributes:
        write("with " + " ".join(
            "%s=%s" % (key, ",".join(map(str, value))
                       if isinstance(value, (list, tuple)) else int(value))
            for key, value in attributes.items()))
    for value in inputs:
        if isinstance(value, tuple):
            write("in " + value[0])
        else:
            write("in %s %s" % (kind(value), digits(value)))
    if text is not None:
        out.write("text %s\n" % text)
    if not isinstance(outputs, list):
        outputs = [outputs]
    for value in outputs:
        if isinstance(value, Near):
            write("out %s %s near %s" % (value.dtype, shape_word(value.shape),
                                         digits(np.array(value.values))))
            write("bound " + digits(np.array(value.bounds)))
        else:
            value = np.asarray(value)
            write("out %s %s %s" % (kind(value), compare, digits(value)))
