#!/bin/sh
# SPDX-License-Identifier: MIT
#
# cookbook_times.sh COOKBOOK.md PROGRAM... - prints the page with a new table of
# times, from the lines "WHAT: libtgjit N us, C N us, RATIO" of the programs.

page=$1
shift
table=cookbook-times.tmp
{
    echo '| | libtgjit | C | ratio |'
    echo '|---|--:|--:|--:|'
    for program; do
        "$program" | sed -n \
            's/^\(.*\): libtgjit \(.*s\), C \([^,]*s\), \(.*\)$/| \1 | \2 | \3 | \4 |/p'
    done
} >"$table"
${AWK:-awk} -v table="$table" '
    /^<!-- times end -->$/ { skips = 0 }
    !skips
    /^<!-- times begin -->$/ {
        skips = 1
        while ((getline line <table) > 0)
            print line
    }' "$page"
rm -f "$table"
