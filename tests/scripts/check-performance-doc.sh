#!/bin/sh
# SPDX-License-Identifier: MIT
#
# docs/PERFORMANCE.md must be what `make update-performance-doc' writes.

out=check-performance-doc.tmp
export ASAN_OPTIONS="intercept_tls_get_addr=0:$ASAN_OPTIONS"
trap 'rm -f "$out"' EXIT
"$srcdir/docs/performance_doc.sh" bench/tgjit-bench "$srcdir/bench/results" \
    >"$out" || exit 1
cmp -s "$out" "$srcdir/docs/PERFORMANCE.md" && exit
echo "docs/PERFORMANCE.md is out of date: run make update-performance-doc"
diff "$srcdir/docs/PERFORMANCE.md" "$out" | head -n 20
exit 1
