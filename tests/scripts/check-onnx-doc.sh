#!/bin/sh
# SPDX-License-Identifier: MIT
#
# docs/ONNX.md lists exactly the operators of the table.
table=$(sed -nE 's/^(OP|UNARY|BINARY)\(([A-Za-z0-9]+),.*/\2/p' \
    "$srcdir/src/onnx/onnx_ops.def" | LC_ALL=C sort)
listed=$(sed -n '/^## Operators/,/^## How/p' "$srcdir/docs/ONNX.md" |
    grep -v '^##' |
    sed -nE '/^[A-Z][a-z ]+: /,/\.$/p' | sed 's/^[A-Z][a-z ]*: //' |
    sed 's/([^)]*)//g' | tr '\n' ' ' | sed 's/([^)]*)//g' | tr ' ,.' '\n\n\n' |
    grep '^[A-Z][A-Za-z0-9]*$' | LC_ALL=C sort)
test -n "$table" || exit 1
if test "$table" != "$listed"; then
    echo "docs/ONNX.md and src/onnx/onnx_ops.def differ:"
    printf '%s\n' "$table" >check-onnx-doc.tmp
    printf '%s\n' "$listed" | diff check-onnx-doc.tmp -
    rm -f check-onnx-doc.tmp
    exit 1
fi
