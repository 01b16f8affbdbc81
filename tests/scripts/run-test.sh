#!/bin/sh
# SPDX-License-Identifier: MIT
#
# run-test.sh PROGRAM - runs one compiled test and reports it as TAP.
#
#   test_NAME   a Criterion program: writes TAP itself, one line per test.
#   other       a plain program: passes with exit status 0, is skipped with 77.
#
# Criterion discards the stderr of its tests, and a leak that is found when the
# process of a test exits does not fail the test. So sanitizers write to files,
# and each such file counts as one more failed test.
#
# TGJIT_TEST_TIMEOUT: seconds after which a program counts as hung.

program=$1
name=${program##*/}
out=$program.out
report=$program.sanitizer
here=$(cd "$(dirname "$0")" && pwd)

# LeakSanitizer's tracking of the thread-local memory of libraries loaded with
# dlopen, such as LLVM, makes it crash at exit: disable it.
both="log_path=$PWD/$report:intercept_tls_get_addr=0"
export ASAN_OPTIONS="$both:detect_stack_use_after_return=1:$ASAN_OPTIONS"
export UBSAN_OPTIONS="$both:print_stacktrace=1:$UBSAN_OPTIONS"
export TSAN_OPTIONS="$both:$TSAN_OPTIONS"
export LSAN_OPTIONS="suppressions=$here/lsan.supp:print_suppressions=0:$LSAN_OPTIONS"
export CRITERION_OUTPUTS=tap:-

rm -f "$report".*
timeout -k 5 "${TGJIT_TEST_TIMEOUT:-600}" "$program" >"$out" 2>&1
status=$?
set -- "$report".*
test -e "$1" && reported=1 || reported=0

# The driver counts a failing exit status as one more error. Suppress it if a
# failed line has already reported the failure.
case $name in
test_*)
    # The plan, "1..N", does not include the line of the sanitizers: raise it.
    ${AWK:-awk} -v more=$reported '
        /^1\.\.[0-9]+$/ { $0 = "1.." substr($0, 4) + more }
        { print }' "$out"
    if test $status = 1 && grep -q '^not ok' "$out"; then
        status=0
    fi
    ;;
*)
    echo "1..$((1 + reported))"
    sed 's/^/# /' "$out"
    case $status in
    0) echo "ok - $name" ;;
    77) echo "ok - $name # SKIP" ;;
    124 | 137) echo "not ok - $name hung" ;;
    *) echo "not ok - $name exit status $status" ;;
    esac
    status=0
    ;;
esac

if test $reported = 1; then
    sed 's/^/# /' "$@"
    echo "not ok - $name sanitizer report"
fi
exit $status
