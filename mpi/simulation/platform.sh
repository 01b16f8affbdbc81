# SPDX-License-Identifier: MIT
#
# platform.sh - functions of the scripts that simulate with SMPI.
#
# The cluster: one link of 10 Gbit/s and 5 us to each host, a backbone that is
# no bottleneck, hosts of 1e11 flop/s.

# build_simulated OUT SOURCE...: a program for smpirun, from the source folder.
build_simulated()
{
    out=$1
    shift
    smpicc -O2 -D_GNU_SOURCE -DTGJIT_SMPI -I. -Iinclude -Itests -o "$out" "$@"
}

# simulate RANKS FOLDER COMMAND...: runs it, for TGJIT_TEST_TIMEOUT seconds at
# most; computation takes the time that the program says, a test for a message
# 1 us.
simulate()
{
    n=$1
    folder=$2
    shift 2
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
    while test $i -lt "$n"; do
        echo "h$i" >>"$folder/hosts"
        i=$((i + 1))
    done
    timeout -k 5 "${TGJIT_TEST_TIMEOUT:-120}" \
        smpirun -np "$n" -platform "$folder/platform.xml" \
        -hostfile "$folder/hosts" --cfg=smpi/simulate-computation:no \
        --cfg=smpi/host-speed:100Gf --cfg=contexts/factory:thread \
        --cfg=smpi/privatization:dlopen --cfg=smpi/test:1e-6 \
        --cfg=smpi/iprobe:1e-6 --log=root.thresh:error "$@"
}
