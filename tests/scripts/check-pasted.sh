#!/bin/sh
# SPDX-License-Identifier: MIT
#
# Pages show the programs of examples/ as they are, with their output, and all
# of them: those of from_tensorflow, each with fewer than 60 lines, of tutorial,
# and of cookbook. The picture of README.md shows the results in bench/results.

bad=0

for page in COOKBOOK FROM_TENSORFLOW TUTORIAL; do
    file=$srcdir/docs/$page.md
    ${AWK:-awk} -v docs="$srcdir/docs" -f "$srcdir/docs/paste_examples.awk" \
        "$file" >check-pasted.tmp || bad=1
    if ! diff -u "$file" check-pasted.tmp; then
        echo "docs/$page.md is out of date: make update-pasted"
        bad=1
    fi
    rm -f check-pasted.tmp
done

${AWK:-awk} -f "$srcdir/docs/speed_picture.awk" "$srcdir/bench/results/zen5.json" |
    cmp -s - "$srcdir/docs/speed.svg" || {
    echo "docs/speed.svg is out of date: make update-speed-picture"
    bad=1
}

# all FOLDER PAGE
all()
{
    for file in "$srcdir/examples/$1"/*.c; do
        name=${file##*/}
        grep -q "(../examples/$1/$name)\$" "$srcdir/docs/$2.md" || {
            echo "$name: not in docs/$2.md"
            bad=1
        }
    done
}
all cookbook COOKBOOK
all from_tensorflow FROM_TENSORFLOW
all tutorial TUTORIAL

for file in "$srcdir"/examples/from_tensorflow/*.c; do
    test "$(wc -l <"$file")" -lt 60 || {
        echo "${file##*/}: has 60 lines or more"
        bad=1
    }
done
exit $bad
