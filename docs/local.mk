# SPDX-License-Identifier: MIT
#
# docs/ - installed unchanged, in the folders of the source tree, so that links
# lead to the same files.

dist_doc_DATA += \
	CONTRIBUTING.md \
	SECURITY.md \
	README.md \
	CITATION.cff

pagesdir = $(docdir)/docs
dist_pages_DATA = \
	docs/AHEAD_OF_TIME.md \
	docs/ARCHITECTURE.md \
	docs/CACHE.md \
	docs/COOKBOOK.md \
	docs/DATASETS.md \
	docs/DEBUGGING.md \
	docs/DISTRIBUTED.md \
	docs/FILES.md \
	docs/FROM_JAX.md \
	docs/FROM_NUMPY.md \
	docs/FROM_TENSORFLOW.md \
	docs/GLOSSARY.md \
	docs/GRADIENTS.md \
	docs/INSTALL.md \
	docs/LINEAR_ALGEBRA.md \
	docs/NUMERICS.md \
	docs/ONNX.md \
	docs/OPS.md \
	docs/PERFORMANCE.md \
	docs/PERFORMANCE_NOTES.md \
	docs/PROFILING.md \
	docs/RELIABILITY.md \
	docs/SCHEDULES.md \
	docs/STYLE.md \
	docs/TRAINING.md \
	docs/TUTORIAL.md \
	docs/VARIABLES.md \
	docs/speed.svg

dist_man_MANS = \
	docs/man/tgjit-bench.1 \
	docs/man/tgjit-cache.1 \
	docs/man/tgjit-inspect.1 \
	docs/man/tgjit.3 \
	docs/man/tgjit.7
if HAVE_ONNX
dist_man_MANS += docs/man/tgjit-run.1
endif

# The pages of section 3 about headers, tgjit-NAME(3), with a link for each
# function, are written from the comments of the headers.
EXTRA_DIST += docs/man/man_page.awk
all-local: docs/man3/stamp
docs/man3/stamp: docs/man/man_page.awk $(topicinclude_HEADERS)
	$(AM_V_GEN)rm -rf docs/man3 && $(MKDIR_P) docs/man3 && \
	for header in $(topicinclude_HEADERS); do \
	    macros=; \
	    case $$header in \
	    */map.h | */ops_macros.h) continue ;; \
	    */ops.h) macros=$(top_srcdir)/include/tgjit/ops_macros.h ;; \
	    esac; \
	    $(AWK) -v folder=docs/man3 -v version=$(PACKAGE_VERSION) \
	        -f $(top_srcdir)/docs/man/man_page.awk \
	        $(top_srcdir)/$$header $$macros || exit 1; \
	done && echo >$@

install-data-local: docs/man3/stamp
	$(MKDIR_P) "$(DESTDIR)$(man3dir)"
	$(INSTALL_DATA) docs/man3/*.3 "$(DESTDIR)$(man3dir)"

uninstall-local: docs/man3/stamp
	cd docs/man3 && for page in *.3; do \
	    rm -f "$(DESTDIR)$(man3dir)/$$page" || exit 1; \
	done

clean-local:
	rm -rf docs/man3

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

# Pastes programs of examples/ and their output into pages;
# tests/scripts/check-pasted.sh compares them.
EXTRA_DIST += docs/paste_examples.awk
.PHONY: update-pasted
update-pasted:
	for page in COOKBOOK FROM_TENSORFLOW TUTORIAL; do \
	    $(AWK) -v docs=$(top_srcdir)/docs \
	        -f $(top_srcdir)/docs/paste_examples.awk \
	        $(top_srcdir)/docs/$$page.md >pasted.tmp && \
	    cp pasted.tmp $(top_srcdir)/docs/$$page.md || exit 1; \
	done
	rm -f pasted.tmp

# Measures the programs of examples/cookbook for the table of docs/COOKBOOK.md.
EXTRA_DIST += docs/cookbook_times.sh
.PHONY: update-cookbook
update-cookbook: $(recipes) update-pasted
	$(top_srcdir)/docs/cookbook_times.sh $(top_srcdir)/docs/COOKBOOK.md \
	    $(recipes) >cookbook.tmp
	cp cookbook.tmp $(top_srcdir)/docs/COOKBOOK.md
	rm -f cookbook.tmp

# Prints docs/PERFORMANCE.md from bench/results;
# tests/scripts/check-performance-doc.sh compares the two.
EXTRA_DIST += docs/performance_doc.sh
.PHONY: update-performance-doc
update-performance-doc: bench/tgjit-bench update-speed-picture
	$(top_srcdir)/docs/performance_doc.sh bench/tgjit-bench \
		$(top_srcdir)/bench/results >performance-doc.tmp
	cp performance-doc.tmp $(top_srcdir)/docs/PERFORMANCE.md
	rm -f performance-doc.tmp

# Draws docs/speed.svg, the picture of README.md, from a result file.
EXTRA_DIST += docs/speed_picture.awk
speed_results = $(top_srcdir)/bench/results/zen5.json
.PHONY: update-speed-picture
update-speed-picture:
	$(AWK) -f $(top_srcdir)/docs/speed_picture.awk $(speed_results) \
	    >$(top_srcdir)/docs/speed.svg
