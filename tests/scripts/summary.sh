#!/bin/sh
# SPDX-License-Identifier: MIT
#
# summary.sh TEST-SUITE-LOG - the totals of `make check' as one line:
# "N passed, N failed", and ", N skipped" if there are any. Prints nothing if no
# test ran.

test -f "$1" || exit 0
awk '
    /^\.\. contents/ { exit } # what follows is the output of the tests
    /^# (PASS|XFAIL):/ { passed += $3 }
    /^# (FAIL|XPASS|ERROR):/ { failed += $3 }
    /^# SKIP:/ { skipped += $3 }
    END {
        printf "%d passed, %d failed", passed, failed
        if (skipped)
            printf ", %d skipped", skipped
        print ""
    }' "$1"
