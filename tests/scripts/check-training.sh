#!/bin/sh
# SPDX-License-Identifier: MIT
#
# The examples that train networks compute the same bits with one thread and
# two, even if the smallest loop is divided: what they print, and the checkpoint
# of digits_mlp and digits_cnn, which holds the model and its optimiser. Their
# last lines are accuracies of at least 0.96 and 0.98.

tmp=$PWD/check-training.tmp
trap 'rm -rf "$tmp"' EXIT
rm -rf "$tmp"
mkdir "$tmp" || exit 1
data=$srcdir/examples/data/digits.csv

run()
{
    threads=$1
    for name in digits_mlp digits_cnn; do
        TGJIT_THREADS=$threads examples/$name "$data" \
            "$tmp/$name.$threads.safetensors" >"$tmp/$name.$threads" || exit 1
        test -s "$tmp/$name.$threads.safetensors" || exit 1
    done
    TGJIT_THREADS=$threads examples/gru_recall >"$tmp/gru.$threads" || exit 1
    TGJIT_THREADS=$threads examples/transformer_bytes \
        >"$tmp/transformer.$threads" || exit 1
}

TGJIT_GRAIN=0
export TGJIT_GRAIN
run 1
run 2
for name in digits_mlp digits_cnn gru transformer; do
    cmp "$tmp/$name.1" "$tmp/$name.2" || exit 1
done
for name in digits_mlp digits_cnn; do
    cmp "$tmp/$name.1.safetensors" "$tmp/$name.2.safetensors" || exit 1
done

# check_accuracy NAME FIRST: the second digit of the accuracy is at least FIRST.
check_accuracy()
{
    last=$(tail -n 1 "$tmp/$1.1")
    case $last in
    "test accuracy 0.9"["$2"-9]? | "test accuracy 1.000") ;;
    *)
        echo "$1: $last"
        exit 1
        ;;
    esac
}
check_accuracy digits_mlp 6
check_accuracy digits_cnn 8
