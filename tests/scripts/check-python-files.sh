#!/bin/sh
# SPDX-License-Identifier: MIT
#
# NumPy, safetensors and PyTorch read what the library writes, and the reverse:
# .npy, .npz, .safetensors, CSV and DLPack. PYTHON names the interpreter. Skipped
# where it, NumPy or safetensors is absent; without PyTorch, its part is left
# out.

library=$PWD/.libs/libtgjit.so
python=${PYTHON:-python3}
test -f "$library" || exit 77
# The sanitizers' run time would have to be in the interpreter.
test -z "$TGJIT_SANITIZE" || exit 77
"$python" -c 'import numpy, safetensors.numpy' 2>/dev/null || exit 77

folder=$PWD/check-python-files.tmp
trap 'rm -rf "$folder"' EXIT
rm -rf "$folder"
mkdir "$folder" || exit 1
zlib=no
grep -q '^#define TGJIT_HAVE_ZLIB 1' config.h && zlib=yes
"$python" "$srcdir/tests/scripts/check-python-files.py" "$library" "$folder" \
    $zlib
