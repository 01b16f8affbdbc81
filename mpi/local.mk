# SPDX-License-Identifier: MIT
#
# mpi/ - libtgjit-mpi, which sees the public headers only.

EXTRA_DIST += \
	mpi/README.md \
	mpi/simulation/platform.sh \
	mpi/simulation/scaling.c \
	mpi/simulation/scaling.sh \
	mpi/simulation/training.sh \
	tests/mpi/simulated_training.c

mpi_sources = \
	mpi/call.c \
	mpi/call.h \
	mpi/collectives.c \
	mpi/combine.c \
	mpi/combine.h \
	mpi/communicator.c \
	mpi/communicator.h \
	mpi/data.c \
	mpi/first_call.c \
	mpi/function_list.c \
	mpi/function_list.h \
	mpi/message.h \
	mpi/notes.c \
	mpi/partials.c \
	mpi/partials.h \
	mpi/pending.c \
	mpi/schedule.c \
	mpi/schedule.h \
	mpi/schedule_reduction.c \
	mpi/schedule_steps.h \
	mpi/shards.c \
	mpi/shards.h \
	mpi/simulated_time.h \
	mpi/train_step.c \
	mpi/train_step.h \
	mpi/training.c \
	mpi/transfer.c

mpi_cppflags = -I$(top_srcdir)/include -I$(top_srcdir) -D_GNU_SOURCE

if HAVE_MPI_LIBRARY
lib_LTLIBRARIES += libtgjit-mpi.la
pkgconfig_DATA += tgjit-mpi.pc
endif
libtgjit_mpi_la_SOURCES = $(mpi_sources)
libtgjit_mpi_la_CPPFLAGS = $(mpi_cppflags) $(MPI_CFLAGS)
libtgjit_mpi_la_LIBADD = libtgjit.la $(MPI_LIBS)
libtgjit_mpi_la_LDFLAGS = $(extension_ldflags)
EXTRA_DIST += $(mpi_sources)

# The same with the other MPI, for tests.
if HAVE_OTHER_MPI
noinst_LTLIBRARIES += libtgjit-other-mpi.la
libtgjit_other_mpi_la_SOURCES = $(mpi_sources)
libtgjit_other_mpi_la_CPPFLAGS = $(mpi_cppflags) $(OTHER_MPI_CFLAGS)
libtgjit_other_mpi_la_LIBADD = libtgjit.la $(OTHER_MPI_LIBS)
endif

# -- Tests: programs that tests/scripts/check-mpi.sh runs on several ranks ------

mpi_test_cppflags = $(mpi_cppflags) -I$(top_srcdir)/tests

if HAVE_MPI
check_PROGRAMS += \
	tests/mpi/collectives \
	tests/mpi/control \
	tests/mpi/failures \
	tests/mpi/overhead \
	tests/mpi/training
tests_mpi_collectives_SOURCES = tests/mpi/collectives.c tests/mpi/ranks.h
tests_mpi_collectives_CPPFLAGS = $(mpi_test_cppflags) $(MPI_CFLAGS)
tests_mpi_collectives_LDADD = libtgjit-mpi.la libtgjit.la $(MPI_LIBS) $(LIBM)
tests_mpi_control_SOURCES = tests/mpi/control.c tests/mpi/ranks.h
tests_mpi_control_CPPFLAGS = $(mpi_test_cppflags) $(MPI_CFLAGS)
tests_mpi_control_LDADD = libtgjit-mpi.la libtgjit.la $(MPI_LIBS) $(LIBM)
tests_mpi_failures_SOURCES = tests/mpi/failures.c tests/mpi/ranks.h
tests_mpi_failures_CPPFLAGS = $(mpi_test_cppflags) $(MPI_CFLAGS)
tests_mpi_failures_LDADD = libtgjit-mpi.la libtgjit.la $(MPI_LIBS) $(LIBM)
tests_mpi_training_SOURCES = tests/mpi/training.c tests/mpi/ranks.h
tests_mpi_training_CPPFLAGS = $(mpi_test_cppflags) $(MPI_CFLAGS)
tests_mpi_training_LDADD = libtgjit-mpi.la libtgjit.la $(MPI_LIBS) $(LIBM)
# Measures: run by tests/scripts/long-mpi.sh.
tests_mpi_overhead_SOURCES = tests/mpi/overhead.c tests/mpi/ranks.h
tests_mpi_overhead_CPPFLAGS = $(mpi_test_cppflags) $(MPI_CFLAGS)
tests_mpi_overhead_LDADD = libtgjit-mpi.la libtgjit.la $(MPI_LIBS) $(LIBM)
endif
if HAVE_OTHER_MPI
check_PROGRAMS += \
	tests/mpi/other_collectives \
	tests/mpi/other_control \
	tests/mpi/other_failures \
	tests/mpi/other_overhead \
	tests/mpi/other_training
tests_mpi_other_collectives_SOURCES = tests/mpi/collectives.c tests/mpi/ranks.h
tests_mpi_other_collectives_CPPFLAGS = $(mpi_test_cppflags) $(OTHER_MPI_CFLAGS)
tests_mpi_other_collectives_LDADD = libtgjit-other-mpi.la libtgjit.la $(OTHER_MPI_LIBS) $(LIBM)
tests_mpi_other_control_SOURCES = tests/mpi/control.c tests/mpi/ranks.h
tests_mpi_other_control_CPPFLAGS = $(mpi_test_cppflags) $(OTHER_MPI_CFLAGS)
tests_mpi_other_control_LDADD = libtgjit-other-mpi.la libtgjit.la $(OTHER_MPI_LIBS) $(LIBM)
tests_mpi_other_failures_SOURCES = tests/mpi/failures.c tests/mpi/ranks.h
tests_mpi_other_failures_CPPFLAGS = $(mpi_test_cppflags) $(OTHER_MPI_CFLAGS)
tests_mpi_other_failures_LDADD = libtgjit-other-mpi.la libtgjit.la $(OTHER_MPI_LIBS) $(LIBM)
tests_mpi_other_overhead_SOURCES = tests/mpi/overhead.c tests/mpi/ranks.h
tests_mpi_other_overhead_CPPFLAGS = $(mpi_test_cppflags) $(OTHER_MPI_CFLAGS)
tests_mpi_other_overhead_LDADD = libtgjit-other-mpi.la libtgjit.la $(OTHER_MPI_LIBS) $(LIBM)
tests_mpi_other_training_SOURCES = tests/mpi/training.c tests/mpi/ranks.h
tests_mpi_other_training_CPPFLAGS = $(mpi_test_cppflags) $(OTHER_MPI_CFLAGS)
tests_mpi_other_training_LDADD = libtgjit-other-mpi.la libtgjit.la $(OTHER_MPI_LIBS) $(LIBM)
endif

mpi_examples = \
	examples/mpi/digits_cnn \
	examples/mpi/tensor_parallel \
	examples/mpi/zero1
if HAVE_MPI
noinst_PROGRAMS += $(mpi_examples)
endif
mpi_example_ldadd = libtgjit-mpi.la libtgjit.la $(MPI_LIBS)
examples_mpi_digits_cnn_CPPFLAGS = $(AM_CPPFLAGS) $(example_data) $(MPI_CFLAGS)
examples_mpi_digits_cnn_LDADD = $(mpi_example_ldadd)
examples_mpi_tensor_parallel_CPPFLAGS = $(AM_CPPFLAGS) $(MPI_CFLAGS)
examples_mpi_tensor_parallel_LDADD = $(mpi_example_ldadd)
examples_mpi_zero1_CPPFLAGS = $(AM_CPPFLAGS) $(MPI_CFLAGS)
examples_mpi_zero1_LDADD = $(mpi_example_ldadd)
EXTRA_DIST += $(mpi_examples:=.c)
