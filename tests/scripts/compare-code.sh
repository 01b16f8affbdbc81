#!/bin/sh
# SPDX-License-Identifier: MIT
#
# compare-code.sh BUILD OTHER_BUILD - compares the machine code that two builds
# of the library generate for every compiled row of tgjit-bench, at 128, 256
# and 512 bits as far as the host has them. Symbol names do not count. For
# changes that must not affect generated code, such as renames.

test $# = 2 || {
    echo "usage: compare-code.sh BUILD OTHER_BUILD" >&2
    exit 2
}
scratch=$(mktemp -d) || exit 1
trap 'rm -rf "$scratch"' EXIT

# dump BUILD ROW BITS FOLDER: the assembly of a row, symbols replaced by their
# order of appearance.
dump()
{
    mkdir -p "$4" || exit 1
    TGJIT_DUMP=asm TGJIT_DUMP_DIR=$4 TGJIT_CACHE=off TGJIT_COMPILE=eager \
        TGJIT_MODULE_DIR=$1/.libs TGJIT_VECTOR_BITS=$3 \
        "$1/bench/tgjit-bench" --filter="^$2\$" --min-time=0.000001 \
        --repetitions=1 >/dev/null 2>&1
    cat "$4"/*.s 2>/dev/null | awk '
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
        }' >"$4.s"
    rm -rf "$4"
}

n=0 differ=0
for row in $("$1/bench/tgjit-bench" --filter=/jit --list | grep '/threads:1$' |
    grep -v '^process_\|^disk'); do
    for bits in ${BITS-128 256 512}; do
        dump "$1" "$row" $bits "$scratch/a"
        dump "$2" "$row" $bits "$scratch/b"
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
