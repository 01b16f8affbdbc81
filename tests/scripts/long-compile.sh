#!/bin/sh
# SPDX-License-Identifier: MIT
#
# long-compile.sh - compiles and frees a function 10,000 times: memory and the
# number of mappings do not grow.

test -x tests/codegen/test_native || exit 77
export TGJIT_TEST_CYCLES=10000
exec tests/codegen/test_native --filter 'native/compiling_and_freeing*'
