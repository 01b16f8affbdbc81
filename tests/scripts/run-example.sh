#!/bin/sh
# SPDX-License-Identifier: MIT
#
# run-example.sh PATH/examples/NAME.expected - runs examples/NAME, already
# built, and compares its standard output with the file. NAME may contain a
# folder. In the file, "..." matches any text within a line, such as times and
# machine names.

expected=$1
name=${expected##*examples/}
name=${name%.expected}
out=examples/$name.out

"examples/$name" >"$out"
status=$?
if test $status != 0; then
    cat "$out"
    echo "examples/$name: exit status $status"
    exit 1
fi

${AWK:-awk} -v name="examples/$name" -f "$srcdir/tests/scripts/match_output.awk" \
    "$expected" "$out"
