#!/bin/sh
# SPDX-License-Identifier: MIT
#
# gdb and compiled code, with the library as it is built and with a stripped
# copy: breakpoints on a kernel and on a line, frames of nested functions, and
# steps from line to line. Skipped without gdb, or if it cannot run programs.

grep -q '^#define TGJIT_HAVE_LLVM 1' config.h || exit 77
gdb -nx -q -batch -ex run --args true 2>/dev/null |
    grep -q 'exited normally' || exit 77
test -f .libs/libtgjit.so || exit 77

tmp=$PWD/check-gdb.tmp
out=$tmp/out
trap 'rm -rf "$tmp"' EXIT
rm -rf "$tmp"
mkdir "$tmp" "$tmp/stripped" || exit 1
failed=0

fail()
{
    echo "$*"
    cat "$out"
    failed=1
}

program=$PWD/tests/support/.libs/debugged
test -x "$program" || program=$PWD/tests/support/debugged
source=$srcdir/tests/support/debugged.c

# line_of COMMENT: the number of the line that ends with this comment.
line_of()
{
    sed -n "\\:/\\* $1 \\*/\$:=" "$source"
}

# LeakSanitizer does not run under a debugger.
export TGJIT_JIT=required TGJIT_THREADS=1 TGJIT_SHOW_CODE=gdb
export ASAN_OPTIONS=detect_leaks=0
unset TGJIT_CPU TGJIT_VECTOR_BITS TGJIT_INSTRUMENT TGJIT_EXPLAIN

LD_LIBRARY_PATH=.libs TGJIT_DUMP=loops TGJIT_DUMP_DIR=$tmp "$program" nested \
    >"$out" 2>&1 || fail "$program fails:"
kernel=$(sed -n 's/^kernel \(tg_outer[^:]*\):.*/\1/p' "$tmp"/outer*.loops.txt)
test -n "$kernel" || fail "no kernel:"

# debug LIBRARIES: runs gdb; its output is in $out.
debug()
{
    cat >"$tmp/commands" <<END
set breakpoint pending on
set confirm off
set width 0
set environment LD_LIBRARY_PATH $1
break $kernel
run
echo -- first\\n
backtrace 3
break debugged.c:$(line_of 'line of mul')
info breakpoints
continue
echo -- second\\n
backtrace 4
delete
step
echo -- third\\n
backtrace 2
finish
continue
END
    # Names of source files are relative to the top of the sources.
    (cd "$srcdir" && exec gdb -nx -q -batch -x "$tmp/commands" \
        --args "$program" nested 2) >"$out" 2>&1 </dev/null
}

# says PATTERN: the output has a line that matches.
says()
{
    grep -q "$1" "$out" || fail "$library library: does not say '$1':"
}

check()
{
    says "^Breakpoint 1, .*$kernel () at .*debugged\\.c:"
    says "^#0 .*$kernel () at .*debugged\\.c:"
    says '^#1 .* in tg_outer ()'
    # The tracing callback, and the kernel.
    says "debugged\\.c:$(line_of 'line of mul')\\. ([0-9]* locations)"
    says "^Breakpoint 2.*square () at .*debugged\\.c:$(line_of 'line of mul')\$"
    says 'tg_value y = tg_mul(in\[0\], in\[0\]); /\* line of mul \*/'
    says '^#0  square () at '
    says "^#1 .*norm () at .*debugged\\.c:$(line_of 'call of square')\$"
    says "^#2 .*$kernel () at .*debugged\\.c:$(line_of 'call of norm')\$"
    says '^-- third$'
    says 'exited normally'
}

library=built
debug "$PWD/.libs"
check

library=stripped
cp -P .libs/libtgjit.so* .libs/libtgjit-llvm.so "$tmp/stripped" &&
    strip "$tmp"/stripped/libtgjit.so.*.* || fail "cannot strip:"
nm "$tmp"/stripped/libtgjit.so 2>&1 | grep -q 'no symbols' ||
    fail "the copy is not stripped"
debug "$tmp/stripped"
check

exit $failed
