#!/bin/sh
# SPDX-License-Identifier: MIT
#
# Exported functions compile and link without libtgjit and LLVM, their headers
# are valid C11 and C++17, and their results have the bits of the interpreter.
# Then builds and runs the example as a user would.

grep -q '^#define TGJIT_HAVE_LLVM 1' config.h || exit 77
folder=$PWD/check-export.tmp
trap 'rm -rf "$folder"' EXIT
rm -rf "$folder"
mkdir "$folder" || exit 1
warn='-Wall -Wextra -Werror'
failed=0

fail()
{
    echo "$*"
    failed=1
}

# link OUTPUT FILE...: links a program. CC may be several words.
link()
{
    output=$1
    shift
    $CC -std=gnu11 $warn $TGJIT_SANITIZE -I"$folder" "$@" \
        libtgjit-aot.a $OPENMP_CFLAGS -o "$output" || exit 1
}

# A program must not depend on libtgjit or LLVM.
stands_alone()
{
    ldd "$1" >"$folder/libraries" || exit 1
    if grep -E 'LLVM|libtgjit' "$folder/libraries"; then
        fail "$1 is linked with the above"
    fi
}

tests/support/export-cases "$folder" || exit 1
for object in "$folder"/*.o; do
    name=${object##*/}
    name=${name%.o}
    echo "#include \"$name.h\"" >"$folder/alone"
    $CC -std=c11 -pedantic $warn -fsyntax-only -I"$folder" -x c \
        "$folder/alone" || fail "$name.h is not C11"
    if test -n "$CXX17"; then
        $CXX17 -std=c++17 -pedantic $warn -fsyntax-only -I"$folder" -x c++ \
            "$folder/alone" || fail "$name.h is not C++17"
    fi
    needs=$(${NM:-nm} -u "$object" | sed 's/.* //' | tr '\n' ' ')
    case $name,$needs in
    *_of_team,tgjit_aot_run_7\ ) ;;
    *_of_team,*) fail "$name.o needs '$needs' and not a team" ;;
    *,?*) fail "$name.o needs $needs" ;;
    esac
    defines=$(${NM:-nm} -g --defined-only "$object" | sed 's/.* //')
    test "$defines" = "$name" || fail "$name.o defines $defines"
done
test -z "$(ls "$folder" | grep '^tmp-')" || fail "temporary files are left"

link "$folder/program" "$folder/main.c" "$folder"/*.o
stands_alone "$folder/program"
for threads in 1 2 7; do
    OMP_NUM_THREADS=$threads "$folder/program" || fail "with $threads threads"
done

# An object can be linked into a shared library; without a team it has no
# undefined symbols.
$CC -shared -Wl,-z,defs,-z,text "$folder/chain.o" -o "$folder/libchain.so" ||
    fail "chain.o does not make a shared library"

# -- The example -------------------------------------------------------------

rm -f "$folder"/*
examples/ahead_of_time/export "$folder/smooth" >/dev/null || exit 1
link "$folder/program" "$srcdir/examples/ahead_of_time/main.c" \
    "$folder/smooth.o"
stands_alone "$folder/program"
"$folder/program" >"$folder/printed" || fail "the example fails"
cmp "$folder/printed" "$srcdir/examples/ahead_of_time/main.expected" ||
    fail "the example prints something else"
exit $failed
