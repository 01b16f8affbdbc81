#!/bin/sh
# SPDX-License-Identifier: MIT
#
# Random graphs, after all that ever failed: passes keep the bits, and compiled
# code has those of the interpreter, whatever the team.

tests/random-graphs --mode passes --seed 1 --count 8000 \
    --corpus "$srcdir/tests/corpus" || exit

test -e libtgjit-llvm.la || {
    echo "built without LLVM: mode jit is skipped"
    exit 0
}
# Code that AddressSanitizer watches takes several times as long.
count=1000
case $TGJIT_SANITIZE in
*address*) count=300 ;;
esac
exec tests/random-graphs --mode jit --seed 1 --count $count --threads 1,2,3,7 \
    --vector-bits 128,256 --corpus "$srcdir/tests/corpus"
