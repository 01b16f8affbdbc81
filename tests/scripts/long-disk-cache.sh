#!/bin/sh
# SPDX-License-Identifier: MIT
#
# long-disk-cache.sh - kills writers of the disk cache 10,000 times: every entry
# that is found afterwards is intact.

exec tests/stress/stress_disk_cache "${KILLS-10000}"
