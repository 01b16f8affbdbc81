#!/bin/sh
# SPDX-License-Identifier: MIT
#
# At least a hundred thousand random graphs.

tests/random/random-graphs --mode passes --seed "${SEED-2}" \
    --count "${COUNT-200000}" --corpus "$srcdir/tests/corpus" || exit

test -e libtgjit-llvm.la || {
    echo "built without LLVM: mode jit is skipped"
    exit 0
}
tests/random/random-graphs --mode jit --seed "${SEED-2}" \
    --count "${JIT_COUNT-100000}" --threads 1,2,3,7 --vector-bits 128,256,512 \
    --corpus "$srcdir/tests/corpus" || exit
tests/random/random-graphs --mode jit --seed "${SEED-2}" \
    --count "${SCHEDULES_COUNT-20000}" --threads 1,2,3,7 \
    --vector-bits 128,256,512 --schedules 1 || exit
TGJIT_CHECK=nan,inf tests/random/random-graphs --mode jit --seed "${SEED-2}" \
    --count "${CHECK_COUNT-20000}" --threads 1,2,3,7 \
    --vector-bits 128,256,512 || exit
exec tests/random/random-graphs --mode loops --seed "${SEED-2}" \
    --count "${LOOPS_COUNT-20000}" --threads 1,2,3,7 \
    --vector-bits 128,256,512 --corpus "$srcdir/tests/corpus"
