#!/bin/sh
# SPDX-License-Identifier: MIT
#
# Runs programs of tests/mpi on simulated hosts, with SimGrid's SMPI (Debian:
# libsimgrid-dev): libtgjit-mpi is compiled with smpicc, the ranks are threads of
# one process. Training writes the same bytes for every number of hosts. The
# computation of a simulated step takes time, and its messages do.

command -v smpicc >/dev/null && command -v smpirun >/dev/null || exit 77
test -e .libs/libtgjit.so || exit 77
case $TGJIT_SANITIZE in ?*) exit 77 ;; esac
scratch=$PWD/check-smpi.tmp
trap 'rm -rf "$scratch"' EXIT
rm -rf "$scratch"
mkdir "$scratch" || exit 1
libs=$PWD/.libs
TGJIT_THREADS=1
TGJIT_CACHE=rw
TGJIT_CACHE_DIR=$scratch/cache
export TGJIT_THREADS TGJIT_CACHE TGJIT_CACHE_DIR
cd "$srcdir" || exit 1
. mpi/simulation/platform.sh

# run RANKS PROGRAM ARGUMENT... The status is 0 even after MPI_Abort.
run()
{
    n=$1
    shift
    if ! simulate "$n" "$scratch" "$@" >"$scratch/out" 2>"$scratch/err" ||
        test -s "$scratch/err"; then
        echo "failed on $n hosts: $*"
        cat "$scratch/out" "$scratch/err"
        exit 1
    fi
}

for program in tests/mpi/control.c tests/mpi/training.c \
    tests/mpi/simulated_training.c; do
    build_simulated "$scratch/$(echo $program | tr / _)" $program mpi/*.c \
        "$libs/libtgjit.so" -lm -Wl,-rpath,"$libs" || exit 1
done
for ranks in 1 3 4; do
    run $ranks "$scratch/tests_mpi_control.c"
    run $ranks "$scratch/tests_mpi_training.c" "$scratch/weights"
    test -f "$scratch/first" || cp "$scratch/weights" "$scratch/first"
    cmp "$scratch/first" "$scratch/weights" || exit 1
done
run 2 "$scratch/tests_mpi_simulated_training.c" 0
${AWK:-awk} '{ exit !($1 == 2 && $3 > 0 && $2 > $3) }' "$scratch/out" || {
    echo "a simulated step takes no time: $(cat "$scratch/out")"
    exit 1
}
