#!/bin/sh
# SPDX-License-Identifier: MIT
#
# What calls mean does not depend on where their code is compiled: the tests of
# it once more, interpreted until code is there, as users have it by default.

TGJIT_COMPILE=background
export TGJIT_COMPILE
failed=0
for test in tests/api/test_semantics_* tests/api/test_call tests/api/test_function; do
    case ${test##*/} in
    *.*) continue ;;
    esac
    "$test" >"check-background.out" 2>&1 || {
        echo "failed: $test"
        cat "check-background.out"
        failed=1
    }
done
rm -f check-background.out
exit $failed
