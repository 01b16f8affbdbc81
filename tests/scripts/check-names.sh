#!/bin/sh
# SPDX-License-Identifier: MIT
#
# Every struct, union and enum tgi_NAME of src/, jit/ and mpi/ is defined in one place
# only, although no file includes both: a name means one thing.

cd "$srcdir" || exit 1
twice=$(find src jit mpi -name '*.[ch]' -exec \
    sed -nE 's/.*(struct|union|enum) (tgi_[a-z0-9_]+) \{.*/\2/p' {} + |
    LC_ALL=C sort | uniq -d)
for name in $twice; do
    echo "$name is defined more than once:"
    grep -rnE "(struct|union|enum) $name \{" src jit mpi
done
test -z "$twice"
