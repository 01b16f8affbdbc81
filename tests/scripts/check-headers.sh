#!/bin/sh
# SPDX-License-Identifier: MIT
#
# Each public header compiles on its own without warnings, as strict C11 and, if
# there is a compiler, as C++17. The version in the headers is that of the
# package. That of libtgjit-mpi needs MPI, whose headers are not strict.

include=$srcdir/include
warn='-Wall -Wextra -pedantic -Werror -fsyntax-only'
failed=0

# compile NAME PROGRAM COMPILER-AND-FLAGS... (PROGRAM is not piped in, because a
# pipe would run this function in a subshell and lose `failed`.)
compile()
{
    name=$1
    program=$2
    shift 2
    echo "$program" | "$@" $warn -I"$include" - || {
        echo "failed: $name: $*"
        failed=1
    }
}

# CC may be several words, such as "ccache gcc -m64". A header that contains
# only macros would be an empty translation unit, which ISO C forbids.
for path in "$include"/tgjit.h "$include"/tgjit/*.h; do
    header=${path#"$include"/}
    if test "$header" = tgjit/mpi.h; then
        test -n "$MPI_CFLAGS" || continue
        compile "$header" "#include <$header>" $CC -std=gnu11 -x c $MPI_CFLAGS
        test -z "$CXX17" ||
            compile "$header" "#include <$header>" $CXX17 -std=c++17 -x c++ \
                $MPI_CFLAGS
        continue
    fi
    program="#include <$header>
extern int nothing;"
    compile "$header" "$program" $CC -std=c11 -x c
    if test -n "$CXX17"; then
        compile "$header" "$program" $CXX17 -std=c++17 -x c++
    fi
done

IFS=. read -r major minor patch <<END
$PACKAGE_VERSION
END
compile "the version is not $PACKAGE_VERSION" "#include <tgjit.h>
_Static_assert(TG_VERSION_MAJOR == $major && TG_VERSION_MINOR == $minor &&
               TG_VERSION_PATCH == $patch, \"tgjit/base.h and configure.ac\");" \
    $CC -std=c11 -x c
exit $failed
