#!/bin/sh
# SPDX-License-Identifier: MIT
#
# Derivatives of random programs are what differences say, and have the same
# bits interpreted and compiled, whatever the team.

tests/random/random-gradients --mode differences --seed 1 --count 4000 || exit

test -e libtgjit-llvm.la || {
    echo "built without LLVM: mode jit is skipped"
    exit 0
}
# Code that AddressSanitizer watches takes several times as long.
count=100
case $TGJIT_SANITIZE in
*address*) count=25 ;;
esac
tests/random/random-gradients --mode jit --seed 2 --count $count --threads 1,2,3,7
