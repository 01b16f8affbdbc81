#!/bin/sh
# SPDX-License-Identifier: MIT
#
# Every file of the tree is listed in a local.mk. An unlisted file would
# silently be neither built nor distributed.

cd "$srcdir" || exit 1
missing=0
for file in $(find include src jit mpi tests bench examples docs \
    -name '*.[ch]' -o -name '*.def' -o -name '*.cpp' -o -name '*.sh' \
    -o -name '*.md' -o -name '*.txt' -o -name '*.hex' -o -name '*.list'); do
    # Programs are listed without a suffix.
    name=${file%.c}
    name=${name%.cpp}
    grep -qE "(^|[[:space:]])$name(\.c|\.cpp)?([[:space:]]|\$)" */local.mk || {
        echo "$file: not in any local.mk"
        missing=1
    }
done
exit $missing
