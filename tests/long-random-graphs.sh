#!/bin/sh
# SPDX-License-Identifier: MIT
#
# A hundred thousand random graphs and more.

exec tests/random-graphs --mode passes --seed "${SEED-2}" \
    --count "${COUNT-200000}" --corpus "$srcdir/tests/corpus"
