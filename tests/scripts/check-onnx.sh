#!/bin/sh
# SPDX-License-Identifier: MIT
#
# ONNX's conformance tests: interpreted and compiled results have the same bits
# and are those expected, in at least as many folders as before. ONNX_TESTDATA
# names another directory with them.

test -e libtgjit-onnx.la || {
    echo "built without ONNX"
    exit 77
}
data=${ONNX_TESTDATA:-/usr/share/libonnx-testdata/data}
test -d "$data/node" || {
    echo "no test data: libonnx-testdata is not installed"
    exit 77
}
backend=both
test -e libtgjit-llvm.la || backend=interp
tests/onnx-suite --backend $backend --min-passed 875 "$data/node" || exit
tests/onnx-suite --backend $backend --min-passed 117 \
    "$data/pytorch-converted" "$data/pytorch-operator"
