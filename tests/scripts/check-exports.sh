#!/bin/sh
# SPDX-License-Identifier: MIT
#
# The shared library exports only names that begin with tg_, and the two that
# gdb looks for, which it binds to its own definitions. It does not depend on
# LLVM, which the plugin loads at run time.

library=.libs/libtgjit.so
test -f $library || exit 77

${NM:-nm} -D --defined-only $library >check-exports.tmp || exit 1
names=$(awk '$2 != "A" { sub(/@.*/, "", $3); print $3 }' check-exports.tmp)
rm -f check-exports.tmp

if test -z "$names"; then
    echo "$library exports nothing"
    exit 1
fi
if echo "$names" |
    grep -v -e '^tg_' -e '^__jit_debug_descriptor$' \
        -e '^__jit_debug_register_code$'; then
    echo "$library exports the names above"
    exit 1
fi
if ${READELF:-readelf} -Wr $library | grep __jit_debug; then
    echo "$library lets other libraries preempt the names above"
    exit 1
fi
for name in __jit_debug_descriptor __jit_debug_register_code; do
    if ! echo "$names" | grep -q "^$name\$"; then
        echo "$library does not export $name: gdb needs it if it is stripped"
        exit 1
    fi
done
if ${OBJDUMP:-objdump} -p $library | grep 'NEEDED.*LLVM'; then
    echo "$library is linked with LLVM"
    exit 1
fi
