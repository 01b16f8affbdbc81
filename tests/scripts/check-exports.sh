#!/bin/sh
# SPDX-License-Identifier: MIT
#
# The shared library exports only names that begin with tg_ and does not depend
# on LLVM, which the plugin loads at run time.

library=.libs/libtgjit.so
test -f $library || exit 77

${NM:-nm} -D --defined-only $library >check-exports.tmp || exit 1
names=$(awk '$2 != "A" { sub(/@.*/, "", $3); print $3 }' check-exports.tmp)
rm -f check-exports.tmp

if test -z "$names"; then
    echo "$library exports nothing"
    exit 1
fi
if echo "$names" | grep -v '^tg_'; then
    echo "$library exports the names above"
    exit 1
fi
if ${OBJDUMP:-objdump} -p $library | grep 'NEEDED.*LLVM'; then
    echo "$library is linked with LLVM"
    exit 1
fi
