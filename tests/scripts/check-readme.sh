#!/bin/sh
# SPDX-License-Identifier: MIT
#
# The program in README.md is the one that is compiled and run: its C block
# equals the part of examples/readme.c between the markers. It compiles without
# warnings as C and, if there is a compiler, as C++17; so do the other C blocks
# of the documentation, each of which is a translation unit.

in_readme()
{
    awk '/^```$/ { on = 0 } on; /^```c$/ { on = 1 }' "$srcdir/README.md"
}

in_example()
{
    awk '/^\/\* -- README ends -- \*\/$/ { on = 0 }
         on
         /^\/\* -- README begins -- \*\/$/ { on = 1 }' \
        "$srcdir/examples/readme.c"
}

if test -z "$(in_example)"; then
    echo "examples/readme.c has no marked part"
    exit 1
fi
if test "$(in_readme)" != "$(in_example)"; then
    echo "README.md and examples/readme.c differ:"
    in_readme >check-readme.out
    in_example | diff check-readme.out -
    rm -f check-readme.out
    exit 1
fi

# compile FILE COMPILER-AND-FLAGS...: compiles standard input.
compile()
{
    file=$1
    shift
    "$@" -Wall -Wextra -Werror -fsyntax-only -I"$srcdir/include" - || {
        echo "failed: $file: $*"
        failed=1
    }
}

failed=0
compile README.md $CC -std=gnu11 -x c <"$srcdir/examples/readme.c"
if test -n "$CXX17"; then
    compile README.md $CXX17 -std=c++17 -x c++ <"$srcdir/examples/readme.c"
fi
# Block number $2 of a page.
block()
{
    ${AWK:-awk} -v wanted="$2" '/^```$/ { on = 0 } on && n == wanted
                                /^```c$/ { on = 1; n++ }' "$1"
}
mpi_page=
test -z "$MPI_CFLAGS" || mpi_page=DISTRIBUTED
for page in PROFILING VARIABLES TRAINING $mpi_page; do
    flags=
    test "$page" != DISTRIBUTED || flags=$MPI_CFLAGS
    n=1
    while test -n "$(block "$srcdir/docs/$page.md" $n)"; do
        block "$srcdir/docs/$page.md" $n >check-readme.out
        compile "docs/$page.md, block $n" $CC -std=gnu11 $flags -x c \
            <check-readme.out
        if test -n "$CXX17"; then
            compile "docs/$page.md, block $n" $CXX17 -std=c++17 $flags \
                -x c++ \
                <check-readme.out
        fi
        n=$((n + 1))
    done
done
rm -f check-readme.out
exit $failed
