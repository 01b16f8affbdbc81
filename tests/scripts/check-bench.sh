#!/bin/sh
# SPDX-License-Identifier: MIT
#
# Tests tgjit-bench: the list of rows, verification at small sizes, the report
# formats, and the command line. Times are ignored.

bench=bench/tgjit-bench
out=check-bench.tmp
# Libraries are loaded at run time: see run-test.sh.
export ASAN_OPTIONS="intercept_tls_get_addr=0:$ASAN_OPTIONS"
trap 'rm -f "$out" "$out".*' EXIT
failed=0

fail()
{
    echo "$*"
    failed=1
}

# -- The list: every case, all back ends, the same each time -----------------

# Rows of other libraries are optional; only their results are checked, below.
$bench --list --threads=1,2 >"$out" || fail "--list fails"
for case in chain softmax layer_norm sum black_scholes jacobi scale axpy copy \
    transpose run run_group call; do
    for backend in interp jit c expert; do
        grep -q "^$case/[^/]*/$backend/threads:1\$" "$out" ||
            fail "--list lacks $case of $backend"
    done
done
for case in matmul matmul_f64 matmul_bias_relu mlp_forward attention conv \
    conv_images conv_filters max_pool_3x3 max_pool_2x2 avg_pool_3x3 \
    avg_pool_2x2 embedding embedding_gradient cnn_train adam; do
    for backend in jit 'jit, unknown sizes' c; do
        grep -q "^$case/[^/]*/$backend/threads:2\$" "$out" ||
            fail "--list lacks $case of $backend"
    done
done
for row in loop/scan_3x3/expert/threads:1 loop/scan_3x3/c/threads:1 \
    loop/lorenz/jit/threads:1 loop/lorenz/c/threads:1 \
    loop/wave_1d/jit/threads:1 loop/wave_1d/c/threads:1 \
    loop/while_1ms/jit/threads:2 loop/while_1ms/c/threads:2 \
    gradient/scan_3x3/jit/threads:1 gradient/scan_3x3/c/threads:1 \
    train/mlp/jit/threads:2 train/mlp/c/threads:2 \
    train/logistic/jit/threads:2 train/logistic/c/threads:2 \
    feed/64x784/jit/threads:1 feed/64x784/c/threads:1 \
    pipeline/1ms/jit/threads:1 pipeline_prefetch/1ms/jit/threads:1 \
    compile/train_step/jit/threads:1; do
    grep -qx "$row" "$out" || fail "--list lacks $row"
done
grep -q '^chain/1e6/jit, unknown sizes/threads:2$' "$out" ||
    fail "--list lacks jit, unknown sizes"
for row in compile/matmul/jit/threads:1 compile/mlp_forward/jit/threads:1 \
    matmul/1000x8x8x8/interp/threads:1 matmul/1024x1024x1024/jit/threads:1 \
    chain/1e6/c/threads:2 trace/chain/interp/threads:1 \
    passes/chain/interp/threads:1 compile/chain/jit/threads:1 \
    disk/chain/jit/threads:1 process_empty/chain/c/threads:1 \
    process_interp/chain/interp/threads:1 \
    process_cold/chain/jit/threads:1 process_warm/chain/jit/threads:1 \
    process_tiers/chain/jit/threads:1; do
    grep -qx "$row" "$out" || fail "--list lacks $row"
done
test "$(sort "$out" | uniq -d)" = "" || fail "--list repeats a name"
$bench --list --threads=1,2 | cmp -s - "$out" || fail "--list changes"

# Without LLVM the jit rows fail: leave them out below.
backends=.
if ! grep -q '^#define TGJIT_HAVE_LLVM 1' config.h; then
    backends='/(interp|c|expert)/'
fi

# -- Results at small sizes, including harsh inputs --------------------------

$bench --check --threads=1,2 --filter="$backends" >"$out" || {
    grep FAILED "$out"
    fail "results are wrong"
}
for row in softmax/2x4099/interp/threads:1 matmul/3x5x300x37/c/threads:2 \
    mlp_forward/7/c/threads:1 attention/3x17x35x64/c/threads:2 \
    loop/scan_3x3_37/c/threads:1 loop/while_1003/c/threads:2 \
    gradient/scan_3x3_37/c/threads:1 train/mlp_7/c/threads:2 \
    train/logistic_37/c/threads:2 cnn_train/3/c/threads:2 \
    depthwise/2x5x5x19/c/threads:1 embedding_gradient/37x5/c/threads:2; do
    grep -q "^$row .* right\$" "$out" || fail "--check does not verify $row"
done

# -- Reports -----------------------------------------------------------------

# Cheap rows only.
test "$backends" = . && backends=
short="--filter=^(run|trace|compile/chain)/.*$backends --min-time=0.0001 \
--repetitions=3"
$bench $short --format=json >"$out.json" || fail "--format=json fails"
$bench $short --format=csv >"$out.csv" || fail "--format=csv fails"
$bench $short --out="$out.json2" >"$out.table" || fail "--out fails"

grep -q '"json_schema_version": 1' "$out.json" || fail "JSON has no schema"
if command -v python3 >/dev/null; then
    python3 - "$out.json" "$out.json2" "$out.csv" <<'END' || fail "see above"
import csv, json, sys
for name in sys.argv[1:3]:
    report = json.load(open(name))
    rows = report["benchmarks"]
    median = [r for r in rows if r.get("aggregate_name") == "median"]
    assert any(r["run_name"] == "run/16/c/threads:1" for r in median), name
    for row in rows:
        for key in ("name", "run_name", "run_type", "repetitions", "threads",
                    "iterations", "real_time", "cpu_time", "time_unit"):
            assert key in row, (name, row, key)
    one = [r for r in rows if r["name"] == "run/16/c/threads:1"]
    # A busy machine may get fewer repetitions.
    assert 1 <= len(one) <= 3, one
    assert [r["repetition_index"] for r in one] == list(range(len(one))), one
    assert all(r["real_time"] > 0 for r in one), one
lines = list(csv.reader(open(sys.argv[3])))
assert all(len(line) == len(lines[0]) for line in lines), "csv"
assert "run/16/c/threads:1_median" in [line[0] for line in lines], "csv"
END
fi
grep -q '^run/16/c/threads:1  *[0-9.]* ns' "$out.table" ||
    fail "the table lacks a row"

# -- A JIT that does not run -------------------------------------------------

missing="$bench --filter=^run/16/(c|jit)/threads:1\$ --min-time=0.0001 \
--repetitions=1"
TGJIT_MODULE_DIR=/nonexistent $missing --format=json >"$out.json" 2>"$out"
test $? = 1 || fail "a jit row that cannot run does not fail the program"
grep -q '^tgjit-bench: run/16/jit/threads:1: .' "$out" || {
    fail "stderr does not say which row did not run, and why:"
    cat "$out"
}
grep -q '"error_occurred": true' "$out.json" || fail "JSON has no error"
if command -v python3 >/dev/null; then
    python3 - "$out.json" <<'END' || fail "see above"
import json, sys
rows = json.load(open(sys.argv[1]))["benchmarks"]
jit = [r for r in rows if r["run_name"] == "run/16/jit/threads:1"]
assert len(jit) == 1 and jit[0]["error_message"], jit
assert "real_time" not in jit[0], jit
assert any(r["run_name"] == "run/16/c/threads:1" for r in rows), rows
END
fi
TGJIT_MODULE_DIR=/nonexistent $missing --check >"$out" 2>&1 &&
    fail "--check does not fail without a JIT"

# -- The command line --------------------------------------------------------

for wrong in --threads=0 --threads=1, --repetitions=x --min-time=-1 \
    --format=xml '--filter=(' --none-such extra; do
    $bench "$wrong" >"$out" 2>&1
    test $? = 2 || fail "$wrong is not refused"
done
for filter in --list --check --format=console; do
    $bench --filter=none-such $filter >"$out" 2>&1
    test $? = 2 || fail "$filter: a filter that matches nothing is accepted"
    grep -q '^tgjit-bench: --filter=none-such matches no row' "$out" ||
        fail "$filter: does not say that no row matches"
done
$bench chain 2>&1 |
    grep -q "unexpected argument 'chain'; did you mean --filter=chain?" ||
    fail "does not say what to do with an argument"
$bench --help | grep -q 'Usage' || fail "--help fails"
exit $failed
