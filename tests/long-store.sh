#!/bin/sh
# SPDX-License-Identifier: MIT
#
# long-store.sh - kills writers of the disk cache 10,000 times: nothing that is
# found afterwards is damaged.

exec tests/stress_store "${KILLS-10000}"
