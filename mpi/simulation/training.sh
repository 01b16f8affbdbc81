#!/bin/sh
# SPDX-License-Identifier: MIT
#
# training.sh [BUILD [FOLDER]] - simulates a training step of libtgjit, built in
# the folder BUILD, on 2 to 8 hosts with SimGrid's SMPI (Debian:
# libsimgrid-dev) and prints a table of docs/DISTRIBUTED.md. Run it in the source
# folder; it builds in FOLDER. Every rank traces, compiles and runs the step.

build=${1:-build}
folder=${2:-mpi-training.tmp}
command -v smpicc >/dev/null || {
    echo "training.sh: smpicc is not installed" >&2
    exit 77
}
. mpi/simulation/platform.sh
mkdir -p "$folder" || exit 1
libs=$(cd "$build/.libs" && pwd) || exit 1
build_simulated "$folder/training" tests/mpi/simulated_training.c mpi/*.c \
    "$libs/libtgjit.so" -Wl,-rpath,"$libs" || exit 1

echo '| hosts | compute (s) | one bucket (s) | speed-up | buckets (s) | speed-up |'
echo '|---|---|---|---|---|---|'
for n in ${MPI_TRAINING_HOSTS:-2 4 8}; do
    for bytes in 1000000000 0; do
        TGJIT_TEST_TIMEOUT=600 simulate "$n" "$folder" --cfg=smpi/test:5e-6 \
            --cfg=smpi/grow-injected-times:no \
            "$folder/training" $bytes || exit 1
    done >"$folder/out"
    test "$(wc -l <"$folder/out")" = 2 || exit 1
    awk 'NR == 1 { compute = $3; one = $2 }
        END { printf "| %d | %.4f | %.4f | %.1f | %.4f | %.1f |\n", $1, compute,
            one, $1 * compute / one, $2, $1 * compute / $2 }' "$folder/out"
done
