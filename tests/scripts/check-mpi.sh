#!/bin/sh
# SPDX-License-Identifier: MIT
#
# Runs the programs of tests/mpi and examples/mpi on 1 to 4 ranks, with each MPI
# that configure has found. Training writes the same bytes for every number of
# ranks and either MPI, also from the checkpoint of a run in which a rank was
# killed. The distributed example differs from the one for a single process in
# fewer than ten lines.

test -n "$MPI_NAMES" || exit 77
scratch=check-mpi.tmp
trap 'rm -rf "$scratch"' EXIT
rm -rf "$scratch"
mkdir "$scratch" || exit 1
failed=0

# Open MPI refuses more ranks than CPUs, and root, unless told otherwise.
OMPI_ALLOW_RUN_AS_ROOT=1
OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
# One thread per rank: the ranks share the CPUs. The disk cache: all ranks
# compile the same code.
TGJIT_THREADS=1
TGJIT_CACHE=rw
TGJIT_CACHE_DIR=$PWD/$scratch/cache
export OMPI_ALLOW_RUN_AS_ROOT OMPI_ALLOW_RUN_AS_ROOT_CONFIRM TGJIT_THREADS \
    TGJIT_CACHE TGJIT_CACHE_DIR

# launch MPI RANKS COMMAND...
launch()
{
    mpi=$1
    ranks=$2
    shift 2
    mpirun=mpirun.$mpi
    command -v "$mpirun" >/dev/null || mpirun=mpirun
    case $mpi in
    openmpi) set -- --oversubscribe --bind-to none -np "$ranks" "$@" ;;
    *) set -- -np "$ranks" "$@" ;;
    esac
    timeout -k 5 "${TGJIT_TEST_TIMEOUT:-120}" "$mpirun" "$@" \
        >"$scratch/out" 2>"$scratch/err" </dev/null || {
        echo "failed: $mpirun $*"
        cat "$scratch/out" "$scratch/err"
        failed=1
    }
}

# same FILE: equal to the first file of its kind.
same()
{
    test -f "$1.first" || cp "$1" "$1.first"
    cmp "$1.first" "$1" || failed=1
}

# deadly MPI COMMAND...: three ranks, of which one is killed, under a launcher
# that lets the others live; these end with status 0 and say so. The launcher of
# MPICH sees a shell that lives, and its signals to the others are ignored.
deadly()
{
    mpi=$1
    shift
    case $mpi in
    openmpi)
        set -- --oversubscribe --bind-to none --enable-recovery -np 3 "$@"
        ;;
    *) set -- -disable-auto-cleanup -np 3 sh -c "trap '' USR1; $*; exit 0" ;;
    esac
    mpirun=mpirun.$mpi
    command -v "$mpirun" >/dev/null || mpirun=mpirun
    timeout -k 5 60 "$mpirun" "$@" >"$scratch/out" 2>"$scratch/err" </dev/null
    test "$(grep -c '^rank [01] lives$' "$scratch/out")" = 2 || {
        echo "failed: $mpirun $*"
        cat "$scratch/out" "$scratch/err"
        failed=1
    }
}

prefix=
for mpi in $MPI_NAMES; do
    for ranks in 1 2 3 4; do
        launch "$mpi" $ranks tests/mpi/${prefix}collectives
        launch "$mpi" $ranks tests/mpi/${prefix}control
        launch "$mpi" $ranks tests/mpi/${prefix}failures
        launch "$mpi" $ranks tests/mpi/${prefix}training "$scratch/weights"
        same "$scratch/weights"
    done
    deadly "$mpi" tests/mpi/${prefix}training "$scratch/resumed" die
    launch "$mpi" 2 tests/mpi/${prefix}training "$scratch/resumed" resume
    # All but the four losses of the first epoch.
    tail -c +17 "$scratch/weights.first" | cmp - "$scratch/resumed" || failed=1
    prefix=other_
done

# All of a call in the interpreter, and in one native function.
main=${MPI_NAMES%% *}
jits=off
test -e libtgjit-llvm.la && jits='off required'
for jit in $jits; do
    TGJIT_JIT=$jit launch "$main" 3 tests/mpi/control
done

for ranks in 1 2 4; do
    TGJIT_MPI_SHARDS=4 launch "$main" $ranks examples/mpi/digits_cnn \
        "$srcdir/examples/data/digits.csv" "$scratch/digits.npz"
    same "$scratch/digits.npz"
    cp "$scratch/out" "$scratch/digits.out"
    same "$scratch/digits.out"
done
for ranks in 1 4; do
    for name in zero1 tensor_parallel; do
        launch "$main" $ranks examples/mpi/$name
        cat "$scratch/out" >>"$scratch/$name"
    done
done
cat >"$scratch/expected" <<END
ranks 1: state of 840 of 840 elements, weight 1.0
ranks 4: state of 210 of 840 elements, weight 2.5
END
diff "$scratch/expected" "$scratch/zero1" || failed=1
# The sum over the columns has another order on more ranks: all digits that are
# printed agree.
test "$(sed 's/.*: //' "$scratch/tensor_parallel" | sort -u | wc -l)" = 1 || {
    cat "$scratch/tensor_parallel"
    failed=1
}

# Kernels run while gradients are reduced, as the timelines of the ranks show.
launch "$main" 2 sh -c \
    "TGJIT_TRACE=$scratch/trace.\$\$ exec tests/mpi/training $scratch/traced"
for trace in "$scratch"/trace.*; do
    n=$(${AWK:-awk} '
        function field(name,    text)
        {
            if (!match($0, "\"" name "\":\"?[^,}\"]*"))
                return ""
            text = substr($0, RSTART, RLENGTH)
            sub(/^[^:]*:"?/, "", text)
            return text
        }
        /"ph":"b"/ && /reduction of gradients/ { begin[field("id")] = field("ts") }
        /"ph":"e"/ { end[field("id")] = field("ts") }
        /"cat":"kernel"/ { kernel[++n] = field("ts") }
        END {
            for (id in begin)
                for (i = 1; i <= n; i++)
                    inside += begin[id] + 0 < kernel[i] + 0 &&
                        kernel[i] + 0 < end[id] + 0
            print inside + 0
        }' "$trace")
    test "$n" -gt 0 || {
        echo "$trace: no kernel runs while gradients are reduced"
        failed=1
    }
done

n=$(diff "$srcdir/examples/digits_cnn.c" "$srcdir/examples/mpi/digits_cnn.c" |
    grep -c '^>')
test "$n" -lt 10 || {
    echo "examples/mpi/digits_cnn.c: $n lines differ from examples/digits_cnn.c"
    failed=1
}
exit $failed
