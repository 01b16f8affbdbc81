#!/bin/sh
# SPDX-License-Identifier: MIT
#
# Spelling of the documentation, the comments of headers (manual pages are made
# of them) and those of examples: each word is in the British dictionary of
# hunspell or in tests/words.txt, one per line. check-spelling.sh FILE... checks
# other files.

command -v hunspell >/dev/null &&
    echo colour | hunspell -d en_GB -l >/dev/null 2>&1 || {
    echo "hunspell with its dictionary en_GB is not installed"
    exit 77
}

list=$PWD/check-spelling.tmp
trap 'rm -f "$list" "$list.words" "$list.known"' EXIT
cd "${srcdir:-.}" || exit 1
LC_ALL=C.UTF-8
export LC_ALL

test $# != 0 || set -- *.md NEWS quickstart docs/*.md docs/man/*.[1-9] \
    */README.md */*/README.md */*/*/README.md \
    include/*.h include/tgjit/*.h examples/*.[ch] examples/*/*.[ch]
${AWK:-awk} -f tests/scripts/prose_words.awk "$@" >"$list" || exit 1
test -s "$list" || {
    echo "no words were found"
    exit 1
}
sort -u tests/words.txt >"$list.known"
cut -d' ' -f1 "$list" | sort -u | hunspell -d en_GB -l | sort -u |
    comm -23 - "$list.known" >"$list.words"
test -s "$list.words" || exit 0
echo "Not in the dictionary. What is right belongs in tests/words.txt:"
${AWK:-awk} 'NR == FNR { bad[$1] = 1; next } $1 in bad && !seen[$0]++' \
    "$list.words" "$list"
exit 1
