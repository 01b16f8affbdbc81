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
for case in sum_axis_0 sum_axis_1 sum_axis_2 heat_2d_pad heat_2d_update \
    heat_2d_concat heat_2d_roll heat_3d gather scatter_add \
    momentum busy_chain busy_matmul growth_axpy; do
    for backend in jit c; do
        grep -q "^$case/[^/]*/$backend/threads:2\$" "$out" ||
            fail "--list lacks $case of $backend"
    done
done
for case in ops_exp/1000x1000 ops_select/1000x1000 ops_sort/1e6; do
    for backend in jit c; do
        grep -qx "$case/$backend/threads:1" "$out" ||
            fail "--list lacks $case of $backend"
    done
done
for n in 0 1 2 4 8; do
    for case in run_variables call_variables; do
        grep -qx "$case/$n/jit/threads:1" "$out" ||
            fail "--list lacks $case with $n variables"
    done
done
for n in 1e2 1e3 1e4 1e5; do
    grep -qx "growth_trace/$n/interp/threads:1" "$out" ||
        fail "--list lacks a graph of $n operations"
done
for n in 1e3 1e4 1e5 1e6 1e7 1e8; do
    grep -qx "growth_axpy/$n/jit/threads:1" "$out" ||
        fail "--list lacks $n elements"
done
for row in checkpoint_save/32MiB/c checkpoint_load/32MiB/jit \
    "profile/add_16/jit, profiled" growth_compile/1e4/jit \
    growth_compile/1e5/jit; do
    grep -qx "$row/threads:1" "$out" || fail "--list lacks $row"
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
grep -q '^  run 16  *[0-9.]* [mnu]*s' "$out.table" ||
    fail "the first screen lacks a case"

# -- The first screen --------------------------------------------------------

if test -z "$backends"; then
    $bench --filter='^(run|chain/1e5|profile|matmul/1x1024|process_empty)' \
        --min-time=0.0001 --repetitions=2 >"$out" 2>"$out.err" ||
        fail "the first screen fails"
    test -s "$out.err" && fail "a progress line, but stderr is no terminal"
    awk 'length($0) > 100 { exit 1 }' "$out" ||
        fail "the first screen has lines of more than 100 columns"
    $bench --filter='^(run|chain/1e5|profile|matmul/1x1024|process_empty)' \
        --min-time=0.0001 --repetitions=2 --all >"$out.all" 2>&1
    awk 'length($0) > 100 { exit 1 }' "$out.all" ||
        fail "--all has lines of more than 100 columns"
    for line in '^tgjit .* CPU' '-bit vectors, .*LLVM' \
        '^Roofs, 1 thread: .* GFLOP/s.* GB/s' '^Elementwise and memory  .*roof' \
        '^  chain 1e5  .*[0-9] [mnu]*s .*x .* %' '^Calls ' '^  geometric mean  .*x' \
        '^  profile add_16, profiled  .*%' '^  process_empty chain '; do
        grep -q -e "$line" "$out" || fail "the first screen lacks '$line'"
    done
    grep -q "$(printf '\033')" "$out" && fail "colours, but not on a terminal"
    grep -q '^   1 jit  ' "$out.all" || fail "--all lacks a row"
fi
# On a terminal: colours unless NO_COLOR is set, and a progress line.
if command -v script >/dev/null; then
    TERM=xterm script -qec "$bench '--filter=^run/16/c/' --repetitions=1" \
        /dev/null </dev/null >"$out"
    grep -q "$(printf '\033')\[1m" "$out" || fail "no colours on a terminal"
    grep -q '\[0/1\] run 16, 0:0[0-9] left' "$out" || fail "no progress line"
    NO_COLOR=1 TERM=xterm script -qec \
        "$bench '--filter=^run/16/c/' --repetitions=1 2>&-" /dev/null \
        </dev/null >"$out"
    grep -q "$(printf '\033')\[1m" "$out" && fail "NO_COLOR is ignored"
fi

# -- Results in files --------------------------------------------------------

# Numbers that are computed from rounded times may differ, once.
$bench --from="$out.json2" --out="$out.again" >/dev/null ||
    fail "--from fails"
$bench --from="$out.again" --out="$out.again2" >/dev/null ||
    fail "--from fails"
cmp -s "$out.again" "$out.again2" || fail "a file changes when it is read"
for i in json2 again; do
    sed -n '/"cpu":/p; /"iteration"/s/"time_unit".*//p' "$out.$i" \
        >"$out.$i.rows"
done
cmp -s "$out.json2.rows" "$out.again.rows" || fail "rows change when read"
$bench --from="$out.json" --from="$out.json2" --out="$out.again" >/dev/null ||
    fail "--from does not merge files"
test "$(grep -c _median "$out.again")" = "$(grep -c _median "$out.json2")" ||
    fail "--from repeats rows"
$bench --from="$out.json2" --format=markdown | grep -q '^| run 16 |' ||
    fail "--format=markdown lacks a row"
$bench --from="$out.json2" --html="$out.html" | grep -q "^Report: $out.html" ||
    fail "--html does not say where the page is"
for part in '<!DOCTYPE html>' prefers-color-scheme 'id="roofline"' \
    'data-row="run/16/c/threads:1"' '</html>'; do
    grep -q "$part" "$out.html" || fail "the page lacks $part"
done
grep -qi '<script\|src=\|href="[^#]' "$out.html" &&
    fail "the page is not self-contained"
for bad in /nonexistent "$srcdir/tests/scripts/check-bench.sh"; do
    $bench --from="$bad" >"$out" 2>&1
    test $? = 1 || fail "--from=$bad is accepted"
done
echo '{"context": {}, "benchmarks": []}' >"$out.empty"
$bench --from="$out.empty" >"$out" 2>&1 && fail "a file without rows is accepted"

# -- The baseline ------------------------------------------------------------

# repeated FACTOR: a result file with times around 100 ns times FACTOR.
repeated()
{
    awk -v factor="$1" 'BEGIN {
        print "{\"context\": {}, \"benchmarks\": ["
        name = "run/16/interp/threads:1"
        for (i = 0; i < 15; i++)
            printf "%s{\"run_name\": \"%s\", \"run_type\": \"iteration\", " \
                "\"iterations\": 1, \"real_time\": %g, \"cpu_time\": 1}\n",
                i ? "," : "", name, (100 + i * 7 % 5) * factor
        print "]}" }'
}
repeated 1 >"$out.before"
repeated 1.2 >"$out.now"
repeated 1.01 >"$out.same"
$bench --from="$out.now" --baseline="$out.before" >"$out"
test $? = 3 || fail "a regression of 20 % is accepted"
grep -q '^  run/16/interp/threads:1 .* +20.0 %' "$out" ||
    fail "the regression is not printed"
$bench --from="$out.now" --baseline="$out.before" --threshold=25 >"$out" ||
    fail "--threshold is ignored"
$bench --from="$out.same" --baseline="$out.before" >"$out" ||
    fail "1 % counts as a regression"
$bench --from="$out.before" --baseline="$out.now" >"$out" ||
    fail "an improvement fails the program"
grep -q ' 0 slower, 1 faster' "$out" || fail "the improvement is not counted"
$bench --from="$out.json2" --baseline="$out.empty" >"$out" 2>&1 &&
    fail "a baseline without rows is accepted"

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
    --format=xml --threshold=-1 --threshold=x '--filter=(' --none-such extra; do
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
