#!/bin/sh
# SPDX-License-Identifier: MIT
#
# perf and compiled code. With a jitdump file, perf annotate shows the lines of
# the source beside the instructions of a kernel, and a shared micro-kernel is
# under the kernel that called it. Skipped if perf cannot sample.

grep -q '^#define TGJIT_HAVE_LLVM 1' config.h || exit 77
tmp=$PWD/check-perf.tmp
out=$tmp/out
trap 'rm -rf "$tmp"' EXIT
rm -rf "$tmp"
mkdir "$tmp" || exit 1
perf record -e cpu-clock -o "$tmp/data" true >"$out" 2>&1 || exit 77
perf inject --jit -i "$tmp/data" -o "$tmp/injected" >"$out" 2>&1 || exit 77
type objdump >/dev/null 2>&1 || exit 77

failed=0

fail()
{
    echo "$*"
    cat "$out"
    failed=1
}

unset TGJIT_CPU TGJIT_VECTOR_BITS TGJIT_INSTRUMENT TGJIT_DUMP TGJIT_EXPLAIN
export TGJIT_JIT=required TGJIT_THREADS=1
program=$PWD/tests/support/debugged

# sample MODE N: records samples of N calls, with jitdump, in $tmp/injected.
sample()
{
    rm -f "$tmp/data" "$tmp/injected"
    # Names of source files are relative to the top of the sources.
    (cd "$srcdir" && TGJIT_SHOW_CODE=jitdump TGJIT_DUMP_DIR=$tmp exec perf \
        record -k mono -e cpu-clock -F 5000 -g -o "$tmp/data" "$program" "$@") \
        >"$out" 2>&1 || fail "perf record fails:"
    perf inject --jit -i "$tmp/data" -o "$tmp/injected" >"$out" 2>&1 ||
        fail "perf inject fails:"
}

# The names of the symbols with samples.
symbols()
{
    perf report --stdio -g none --no-children -F sym -i "$tmp/injected" \
        2>/dev/null | sed -n 's/^ *\[\.\] \([^ ]*\) *$/\1/p'
}

sample nested 20000
kernel=$(symbols | grep '^tg_outer_0_' | head -n 1)
if test -n "$kernel"; then
    perf annotate --stdio -i "$tmp/injected" -s "$kernel" >"$out" 2>/dev/null
    grep -q 'tg_value y = tg_mul(in\[0\], in\[0\]); /\* line of mul \*/' "$out" ||
        fail "perf annotate does not show the line of the source:"
    grep -q 'vmulps' "$out" || fail "perf annotate shows no instructions:"
    # The last instruction is of a line, too.
    sed -n '/tg_return(t, tg_sqrt/,$p' "$out" | grep -q 'ret' ||
        fail "the last line is lost:"
else
    symbols >"$out"
    fail "no samples of the kernel:"
fi

sample products 20
perf script -i "$tmp/injected" -F ip,sym >"$out" 2>/dev/null
grep -A 1 ' tg_micro_kernel' "$out" | grep -q ' tg_products_[0-9]*_matmul' ||
    fail "the micro-kernel is not under the kernel that called it:"

# The map file names kernels without other files.
rm -f "$tmp/data"
TGJIT_SHOW_CODE=perf perf record -e cpu-clock -o "$tmp/injected" \
    "$program" nested 5000 >"$out" 2>&1 || fail "perf record fails:"
symbols | grep -q '^tg_outer_0_' || fail "the map file names no kernel"
rm -f "/tmp/perf-$(perf script -i "$tmp/injected" -F pid 2>/dev/null |
    head -n 1 | tr -d ' ').map"

exit $failed
