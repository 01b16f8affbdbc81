#!/bin/sh
# SPDX-License-Identifier: MIT
#
# coverage.sh [TEST...] - line and branch coverage of src/ and jit/ by the named
# tests (all of make check), in a build of its own, coverage.tmp. Run by `make
# coverage'. The report has a line per file, sorted by coverage, and the sums:
# of src/ and jit/, and of the code whose branches matter most (shapes, indices,
# signatures, variables, the object loader, readers of files).
#
# Asserts are compiled out (NDEBUG): half of the branches of one that holds are
# never taken.
#
# SECONDS_OF_COVERAGE=N stops after N seconds, reports what has run so far, and
# goes on there in the next run: counts of several runs add up.
# coverage.tmp/done.txt has the tests that have run.

: "${srcdir=$(dirname "$0")/../..}"
source=$(cd "$srcdir" && pwd)
build=$PWD/coverage.tmp
important='dims|view|walk|index_check|signature|variable|elf_reader|relocation|image\.|code_serialise|disk_cache|/file/|csv|npy|safetensors|zip|dlpack'
end=$(($(date +%s) + ${SECONDS_OF_COVERAGE-1000000}))
mkdir -p "$build" && cd "$build" || exit
test -e Makefile ||
    "$source/configure" CC="${CC-gcc}" CXX="${CXX-g++}" \
        CPPFLAGS=-DNDEBUG \
        CFLAGS='-O1 -g0 --coverage -fprofile-update=atomic' \
        LDFLAGS=--coverage --disable-static >configure.log 2>&1 || exit

seconds_left()
{
    echo $((end - $(date +%s)))
}

# $(VARIABLE) of the Makefile.
value_of()
{
    printf 'include Makefile\nprint-value:\n\t@echo $(%s)\n' "$1" |
        ${MAKE-make} -s -f - print-value
}

# Makes targets in the time that is left; false if it was too short.
build()
{
    # shellcheck disable=SC2086
    timeout "$(seconds_left)" ${MAKE-make} -j"${JOBS-2}" "$@" >>make.log 2>&1
}

run_all()
{
    for test; do
        grep -qxF "$test" done.txt 2>/dev/null && continue
        [ "$(seconds_left)" -gt 0 ] || return
        ${MAKE-make} check-TESTS check_PROGRAMS= TESTS="$test" \
            >>make.log 2>&1 || echo "failed: $test"
        echo "$test" >>done.txt
    done
}

: >make.log
touch done.txt
if [ $# -gt 0 ]; then
    # Without the other programs of make check.
    # shellcheck disable=SC2046
    build libtgjit-llvm.la tests/api/libtgjit-llvm.so \
        tests/codegen/libtgjit-llvm.so tests/random/libtgjit-llvm.so \
        tests/stress/libtgjit-llvm.so tests/unit/libtgjit-llvm.so \
        $(printf '%s\n' "$@" | grep -v '\.sh$') && run_all "$@"
else
    # shellcheck disable=SC2046
    build all && build $(value_of check_PROGRAMS) && run_all $(value_of TESTS)
fi
echo "$(wc -l <done.txt) tests have run"
# A source is compiled once for each library; gcov -t adds none of them up, so
# the best object of a source counts.
find . -name '*.gcda' \( -path './src/*' -o -path './jit/*' \) |
    while read -r data; do
        (cd "$(dirname "$data")" &&
            gcov -n -b "$(basename "$data")" 2>/dev/null)
    done |
    awk -v important="$important" '
        /^File/ {
            file = $2; gsub(/\047/, "", file)
            if (match(file, /(src|jit)\/.*$/)) file = substr(file, RSTART) }
        /^Lines executed/ { split($2, p, /[:%]/); l = p[2]; nl = $4 }
        /^Branches executed/ { nb = $4 }
        /^Taken at least once/ { split($4, p, /[:%]/); b = p[2]
            keep() }
        /^No branches/ { nb = 0; b = 0; keep() }
        function keep() {
            if (file !~ /^(src|jit)\/.*\.[ch]$/) return
            if (!(file in L) || l > L[file]) {
                L[file] = l; N[file] = nl; B[file] = b; M[file] = nb } }
        END {
            for (f in L) {
                printf "%6.1f %% of %5d lines, %6.1f %% of %5d branches  %s\n",
                       L[f], N[f], B[f], M[f], f
                all += N[f]; hit += L[f] * N[f] / 100
                if (f ~ important) { ball += M[f]; bhit += B[f] * M[f] / 100 }
            }
            if (all)
                printf "999 lines: %.1f %% of %d; branches of the important " \
                       "files: %.1f %% of %d\n", 100 * hit / all, all,
                       ball ? 100 * bhit / ball : 0, ball }' |
    sort -n | sed 's/^999 //' | tee coverage.txt | tail -n "${TAIL-40}"
