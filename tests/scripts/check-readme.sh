#!/bin/sh
# SPDX-License-Identifier: MIT
#
# The program in README.md is the one that is compiled and run: its C block
# equals the part of examples/readme.c between the markers. It compiles without
# warnings as C and, if there is a compiler, as C++17. The other C blocks of the
# documentation compile too.

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

# compile FILE COMPILER FLAGS...: compiles standard input.
compile()
{
    file=$1
    shift
    compiler=$1
    shift
    $compiler -Wall -Wextra -Werror "$@" -fsyntax-only -I"$srcdir/include" - || {
        echo "failed: $file: $*"
        failed=1
    }
}

failed=0
compile README.md "$CC" -std=gnu11 -x c <"$srcdir/examples/readme.c"
if test -n "$CXX17"; then
    compile README.md "$CXX17" -std=c++17 -x c++ <"$srcdir/examples/readme.c"
fi
# Block number $2 of a page, as a translation unit. A comment before it, such as
# <!-- c: DECLARATIONS within(PARAMETERS) -->, says what it needs: declarations,
# and that it is the body of a function.
block()
{
    ${AWK:-awk} -v wanted="$2" '
        /^```$/ && on {
            if (n == wanted && is_body)
                print "}"
            on = 0
            context = ""
        }
        on && n == wanted
        /^<!-- c: .* -->$/ {
            context = $0
            sub(/^<!-- c: /, "", context)
            sub(/ -->$/, "", context)
        }
        /^```c$/ {
            on = 1
            n++
            is_body = match(context, /within\(.*\)$/)
            if (n == wanted) {
                print "#include <stdio.h>\n#include <tgjit.h>"
                print is_body ? substr(context, 1, RSTART - 1) : context
                header = "void block" substr(context, RSTART + 6)
                if (is_body)
                    print header ";\n" header "\n{"
            }
        }' "$1"
}

for doc in "$srcdir"/docs/*.md; do
    page=${doc##*/}
    case $page in
    COOKBOOK.md | FROM_TENSORFLOW.md | TUTORIAL.md) continue ;; # check-pasted.sh
    esac
    flags='-Wno-unused -Wno-unused-result'
    if test "$page" = DISTRIBUTED.md; then
        test -n "$MPI_CFLAGS" || continue
        flags="$flags $MPI_CFLAGS"
    fi
    n=1
    while block "$doc" $n >check-readme.out; test -s check-readme.out; do
        compile "docs/$page, block $n" "$CC" -std=gnu11 -x c $flags \
            <check-readme.out
        # These pages are for both languages.
        case $CXX17,$page in
        ?*,PROFILING.md | ?*,VARIABLES.md | ?*,TRAINING.md | ?*,DISTRIBUTED.md)
            compile "docs/$page, block $n" "$CXX17" -std=c++17 -x c++ $flags \
                <check-readme.out
            ;;
        esac
        n=$((n + 1))
    done
done
rm -f check-readme.out
exit $failed
