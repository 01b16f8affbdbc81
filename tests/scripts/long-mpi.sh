#!/bin/sh
# SPDX-License-Identifier: MIT
#
# Measures what a collective costs over the messages that it sends, between two
# ranks with each MPI that configure has found: at most 1 us. Needs a machine with
# two free CPUs, so the best of five runs counts.

test -n "$MPI_NAMES" && test -e libtgjit-llvm.la || exit 77
case $TGJIT_SANITIZE in ?*) exit 77 ;; esac
OMPI_ALLOW_RUN_AS_ROOT=1
OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
TGJIT_THREADS=1
export OMPI_ALLOW_RUN_AS_ROOT OMPI_ALLOW_RUN_AS_ROOT_CONFIRM TGJIT_THREADS

# cheap MPI PROGRAM: true if one of five runs stays within the limit.
cheap()
{
    mpirun=mpirun.$1
    command -v "$mpirun" >/dev/null || mpirun=mpirun
    options=
    test "$1" = openmpi && options='--oversubscribe --bind-to none'
    for run in 1 2 3 4 5; do
        printf '%s: ' "$1"
        timeout -k 5 60 "$mpirun" $options -np 2 "$2" 1000 && return
    done
    false
}

prefix=
for mpi in $MPI_NAMES; do
    cheap "$mpi" tests/mpi/${prefix}overhead || exit 1
    prefix=other_
done
