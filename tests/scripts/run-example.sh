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

${AWK:-awk} -v name="$name" '
    NR == FNR {
        want[++n_want] = $0
        next
    }
    {
        pattern = want[++n]
        gsub(/[][\\.^$*+?(){}|]/, "\\\\&", pattern)
        gsub(/\\\.\\\.\\\./, ".*", pattern)
        if (n > n_want || $0 !~ "^" pattern "$") {
            printf "examples/%s, line %d\n", name, n
            printf "  expected: %s\n", (n > n_want) ? "(the end)" : want[n]
            printf "  printed:  %s\n", $0
            bad = 1
            exit
        }
    }
    END {
        if (!bad && n < n_want) {
            printf "examples/%s ends after line %d of %d\n", name, n, n_want
            bad = 1
        }
        exit bad
    }' "$expected" "$out"
