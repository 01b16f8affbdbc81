#!/bin/sh
# SPDX-License-Identifier: MIT
#
# docs/OPS.md equals the output of docs/ops_table, which prints src/ir/op.def.

docs/ops_table >check-ops-doc.tmp || exit 1
if diff -u "$srcdir/docs/OPS.md" check-ops-doc.tmp; then
    rm -f check-ops-doc.tmp
else
    rm -f check-ops-doc.tmp
    echo "docs/OPS.md is out of date: make update-ops-doc"
    exit 1
fi
