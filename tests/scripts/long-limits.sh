#!/bin/sh
# SPDX-License-Identifier: MIT
#
# long-limits.sh - more than 2^31 elements, a million nodes, 20,000 signatures,
# and a soak of SOAK_SECONDS with eight threads.

test -e libtgjit-llvm.la || exit 77
memory=$(awk '/MemAvailable/ { print int($2 / 1024 / 1024) }' /proc/meminfo)
elements=2147500000
if [ "${memory-0}" -lt 10 ]; then
    echo "10 GiB of memory are needed for $elements elements: fewer are used"
    elements=100000003
fi
tests/stress/limits --elements "$elements" --nodes 0 --signatures 0 || exit
tests/stress/limits --elements 0 --nodes 0 --signatures 20000 || exit
tests/stress/limits --elements 0 --nodes "${NODES-1000000}" --signatures 0 ||
    exit
exec tests/stress/stress_mixed --seconds "${SOAK_SECONDS-600}"
