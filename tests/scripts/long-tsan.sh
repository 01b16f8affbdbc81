#!/bin/sh
# SPDX-License-Identifier: MIT
#
# ThreadSanitizer on the programs of tests/stress, in a build of its own,
# tsan.tmp, by clang and its OpenMP (libomp with its tool libarcher, which shows
# the sanitizer the barriers of OpenMP; with libgomp it reports races that are
# none). LLVM and generated code are not instrumented. A planted race must be
# reported.
#
#   CLANG     default: clang-19, or clang
#   PROGRAMS  of tests/stress (default: all)
#   ROUNDS    of each thread of stress_mixed (default: 150)
#   GRAPHS    random graphs, compiled, on teams of 1, 3 and 7 (default: 100)

clang=${CLANG-$(command -v clang-19 || command -v clang)}
test -n "$clang" || {
    echo "long-tsan.sh: there is no clang"
    exit 77
}
archer=$("$clang" -print-file-name=libarcher.so)
test -e "$archer" || {
    echo "long-tsan.sh: there is no libarcher.so (Debian: libomp5-19)"
    exit 77
}
source=$(cd "$srcdir" && pwd) || exit 1
unset MAKEFLAGS MFLAGS MAKELEVEL
mkdir -p tsan.tmp && cd tsan.tmp || exit 1

programs=${PROGRAMS-'fuzz_calls limits stress_cache stress_calls stress_compile
    stress_data stress_disk_cache stress_forks stress_mixed stress_teams
    team_places'}
targets='tests/stress/libtgjit-llvm.so tests/random/libtgjit-llvm.so
    tests/random/random-graphs'
for one in $programs stress_mixed; do
    targets="$targets tests/stress/$one"
done
{
    test -e Makefile ||
        "$source/configure" CC="$CCACHE $clang" CXX="$CCACHE $clang++" \
            CFLAGS='-O1 -g' --enable-sanitizers=thread --without-mpi &&
        # shellcheck disable=SC2086
        ${MAKE-make} -j"${JOBS-$(nproc)}" libtgjit-llvm.la $targets
} >build.log 2>&1 </dev/null || {
    tail -n 20 build.log
    echo "long-tsan.sh: does not build"
    exit 1
}

export OMP_TOOL_LIBRARIES="$archer" TGJIT_CACHE=off OMP_NUM_THREADS=3
# Children of a process with threads start threads, too.
TSAN_OPTIONS="ignore_noninstrumented_modules=1 die_after_fork=0 $TSAN_OPTIONS"
export TSAN_OPTIONS
n_failed=0

# run PROGRAM [ARGUMENT...]
run()
{
    echo "-- $*"
    timeout "${TGJIT_TEST_TIMEOUT-1800}" "$@" >run.log 2>&1
    status=$?
    tail -n 1 run.log
    test $status = 0 || test $status = 77 && return
    n_failed=$((n_failed + 1))
    echo "status $status"
    grep -A 30 'WARNING: ThreadSanitizer' run.log | head -n 60
}

for one in $programs; do
    case $one in
    stress_mixed) run tests/stress/$one --rounds "${ROUNDS-150}" ;;
    stress_disk_cache) run tests/stress/$one 100 ;;
    stress_forks)
        # fork holds more locks than the detector of deadlocks can.
        TSAN_OPTIONS="$TSAN_OPTIONS detect_deadlocks=0" \
            run tests/stress/$one 10
        ;;
    *) run tests/stress/$one ;;
    esac
done
run tests/random/random-graphs --mode jit --count "${GRAPHS-100}" --jobs 1 \
    --seed "${SEED-77}" --threads 1,3,7 --vector-bits 128,256,512

echo "-- a planted race"
if tests/stress/stress_mixed --plant --rounds 20 >run.log 2>&1 ||
    ! grep -q 'ThreadSanitizer: data race' run.log; then
    n_failed=$((n_failed + 1))
    echo "it is not reported"
fi
echo "$n_failed failed"
test $n_failed = 0
