#!/bin/sh
# SPDX-License-Identifier: MIT
#
# The program in README.md is the one that is compiled and run: its C block
# equals the part of examples/readme.c between the markers.

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
