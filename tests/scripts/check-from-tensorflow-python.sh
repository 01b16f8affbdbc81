#!/bin/sh
# SPDX-License-Identifier: MIT
#
# The Python programs of docs/FROM_TENSORFLOW.md print the numbers of the C
# programs. PYTHON names the interpreter. Skipped where it or TensorFlow is
# absent.

python=${PYTHON:-python3}
"$python" -c 'import importlib.util as u, sys
sys.exit(u.find_spec("tensorflow") is None)' 2>/dev/null || exit 77

folder=$PWD/check-from-tensorflow-python.tmp
trap 'rm -rf "$folder"' EXIT
rm -rf "$folder"
mkdir "$folder" || exit 1
export TF_CPP_MIN_LOG_LEVEL=3
"$python" "$srcdir/tests/scripts/check-from-tensorflow.py" \
    "$srcdir/docs/FROM_TENSORFLOW.md" "$folder"
