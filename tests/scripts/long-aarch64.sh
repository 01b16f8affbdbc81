#!/bin/sh
# SPDX-License-Identifier: MIT
#
# Random graphs on AArch64. This machine compiles COUNT graphs for a CPU with
# NEON into a disk cache; the same program, built for AArch64 and run by qemu,
# finds their code there, runs it with teams of several sizes, and compares it
# with its interpreter. A graph that the two machines lower to different loops
# fails, too, as its code is not found. Before that, the exported functions of
# check-export.sh are linked and run in the same way.
#
#   COUNT, SEED    graphs (default: 500), and their seed
#   SCHEDULES      random schedules of each graph (default: 1)
#   CPU            default: neoverse-n1
#   JOBS           processes (default: number of processors)

cross=aarch64-linux-gnu
cpu=${CPU-neoverse-n1}
jobs=${JOBS-$(nproc)}

skip()
{
    echo "long-aarch64.sh: $*"
    exit 77
}

grep -q '^#define TGJIT_LLVM_HAS_AARCH64 1' config.h ||
    skip "no LLVM with a code generator for AArch64"
command -v $cross-gcc >/dev/null ||
    skip "no $cross-gcc (Debian: gcc-$cross)"
qemu=$(command -v qemu-aarch64-static || command -v qemu-aarch64) ||
    skip "no qemu-aarch64 (Debian: qemu-user-static)"
case $TGJIT_SANITIZE in
*address*) skip "instrumented code is not for other machines" ;;
esac

folder=$PWD/long-aarch64.tmp
trap 'rm -rf "$folder"' EXIT
rm -rf "$folder"
mkdir -p "$folder/build" || exit 1
mkdir -m 700 "$folder/cache" || exit 1
source=$(cd "$srcdir" && pwd) || exit 1
version=$(sed -n 's/^#define TGI_LLVM_VERSION "\(.*\)"/\1/p' build_id.h)

# -- The runner --------------------------------------------------------------

# A static program: it needs neither jansson nor zlib, as it reads no files, and
# XXH_INLINE_ALL makes a library of xxhash unnecessary. The version of LLVM is
# part of the keys.
build_runner()
{
    cd "$folder/build" &&
        "$source/configure" --host=$cross --disable-shared --enable-static \
            --without-llvm --without-zlib --without-criterion \
            CC="$CCACHE $cross-gcc" CFLAGS=-O2 \
            CPPFLAGS='-idirafter /usr/include' \
            XXHASH_CFLAGS=-DXXH_INLINE_ALL XXHASH_LIBS=' ' \
            JANSSON_CFLAGS=' ' JANSSON_LIBS=' ' &&
        make LLVM_VERSION="$version" build_id.h &&
        make -j"$jobs" LLVM_VERSION="$version" LDFLAGS=-all-static \
            tests/random/random-graphs libtgjit-aot.a
}

(build_runner) >"$folder/log" 2>&1 || {
    tail -n 30 "$folder/log"
    echo "the program for AArch64 does not build"
    exit 1
}
${MAKE-make} tests/support/export-cases tests/support/libtgjit-llvm.so \
    tests/random/random-graphs tests/random/libtgjit-llvm.so \
    >"$folder/log" 2>&1 || {
    tail -n 30 "$folder/log"
    exit 1
}
runner=$folder/build/tests/random/random-graphs

# -- Exported functions ------------------------------------------------------

mkdir "$folder/export" || exit 1
tests/support/export-cases "$folder/export" "$cpu" || exit 1
$cross-gcc -std=gnu11 -Wall -Wextra -Werror -static -fopenmp \
    -I"$folder/export" "$folder/export/main.c" "$folder"/export/*.o \
    "$folder/build/libtgjit-aot.a" -o "$folder/export/program" || exit 1
for threads in 1 3; do
    OMP_NUM_THREADS=$threads "$qemu" "$folder/export/program" || {
        echo "exported functions fail with $threads threads"
        exit 1
    }
done

# -- The graphs --------------------------------------------------------------

# report COMMAND...: runs it and prints its failures and totals.
report()
{
    "$@" >"$folder/log" 2>&1
    status=$?
    grep -E '^FAILED|^LLVM ERROR' "$folder/log"
    tail -n 2 "$folder/log"
    return $status
}

# The wait policy as random-graphs sets it by executing itself again, which qemu
# cannot.
export OMP_WAIT_POLICY=passive TGJIT_CPU="$cpu" TGJIT_CACHE_MAX=4294967296
graphs="--mode jit --vector-bits 0,128 --threads 1,2,3,7
    --seed ${SEED-11} --count ${COUNT-500} --schedules ${SCHEDULES-1}
    --jobs $jobs"
host=$("$qemu" "$runner" --print-host) || exit 1
report tests/random/random-graphs $graphs --cache "$folder/cache" \
    --emit "$host" || exit 1
report "$qemu" "$runner" $graphs --filled "$folder/cache"
