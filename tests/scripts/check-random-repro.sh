#!/bin/sh
# SPDX-License-Identifier: MIT
#
# A random graph that fails, or crashes, leaves a program behind that compiles
# without a warning and runs. The failures are planted: the program finds that
# interpreter and compiled code agree.

test -e libtgjit-llvm.la || exit 77
folder=$PWD/check-random-repro.tmp
trap 'rm -rf "$folder"' EXIT
rm -rf "$folder"
mkdir "$folder" || exit 1

# Plants a failure where there is such an op, and runs what is written.
check()
{
    tests/random/random-graphs --mode jit --control none --seed 1 --count 100 \
        --failures 1 --vector-bits 256 --repro-dir "$folder" "$@" \
        >"$folder/log" 2>&1
    test $? = 1 && grep -q "^FAILED .* $* --bytes [0-9a-f]*  " "$folder/log" &&
        program=$(sed -n 's/^repro: //p' "$folder/log") && test -f "$program" &&
        grep -q "^/\* random-graphs .* $* --bytes [0-9a-f]* \*/" "$program" || {
        cat "$folder/log"
        exit 1
    }
    ./libtool --silent --tag=CC --mode=link ${CC-cc} -std=gnu11 -Wall -Wextra \
        -Werror -I"$srcdir/include" $TGJIT_SANITIZE "$program" \
        -o "$folder/program" libtgjit.la || exit 1
    answer=$("$folder/program" 2>&1)
    case $answer in
    *equal) echo "$*: ${program##*/}" ;;
    *)
        echo "$program: $answer"
        exit 1
        ;;
    esac
}

check --plant tanh
check --plant assign
check --plant-crash sum
