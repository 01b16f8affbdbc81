#!/bin/sh
# SPDX-License-Identifier: MIT
#
# Many random convolutions and poolings, with gradients.

test -e libtgjit-llvm.la || {
    echo "built without LLVM: nothing is compiled"
    exit 77
}
exec tests/random/sweep-conv --seed "${SEED-2}" --count "${COUNT-20000}"
