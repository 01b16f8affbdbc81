#!/bin/sh
# SPDX-License-Identifier: MIT
#
# Runs the C blocks of docs/PAGE.md by the programs tests/docs/PAGE.c, which include
# them. (check-readme.sh compiles each block by itself, also as C++;
# check-pasted.sh has the pages whose blocks are programs of examples/.)

test -f .libs/libtgjit.so || exit 77
# Blocks show little of what releases their objects.
ASAN_OPTIONS=detect_leaks=0:$ASAN_OPTIONS
export ASAN_OPTIONS

tmp=$PWD/check-doc-blocks.tmp
rm -rf "$tmp"
trap 'rm -rf "$tmp"' EXIT
mkdir "$tmp" "$tmp/out" || exit 1
source=$(cd "$srcdir" && pwd)
libraries=$PWD/.libs
LD_LIBRARY_PATH=$libraries:$LD_LIBRARY_PATH
export LD_LIBRARY_PATH
# Open MPI refuses root unless told otherwise.
OMPI_ALLOW_RUN_AS_ROOT=1
OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
export OMPI_ALLOW_RUN_AS_ROOT OMPI_ALLOW_RUN_AS_ROOT_CONFIRM
failed=0

# All blocks of a page. A comment <!-- c: DECLARATIONS within(PARAMETERS) --> says
# what a block needs; an earlier block may have declared it.
blocks()
{
    ${AWK:-awk} '
        /^<!-- c: .* -->$/ {
            context = $0
            sub(/^<!-- c: /, "", context)
            sub(/ -->$/, "", context)
        }
        /^```$/ && on {
            if (is_body)
                print "}"
            on = 0
            context = ""
        }
        on
        /^```c$/ {
            on = 1
            n++
            is_body = match(context, /within\(.*\)$/)
            declared = is_body ? substr(context, 1, RSTART - 1) : context
            parameters = is_body ? substr(context, RSTART + 6) : ""
            while (match(declared, /TG_DEFINE_BUNDLE\([^)]*\)/)) {
                bundle = substr(declared, RSTART, RLENGTH)
                declared = substr(declared, 1, RSTART - 1) \
                    substr(declared, RSTART + RLENGTH)
                if (!seen[bundle]++)
                    print bundle
            }
            print declared
            if (is_body)
                print "static void block" n parameters "\n{"
        }' "$1"
}

for program in "$source"/tests/docs/*.c; do
    page=$(basename "$program" .c)
    links=-ltgjit
    flags=
    argument=
    case $page in
    DISTRIBUTED) # one rank, without a launcher
        case $MPI_NAMES in
        '' | *smpi*) continue ;;
        esac
        flags=$MPI_CFLAGS
        links="-ltgjit-mpi -ltgjit $MPI_LIBS"
        ;;
    AHEAD_OF_TIME)
        grep -q '^#define TGJIT_HAVE_LLVM 1' config.h || continue
        ;;
    ONNX)
        test -f .libs/libtgjit-onnx.so || continue
        links="-ltgjit-onnx -ltgjit"
        argument=$source/tests/onnx/zoo/mlp/model.onnx
        ;;
    esac
    blocks "$source/docs/$page.md" >"$tmp/$page.blocks.h"
    $CC $TGJIT_SANITIZE -std=gnu11 -Wall -Wextra -Werror -Wno-unused \
        -Wno-unused-result $flags -I"$source/include" -I"$source/tests/docs" -I"$tmp" \
        "$program" -o "$tmp/$page" -L"$libraries" $links -lm &&
        (cd "$tmp" && "./$page" $argument 2>"$page.err") || {
        echo "docs/$page.md: its blocks fail (tests/docs/$page.c)"
        test ! -f "$tmp/$page.err" || cat "$tmp/$page.err"
        failed=1
    }
done

# Every page with blocks has a program.
for page in $(cd "$source/docs" && grep -l '^```c$' *.md); do
    case $page in
    COOKBOOK.md | FROM_TENSORFLOW.md | TUTORIAL.md) continue ;;
    esac
    test -f "$source/tests/docs/${page%.md}.c" || {
        echo "docs/$page has C blocks, but there is no tests/docs/${page%.md}.c"
        failed=1
    }
done
exit $failed
