#!/bin/sh
# SPDX-License-Identifier: MIT
#
# Errors of all functions over every f32 number, which takes a processor some
# twenty minutes, and over ten million of f64. STRIDE=N: only every N-th.

test -x tests/ulp/ulp || exit 77
exec tests/ulp/ulp --all --stride "${STRIDE-1}"
