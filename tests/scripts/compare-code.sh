#!/bin/sh
# SPDX-License-Identifier: MIT
#
# compare-code.sh BUILD OTHER_BUILD - compares the machine code that two builds
# of the library generate for every compiled row of tgjit-bench, at vector
# widths of 128, 256 and 512 bits, where the host supports them. Symbol names
# are ignored. For changes that must not affect generated code, such as
# renames. Rows are paired by their order, since their names may differ too.

test $# = 2 || {
    echo "usage: compare-code.sh BUILD OTHER_BUILD" >&2
    exit 2
}
scratch=$(mktemp -d) || exit 1
trap 'rm -rf "$scratch"' EXIT

# rows BUILD: the names of the compiled rows.
rows()
{
    "$1/bench/tgjit-bench" --filter=/jit --list | grep '/threads:1$' |
        grep -v '^process_\|^disk'
}

# dump BUILD ROW BITS FOLDER: checksums of the functions that a row compiles,
# sorted. Comments and lines of the source are left out. Symbols are replaced by
# their order of appearance.
dump()
{
    mkdir -p "$4" || exit 1
    TGJIT_DUMP=asm TGJIT_DUMP_DIR=$4 TGJIT_CACHE=off TGJIT_COMPILE=eager \
        TGJIT_MODULE_DIR=$1/.libs TGJIT_VECTOR_BITS=$3 \
        "$1/bench/tgjit-bench" --filter="^$2\$" --min-time=0.000001 \
        --repetitions=1 >/dev/null 2>&1
    for function in "$4"/*.s; do
        test -e "$function" || continue
        sed -e 's/[[:space:]]*#.*//' -e '/^[[:space:]]*\.\(file\|loc\|cfi_\)/d' \
            -e '/^\.L\(func_\|tmp\)/d' -e '/^$/d' "$function" | awk '
        {
            line = ""
            while (match($0, /\.?(L|tg)[A-Za-z0-9_.$]*/)) {
                name = substr($0, RSTART, RLENGTH)
                if (!(name in number))
                    number[name] = ++n
                line = line substr($0, 1, RSTART - 1) "S" number[name]
                $0 = substr($0, RSTART + RLENGTH)
            }
            print line $0
        }' | cksum
    done | sort >"$4.s"
    rm -rf "$4"
}

rows "$1" >"$scratch/rows"
rows "$2" >"$scratch/other_rows"
test "$(wc -l <"$scratch/rows")" = "$(wc -l <"$scratch/other_rows")" || {
    echo "the builds have different rows:"
    diff "$scratch/rows" "$scratch/other_rows"
    exit 1
}

n=0 differ=0
exec 3<"$scratch/rows" 4<"$scratch/other_rows"
while read -r row <&3 && read -r other_row <&4; do
    for bits in ${BITS-128 256 512}; do
        dump "$1" "$row" $bits "$scratch/a"
        dump "$2" "$other_row" $bits "$scratch/b"
        test -s "$scratch/a.s" || test -s "$scratch/b.s" || continue
        n=$((n + 1))
        cmp -s "$scratch/a.s" "$scratch/b.s" || {
            differ=$((differ + 1))
            echo "differs: $row at $bits bits"
        }
    done
done
echo "$n compared, $differ differ"
test "$differ" = 0 && test "$n" -gt 0
