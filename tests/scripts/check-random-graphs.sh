#!/bin/sh
# SPDX-License-Identifier: MIT
#
# Random graphs, after all that ever failed: passes keep the bits, and compiled
# code has those of the interpreter, whatever the team, and also when it comes
# from a cache.

tests/random/random-graphs --mode passes --seed 1 --count 8000 \
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
tests/random/random-graphs --mode jit --seed 1 --count $count --threads 1,2,3,7 \
    --vector-bits 128,256 --corpus "$srcdir/tests/corpus" || exit

store=$PWD/check-random-graphs.tmp
trap 'rm -rf "$store"' EXIT
rm -rf "$store"
mkdir -m 700 "$store" || exit 1
tests/random/random-graphs --mode jit --seed 2 --count 300 --threads 1,3 \
    --vector-bits 128,256 --cache "$store"
