#!/bin/sh
# SPDX-License-Identifier: MIT
#
# Test programs that take options name an invalid argument in their message.

out=check-arguments.tmp
trap 'rm -f "$out"' EXIT
failed=0

# refuses MESSAGE PROGRAM ARGUMENT...: PROGRAM fails with MESSAGE.
refuses()
{
    message=$1
    shift
    "$@" >"$out" 2>&1
    status=$?
    test $status = 2 && grep -q "$message" "$out" || {
        echo "$*: status $status, does not say '$message':"
        cat "$out"
        failed=1
    }
}

for path in tests/random/random-graphs tests/random/random-gradients \
    tests/random/sweep-conv tests/random/sweep-matmul \
    tests/stress/fuzz_files; do
    program=${path##*/}
    refuses "^$program: unexpected argument 'extra'" $path extra
    refuses "^$program: '--none-such' is unknown, or its value is missing" \
        $path --none-such
    refuses "^$program: '--jobs' is unknown, or cannot be '0'" $path --jobs 0
done
refuses '^sweep-matmul: --form and --sizes go together' \
    tests/random/sweep-matmul --sizes 1,2,3,4,5
exit $failed
