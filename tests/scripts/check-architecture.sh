#!/bin/sh
# SPDX-License-Identifier: MIT
#
# Features and intrinsics of x86 are named in one file of jit/llvm only, so that
# another architecture needs no change elsewhere in it.

cd "$srcdir" || exit 1
only=jit/llvm/emit/llvm_x86.c
words='llvm\.x86\|avx\|[xyz]mm[^a]\|mxcsr\|sfence\|skylake\|znver'
test "$(grep -ci 'llvm\.x86\|avx' $only)" -gt 5 || {
    echo "$only: no features of x86"
    exit 1
}
found=$(find jit/llvm -name '*.[ch]' ! -path $only -exec grep -in "$words" {} +)
test -z "$found" || {
    echo "these belong in $only:"
    echo "$found"
    exit 1
}
