#!/bin/sh
# SPDX-License-Identifier: MIT
#
# Interpreted convolutions and poolings have the bits of their definition,
# compiled ones those of interpreted ones: a case that failed once, and a random
# sample.

test -e libtgjit-llvm.la || {
    echo "built without LLVM: nothing is compiled"
    exit 77
}

# As many examples as windows along each axis.
tests/random/sweep-conv --seed 77 --only 263 || exit

# Code instrumented for AddressSanitizer takes several times as long.
count=250
case $TGJIT_SANITIZE in
*address*) count=60 ;;
esac
exec tests/random/sweep-conv --seed "${SEED-1}" --count "${COUNT-$count}"
