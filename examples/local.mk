# SPDX-License-Identifier: MIT
#
# examples/ - complete programs against the real library. `make' builds them,
# `make check' runs each and compares what it prints with NAME.expected.

examples =
example_ldadd = libtgjit.la $(LIBM)

# Each needs a line: examples_NAME_LDADD = $(example_ldadd)

noinst_PROGRAMS += $(examples)
example_tests = $(examples:=.expected)
TESTS += $(example_tests)
EXTRA_DIST += $(example_tests)
