#!/bin/sh
# SPDX-License-Identifier: MIT
#
# State and data behave alike in every mode: the tests of variables, scopes,
# datasets, numbers, bundles and results pass with TGJIT_JIT=off, auto and
# required. Without LLVM there is only off.

srcdir=${srcdir-$(dirname "$0")/../..}
out=check-modes.tmp
trap 'rm -f "$out"' EXIT
failed=0
modes='off auto required'
grep -q '^#define TGJIT_HAVE_LLVM 1' config.h || modes=off
test -x tests/api/test_semantics_data || exit 77

for mode in $modes; do
    n_passed=0
    for name in bundles data numbers own own_modes results scopes variables; do
        program=tests/api/test_semantics_$name
        TGJIT_JIT=$mode "$srcdir/tests/scripts/run-test.sh" $program \
            >"$out" 2>&1 && ! grep -q '^not ok' "$out" || {
            echo "TGJIT_JIT=$mode $program fails:"
            grep '^not ok' -A 3 "$out"
            failed=1
        }
        n_passed=$((n_passed + $(grep -c '^ok' "$out")))
    done
    echo "TGJIT_JIT=$mode: $n_passed tests passed"
    test $n_passed -gt 0 || failed=1
done
exit $failed
