#!/bin/sh
# SPDX-License-Identifier: MIT
#
# Tests the engines of tgjit-bench --peers without Python: fake-engine.sh stands
# in for it. An engine that is missing is noted; one that fails is reported, and
# the others are measured.

bench=bench/tgjit-bench
out=check-peers.tmp
# Libraries are loaded at run time: see run-test.sh.
export ASAN_OPTIONS="intercept_tls_get_addr=0:$ASAN_OPTIONS"
export TGJIT_BENCH_PYTHON="$srcdir/tests/scripts/fake-engine.sh"
export FAKE_LOG="$PWD/$out.log" FAKE_MISSING=
# Nothing may remain here.
export TMPDIR="$PWD/$out.dir"
rm -rf "$TMPDIR"
mkdir "$TMPDIR"
trap 'rm -rf "$out" "$out".*' EXIT
failed=0

fail()
{
    echo "$*"
    failed=1
}

says()
{
    grep -q "$2" "$1" || {
        fail "$3; it says:"
        grep "tgjit-bench" "$1"
    }
}

# -- Rows --------------------------------------------------------------------

$bench --list --threads=1 | grep -q '/\(numpy\|jax\|tf.data\)/' &&
    fail "there are engines without --peers"
$bench --list --threads=1 --peers >"$out" || fail "--list --peers fails"
for row in conv/8x56x56x64x64/torch conv_filters/1x64x64x3x32/jax \
    cnn_train/32/torch.compile adam/1e6/tensorflow \
    chain/1e6/numexpr jacobi/2048x2048/numba feed/64x16/tf.data \
    conv_images/1x64x64x3x32/onnxruntime softmax/1024x1024/numpy \
    train/mlp/tensorflow.xla; do
    grep -qx "$row/threads:1" "$out" || fail "--list --peers lacks $row"
done
grep -q '^conv_filters/.*/onnxruntime/' "$out" &&
    fail "ONNX Runtime has no gradients, but a row of them"

# -- Results -----------------------------------------------------------------

engines='^copy/1003/(c|num.*|torch|torch.compile|jax|onnxruntime)/'
$bench --check --peers --threads=1,2 --peer-timeout=2 --filter="$engines" \
    >"$out" 2>"$out.err"
test $? = 1 || fail "engines that fail do not fail the program"
row()
{
    grep -q "^copy/1003/$1  *plain $2" "$out" || {
        fail "$1: not '$2':"
        grep "^copy/1003/$1 " "$out"
    }
}
row c/threads:1 right
row numpy/threads:1 right
row numpy/threads:2 right
row numexpr/threads:1 'FAILED: element 7 is inf'
row numba/threads:1 'FAILED: the process has exited'
row numba/threads:2 right
row torch/threads:1 'FAILED: the process has exited'
row torch/threads:2 'FAILED: result 0 does not have 4012 bytes'
row torch.compile/threads:1 'FAILED: no answer within 2 seconds'
row jax/threads:1 right
row jax/threads:2 'FAILED: result 0 does not have 4012 bytes'
row onnxruntime/threads:1 'FAILED: ValueError: no such operation'
row onnxruntime/threads:2 "FAILED: answers 'garbage' instead of 'done'"
says "$out.err" '^tgjit-bench: copy/1003/numexpr/threads:1: element 7' \
    "stderr does not name the row that failed"

# -- Times -------------------------------------------------------------------

# The fake is faster than anything else.
: >"$FAKE_LOG"
measured='^copy/64MiB/(c|expert|numpy|numba|jax)/|^(scale|run)/.*/c/'
for format in json csv console; do
    $bench --peers --threads=1,2 --filter="$measured" --min-time=0.00001 \
        --repetitions=4 --all --format=$format >"$out.$format" 2>"$out.err"
    test $? = 1 || fail "$format: a failed engine does not fail the program"
    says "$out.err" \
        "bench: copy/64MiB/jax/threads:1: answers '1.5 seconds' instead" \
        "$format: garbage in place of a time is not reported"
    says "$out.err" \
        '^tgjit-bench: copy/64MiB/numba/threads:2: the process has exited' \
        "$format: an engine that exits while it is timed is not reported"
done
grep -q '^   2 numpy  *[0-9.]* ' "$out.console" ||
    fail "the table lacks an engine"
grep -q '^   1 c  *[0-9.]* ns' "$out.console" ||
    fail "an engine that fails ends the run"
# A worker serves all rows of its engine and number of threads.
test "$(grep -c '^numpy-2$' "$FAKE_LOG")" = 3 ||
    fail "numpy has not been started once per run"

# -- The best peer -----------------------------------------------------------

# Rows of the JIT exist only with LLVM.
if grep -q '^#define TGJIT_HAVE_LLVM 1' config.h; then
    best='^copy/64MiB/(jit|c|numpy)/threads:1'
    for format in json csv console; do
        $bench --peers --threads=1 --filter="$best" --min-time=0.00001 \
            --repetitions=2 --format=$format >"$out.$format" ||
            fail "$format: fails"
    done
    grep -q '^  copy 64MiB .* [0-9.]* numpy ' "$out.console" ||
        fail "the first screen does not name the fastest library"
    $bench --from="$out.json" --all | grep -q '^   1 jit .* [0-9.]* numpy$' ||
        fail "the table does not name the best peer"
    $bench --from="$out.json" --html="$out.html" >/dev/null &&
        grep -q '<th>numpy</th>' "$out.html" ||
        fail "the page does not have the peer"
    grep -q '^"copy/64MiB/jit/threads:1_min",.*,[0-9.e+]*,"numpy"$' \
        "$out.csv" || fail "CSV does not name the best peer"
    grep -A20 '"name": "copy/64MiB/jit/threads:1_min"' "$out.json" |
        grep -q '"best_peer": "numpy"' ||
        fail "JSON does not name the best peer"
    test "$(awk -F, 'NR == 1 { n = NF } NF != n' "$out.csv")" = "" ||
        fail "lines of CSV have different numbers of columns"
fi

# -- Missing engines ---------------------------------------------------------

FAKE_MISSING=jax $bench --list --peers --threads=1 >"$out" 2>"$out.err" ||
    fail "a missing engine fails the program"
grep -q '/jax/' "$out" && fail "there are rows of a missing engine"
says "$out.err" '^tgjit-bench: note: no rows of jax: .* has no module jax$' \
    "a missing engine is not noted"
TGJIT_BENCH_PYTHON=/nonexistent $bench --list --peers --threads=1 >"$out" \
    2>"$out.err" || fail "missing Python fails the program"
says "$out.err" '^tgjit-bench: note: no rows of torch: ' \
    "missing Python is not noted"
XDG_CACHE_HOME=/nonexistent TGJIT_BENCH_PYTHON= $bench --list --peers \
    --threads=1 >"$out" 2>"$out.err" || fail "no Python fails the program"
says "$out.err" 'no rows of torch: no Python: run bench/peers/setup' \
    "the note does not say what to do"
$bench --peer-timeout=0 --list >"$out" 2>&1
test $? = 2 || fail "--peer-timeout=0 is not refused"

rmdir "$TMPDIR" || fail "temporary files remain: $(ls "$TMPDIR")"
exit $failed
