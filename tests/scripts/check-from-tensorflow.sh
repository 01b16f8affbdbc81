#!/bin/sh
# SPDX-License-Identifier: MIT
#
# docs/FROM_TENSORFLOW.md shows the programs of examples/from_tensorflow as they
# are, all of them, and each has fewer than 60 lines.

page=$srcdir/docs/FROM_TENSORFLOW.md
bad=0

${AWK:-awk} -v docs="$srcdir/docs" -f "$srcdir/docs/paste_examples.awk" \
    "$page" >check-from-tensorflow.tmp || bad=1
if ! diff -u "$page" check-from-tensorflow.tmp; then
    echo "docs/FROM_TENSORFLOW.md is out of date: make update-from-tensorflow"
    bad=1
fi
rm -f check-from-tensorflow.tmp

for file in "$srcdir"/examples/from_tensorflow/*.c; do
    name=${file##*/}
    grep -q "(../examples/from_tensorflow/$name)\$" "$page" || {
        echo "$name: not in docs/FROM_TENSORFLOW.md"
        bad=1
    }
    test "$(wc -l <"$file")" -lt 60 || {
        echo "$name: has 60 lines or more"
        bad=1
    }
done
exit $bad
