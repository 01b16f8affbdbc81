#!/bin/sh
# SPDX-License-Identifier: MIT
#
# scaling.sh [FOLDER] - simulates a data-parallel training step on 2 to 1024
# hosts with SimGrid's SMPI (Debian: libsimgrid-dev) and prints the table of
# docs/DISTRIBUTED.md. Run it in the source folder; it builds in FOLDER.
#
# The cluster: one link of 10 Gbit/s and 5 us to each host, a backbone that is
# no bottleneck, hosts of 1e11 flop/s. The model: 2.5 million parameters (f32, 10
# MB), 1e10 flops per shard, so 0.1 s of computation, in 10 buckets.

folder=${1:-mpi-scaling.tmp}
command -v smpicc >/dev/null || {
    echo "scaling.sh: smpicc is not installed" >&2
    exit 77
}
mkdir -p "$folder" || exit 1
smpicc -O2 -D_GNU_SOURCE -DSMPI_SCALING -I. -Iinclude -o "$folder/scaling" \
    mpi/simulation/scaling.c mpi/combine.c mpi/schedule.c \
    mpi/schedule_reduction.c mpi/shards.c mpi/transfer.c || exit 1

echo '| hosts | compute (s) | without overlap (s) | speed-up | with overlap (s) | speed-up | alpha-beta model (s) |'
echo '|---|---|---|---|---|---|---|'
for n in ${MPI_SCALING_HOSTS:-2 4 8 16 32 64 128 256 512 1024}; do
    cat >"$folder/platform.xml" <<END
<?xml version='1.0'?>
<!DOCTYPE platform SYSTEM "https://simgrid.org/simgrid.dtd">
<platform version="4.1">
  <cluster id="c" prefix="h" suffix="" radical="0-$((n - 1))" speed="100Gf"
    bw="1250MBps" lat="5us" bb_bw="100000GBps" bb_lat="0us"/>
</platform>
END
    i=0
    : >"$folder/hosts"
    while test $i -lt $n; do
        echo "h$i" >>"$folder/hosts"
        i=$((i + 1))
    done
    smpirun -np $n -platform "$folder/platform.xml" \
        -hostfile "$folder/hosts" --cfg=smpi/simulate-computation:no \
        --cfg=smpi/test:1e-6 --log=root.thresh:error \
        "$folder/scaling" 10 10000000 10000000000 >"$folder/out" ||
        exit 1
    # Twice (n - 1) / n of the array and 2 log2 n messages, per bucket.
    awk -v n=$n '{
        levels = log(n) / log(2)
        model = $2 + 10 * 2 * levels * 10e-6 + 2 * (n - 1) / n * 1e7 / 1.25e9
        printf "| %d | %.3f | %.3f | %.1f | %.3f | %.1f | %.3f |\n", n, $2,
            $3, n * $2 / $3, $4, n * $2 / $4, model }' "$folder/out"
done
