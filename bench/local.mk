# SPDX-License-Identifier: MIT
#
# bench/ - tgjit-bench, which uses public headers only. It is installed, so
# its _LDFLAGS must not hold the -no-install of AM_LDFLAGS.

noinst_PROGRAMS += bench/trace-scale
bench_trace_scale_SOURCES = bench/trace_scale.c
bench_trace_scale_LDADD = libtgjit.la
