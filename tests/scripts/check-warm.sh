#!/bin/sh
# SPDX-License-Identifier: MIT
#
# The disk cache: a process that finds its code there runs it without LLVM,
# even if the plugin is missing, with the same bits. Code for other CPUs is not
# found; damaged code is compiled again.

grep -q '^#define TGJIT_HAVE_LLVM 1' config.h || exit 77
tmp=$PWD/check-warm.tmp
out=$tmp/out
trap 'rm -rf "$tmp"' EXIT
rm -rf "$tmp"
mkdir -m 700 "$tmp" "$tmp/empty" || exit 1
failed=0

fail()
{
    echo "$*"
    cat "$out"
    failed=1
}

# run SETTING... [-- ARGUMENT]: runs the program with the script's cache and
# TGJIT_JIT=required.
unset TGJIT_CPU TGJIT_VECTOR_BITS TGJIT_DUMP TGJIT_EXPLAIN TGJIT_INSTRUMENT
TGJIT_CACHE=rw
TGJIT_CACHE_DIR=$tmp/store
TGJIT_JIT=required
export TGJIT_CACHE TGJIT_CACHE_DIR TGJIT_JIT
run()
{
    env "$@" tests/support/warm >"$out" 2>&1
    status=$?
}

# says LINE...: the output contains each LINE.
says()
{
    for line; do
        grep -q "$line" "$out" || fail "does not say '$line':"
    done
}

works()
{
    test $status = 0 || fail "status $status:"
    says "$result" "$@"
}

files()
{
    ls -l --time-style=full-iso "$tmp/store"
}

hidden=TGJIT_MODULE_DIR=$tmp/empty

# -- Without a compiler ------------------------------------------------------

run TGJIT_JIT=off
result=$(grep '^result ' "$out") || fail "no result:"
works 'found 0 missed 0 saved 0' 'llvm not open'
test ! -e "$tmp/store" || fail "a store is made for nothing:"

run TGJIT_JIT=auto $hidden
works 'interpreted: cannot open the code generator' \
    'libtgjit-llvm.so' 'found 0 missed 1 saved 0' 'llvm not open'
run $hidden
test $status = 1 || fail "status $status:"
says '^error .*cannot open the code generator' 'llvm not open'

# -- Cold, and warm ----------------------------------------------------------

run
works 'found 0 missed 1 saved 1' 'llvm open'
for jit in required auto; do
    run TGJIT_JIT=$jit
    works 'found 1 missed 0 saved 0' 'llvm not open'
    run TGJIT_JIT=$jit $hidden
    works 'found 1 missed 0 saved 0' 'llvm not open'
done
run TGJIT_THREADS=3 TGJIT_GRAIN=0
works 'found 1 missed 0' 'llvm not open'

# Consecutive contexts: releasing the last one empties the in-memory cache.
tests/support/warm 3 >"$out" 2>&1
status=$?
works 'llvm not open'
test "$(grep -c 'found 1 missed 0' "$out")" = 3 || fail "not found thrice:"

# -- Different keys ----------------------------------------------------------

for other in TGJIT_VECTOR_BITS=128 TGJIT_CPU=x86-64-v3; do
    run $other
    works 'found 0 missed 1 saved 1' 'llvm open'
    run $other
    works 'found 1 missed 0 saved 0' 'llvm not open'
done
run
works 'found 1 missed 0 saved 0'

# -- ro, off -----------------------------------------------------------------

before=$(files)
run TGJIT_CACHE=ro
works 'found 1 missed 0 saved 0' 'llvm not open'
run TGJIT_CACHE=ro TGJIT_VECTOR_BITS=256
works 'found 0 missed 1 saved 0' 'llvm open'
run TGJIT_CACHE=off
works 'found 0 missed 0 saved 0' 'llvm open'
test "$before" = "$(files)" || fail "something was written:"
run TGJIT_CACHE=ro "TGJIT_CACHE_DIR=$tmp/none"
works 'llvm open'
test ! -e "$tmp/none" || fail "ro makes a directory:"

# -- Damage ------------------------------------------------------------------

# Leave one entry, for the host CPU.
src/tools/tgjit-cache clear
run
works 'saved 1'
entry=$(echo "$tmp"/store/*.tgjit)
size=$(wc -c <"$entry")
cp "$entry" "$tmp/good"
for at in 0 60 $((size / 2)) $((size - 1)); do
    byte=$(od -An -tu1 -j $at -N 1 "$tmp/good")
    printf "\\$(printf %o $((byte ^ 1)))" |
        dd of="$entry" bs=1 seek=$at conv=notrunc 2>/dev/null
    run
    works 'found 0 missed 1 saved 1 bad 1' 'llvm open'
    cmp -s "$entry" "$tmp/good" || fail "byte $at: not replaced:"
done
head -c $((size / 2)) "$tmp/good" >"$entry"
run TGJIT_CACHE=ro TGJIT_JIT=auto $hidden
works 'interpreted:' 'found 0 missed 1 saved 0 bad 1'
test "$(wc -c <"$entry")" = $((size / 2)) || fail "ro removes what is bad:"
run
works 'found 0 missed 1 saved 1 bad 1'
run
works 'found 1 missed 0 saved 0 bad 0' 'llvm not open'
exit $failed
