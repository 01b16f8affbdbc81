#!/bin/sh
# SPDX-License-Identifier: MIT
#
# The examples that train networks compute the same bits with one thread and
# two, even if the smallest loop is divided: what they print, and the checkpoint
# of digits_mlp, which holds the model and its optimiser. Its last line is an
# accuracy of at least 0.96.

tmp=$PWD/check-training.tmp
trap 'rm -rf "$tmp"' EXIT
rm -rf "$tmp"
mkdir "$tmp" || exit 1
data=$srcdir/examples/data/digits.csv

run()
{
    threads=$1
    TGJIT_THREADS=$threads examples/digits_mlp "$data" \
        "$tmp/$threads.safetensors" >"$tmp/digits.$threads" || exit 1
    TGJIT_THREADS=$threads examples/gru_recall >"$tmp/gru.$threads" || exit 1
    TGJIT_THREADS=$threads examples/transformer_bytes \
        >"$tmp/transformer.$threads" || exit 1
}

TGJIT_GRAIN=0
export TGJIT_GRAIN
run 1
run 2
for name in digits gru transformer; do
    cmp "$tmp/$name.1" "$tmp/$name.2" || exit 1
done
cmp "$tmp/1.safetensors" "$tmp/2.safetensors" || exit 1

last=$(tail -n 1 "$tmp/digits.1")
case $last in
"test accuracy 0.9"[6-9]? | "test accuracy 1.000") ;;
*)
    echo "digits_mlp: $last"
    exit 1
    ;;
esac
