#!/bin/sh
# SPDX-License-Identifier: MIT
#
# A few thousand random graphs, after all that ever failed: passes keep bits.

exec tests/random-graphs --mode passes --seed 1 --count 8000 \
    --corpus "$srcdir/tests/corpus"
