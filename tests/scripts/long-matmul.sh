#!/bin/sh
# SPDX-License-Identifier: MIT
#
# Matrix products of all sizes, types and transposes, and many random forms.

test -e libtgjit-llvm.la || {
    echo "built without LLVM: nothing is compiled"
    exit 77
}
exec tests/random/sweep-matmul --all --seed "${SEED-2}" --count "${COUNT-15000}"
