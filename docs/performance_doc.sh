#!/bin/sh
# SPDX-License-Identifier: MIT
#
# performance_doc.sh BENCH RESULTS - prints docs/PERFORMANCE.md. BENCH is
# tgjit-bench, RESULTS the directory of the result files, one for each kind of
# CPU. `make update-performance-doc' runs it.
set -e
test $# = 2 || {
    echo "usage: performance_doc.sh BENCH RESULTS" >&2
    exit 2
}

cat <<'END'
# Performance

<!-- Generated from bench/results by `make update-performance-doc'. -->

These tables are generated from the result files in `bench/results`, one for each
kind of CPU: `tgjit-bench --out` wrote them on virtual machines, and they have every
repetition. The back ends of a case took turns, but other programs may have disturbed
single rows, above all with all threads. A file may merge several runs (`--from`); the
rows of one case and number of threads are from one run, except those of the
interpreter. To see one as a page with charts:

    tgjit-bench --from=bench/results/FILE.json --html=report.html

To measure your own machine, run `tgjit-bench`. [PERFORMANCE_NOTES.md](PERFORMANCE_NOTES.md)
explains what bounds the cases, and tgjit-bench(1) what they compute.

- **time**: of compiled code with one thread, the best of all repetitions. Cases
  without compiled code (tracing, an empty process) have their own time.
- **/interp**: how many times faster that is than the interpreter.
- **/c**: its time over that of plain C, fused by hand and compiled with `gcc -O3
  -march=native -ffast-math -fopenmp`. Below 1 compiled code is faster.
- **/library**: the same for the fastest other library or engine, and its name.
- **roof**: share of the rate that the measured roofs of the machine allow for the
  operations and the least memory traffic of the case. Data in a faster cache than
  its size suggests can exceed 100 %.
- **all threads**: the time with as many threads as CPUs.
- **behind**: compiled code takes more than 1.05 times as long as plain C,
  hand-written SIMD (*expert*) or the fastest library, with one thread or with all
  (*threads*). Cases that measure overhead (calls, files, a busy machine) are not
  judged.
END
for file in "$2"/*.json; do
    echo
    "$1" --from="$file" --format=markdown
done
