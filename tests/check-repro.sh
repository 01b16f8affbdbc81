#!/bin/sh
# SPDX-License-Identifier: MIT
#
# TGJIT_DUMP=repro: what it writes compiles without a warning, and says that
# interpreter and compiled code agree. The examples are the calls.

grep -q '^#define TGJIT_HAVE_LLVM 1' config.h || exit 77
folder=$PWD/check-repro.tmp
trap 'rm -rf "$folder"' EXIT
rm -rf "$folder"
mkdir "$folder" || exit 1

for example in batches bundle counter hot_loop; do
    TGJIT_DUMP=repro TGJIT_DUMP_DIR=$folder examples/$example \
        >/dev/null 2>&1 || exit 1
done

n=0
for program in "$folder"/*.repro.c; do
    ./libtool --silent --tag=CC --mode=link ${CC-cc} -std=gnu11 -Wall -Wextra \
        -Werror -I"$srcdir/include" $TGJIT_SANITIZE "$program" \
        -o "$folder/program" libtgjit.la || exit 1
    answer=$("$folder/program" 2>&1) || exit 1
    case $answer in
    *equal) n=$((n + 1)) ;;
    *)
        echo "$program: $answer"
        exit 1
        ;;
    esac
done
echo "$n calls"
test "$n" -ge 6
