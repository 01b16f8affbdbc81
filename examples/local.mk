# SPDX-License-Identifier: MIT
#
# examples/ - complete programs that link the installed library. `make' builds
# them; `make check' runs each and compares its output with NAME.expected.

examples = \
	examples/batches \
	examples/bundle \
	examples/checkpoint \
	examples/counter \
	examples/dataset_batches \
	examples/epoch \
	examples/errors \
	examples/hot_loop \
	examples/linear_regression \
	examples/lorenz \
	examples/mlp_train \
	examples/newton \
	examples/ode_fit \
	examples/own_variable_gradient \
	examples/power_iteration \
	examples/readme \
	examples/retrace \
	examples/running_stats \
	examples/tour \
	examples/value_or_variable
example_ldadd = libtgjit.la $(LIBM)

# Each needs a line: examples_NAME_LDADD = $(example_ldadd)
examples_batches_LDADD = $(example_ldadd)
examples_bundle_LDADD = $(example_ldadd)
examples_checkpoint_LDADD = $(example_ldadd)
examples_counter_LDADD = $(example_ldadd)
examples_dataset_batches_LDADD = $(example_ldadd)
examples_epoch_LDADD = $(example_ldadd)
examples_errors_LDADD = $(example_ldadd)
examples_hot_loop_LDADD = $(example_ldadd)
examples_linear_regression_LDADD = $(example_ldadd)
examples_lorenz_LDADD = $(example_ldadd)
examples_mlp_train_LDADD = $(example_ldadd)
examples_newton_LDADD = $(example_ldadd)
examples_ode_fit_LDADD = $(example_ldadd)
examples_own_variable_gradient_LDADD = $(example_ldadd)
examples_power_iteration_LDADD = $(example_ldadd)
examples_readme_LDADD = $(example_ldadd)
examples_retrace_LDADD = $(example_ldadd)
examples_running_stats_LDADD = $(example_ldadd)
examples_tour_LDADD = $(example_ldadd)
examples_value_or_variable_LDADD = $(example_ldadd)

if HAVE_CXX17
examples += examples/cxx_tour
endif
examples_cxx_tour_SOURCES = examples/cxx_tour.cpp
examples_cxx_tour_LDADD = $(example_ldadd)
EXTRA_DIST += examples/cxx_tour.expected

noinst_PROGRAMS += $(examples)

# Two programs: tests/scripts/check-export.sh runs the first, which writes an
# object file, and links the second with it.
noinst_PROGRAMS += examples/ahead_of_time/export
examples_ahead_of_time_export_LDADD = $(example_ldadd)
EXTRA_DIST += \
	examples/ahead_of_time/main.c \
	examples/ahead_of_time/main.expected

example_tests = $(examples:=.expected)
TESTS += $(example_tests)
EXTRA_DIST += $(example_tests)
