#!/bin/sh
# SPDX-License-Identifier: MIT
#
# Each public header compiles alone, as strict C11 and as C++17 (where there
# is a compiler for it), without a warning; and the version they state is the
# version of the package.

include=$srcdir/include
warn='-Wall -Wextra -pedantic -Werror -fsyntax-only'
failed=0

# compile NAME COMPILER-AND-FLAGS...: the program is on standard input.
compile()
{
    name=$1
    shift
    "$@" $warn -I"$include" - || {
        echo "failed: $name: $*"
        failed=1
    }
}

# CC may be several words, such as "ccache gcc -m64".
for path in "$include"/tgjit.h "$include"/tgjit/*.h; do
    header=${path#"$include"/}
    echo "#include <$header>" | compile "$header" $CC -std=c11 -x c
    if test -n "$CXX17"; then
        echo "#include <$header>" | compile "$header" $CXX17 -std=c++17 -x c++
    fi
done

IFS=. read -r major minor patch <<END
$PACKAGE_VERSION
END
compile "the version is not $PACKAGE_VERSION" $CC -std=c11 -x c <<END
#include <tgjit.h>
_Static_assert(TG_VERSION_MAJOR == $major && TG_VERSION_MINOR == $minor &&
               TG_VERSION_PATCH == $patch, "tgjit/base.h and configure.ac");
END
exit $failed
