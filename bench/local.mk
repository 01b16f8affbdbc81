# SPDX-License-Identifier: MIT
#
# bench/ - tgjit-bench, which uses public headers only. It is installed, so
# its _LDFLAGS must not contain the -no-install of AM_LDFLAGS.

bench_cppflags = -I$(top_srcdir)/include -I$(top_srcdir)/bench -Ibench \
	-D_GNU_SOURCE

bin_PROGRAMS += bench/tgjit-bench
bench_tgjit_bench_SOURCES = \
	bench/backend.c \
	bench/backend.h \
	bench/baseline.c \
	bench/baseline.h \
	bench/calibrate.c \
	bench/calibrate.h \
	bench/case.h \
	bench/case_args.c \
	bench/case_args.h \
	bench/case_calls.c \
	bench/case_conv.c \
	bench/case_elementwise.c \
	bench/case_embedding.c \
	bench/case_gradients.c \
	bench/case_grid.c \
	bench/case_loops.c \
	bench/case_ops.c \
	bench/case_products.c \
	bench/case_rows.c \
	bench/cases.c \
	bench/cases.h \
	bench/compare.c \
	bench/compare.h \
	bench/data_case.c \
	bench/data_case.h \
	bench/file_case.c \
	bench/file_case.h \
	bench/format.c \
	bench/format.h \
	bench/graph_case.c \
	bench/graph_case.h \
	bench/hogs.c \
	bench/hogs.h \
	bench/html.h \
	bench/html_bars.c \
	bench/html_curves.c \
	bench/html_phases.c \
	bench/html_roofline.c \
	bench/html_rows.c \
	bench/inputs.c \
	bench/inputs.h \
	bench/machine.c \
	bench/machine.h \
	bench/main.c \
	bench/measure.c \
	bench/measure.h \
	bench/ops.def \
	bench/mpi_case.c \
	bench/mpi_case.h \
	bench/options.c \
	bench/options.h \
	bench/peers.h \
	bench/peers/engine.c \
	bench/peers/engine.h \
	bench/peers/library.h \
	bench/peers/python.c \
	bench/peers/python.h \
	bench/phases.c \
	bench/phases.h \
	bench/process_case.c \
	bench/process_case.h \
	bench/progress.c \
	bench/progress.h \
	bench/report.h \
	bench/report_all.c \
	bench/report_csv.c \
	bench/report_html.c \
	bench/report_json.c \
	bench/report_markdown.c \
	bench/report_screen.c \
	bench/results.c \
	bench/results.h \
	bench/results_read.c \
	bench/roof.c \
	bench/roof.h \
	bench/scratch_dir.c \
	bench/scratch_dir.h \
	bench/screen_line.c \
	bench/session.c \
	bench/session.h \
	bench/shape.c \
	bench/shape.h \
	bench/statistics.c \
	bench/statistics.h \
	bench/tensor_case.c \
	bench/tensor_case.h
bench_tgjit_bench_CPPFLAGS = $(bench_cppflags) \
	-DBENCH_LLVM_VERSION='"$(LLVM_VERSION)"'
bench_tgjit_bench_CFLAGS = $(AM_CFLAGS) $(OPENMP_CFLAGS)
bench_tgjit_bench_LDFLAGS = $(TGJIT_SANITIZE)
bench_tgjit_bench_LDADD = libtgjit-bench-plain.la libtgjit-bench-strict.la \
	libtgjit.la \
	$(BENCH_LIBXSMM_LIBS) $(JANSSON_LIBS) $(DL_LIBS) $(LIBM)

# Programs in Python as strings of C: one of its own, and those of the engines
# with their names.
bench_engine_programs = \
	bench/peers/engine_jax.py \
	bench/peers/engine_numba.py \
	bench/peers/engine_numexpr.py \
	bench/peers/engine_numpy.py \
	bench/peers/engine_onnxruntime.py \
	bench/peers/engine_tensorflow.py \
	bench/peers/engine_torch.py \
	bench/peers/expressions.py \
	bench/peers/worker.py
EXTRA_DIST += \
	bench/results/zen4.json \
	bench/results/zen5.json \
	bench/peers/data_loaders.py \
	bench/peers/requirements.txt \
	bench/peers/setup \
	bench/peers/zoo.py \
	$(bench_engine_programs)
CLEANFILES += bench/data_loaders.inc bench/engine_programs.inc
bench_to_string = sed 's/[\\"]/\\&/g; s/^/"/; s/$$/\\n"/'
bench/tgjit_bench-data_case.$(OBJEXT): bench/data_loaders.inc
bench/data_loaders.inc: bench/peers/data_loaders.py
	$(AM_V_GEN)$(MKDIR_P) bench && $(bench_to_string) \
	    $(srcdir)/bench/peers/data_loaders.py >$@
bench/peers/tgjit_bench-engine.$(OBJEXT): bench/engine_programs.inc
bench/engine_programs.inc: $(bench_engine_programs)
	$(AM_V_GEN)$(MKDIR_P) bench && for i in $(bench_engine_programs); do \
	    echo "{\"$${i##*/}\"," && $(bench_to_string) $(srcdir)/$$i && \
	    echo '},'; done >$@-t && mv $@-t $@

# -- Peers -------------------------------------------------------------------

# Peers are always compiled with -O3, whatever CFLAGS says. Without OpenMP its
# pragmas are ignored.
bench_peer_cflags = $(AM_CFLAGS) $(OPENMP_CFLAGS) -Wno-unknown-pragmas

noinst_LTLIBRARIES += libtgjit-bench-plain.la
libtgjit_bench_plain_la_SOURCES = \
	bench/expert/share.h \
	bench/peers.h \
	bench/peers/blas.c \
	bench/peers/blas.h \
	bench/peers/blis.c \
	bench/peers/layers.c \
	bench/peers/layers.h \
	bench/peers/library.c \
	bench/peers/library.h \
	bench/peers/libxsmm.c \
	bench/peers/onednn.c \
	bench/peers/onednn.h \
	bench/peers/onednn_conv.c \
	bench/peers/openblas.c \
	bench/peers/train.c \
	bench/plain_calls.c \
	bench/plain_cnn.c \
	bench/plain_conv.c \
	bench/plain_elementwise.c \
	bench/plain_embedding.c \
	bench/plain_gradients.c \
	bench/plain_grid.c \
	bench/plain_loops.c \
	bench/plain_ops.c \
	bench/plain_pool.c \
	bench/plain_products.c \
	bench/plain_roof.c \
	bench/plain_rows.c
libtgjit_bench_plain_la_CPPFLAGS = $(bench_cppflags)
libtgjit_bench_plain_la_CFLAGS = $(bench_peer_cflags) $(BENCH_PLAIN_CFLAGS)
$(libtgjit_bench_plain_la_OBJECTS): override CFLAGS += -O3
if HAVE_LIBXSMM
libtgjit_bench_plain_la_CPPFLAGS += -DHAVE_LIBXSMM
endif

# Nothing that changes a result, but no errno and no traps, which no loop needs.
noinst_LTLIBRARIES += libtgjit-bench-strict.la
libtgjit_bench_strict_la_SOURCES = bench/peers.h bench/plain_ops.c
libtgjit_bench_strict_la_CPPFLAGS = $(bench_cppflags) -DSTRICT_MATH
libtgjit_bench_strict_la_CFLAGS = $(bench_peer_cflags) $(BENCH_PLAIN_CFLAGS) \
	-fno-fast-math -fno-math-errno -fno-trapping-math
$(libtgjit_bench_strict_la_OBJECTS): override CFLAGS += -O3

libtgjit_bench_expert_la_SOURCES = \
	bench/expert/black_scholes.c \
	bench/expert/chain.c \
	bench/expert/jacobi.c \
	bench/expert/layer_norm.c \
	bench/expert/recipes_f32.h \
	bench/expert/recipes_f64.h \
	bench/expert/rows.h \
	bench/expert/scan.c \
	bench/expert/share.h \
	bench/expert/softmax.c \
	bench/expert/stream.c \
	bench/expert/sum.c \
	bench/expert/transpose.c \
	bench/expert/tree_f32.h \
	bench/expert/wide.h \
	bench/peers.h
libtgjit_bench_expert_la_CPPFLAGS = $(bench_cppflags)
libtgjit_bench_expert_la_CFLAGS = $(bench_peer_cflags) $(BENCH_EXPERT_CFLAGS)
$(libtgjit_bench_expert_la_OBJECTS): override CFLAGS += -O3

if HAVE_EXPERT
noinst_LTLIBRARIES += libtgjit-bench-expert.la
bench_tgjit_bench_CPPFLAGS += -DHAVE_EXPERT
bench_tgjit_bench_LDADD += libtgjit-bench-expert.la
else
EXTRA_LTLIBRARIES = libtgjit-bench-expert.la
endif

# -- Tracing of large graphs -------------------------------------------------

noinst_PROGRAMS += bench/trace-scale
bench_trace_scale_SOURCES = bench/trace_scale.c
bench_trace_scale_LDADD = libtgjit.la
