#!/bin/sh
# SPDX-License-Identifier: MIT
#
# long-files.sh - feeds 1,000,000 mutants of each format to the readers of
# files: none crashes one, leaks, or is read outside of its bytes.

exec tests/stress/fuzz_files --count "${MUTANTS_OF_EACH-1000000}"
