#!/bin/sh
# SPDX-License-Identifier: MIT
#
# Derivatives of a hundred thousand random programs.

tests/random/random-gradients --mode differences --seed "${SEED-3}" \
    --count "${COUNT-100000}" || exit

test -e libtgjit-llvm.la || {
    echo "built without LLVM: mode jit is skipped"
    exit 0
}
exec tests/random/random-gradients --mode jit --seed "${SEED-3}" \
    --count "${JIT_COUNT-5000}" --threads 1,2,3,7
