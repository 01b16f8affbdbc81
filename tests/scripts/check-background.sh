#!/bin/sh
# SPDX-License-Identifier: MIT
#
# Repeats the semantics tests in the default mode, in which calls are
# interpreted until a background compile has finished.

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
