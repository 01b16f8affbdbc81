#!/bin/sh
# SPDX-License-Identifier: MIT
#
# coverage.sh [TEST...] - line and branch coverage of src/ and jit/ by the named
# tests (all of make check), in a build of its own, coverage.tmp. Run by `make
# coverage'. The report has a line per file, sorted by coverage, and the sums:
# of src/ and jit/, and of the code whose branches matter most (shapes, indices,
# signatures, variables, the object loader, readers of files).

: "${srcdir=$(dirname "$0")/../..}"
source=$(cd "$srcdir" && pwd)
build=$PWD/coverage.tmp
important='dims|view|walk|index_check|signature|variable|elf_reader|relocation|image\.|code_serialise|disk_cache|/file/|csv|npy|safetensors|zip|dlpack'
mkdir -p "$build" && cd "$build" || exit
test -e Makefile ||
    "$source/configure" CC="${CC-gcc}" CXX="${CXX-g++}" \
        CFLAGS='-O1 -g0 --coverage -fprofile-update=atomic' \
        LDFLAGS=--coverage --disable-static >configure.log 2>&1 || exit
if [ $# -gt 0 ]; then
    programs=$(printf '%s\n' "$@" | grep -v '\.sh$')
    # Without the other programs of make check.
    # shellcheck disable=SC2086
    {
        ${MAKE-make} -j"${JOBS-2}" libtgjit-llvm.la \
            tests/api/libtgjit-llvm.so tests/codegen/libtgjit-llvm.so \
            tests/random/libtgjit-llvm.so tests/stress/libtgjit-llvm.so \
            tests/unit/libtgjit-llvm.so $programs &&
            ${MAKE-make} -j"${JOBS-2}" check-TESTS check_PROGRAMS= TESTS="$*"
    } >make.log 2>&1
else
    ${MAKE-make} -j"${JOBS-2}" check >make.log 2>&1
fi
tail -n 3 make.log
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
