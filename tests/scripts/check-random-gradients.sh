#!/bin/sh
# SPDX-License-Identifier: MIT
#
# Derivatives of random programs agree with finite differences, and have the
# same bits interpreted and compiled, for any number of threads.

tests/random/random-gradients --mode differences --seed 1 --count 4000 || exit

test -e libtgjit-llvm.la || {
    echo "built without LLVM: mode jit is skipped"
    exit 0
}
# Code instrumented for AddressSanitizer takes several times as long.
count=100
case $TGJIT_SANITIZE in
*address*) count=25 ;;
esac
tests/random/random-gradients --mode jit --seed 2 --count $count --threads 1,2,3,7
