#!/bin/sh
# SPDX-License-Identifier: MIT
#
# check-schedules-doc.sh [--update] - the dumps in docs/SCHEDULES.md are those of
# tests/golden/schedule. A block after <!-- golden NAME TARGET --> is the section
# of TARGET in NAME.txt. With --update, the document is rewritten.

srcdir=${srcdir-$(dirname "$0")/../..}
doc=$srcdir/docs/SCHEDULES.md
new=check-schedules-doc.tmp

goldens=$srcdir/tests/golden/schedule awk '
    function print_section(file, target,    line, is_in)
    {
        while ((getline line <file) > 0)
            if (line ~ /^target /)
                is_in = line == "target " target
            else if (is_in && line != "")
                print line
        close(file)
    }
    is_old && $0 == "```" { is_old = 0 }
    is_old { next }
    { print }
    name && $0 == "```" {
        print_section(ENVIRON["goldens"] "/" name ".txt", target)
        name = ""
        is_old = 1
    }
    /^<!-- golden / { name = $3; target = $4 }' "$doc" >"$new" || exit 1
if test "$1" = --update; then
    mv "$new" "$doc"
elif diff -u "$doc" "$new"; then
    rm -f "$new"
else
    rm -f "$new"
    echo "docs/SCHEDULES.md is out of date: tests/scripts/check-schedules-doc.sh --update"
    exit 1
fi
