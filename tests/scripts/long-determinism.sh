#!/bin/sh
# SPDX-License-Identifier: MIT
#
# The same random graphs in many settings: each one must give the bits of the
# interpreter, so all give the same bits (NaNs count as one).
#
#   COUNT, SEED   graphs (default: 500), and their seed
#   THREADS       default: 1,2,3,4,7,8,16
#   JOBS          processes (default: one per CPU)
#
# Settings: vectors of 128, 256 and 512 bits with a random schedule each; code
# found in a disk cache; OMP_DYNAMIC; one CPU for all threads; code for
# x86-64-v3 and x86-64-v4. long-aarch64.sh does the same on AArch64.

test -e libtgjit-llvm.la || exit 77
store=$PWD/long-determinism.tmp
trap 'rm -rf "$store" "$store.log"' EXIT
n_settings=0

# compare SETTING COMMAND [OPTION...]
compare()
{
    setting=$1
    shift
    rm -rf "$store"
    mkdir -m 700 "$store" || exit 1
    "$@" --mode jit --seed "${SEED-21}" --count "${COUNT-500}" \
        ${JOBS:+--jobs "$JOBS"} \
        --threads "${THREADS-1,2,3,4,7,8,16}" >"$store.log" 2>&1 || {
        test $? = 77 && echo "$setting: skipped" && return
        grep -v '^seed' "$store.log" | tail -n 40
        echo "$setting: FAILED"
        exit 1
    }
    n_settings=$((n_settings + 1))
    echo "$setting: $(tail -n 1 "$store.log")"
}

graphs=tests/random/random-graphs
for bits in 128 256 512; do
    compare "$bits bits" $graphs --vector-bits $bits --schedules 1
done
compare "disk cache" $graphs --vector-bits 256 --cache "$store"
compare OMP_DYNAMIC env OMP_DYNAMIC=true $graphs --vector-bits 256
if command -v taskset >/dev/null; then
    first=$(taskset -cp $$ | sed 's/.*: //; s/[-,].*//')
    compare "one CPU" taskset -c "$first" $graphs --vector-bits 256
fi
compare x86-64-v3 env TGJIT_CPU=x86-64-v3 $graphs --vector-bits 128,256
compare x86-64-v4 env TGJIT_CPU=x86-64-v4 $graphs --vector-bits 512
echo "${COUNT-500} graphs in $n_settings settings"
