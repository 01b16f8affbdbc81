# SPDX-License-Identifier: MIT
#
# docs/ - installed unchanged.

dist_doc_DATA += \
	CONTRIBUTING.md \
	README.md \
	docs/AHEAD_OF_TIME.md \
	docs/ARCHITECTURE.md \
	docs/CACHE.md \
	docs/DATASETS.md \
	docs/DEBUGGING.md \
	docs/FILES.md \
	docs/FROM_TENSORFLOW.md \
	docs/GLOSSARY.md \
	docs/GRADIENTS.md \
	docs/NUMERICS.md \
	docs/OPS.md \
	docs/PERFORMANCE.md \
	docs/PERFORMANCE_NOTES.md \
	docs/PROFILING.md \
	docs/SCHEDULES.md \
	docs/STYLE.md \
	docs/TRAINING.md \
	docs/VARIABLES.md

dist_man_MANS = \
	docs/man/tgjit-bench.1 \
	docs/man/tgjit-cache.1 \
	docs/man/tgjit-inspect.1 \
	docs/man/tgjit-profile.3 \
	docs/man/tgjit.3

# Prints docs/OPS.md from src/ir/op.def; tests/scripts/check-ops-doc.sh compares
# the two.
check_PROGRAMS += docs/ops_table
docs_ops_table_SOURCES = \
	docs/op_names.def \
	docs/ops_table.c
docs_ops_table_LDADD = libtgjit-core.la

.PHONY: update-ops-doc
update-ops-doc: docs/ops_table
	docs/ops_table >$(top_srcdir)/docs/OPS.md

# Pastes the programs of examples/from_tensorflow and their output into the page;
# tests/scripts/check-from-tensorflow.sh compares them.
EXTRA_DIST += docs/paste_examples.awk
.PHONY: update-from-tensorflow
update-from-tensorflow:
	$(AWK) -v docs=$(top_srcdir)/docs \
		-f $(top_srcdir)/docs/paste_examples.awk \
		$(top_srcdir)/docs/FROM_TENSORFLOW.md >from-tensorflow.tmp
	cp from-tensorflow.tmp $(top_srcdir)/docs/FROM_TENSORFLOW.md
	rm -f from-tensorflow.tmp

# Prints docs/PERFORMANCE.md from bench/results;
# tests/scripts/check-performance-doc.sh compares the two.
EXTRA_DIST += docs/performance_doc.sh
.PHONY: update-performance-doc
update-performance-doc: bench/tgjit-bench
	$(top_srcdir)/docs/performance_doc.sh bench/tgjit-bench \
		$(top_srcdir)/bench/results >performance-doc.tmp
	cp performance-doc.tmp $(top_srcdir)/docs/PERFORMANCE.md
	rm -f performance-doc.tmp
