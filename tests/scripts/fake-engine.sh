#!/bin/sh
# SPDX-License-Identifier: MIT
#
# fake-engine.sh - stands in for Python in check-peers.sh. It speaks the
# protocol of bench/peers/engine.h; the expression is "copy". The engine, and the
# number of threads, decide what it does:
#
#   numpy          right results
#   numexpr        a wrong element
#   numba          exits when it is to compute (1), or while it is timed (2)
#   torch          exits as soon as it is started (1), writes no result (2)
#   torch.compile  does not answer
#   jax            garbage in place of a time (1), a result that is too long (2)
#   onnxruntime    an error (1), garbage in place of an answer (2)
#
# All modules exist but FAKE_MISSING. FAKE_LOG gets a line for each process.

if test "$1" = -c; then
    while read -r module; do
        test "$module" = "$FAKE_MISSING" && echo no || echo yes
    done
    exit 0
fi

what=$2-$3
echo "$what" >>"$FAKE_LOG"
test "$what" = torch-1 && exit 3
dir=
n_timed=0

compute()
{
    cp "$dir/in0" "$dir/out0"
    case $what in
    numexpr-*)
        printf '\0\0\200\177' | # infinity
            dd of="$dir/out0" bs=4 seek=7 conv=notrunc 2>/dev/null
        ;;
    jax-2) printf x >>"$dir/out0" ;;
    esac
    echo done
}

while read -r request name where rest; do
    case $request-$what in
    prepare-torch.compile-*) exec sleep 60 ;;
    check-numba-1) exit 3 ;;
    check-torch-2) echo done ;;
    check-onnxruntime-1) echo "error ValueError: no such operation" ;;
    check-onnxruntime-2) echo garbage ;;
    time-jax-1) echo "1.5 seconds" ;;
    hello-*) echo ready ;;
    prepare-*)
        dir=$where
        test "$name" = copy || exit 4
        echo ready
        ;;
    check-*) compute ;;
    time-*)
        n_timed=$((n_timed + 1))
        test $what-$n_timed = numba-2-4 && exit 3
        echo 0.000001
        ;;
    release-*) echo done ;;
    esac
done
