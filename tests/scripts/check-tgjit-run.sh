#!/bin/sh
# SPDX-License-Identifier: MIT
#
# tgjit-run on models of tests/onnx/zoo: results, files, options, messages and
# exit status.

run=$PWD/src/tools/tgjit-run
test -e "$run" || {
    echo "built without ONNX"
    exit 77
}
backend=jit
test -e libtgjit-llvm.la || backend=interp
zoo=$(cd "$srcdir/tests/onnx/zoo" && pwd)
folder=$PWD/check-tgjit-run.tmp
trap 'rm -rf "$folder"' EXIT
rm -rf "$folder"
mkdir "$folder" && cd "$folder" || exit 1
export TGJIT_CACHE=off
failed=0
mlp=$zoo/mlp/model.onnx
x=$zoo/mlp/test_data_set_0/input_0.pb
y=$zoo/mlp/test_data_set_0/output_0.pb

# expect STATUS TEXT ARGUMENT...: the exit status, and a text of the output.
expect()
{
    wanted=$1 text=$2
    shift 2
    "$run" "$@" >out 2>&1
    status=$?
    if test $status -ne "$wanted" || ! grep -qF -e "$text" out; then
        echo "tgjit-run $*: status $status, not $wanted, or no '$text':"
        cat out
        failed=1
    fi
}

# -- Results -----------------------------------------------------------------

expect 0 'input x f32[?,12]' "$mlp"
expect 0 'output y' "$mlp"
expect 0 'y f32[5,4]' "$mlp" --input=x="$x" --backend=$backend
expect 0 '0 of 20 elements' "$mlp" --input="$x" --compare=y="$y" \
    --backend=$backend --threads=2
expect 0 'of 3 runs: minimum' "$mlp" -i "$x" --repeat=3 --backend=interp
expect 0 'y f32[7,4]' "$mlp" --input=random:7,12 --output=results/ \
    --backend=interp
expect 0 '0 of 28 elements' "$mlp" --input=random:7,12 --rtol=0 --atol=0 \
    --compare=results/y.npy --backend=$backend
test $backend = interp ||
    expect 0 'profile of' "$mlp" --input="$x" --profile
gpt=$zoo/gpt
set --
for i in token:0 past_k_0:1 past_v_0:2 past_k_1:3 past_v_1:4; do
    set -- "$@" "--input=${i%:*}=$gpt/test_data_set_0/input_${i#*:}.pb"
done
expect 0 'present_v_1 f32[1,2,5,4]' "$gpt/model.onnx" "$@" --backend=interp \
    --compare=logits="$gpt/test_data_set_0/output_0.pb" --atol=1e-5

# -- What is wrong -----------------------------------------------------------

expect 1 'largest difference' "$mlp" --input=random:5,12 --compare="$y" \
    --backend=interp
expect 1 'dtype or shape differs: f32[6,4], but f32[5,4]' "$mlp" --input=random:6,12 --compare="$y" \
    --backend=interp
expect 1 "the model has no input 'z'" "$mlp" --input=x="$x" --input=z="$x"
expect 1 "the model has no input 'z'" "$mlp" --input=z="$x"
expect 1 "input 'past_k_0' is not given" "$gpt/model.onnx" \
    --input=token=random
expect 1 'f32[5,11]' "$mlp" --input=random:5,11 --backend=interp
expect 1 "cannot read none.npy" "$mlp" --input=none.npy
expect 1 'cannot open none.onnx' none.onnx
head -c 700 "$mlp" >cut.onnx
expect 1 'cut.onnx is not an ONNX file, or damaged' cut.onnx
expect 1 'no such result' "$mlp" --input="$x" --compare=z="$y" \
    --backend=interp
expect 2 '--threads=none: wrong value' "$mlp" --threads=none
expect 2 '--backend=none: wrong value' "$mlp" --backend=none
expect 2 '--input=: wrong value' "$mlp" -i ''
expect 2 'unrecognized option' "$mlp" --none
expect 2 'no model is given'
expect 2 'more than one model' "$mlp" "$mlp"
exit $failed
