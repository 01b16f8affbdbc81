# SPDX-License-Identifier: MIT
#
# match_output.awk - awk -v name=NAME -f match_output.awk EXPECTED PRINTED: fails if
# the two differ. "..." in the first matches any text within a line.

NR == FNR {
    want[++n_want] = $0
    next
}
{
    pattern = want[++n]
    gsub(/[][\\.^$*+?(){}|]/, "\\\\&", pattern)
    gsub(/\\\.\\\.\\\./, ".*", pattern)
    if (n > n_want || $0 !~ "^" pattern "$") {
        printf "%s, line %d\n", name, n
        printf "  expected: %s\n", (n > n_want) ? "(the end)" : want[n]
        printf "  printed:  %s\n", $0
        bad = 1
        exit
    }
}
END {
    if (!bad && n < n_want) {
        printf "%s ends after line %d of %d\n", name, n, n_want
        bad = 1
    }
    exit bad
}
