#!/bin/sh
# SPDX-License-Identifier: MIT
#
# long-killed-files.sh - kills a process that saves tensors and variables until
# HITS kills have hit a write: every file is a whole one.

exec tests/stress/stress_killed_files --hits "${HITS-2000}" --seed "${SEED-1}"
