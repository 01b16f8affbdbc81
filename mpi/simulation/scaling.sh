#!/bin/sh
# SPDX-License-Identifier: MIT
#
# scaling.sh [FOLDER] - simulates the messages of a data-parallel training step
# on 2 to 1024 hosts with SimGrid's SMPI (Debian: libsimgrid-dev) and prints the
# table of docs/DISTRIBUTED.md. Run it in the source folder; it builds in
# FOLDER.
#
# The model: 2.5 million parameters (f32, 10 MB), 1e10 flops per shard, so 0.1 s
# of computation, in 10 buckets. The ranks share the memory of their buckets,
# 12 MB each, so the values of sums mean nothing; times do not depend on them.

folder=${1:-mpi-scaling.tmp}
command -v smpicc >/dev/null || {
    echo "scaling.sh: smpicc is not installed" >&2
    exit 77
}
. mpi/simulation/platform.sh
mkdir -p "$folder" || exit 1
build_simulated "$folder/scaling" mpi/simulation/scaling.c mpi/combine.c \
    mpi/schedule.c mpi/schedule_reduction.c mpi/shards.c mpi/transfer.c ||
    exit 1

echo '| hosts | compute (s) | without overlap (s) | speed-up | with overlap (s) | speed-up | alpha-beta model (s) |'
echo '|---|---|---|---|---|---|---|'
for n in ${MPI_SCALING_HOSTS:-2 4 8 16 32 64 128 256 512 1024}; do
    TGJIT_TEST_TIMEOUT=3600 simulate "$n" "$folder" --cfg=contexts/factory:raw \
        --cfg=smpi/auto-shared-malloc-thresh:500000 "$folder/scaling" \
        10 10000000 10000000000 >"$folder/out" || exit 1
    # Twice (n - 1) / n of the array and 2 log2 n messages, per bucket.
    awk -v n="$n" '{
        levels = log(n) / log(2)
        model = $2 + 10 * 2 * levels * 10e-6 + 2 * (n - 1) / n * 1e7 / 1.25e9
        printf "| %d | %.3f | %.3f | %.1f | %.3f | %.1f | %.3f |\n", n, $2,
            $3, n * $2 / $3, $4, n * $2 / $4, model }' "$folder/out"
done
