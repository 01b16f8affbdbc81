#!/bin/sh
# SPDX-License-Identifier: MIT
#
# Features and intrinsics of an architecture are named in one file of jit/llvm
# only, so that another architecture needs no change elsewhere in it.

cd "$srcdir" || exit 1
status=0

# only FILE WORDS: the words occur in the file, and in no other.
only()
{
    grep -qi "$2" "$1" || {
        echo "$1: none of $2"
        status=1
    }
    found=$(find jit/llvm -name '*.[ch]' ! -path "$1" -exec grep -in "$2" {} +)
    test -z "$found" || {
        echo "these belong in $1:"
        echo "$found"
        status=1
    }
}

only jit/llvm/emit/llvm_x86.c \
    'llvm\.x86\|avx\|[xyz]mm[^a]\|mxcsr\|sfence\|skylake\|znver'
only jit/llvm/emit/llvm_aarch64.c 'llvm\.aarch64\|neon\|fpcr\|neoverse'
exit $status
