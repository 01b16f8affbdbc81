#!/bin/sh
# SPDX-License-Identifier: MIT
#
# Errors of all functions over every f32 argument, which takes about twenty
# minutes, and over ten million f64 arguments. STRIDE=N: only every N-th.

test -x tests/ulp/ulp || exit 77
exec tests/ulp/ulp --all --stride "${STRIDE-1}"
