# SPDX-License-Identifier: MIT
#
# tests/ - what `make check' runs. See run-test.sh for how programs report.

# -- Unit tests: one Criterion program for each tests/test_MODULE.c ----------

unit_tests = \
	tests/test_alloc \
	tests/test_arena \
	tests/test_bad_input \
	tests/test_bad_input_callbacks \
	tests/test_bad_input_calls \
	tests/test_bad_input_control \
	tests/test_bad_input_gradient \
	tests/test_bad_input_regions \
	tests/test_bad_input_ops \
	tests/test_bound \
	tests/test_build \
	tests/test_build_shape \
	tests/test_build_symbolic \
	tests/test_bundle \
	tests/test_call \
	tests/test_checked \
	tests/test_code_bytes \
	tests/test_code_cache \
	tests/test_code_key \
	tests/test_code_sharing \
	tests/test_context \
	tests/test_control \
	tests/test_control_carried \
	tests/test_control_effects \
	tests/test_control_loops \
	tests/test_control_nesting \
	tests/test_control_trips \
	tests/test_dims \
	tests/test_dtype \
	tests/test_dump \
	tests/test_dynamic \
	tests/test_einsum \
	tests/test_einsum_values \
	tests/test_emit \
	tests/test_empty \
	tests/test_error \
	tests/test_explain \
	tests/test_export \
	tests/test_faults \
	tests/test_faults_control \
	tests/test_faults_gradient \
	tests/test_faults_host \
	tests/test_faults_jit \
	tests/test_format \
	tests/test_fpenv \
	tests/test_function \
	tests/test_fuse \
	tests/test_fuse_fold \
	tests/test_fuse_memory \
	tests/test_fuse_product \
	tests/test_gradient \
	tests/test_gradient_effects \
	tests/test_gradient_expected \
	tests/test_gradient_ops \
	tests/test_graph \
	tests/test_grows \
	tests/test_hash \
	tests/test_host_call \
	tests/test_image \
	tests/test_image_damage \
	tests/test_image_debug \
	tests/test_interp \
	tests/test_interp_plan \
	tests/test_kept \
	tests/test_kernel \
	tests/test_literal \
	tests/test_lock \
	tests/test_log \
	tests/test_loops \
	tests/test_machine_memory \
	tests/test_module \
	tests/test_native \
	tests/test_native_host \
	tests/test_nesting \
	tests/test_op \
	tests/test_op_matrix \
	tests/test_pages \
	tests/test_pass_inline \
	tests/test_pass_random \
	tests/test_pass_simplify \
	tests/test_passes \
	tests/test_pending \
	tests/test_recipes \
	tests/test_reduce_tree \
	tests/test_regions \
	tests/test_rt \
	tests/test_runner \
	tests/test_scale \
	tests/test_semantics_bundles \
	tests/test_semantics_effects \
	tests/test_semantics_explain \
	tests/test_semantics_gradients \
	tests/test_semantics_nesting \
	tests/test_semantics_numbers \
	tests/test_semantics_own \
	tests/test_semantics_resources \
	tests/test_semantics_threads \
	tests/test_semantics_tracing \
	tests/test_semantics_variables \
	tests/test_share \
	tests/test_signature \
	tests/test_store \
	tests/test_store_care \
	tests/test_store_damage \
	tests/test_store_dir \
	tests/test_strbuf \
	tests/test_tensor \
	tests/test_tiers \
	tests/test_traced \
	tests/test_unset \
	tests/test_variable \
	tests/test_vec \
	tests/test_verify \
	tests/test_verify_grows \
	tests/test_verify_regions \
	tests/test_view

# Tests with the library in them look for the module beside themselves.
if HAVE_LLVM
noinst_DATA = tests/libtgjit-llvm.so
endif
CLEANFILES += tests/libtgjit-llvm.so
tests/libtgjit-llvm.so:
	$(AM_V_GEN)$(MKDIR_P) tests && ln -sf ../.libs/libtgjit-llvm.so $@

# Those that must see only what a user sees link the real library instead:
#   tests_test_NAME_LDADD = $(public_ldadd)
LDADD = libtgjit-core.la $(CRITERION_LIBS)
public_ldadd = libtgjit.la $(CRITERION_LIBS)
tests_test_semantics_bundles_LDADD = $(public_ldadd)
tests_test_semantics_effects_LDADD = $(public_ldadd)
tests_test_semantics_explain_LDADD = $(public_ldadd)
tests_test_semantics_gradients_LDADD = $(public_ldadd)
tests_test_semantics_nesting_LDADD = $(public_ldadd)
tests_test_semantics_own_LDADD = $(public_ldadd)
tests_test_semantics_resources_LDADD = $(public_ldadd)
tests_test_semantics_threads_LDADD = $(public_ldadd)
tests_test_semantics_tracing_LDADD = $(public_ldadd)
tests_test_semantics_variables_LDADD = $(public_ldadd)

tests_test_emit_CPPFLAGS = $(AM_CPPFLAGS) -I$(top_srcdir)/tests
tests_test_emit_LDADD = libtgjit-emit.la $(LDADD)
tests_test_emit_SOURCES = \
	tests/emit_eval.c \
	tests/emit_eval.h \
	tests/emit_eval_type.h \
	tests/emit_inputs.h \
	tests/test_emit.c

tests_test_empty_SOURCES = \
	tests/guarded.c \
	tests/guarded.h \
	tests/test_empty.c

tests_test_gradient_expected_SOURCES = \
	tests/gradient_formulas.c \
	tests/gradient_formulas.h \
	tests/gradient_formulas_loops.c \
	tests/gradient_formulas_networks.c \
	tests/gradient_formulas_sums.c \
	tests/test_gradient_expected.c
tests_test_gradient_expected_LDADD = $(LDADD) $(LIBM)
tests_test_gradient_effects_LDADD = $(LDADD) $(LIBM)

# Those of the code generator.
if HAVE_LLVM
unit_tests += \
	tests/test_assembly \
	tests/test_assembly_product \
	tests/test_llvm_emit \
	tests/test_llvm_instrument \
	tests/test_llvm_loops \
	tests/test_llvm_reduce \
	tests/test_llvm_stream \
	tests/test_llvm_target \
	tests/test_llvm_transpose
endif
llvm_cppflags = $(AM_CPPFLAGS) -I$(top_srcdir)/tests $(LLVM_CPPFLAGS)
llvm_ldadd = libtgjit-codegen.la $(LLVM_LDFLAGS) $(LLVM_LIBS) $(LDADD)
tests_test_assembly_CPPFLAGS = $(llvm_cppflags)
tests_test_assembly_LDADD = $(llvm_ldadd)
tests_test_assembly_SOURCES = \
	tests/assembling.h \
	tests/assembly.c \
	tests/assembly.h \
	tests/emit_eval.c \
	tests/emit_eval.h \
	tests/emit_eval_type.h \
	tests/test_assembly.c
tests_test_assembly_product_CPPFLAGS = $(llvm_cppflags)
tests_test_assembly_product_LDADD = $(llvm_ldadd)
tests_test_assembly_product_SOURCES = \
	tests/assembling.h \
	tests/assembly.c \
	tests/assembly.h \
	tests/test_assembly_product.c
tests_test_llvm_emit_CPPFLAGS = $(llvm_cppflags)
tests_test_llvm_emit_LDADD = $(llvm_ldadd)
tests_test_llvm_emit_SOURCES = \
	tests/compiling.h \
	tests/emit_eval.c \
	tests/emit_eval.h \
	tests/emit_eval_type.h \
	tests/emit_inputs.h \
	tests/test_llvm_emit.c
tests_test_llvm_instrument_CPPFLAGS = $(llvm_cppflags)
tests_test_llvm_instrument_LDADD = $(llvm_ldadd)
tests_test_llvm_instrument_SOURCES = \
	tests/loops_building.h \
	tests/test_llvm_instrument.c
tests_test_llvm_loops_CPPFLAGS = $(llvm_cppflags)
tests_test_llvm_loops_LDADD = $(llvm_ldadd)
tests_test_llvm_loops_SOURCES = \
	tests/loops_building.h \
	tests/test_llvm_loops.c
tests_test_llvm_reduce_CPPFLAGS = $(llvm_cppflags)
tests_test_llvm_reduce_LDADD = $(llvm_ldadd)
tests_test_llvm_reduce_SOURCES = \
	tests/loops_building.h \
	tests/test_llvm_reduce.c
tests_test_llvm_stream_CPPFLAGS = $(llvm_cppflags)
tests_test_llvm_stream_LDADD = $(llvm_ldadd)
tests_test_llvm_stream_SOURCES = \
	tests/loops_building.h \
	tests/test_llvm_stream.c
tests_test_llvm_target_CPPFLAGS = $(llvm_cppflags)
tests_test_llvm_target_LDADD = $(llvm_ldadd)
tests_test_llvm_target_SOURCES = \
	tests/compiling.h \
	tests/test_llvm_target.c
tests_test_llvm_transpose_CPPFLAGS = $(llvm_cppflags)
tests_test_llvm_transpose_LDADD = $(llvm_ldadd)
tests_test_llvm_transpose_SOURCES = \
	tests/loops_building.h \
	tests/test_llvm_transpose.c

# As a user's program with regions of its own.
tests_test_native_host_CFLAGS = $(AM_CFLAGS) $(OPENMP_CFLAGS)
tests_test_rt_CFLAGS = $(AM_CFLAGS) $(OPENMP_CFLAGS)
tests_thread_limits_CFLAGS = $(AM_CFLAGS) $(OPENMP_CFLAGS)

if HAVE_CRITERION
check_PROGRAMS += $(unit_tests)
TESTS += $(unit_tests)
if HAVE_CXX17
check_PROGRAMS += tests/test_cxx
TESTS += tests/test_cxx
endif
endif
tests_test_cxx_SOURCES = tests/test_cxx.cpp

# -- Plain programs: exit status 0 passes, 77 skips --------------------------

# Each needs a line: tests_NAME_LDADD = $(plain_ldadd)
plain_tests = \
	tests/fuzz_objects \
	tests/product_bounds \
	tests/stress_cache \
	tests/stress_calls \
	tests/stress_compile \
	tests/stress_forks \
	tests/stress_store \
	tests/stress_teams \
	tests/thread_limits
plain_ldadd = libtgjit-core.la
tests_fuzz_objects_LDADD = $(plain_ldadd)
tests_fuzz_objects_SOURCES = \
	tests/fuzz_objects.c \
	tests/guarded.c \
	tests/guarded.h \
	tests/support_random.h \
	tests/workers.c \
	tests/workers.h
tests_product_bounds_LDADD = $(plain_ldadd) $(DL_LIBS) $(LIBM)
tests_stress_cache_LDADD = libtgjit.la
tests_stress_calls_LDADD = $(plain_ldadd)
tests_stress_compile_LDADD = $(plain_ldadd)
tests_stress_forks_LDADD = $(plain_ldadd)
tests_stress_store_LDADD = $(plain_ldadd)
tests_stress_teams_LDADD = $(plain_ldadd)
tests_thread_limits_LDADD = $(plain_ldadd)

if HAVE_MPFR
plain_tests += tests/ulp
endif
tests_ulp_CPPFLAGS = $(AM_CPPFLAGS) -I$(top_srcdir)/tests \
	-DULP_MANY=ulp_many_plain
tests_ulp_LDADD = libtgjit-emit.la $(plain_ldadd) $(MPFR_LIBS)
tests_ulp_SOURCES = \
	tests/emit_eval.c \
	tests/emit_eval.h \
	tests/emit_eval_type.h \
	tests/support_random.h \
	tests/ulp.c \
	tests/ulp.h \
	tests/ulp_angles.c \
	tests/ulp_bounds.def \
	tests/ulp_cost.c \
	tests/ulp_inputs.c \
	tests/ulp_many.c \
	tests/ulp_numpy.c \
	tests/ulp_quick.h \
	tests/ulp_reference.c \
	tests/ulp_sweep.c \
	tests/ulp_wide.c

# What it does for every number once more, for processors with AVX2 and FMA.
if HAVE_ULP_VECTOR
tests_ulp_CPPFLAGS += -DULP_HAS_VECTOR
tests_ulp_LDADD += libtgjit-ulp-vector.la
check_LTLIBRARIES = libtgjit-ulp-vector.la
endif
libtgjit_ulp_vector_la_SOURCES = tests/ulp_many.c
libtgjit_ulp_vector_la_CPPFLAGS = $(AM_CPPFLAGS) -I$(top_srcdir)/tests \
	$(ULP_VECTOR_CPPFLAGS) -DULP_MANY=ulp_many_vector
libtgjit_ulp_vector_la_CFLAGS = $(AM_CFLAGS) $(ULP_VECTOR_CFLAGS)
libtgjit_ulp_vector_la_LIBADD = $(LIBM)

check_PROGRAMS += $(plain_tests)
TESTS += $(plain_tests)

# Run by check-export.sh, which compiles what it writes.
check_PROGRAMS += tests/export-cases
tests_export_cases_SOURCES = tests/export_cases.c
tests_export_cases_LDADD = libtgjit.la

# Run with its options by check-random-graphs.sh.
check_PROGRAMS += tests/random-graphs
tests_random_graphs_LDADD = $(plain_ldadd)
tests_random_graphs_SOURCES = \
	tests/arguments.h \
	tests/guarded.c \
	tests/guarded.h \
	tests/random_graph.h \
	tests/random_graph_buffers.c \
	tests/random_graph_check.c \
	tests/random_graph_control.c \
	tests/random_graph_coverage.c \
	tests/random_graph_jit.c \
	tests/random_graph_make.c \
	tests/random_graph_make_control.c \
	tests/random_graph_make_elementwise.c \
	tests/random_graph_make_empty.c \
	tests/random_graph_make_reduce.c \
	tests/random_graph_make_dynamic.c \
	tests/random_graph_make_shape.c \
	tests/random_graph_make_state.c \
	tests/random_graph_minimise.c \
	tests/random_graph_native.c \
	tests/random_graph_operand.c \
	tests/random_graph_outcome.c \
	tests/random_graph_passes.c \
	tests/random_graph_program.c \
	tests/random_graph_repro.c \
	tests/random_graph_run.c \
	tests/random_graph_session.c \
	tests/random_graph_structure.c \
	tests/random_graph_values.c \
	tests/random_graph_work.c \
	tests/random_graphs.c \
	tests/watched.h \
	tests/workers.c \
	tests/workers.h

# Run with its options by check-random-gradients.sh.
check_PROGRAMS += tests/random-gradients
tests_random_gradients_LDADD = $(plain_ldadd) $(LIBM)
tests_random_gradients_SOURCES = \
	tests/arguments.h \
	tests/instrument.h \
	tests/random_gradient.h \
	tests/random_gradient_check.c \
	tests/random_gradient_control.c \
	tests/random_gradient_elementwise.c \
	tests/random_gradient_frame.c \
	tests/random_gradient_program.c \
	tests/random_gradient_reduce.c \
	tests/random_gradient_run.c \
	tests/random_gradient_shape.c \
	tests/random_gradient_state.c \
	tests/random_gradient_weights.c \
	tests/random_gradients.c \
	tests/watched.h \
	tests/workers.c \
	tests/workers.h

# Run with its options by check-products.sh.
check_PROGRAMS += tests/sweep-products
tests_sweep_products_LDADD = $(plain_ldadd) $(LIBM)
tests_sweep_products_SOURCES = \
	tests/arguments.h \
	tests/guarded.c \
	tests/guarded.h \
	tests/product.h \
	tests/product_args.c \
	tests/product_check.c \
	tests/product_form.c \
	tests/product_team.c \
	tests/product_trace.c \
	tests/random_graph.h \
	tests/random_graph_outcome.c \
	tests/random_graph_structure.c \
	tests/random_graph_values.c \
	tests/sweep_products.c \
	tests/watched.h \
	tests/workers.c \
	tests/workers.h

# Run by check-warm.sh; it is a user of the library.
check_PROGRAMS += tests/warm
tests_warm_LDADD = libtgjit.la

# -- Scripts -----------------------------------------------------------------

script_tests = \
	tests/check-arguments.sh \
	tests/check-bench.sh \
	tests/check-background.sh \
	tests/check-cache.sh \
	tests/check-export.sh \
	tests/check-exports.sh \
	tests/check-headers.sh \
	tests/check-include-direction.sh \
	tests/check-lists.sh \
	tests/check-module.sh \
	tests/check-nesting.sh \
	tests/check-ops-doc.sh \
	tests/check-products.sh \
	tests/check-random-gradients.sh \
	tests/check-random-graphs.sh \
	tests/check-random-repro.sh \
	tests/check-readme.sh \
	tests/check-repro.sh \
	tests/check-warm.sh

TESTS += $(script_tests)

# Scripts too long for `make check', run by `make check-long'.
LONG_TESTS = \
	tests/long-cache.sh \
	tests/long-compile.sh \
	tests/long-products.sh \
	tests/long-random-gradients.sh \
	tests/long-random-graphs.sh \
	tests/long-store.sh \
	tests/long-ulp.sh \
	tests/mutants.sh

# -- Support -----------------------------------------------------------------

EXTRA_DIST += \
	$(LONG_TESTS) \
	$(script_tests) \
	tests/api.h \
	tests/building.h \
	tests/control.h \
	tests/corpus/control.hex \
	tests/corpus/jit.hex \
	tests/corpus/mutants.hex \
	tests/fusing.h \
	tests/folders.h \
	tests/golden.h \
	tests/golden/calls.txt \
	tests/golden/calls_dot.txt \
	tests/golden/constants.txt \
	tests/golden/dumped_final.txt \
	tests/golden/dumped_trace.txt \
	tests/golden/explain_fusion.txt \
	tests/golden/gallery.txt \
	tests/golden/gallery_dot.txt \
	tests/golden/gallery_sites.txt \
	tests/golden/loops_appended.txt \
	tests/golden/loops_dynamic.txt \
	tests/golden/loops_elementwise.txt \
	tests/golden/loops_extents.txt \
	tests/golden/loops_folds.txt \
	tests/golden/loops_gathers.txt \
	tests/golden/loops_in_place.txt \
	tests/golden/loops_packed.txt \
	tests/golden/loops_products.txt \
	tests/golden/loops_random.txt \
	tests/golden/loops_reductions.txt \
	tests/golden/loops_rows.txt \
	tests/golden/loops_scatters.txt \
	tests/golden/loops_siblings.txt \
	tests/golden/loops_state.txt \
	tests/golden/loops_tiny.txt \
	tests/golden/loops_twice.txt \
	tests/golden/loops_updates.txt \
	tests/golden/loops_views.txt \
	tests/golden/traced_caller.txt \
	tests/golden/traced_caller_inlined.txt \
	tests/golden/traced_flow.txt \
	tests/golden/traced_flow_dot.txt \
	tests/golden/traced_flow_passed.txt \
	tests/golden/traced_gelu_like.txt \
	tests/golden/traced_gelu_like_dot.txt \
	tests/golden/traced_gelu_like_verbose.txt \
	tests/golden/traced_normalise.txt \
	tests/golden/traced_train_step.txt \
	tests/golden/traced_train_step_verbose.txt \
	tests/golden/traced_with_static.txt \
	tests/golden/traced_with_static_short.txt \
	tests/gradients/elementwise.txt \
	tests/gradients/loops.txt \
	tests/gradients/make_expected.py \
	tests/gradients/networks.txt \
	tests/gradients/products.txt \
	tests/gradients/reductions.txt \
	tests/gradients/shapes.txt \
	tests/graphs.h \
	tests/image_objects.h \
	tests/instrument.h \
	tests/layers.txt \
	tests/lsan.supp \
	tests/mappings.h \
	tests/modes.h \
	tests/mutants.list \
	tests/op_matrix.h \
	tests/op_matrix/binary.txt \
	tests/op_matrix/case_file.py \
	tests/op_matrix/cast.txt \
	tests/op_matrix/composite.txt \
	tests/op_matrix/dynamic.txt \
	tests/op_matrix/scatter.txt \
	tests/op_matrix/index.txt \
	tests/op_matrix/leaf.txt \
	tests/op_matrix/make_expected.py \
	tests/op_matrix/matmul.txt \
	tests/op_matrix/random.txt \
	tests/op_matrix/reduce.txt \
	tests/op_matrix/rules.py \
	tests/op_matrix/ternary.txt \
	tests/op_matrix/unary.txt \
	tests/op_matrix/view.txt \
	tests/passes.h \
	tests/ping_pong.h \
	tests/regions.h \
	tests/saving.h \
	tests/run-example.sh \
	tests/run-test.sh \
	tests/storing.h \
	tests/summary.sh \
	tests/support.h \
	tests/support_random.h \
	tests/traced.h \
	tests/words.h

# -- How they run ------------------------------------------------------------

# No suffix: a program. .expected: what an example prints.
TEST_EXTENSIONS = .sh .expected
LOG_DRIVER = AM_TAP_AWK='$(AWK)' $(SHELL) $(top_srcdir)/build-aux/tap-driver.sh
LOG_COMPILER = $(SHELL) $(top_srcdir)/tests/run-test.sh
SH_LOG_COMPILER = $(SHELL)
EXPECTED_LOG_COMPILER = $(SHELL) $(top_srcdir)/tests/run-example.sh

# Criterion runs tests side by side: keep each one's team small. Tests that
# are not about the cache are not to depend on what is in the user's; and those
# of compiled code wait for it.
AM_TESTS_ENVIRONMENT = \
	AWK='$(AWK)'; CC='$(CC)'; CXX17='$(cxx17)'; NM='$(NM)'; \
	OBJDUMP='$(OBJDUMP)'; PACKAGE_VERSION='$(PACKAGE_VERSION)'; \
	TGJIT_SANITIZE='$(TGJIT_SANITIZE)'; \
	OPENMP_CFLAGS='$(OPENMP_CFLAGS)'; \
	OMP_NUM_THREADS="$${OMP_NUM_THREADS-2}"; \
	TGJIT_CACHE="$${TGJIT_CACHE-off}"; \
	TGJIT_COMPILE="$${TGJIT_COMPILE-eager}"; TGJIT_VERIFY=1; \
	unset TGJIT_MODULE_DIR; \
	export AWK CC CXX17 NM OBJDUMP PACKAGE_VERSION \
		TGJIT_SANITIZE OPENMP_CFLAGS OMP_NUM_THREADS TGJIT_CACHE TGJIT_COMPILE \
		TGJIT_VERIFY;
if HAVE_CXX17
cxx17 = $(CXX)
endif

# Automake's rule, but for the last line: "N passed, N failed".
check-TESTS: $(check_PROGRAMS)
	@rm -f $(TEST_SUITE_LOG) $(RECHECK_LOGS) $(RECHECK_LOGS:.log=.trs)
	@$(MAKE) $(AM_MAKEFLAGS) $(TEST_SUITE_LOG); status=$$?; \
	$(SHELL) $(top_srcdir)/tests/summary.sh $(TEST_SUITE_LOG); exit $$status

.PHONY: check-long
check-long:
	@$(MAKE) $(AM_MAKEFLAGS) check TESTS='$(LONG_TESTS)'

# It builds a tree of its own: nothing of this one.
.PHONY: check-mutants
check-mutants:
	@$(AM_TESTS_ENVIRONMENT) srcdir='$(srcdir)' MAKE='$(MAKE)' \
		$(SHELL) $(top_srcdir)/tests/mutants.sh $(MUTANTS)

mostlyclean-local:
	-rm -f tests/*.out tests/*.sanitizer.* examples/*.out
	-rm -rf mutants.tmp
