# SPDX-License-Identifier: MIT
#
# bench/ - tgjit-bench, which uses public headers only. It is installed, so
# its _LDFLAGS must not hold the -no-install of AM_LDFLAGS.
