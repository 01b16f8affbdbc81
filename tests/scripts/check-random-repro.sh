#!/bin/sh
# SPDX-License-Identifier: MIT
#
# When a random graph fails or crashes, the tester writes a program that
# compiles without warnings and runs. The failures here are simulated, so the
# program reports that interpreter and compiled code agree.

test -e libtgjit-llvm.la || exit 77
folder=$PWD/check-random-repro.tmp
trap 'rm -rf "$folder"' EXIT
rm -rf "$folder"
mkdir "$folder" || exit 1

# Simulates a failure of a given op, and runs the program that is written.
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
