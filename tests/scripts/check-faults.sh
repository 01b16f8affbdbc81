#!/bin/sh
# SPDX-License-Identifier: MIT
#
# Every fault of mutants.list can be planted: its file has the line that it
# replaces, once. Whether tests catch them is left to `make check-mutants'.

exec "$srcdir/tests/scripts/mutants.sh" --applies
