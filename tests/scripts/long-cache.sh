#!/bin/sh
# SPDX-License-Identifier: MIT
#
# long-cache.sh - eight processes with 500 kernels each share a disk cache; the
# next eight find all of their code in it.

test -e libtgjit-llvm.la || exit 77
exec tests/stress/stress_cache "${KERNELS-500}"
