#!/bin/sh
# SPDX-License-Identifier: MIT
#
# Random graphs, and the corpus of graphs that failed once: passes preserve
# bits, and compiled code has the bits of the interpreter, for any number of
# threads, also when it is loaded from a cache.

tests/random/random-graphs --mode passes --seed 1 --count 8000 \
    --corpus "$srcdir/tests/corpus" || exit

test -e libtgjit-llvm.la || {
    echo "built without LLVM: mode jit is skipped"
    exit 0
}
# Code instrumented for AddressSanitizer takes several times as long.
count=1000
case $TGJIT_SANITIZE in
*address*) count=300 ;;
esac
tests/random/random-graphs --mode jit --seed 1 --count $count --threads 1,2,3,7 \
    --vector-bits 128,256,512 --corpus "$srcdir/tests/corpus" || exit
# The same with loop passes left out.
tests/random/random-graphs --mode loops --seed 3 --count $((count / 3)) \
    --threads 1,3 --vector-bits 128,256,512 || exit

# The same with random schedules, which have row blocks.
tests/random/random-graphs --mode jit --seed 5 --count $((count / 5)) \
    --threads 1,3 --vector-bits 128,256,512 --schedules 1 || exit

# Calls that look for NaNs fail with the same message and effects.
TGJIT_CHECK=nan,inf tests/random/random-graphs --mode jit --seed 4 --count 300 \
    --threads 1,3 --vector-bits 128,256,512 || exit

store=$PWD/check-random-graphs.tmp
trap 'rm -rf "$store"' EXIT
rm -rf "$store"
mkdir -m 700 "$store" || exit 1
tests/random/random-graphs --mode jit --seed 2 --count 300 --threads 1,3 \
    --vector-bits 128,256,512 --cache "$store" || exit

# Code that is compiled for another machine, here this one, is found there by its
# key, without a code generator.
graphs="--mode jit --seed 6 --count 30 --threads 1,3 --vector-bits 0,256"
mkdir -m 700 "$store/other" || exit 1
tests/random/random-graphs $graphs --cache "$store/other" \
    --emit "$(tests/random/random-graphs --print-host)" || exit
TGJIT_MODULE_DIR=$store tests/random/random-graphs $graphs \
    --filled "$store/other"
