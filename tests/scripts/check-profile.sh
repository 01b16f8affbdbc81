#!/bin/sh
# SPDX-License-Identifier: MIT
#
# TGJIT_PROFILE and TGJIT_TRACE with programs that know nothing of them: the
# output of the programs is the same, the reports are written at exit, the
# events of a timeline nest, and files that cannot be created are warnings.

folder=$PWD/check-profile.tmp
trap 'rm -rf "$folder"' EXIT
rm -rf "$folder"
mkdir "$folder" || exit 1

fail()
{
    echo "$1"
    exit 1
}

# run EXAMPLE: standard output is as expected; the rest is in $folder/stderr.
run()
{
    "examples/$1" >"$folder/stdout" 2>"$folder/stderr" ||
        fail "examples/$1 fails: $(cat "$folder/stderr")"
    cmp -s "$folder/stdout" "$srcdir/examples/$1.expected" ||
        fail "examples/$1: its output has changed"
}

# -- Reports -----------------------------------------------------------------

TGJIT_PROFILE=table run newton
grep -q '^ *time share .* kernel$' "$folder/stderr" || fail "no table"
grep -q 'find_roots, trace 0 (first call, ' "$folder/stderr" ||
    fail "the table lacks the function: $(cat "$folder/stderr")"

TGJIT_PROFILE=json run newton
grep -q '"traces": \[' "$folder/stderr" || fail "no JSON"

TGJIT_PROFILE=$folder/report.json run newton
test -s "$folder/stderr" && fail "stderr: $(cat "$folder/stderr")"
grep -q '"traces": \[' "$folder/report.json" || fail "no JSON file"

TGJIT_PROFILE=$folder/report.txt run newton
grep -q 'find_roots, trace 0' "$folder/report.txt" || fail "no table file"

TGJIT_JIT=off TGJIT_PROFILE=table run newton
grep -q ' interpreted ' "$folder/stderr" ||
    fail "interpreted operations are missing"

TGJIT_PROFILE=$folder/none/report.json TGJIT_TRACE=$folder/none/trace.json \
    run newton
for variable in TGJIT_PROFILE TGJIT_TRACE; do
    grep -q "$variable: .*cannot create $folder/none/" "$folder/stderr" ||
        fail "no warning about $variable: $(cat "$folder/stderr")"
done

# The session in docs/PROFILING.md refers to lines of the example.
page=$srcdir/docs/PROFILING.md example=$srcdir/examples/profile_kmeans.c
sed -n 29p "$example" | grep -q 'tg_sum(tg_mul(difference, difference)' &&
    sed -n 43p "$example" | grep -q 'tg_matmul(tg_transpose(is_member' ||
    fail "docs/PROFILING.md: lines of examples/profile_kmeans.c have moved"
grep '^    tg_value\|^    return' "$page" | while read -r line; do
    grep -qF "$line" "$example" || echo "$line"
done | grep . && fail "docs/PROFILING.md and examples/profile_kmeans.c differ"

# -- Timelines ---------------------------------------------------------------

# check_nesting FILE: every line but the brackets is one event. Of each thread,
# an event begins after the one before it has ended, or lies inside it.
check_nesting()
{
    sed -n 's/^{"ph":"X",.*"tid":\([0-9]*\),"ts":\([0-9.]*\),"dur":\([0-9.]*\)},\{0,1\}$/\1 \2 \3/p' \
        "$1" >"$folder/events"
    n_lines=$(grep -c '^{"ph":"X"' "$1")
    test "$n_lines" -gt 10 || fail "$1 has only $n_lines events"
    test "$(wc -l <"$folder/events")" = "$n_lines" ||
        fail "$1 has lines that are not events"
    test "$(sed -n '1p;$p' "$1" | tr -d '\n')" = '[]' ||
        fail "$1 is not an array"
    # In nanoseconds, as integers: awk has doubles.
    sort -k1,1n -k2,2n -k3,3nr "$folder/events" | ${AWK:-awk} '
        $1 != thread { thread = $1; depth = 0 }
        {
            begin = int($2 * 1000 + 0.5)
            end = begin + int($3 * 1000 + 0.5)
            while (depth && ends[depth] <= begin)
                depth--
            if (depth && end > ends[depth]) {
                printf "thread %s: the event at %s us for %s us overlaps\n",
                    $1, $2, $3
                exit 1
            }
            ends[++depth] = end
        }' || fail "$1 does not nest"
}

has_category()
{
    grep -q "\"cat\":\"$2\"" "$1" || fail "$1 has no events of '$2'"
}

for example in dataset_batches epoch profile_kmeans; do
    trace=$folder/$example.json
    TGJIT_GRAIN=0 TGJIT_TRACE=$trace run $example
    check_nesting "$trace"
    has_category "$trace" call
    has_category "$trace" trace
done
has_category "$folder/dataset_batches.json" dataset
grep -q '"name":"tgjit dataset"' "$folder/dataset_batches.json" ||
    fail "the thread of the dataset has no name"
if grep -q '^#define TGJIT_HAVE_LLVM 1' config.h; then
    has_category "$folder/profile_kmeans.json" kernel
    has_category "$folder/profile_kmeans.json" compile
else
    has_category "$folder/profile_kmeans.json" interpreted
fi
