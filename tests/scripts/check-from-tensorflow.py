# SPDX-License-Identifier: MIT
"""Runs the Python programs of docs/FROM_TENSORFLOW.md.

usage: check-from-tensorflow.py PAGE FOLDER

The numbers that a program prints must be among those of the C program, in the
same order. A program that shows errors prints no numbers of its own: it must
catch as many errors as the C program reports.
"""
import contextlib
import io
import os
import re
import runpy
import sys

IMPORTS = "import numpy as np\nimport tensorflow as tf\n"


def numbers(text):
    return [float(x) for x in re.findall(r"(?<![\w.])-?\d+\.?\d*(?:e-?\d+)?", text)]


def is_subsequence(few, many):
    rest = iter(many)
    return all(x in rest for x in few)


def check(number, program, expected, folder):
    path = os.path.join(folder, "program_%s.py" % number)
    with open(path, "w") as file:
        file.write(IMPORTS + program)
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        runpy.run_path(path)
    if "except" in program:
        errors = len(re.findall(r"^\.\.\.", expected, re.M))
        return program.count("except ") == errors and bool(out.getvalue())
    found = numbers(out.getvalue())
    good = bool(found) and is_subsequence(found, numbers(expected))
    if not good:
        print("program %s prints\n%s" % (number, out.getvalue()))
    return good


def main(page, folder):
    with open(page) as file:
        sections = re.split(r"^### (\d+)\. ", file.read(), flags=re.M)
    n_checked, failed = 0, []
    for number, text in zip(sections[1::2], sections[2::2]):
        program = re.search(r"```python\n(.*?)```", text, re.S)
        expected = re.search(r"```text\n(.*?)```", text, re.S)
        if not program:
            continue
        n_checked += 1
        if not check(number, program.group(1), expected.group(1), folder):
            failed.append(number)
    print("%d programs, failed: %s" % (n_checked, ", ".join(failed) or "none"))
    return 1 if failed or not n_checked else 0


sys.exit(main(*sys.argv[1:]))
