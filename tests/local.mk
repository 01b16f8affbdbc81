# SPDX-License-Identifier: MIT
#
# tests/ - run by `make check'. run-test.sh describes how programs report.

# -- Unit tests: one Criterion program for each tests/test_MODULE.c ----------

unit_tests = \
	tests/api/test_archive \
	tests/api/test_axes \
	tests/api/test_bad_input \
	tests/api/test_bad_input_callbacks \
	tests/api/test_bad_input_calls \
	tests/api/test_bad_input_control \
	tests/api/test_bad_input_data \
	tests/api/test_bad_input_files \
	tests/api/test_bad_input_gradient \
	tests/api/test_bad_input_ops \
	tests/api/test_bad_input_regions \
	tests/api/test_bound \
	tests/api/test_bundle \
	tests/api/test_bundle_define \
	tests/api/test_call \
	tests/api/test_cancel \
	tests/api/test_checkpoint \
	tests/api/test_checks \
	tests/api/test_checks_compiled \
	tests/api/test_context \
	tests/api/test_control \
	tests/api/test_control_carried \
	tests/api/test_control_effects \
	tests/api/test_control_loops \
	tests/api/test_control_nesting \
	tests/api/test_control_iterations \
	tests/api/test_conv \
	tests/api/test_csv \
	tests/api/test_dataset \
	tests/api/test_distributions \
	tests/api/test_dlpack \
	tests/api/test_dynamic \
	tests/api/test_accuracy \
	tests/api/test_calibration \
	tests/api/test_cumulative \
	tests/api/test_einsum_values \
	tests/api/test_explain \
	tests/api/test_extend \
	tests/api/test_export \
	tests/api/test_faults \
	tests/api/test_faults_control \
	tests/api/test_faults_files \
	tests/api/test_faults_gradient \
	tests/api/test_faults_host \
	tests/api/test_faults_jit \
	tests/api/test_faults_numbers \
	tests/api/test_faults_scopes \
	tests/api/test_faults_system \
	tests/api/test_faults_training \
	tests/api/test_faults_vmap \
	tests/api/test_function \
	tests/api/test_gradient \
	tests/api/test_gradient_effects \
	tests/api/test_gradient_expected \
	tests/api/test_gradient_ops \
	tests/api/test_halves \
	tests/api/test_host_access \
	tests/api/test_host_call \
	tests/api/test_host_start \
	tests/api/test_inspect \
	tests/api/test_layers \
	tests/api/test_losses \
	tests/api/test_machine_memory \
	tests/api/test_loss_scale \
	tests/api/test_memoised \
	tests/api/test_nesting \
	tests/api/test_npy \
	tests/api/test_ops_arrange \
	tests/api/test_ops_limits \
	tests/api/test_ops_statistics \
	tests/api/test_optimiser \
	tests/api/test_ops_detection \
	tests/api/test_sort \
	tests/api/test_op_matrix \
	tests/api/test_plan \
	tests/api/test_profile \
	tests/api/test_quantize \
	tests/api/test_random_numbers \
	tests/api/test_result_slots \
	tests/api/test_runner \
	tests/api/test_safetensors \
	tests/api/test_scale \
	tests/api/test_row_blocks_run \
	tests/api/test_semantics_assert \
	tests/api/test_semantics_assert_gradients \
	tests/api/test_semantics_assert_loops \
	tests/api/test_semantics_bundles \
	tests/api/test_semantics_data \
	tests/api/test_semantics_effects \
	tests/api/test_semantics_explain \
	tests/api/test_semantics_gradients \
	tests/api/test_semantics_nesting \
	tests/api/test_semantics_numbers \
	tests/api/test_semantics_own \
	tests/api/test_semantics_own_modes \
	tests/api/test_semantics_scopes \
	tests/api/test_initialisers \
	tests/api/test_semantics_resources \
	tests/api/test_semantics_results \
	tests/api/test_semantics_threads \
	tests/api/test_semantics_tracing \
	tests/api/test_semantics_variables \
	tests/api/test_tensor \
	tests/api/test_tiers \
	tests/api/test_traced \
	tests/api/test_training_threads \
	tests/api/test_variable \
	tests/api/test_vmap \
	tests/codegen/test_cast_index \
	tests/codegen/test_coalesce \
	tests/codegen/test_code_cache \
	tests/codegen/test_code_key \
	tests/codegen/test_code_serialise \
	tests/codegen/test_code_sharing \
	tests/codegen/test_disk_cache \
	tests/codegen/test_disk_cache_admin \
	tests/codegen/test_disk_cache_damage \
	tests/codegen/test_disk_cache_dir \
	tests/codegen/test_elf_reader_damage \
	tests/codegen/test_empty \
	tests/codegen/test_executable_pages \
	tests/codegen/test_fuse \
	tests/codegen/test_fuse_conv \
	tests/codegen/test_fuse_pieces \
	tests/codegen/test_fuse_windows \
	tests/codegen/test_fuse_matmul \
	tests/codegen/test_fuse_memory \
	tests/codegen/test_fuse_reduction_epilogue \
	tests/codegen/test_image \
	tests/codegen/test_image_debug \
	tests/codegen/test_loop_passes \
	tests/codegen/test_loops \
	tests/codegen/test_native \
	tests/codegen/test_native_host \
	tests/codegen/test_pacer \
	tests/codegen/test_plugin \
	tests/codegen/test_relocation \
	tests/codegen/test_row_blocks \
	tests/codegen/test_scatter_loops \
	tests/codegen/test_schedule \
	tests/codegen/test_schedule_verify \
	tests/codegen/test_share_kernels \
	tests/codegen/test_store_threshold \
	tests/codegen/test_team \
	tests/codegen/test_tune \
	tests/codegen/test_wait_word \
	tests/codegen/test_wide_scan \
	tests/codegen/test_work_share \
	tests/unit/test_alloc \
	tests/unit/test_arena \
	tests/unit/test_build \
	tests/unit/test_build_shape \
	tests/unit/test_build_symbolic \
	tests/unit/test_checked \
	tests/unit/test_cost \
	tests/unit/test_dims \
	tests/unit/test_target \
	tests/unit/test_dtype \
	tests/unit/test_dump \
	tests/unit/test_einsum \
	tests/unit/test_emit \
	tests/unit/test_error \
	tests/unit/test_format \
	tests/unit/test_fpenv \
	tests/unit/test_graph \
	tests/unit/test_hash \
	tests/unit/test_host_calibration \
	tests/unit/test_interp \
	tests/unit/test_kernel \
	tests/unit/test_literal \
	tests/unit/test_lock \
	tests/unit/test_log \
	tests/unit/test_memory_packing \
	tests/unit/test_op \
	tests/unit/test_pass_dead \
	tests/unit/test_pass_distribute \
	tests/unit/test_pass_hoist \
	tests/unit/test_pass_inline \
	tests/unit/test_pass_layout \
	tests/unit/test_pass_random \
	tests/unit/test_pass_simplify \
	tests/unit/test_passes \
	tests/unit/test_pending \
	tests/unit/test_page_parts \
	tests/unit/test_profile_store \
	tests/unit/test_recipes \
	tests/unit/test_reduce_tree \
	tests/unit/test_regions \
	tests/unit/test_signature \
	tests/unit/test_strbuf \
	tests/unit/test_unbounded_stack \
	tests/unit/test_unset \
	tests/unit/test_vec \
	tests/unit/test_verify \
	tests/unit/test_verify_regions \
	tests/unit/test_verify_unbounded \
	tests/unit/test_view

# Statically linked tests look for the plugin beside themselves.
if HAVE_LLVM
noinst_DATA = $(plugin_links)
endif
plugin_links = \
	tests/api/libtgjit-llvm.so \
	tests/codegen/libtgjit-llvm.so \
	tests/random/libtgjit-llvm.so \
	tests/stress/libtgjit-llvm.so \
	tests/support/libtgjit-llvm.so \
	tests/unit/libtgjit-llvm.so
CLEANFILES += $(plugin_links)
$(plugin_links):
	$(AM_V_GEN)$(MKDIR_P) $(@D) && \
	    ln -sf ../../.libs/libtgjit-llvm.so $@

# Tests that use only the public interface link the real library instead:
#   tests_test_NAME_LDADD = $(public_ldadd)
LDADD = libtgjit-core.la $(CRITERION_LIBS)
public_ldadd = libtgjit.la $(CRITERION_LIBS)
tests_api_test_semantics_bundles_LDADD = $(public_ldadd)
tests_api_test_semantics_explain_LDADD = $(public_ldadd)
tests_api_test_semantics_gradients_LDADD = $(public_ldadd)
tests_api_test_semantics_nesting_LDADD = $(public_ldadd)
tests_api_test_semantics_own_LDADD = $(public_ldadd)
tests_api_test_initialisers_LDADD = $(public_ldadd) -lm
tests_api_test_semantics_resources_LDADD = $(public_ldadd)
tests_api_test_semantics_threads_LDADD = $(public_ldadd)
tests_api_test_semantics_tracing_LDADD = $(public_ldadd)
tests_api_test_semantics_variables_LDADD = $(public_ldadd)

tests_unit_test_cost_SOURCES = \
	tests/support/emit_eval.c \
	tests/support/emit_eval.h \
	tests/support/emit_eval_type.h \
	tests/unit/test_cost.c
tests_unit_test_emit_CPPFLAGS = $(AM_CPPFLAGS)
tests_unit_test_emit_LDADD = $(LDADD)
tests_unit_test_emit_SOURCES = \
	tests/support/emit_eval.c \
	tests/support/emit_eval.h \
	tests/support/emit_eval_type.h \
	tests/support/emit_inputs.h \
	tests/unit/test_emit.c

tests_codegen_test_empty_SOURCES = \
	tests/codegen/test_empty.c \
	tests/support/guarded.c \
	tests/support/guarded.h

tests_api_test_op_matrix_SOURCES = \
	tests/api/op_matrix.h \
	tests/api/op_matrix_functions.c \
	tests/api/op_matrix_functions.h \
	tests/api/test_op_matrix.c

tests_api_test_gradient_expected_SOURCES = \
	tests/api/gradient_formulas.c \
	tests/api/gradient_formulas.h \
	tests/api/gradient_formulas_conv.c \
	tests/api/gradient_formulas_functions.c \
	tests/api/gradient_formulas_layers.c \
	tests/api/gradient_formulas_loops.c \
	tests/api/gradient_formulas_networks.c \
	tests/api/gradient_formulas_sums.c \
	tests/api/gradient_formulas_training.c \
	tests/api/test_gradient_expected.c
tests_api_test_gradient_expected_LDADD = $(LDADD) $(LIBM)
tests_api_test_gradient_effects_LDADD = $(LDADD) $(LIBM)
tests_api_test_distributions_LDADD = $(LDADD) $(LIBM)
tests_api_test_layers_LDADD = $(LDADD) $(LIBM)
tests_api_test_ops_detection_LDADD = $(LDADD) $(LIBM)
tests_api_test_sort_LDADD = $(LDADD) $(LIBM)
tests_api_test_vmap_LDADD = $(LDADD) $(LIBM)
tests_api_test_losses_LDADD = $(LDADD) $(LIBM)
tests_api_test_optimiser_LDADD = $(LDADD) $(LIBM)
tests_api_test_ops_statistics_LDADD = $(LDADD) $(LIBM)

# Calls of the system that the library makes go to system_faults.c.
tests_api_test_faults_system_LDFLAGS = $(AM_LDFLAGS) \
	-Wl,--wrap=open,--wrap=openat,--wrap=read,--wrap=pread,--wrap=write \
	-Wl,--wrap=renameat,--wrap=mmap,--wrap=mprotect,--wrap=pthread_create \
	-Wl,--wrap=fsync,--wrap=fstat,--wrap=mkdir,--wrap=ftruncate
tests_api_test_faults_system_SOURCES = \
	tests/api/test_faults_system.c \
	tests/support/system_faults.c \
	tests/support/system_faults.h

# Tests of libraries of operations.
if HAVE_LAPACK
unit_tests += tests/api/test_lapack
endif
tests_api_test_lapack_LDADD = libtgjit-lapack.la $(public_ldadd) $(LIBM)
if HAVE_FFTW
unit_tests += tests/api/test_fftw
endif
tests_api_test_fftw_LDADD = libtgjit-fftw.la $(public_ldadd) $(LIBM)

# Tests of the code generator.
if HAVE_LLVM
unit_tests += \
	tests/codegen/test_assembly \
	tests/codegen/test_assembly_matmul \
	tests/codegen/test_assembly_cost \
	tests/codegen/test_jitdump \
	tests/codegen/test_llvm_debug \
	tests/codegen/test_llvm_emit \
	tests/codegen/test_llvm_instrument \
	tests/codegen/test_llvm_loops \
	tests/codegen/test_llvm_non_temporal \
	tests/codegen/test_llvm_quirks \
	tests/codegen/test_llvm_reduce \
	tests/codegen/test_llvm_target \
	tests/codegen/test_llvm_transpose
endif
llvm_cppflags = $(AM_CPPFLAGS) $(LLVM_CPPFLAGS)
llvm_ldadd = libtgjit-codegen.la $(LLVM_LDFLAGS) $(LLVM_LIBS) $(LDADD)
tests_codegen_test_assembly_CPPFLAGS = $(llvm_cppflags)
tests_codegen_test_assembly_LDADD = $(llvm_ldadd)
tests_codegen_test_assembly_SOURCES = \
	tests/codegen/assembling.h \
	tests/codegen/assembly.c \
	tests/codegen/assembly.h \
	tests/codegen/test_assembly.c \
	tests/support/emit_eval.c \
	tests/support/emit_eval.h \
	tests/support/emit_eval_type.h
tests_codegen_test_assembly_matmul_CPPFLAGS = $(llvm_cppflags)
tests_codegen_test_assembly_matmul_LDADD = $(llvm_ldadd)
tests_codegen_test_assembly_matmul_SOURCES = \
	tests/codegen/assembling.h \
	tests/codegen/assembly.c \
	tests/codegen/assembly.h \
	tests/codegen/test_assembly_matmul.c
tests_codegen_test_assembly_cost_CPPFLAGS = $(llvm_cppflags)
tests_codegen_test_assembly_cost_LDADD = $(llvm_ldadd)
tests_codegen_test_assembly_cost_SOURCES = \
	tests/codegen/assembling.h \
	tests/codegen/assembly.c \
	tests/codegen/assembly.h \
	tests/codegen/test_assembly_cost.c
tests_codegen_test_jitdump_CPPFLAGS = $(llvm_cppflags)
tests_codegen_test_jitdump_LDADD = $(llvm_ldadd)
tests_codegen_test_jitdump_SOURCES = \
	tests/codegen/assembling.h \
	tests/codegen/assembly.c \
	tests/codegen/assembly.h \
	tests/codegen/test_jitdump.c
tests_codegen_test_llvm_debug_CPPFLAGS = $(llvm_cppflags)
tests_codegen_test_llvm_debug_LDADD = $(llvm_ldadd)
tests_codegen_test_llvm_debug_SOURCES = \
	tests/codegen/assembling.h \
	tests/codegen/assembly.c \
	tests/codegen/assembly.h \
	tests/codegen/test_llvm_debug.c
tests_codegen_test_llvm_emit_CPPFLAGS = $(llvm_cppflags)
tests_codegen_test_llvm_emit_LDADD = $(llvm_ldadd)
tests_codegen_test_llvm_emit_SOURCES = \
	tests/codegen/test_llvm_emit.c \
	tests/support/compiling.h \
	tests/support/emit_eval.c \
	tests/support/emit_eval.h \
	tests/support/emit_eval_type.h \
	tests/support/emit_inputs.h
tests_codegen_test_llvm_instrument_CPPFLAGS = $(llvm_cppflags)
tests_codegen_test_llvm_instrument_LDADD = $(llvm_ldadd)
tests_codegen_test_llvm_instrument_SOURCES = \
	tests/codegen/test_llvm_instrument.c \
	tests/support/loops_building.h
tests_codegen_test_llvm_loops_CPPFLAGS = $(llvm_cppflags)
tests_codegen_test_llvm_loops_LDADD = $(llvm_ldadd)
tests_codegen_test_llvm_loops_SOURCES = \
	tests/codegen/test_llvm_loops.c \
	tests/support/loops_building.h
tests_codegen_test_llvm_reduce_CPPFLAGS = $(llvm_cppflags)
tests_codegen_test_llvm_reduce_LDADD = $(llvm_ldadd)
tests_codegen_test_llvm_reduce_SOURCES = \
	tests/codegen/test_llvm_reduce.c \
	tests/support/loops_building.h
tests_codegen_test_llvm_non_temporal_CPPFLAGS = $(llvm_cppflags)
tests_codegen_test_llvm_non_temporal_LDADD = $(llvm_ldadd)
tests_codegen_test_llvm_non_temporal_SOURCES = \
	tests/codegen/test_llvm_non_temporal.c \
	tests/support/loops_building.h
tests_codegen_test_llvm_quirks_CPPFLAGS = $(llvm_cppflags)
tests_codegen_test_llvm_quirks_LDADD = $(llvm_ldadd)
tests_codegen_test_llvm_quirks_SOURCES = tests/codegen/test_llvm_quirks.c
tests_codegen_test_llvm_target_CPPFLAGS = $(llvm_cppflags)
tests_codegen_test_llvm_target_LDADD = $(llvm_ldadd)
tests_codegen_test_llvm_target_SOURCES = \
	tests/codegen/test_llvm_target.c \
	tests/support/compiling.h
tests_codegen_test_llvm_transpose_CPPFLAGS = $(llvm_cppflags)
tests_codegen_test_llvm_transpose_LDADD = $(llvm_ldadd)
tests_codegen_test_llvm_transpose_SOURCES = \
	tests/codegen/test_llvm_transpose.c \
	tests/support/loops_building.h

# Compiled with OpenMP, like a user's program with parallel regions.
tests_codegen_test_native_host_CFLAGS = $(AM_CFLAGS) $(OPENMP_CFLAGS)
tests_codegen_test_team_CFLAGS = $(AM_CFLAGS) $(OPENMP_CFLAGS)
tests_stress_thread_limits_CFLAGS = $(AM_CFLAGS) $(OPENMP_CFLAGS)

if HAVE_CRITERION
check_PROGRAMS += $(unit_tests)
TESTS += $(unit_tests)
if HAVE_CXX17
check_PROGRAMS += tests/api/test_cxx
TESTS += tests/api/test_cxx
endif
endif
tests_api_test_cxx_SOURCES = tests/api/test_cxx.cpp

# -- Plain programs: exit status 0 passes, 77 skips --------------------------

# Each needs a line: tests_NAME_LDADD = $(plain_ldadd)
plain_tests = \
	tests/random/matmul_bounds \
	tests/stress/fuzz_calls \
	tests/stress/fuzz_files \
	tests/stress/fuzz_objects \
	tests/stress/limits \
	tests/stress/stress_cache \
	tests/stress/stress_calls \
	tests/stress/stress_compile \
	tests/stress/stress_data \
	tests/stress/stress_disk_cache \
	tests/stress/stress_forks \
	tests/stress/stress_killed_files \
	tests/stress/stress_mixed \
	tests/stress/stress_teams \
	tests/stress/team_places \
	tests/stress/thread_limits
plain_ldadd = libtgjit-core.la
tests_stress_fuzz_calls_LDADD = $(plain_ldadd)
tests_stress_fuzz_calls_SOURCES = \
	tests/stress/fuzz_calls.c \
	tests/support/arguments.h \
	tests/support/corpus.h \
	tests/support/fuzz_options.h \
	tests/support/support_random.h \
	tests/support/workers.c \
	tests/support/workers.h
tests_stress_fuzz_files_LDADD = $(plain_ldadd)
tests_stress_fuzz_files_SOURCES = \
	tests/stress/fuzz_dlpack.c \
	tests/stress/fuzz_files.c \
	tests/stress/fuzz_files.h \
	tests/support/arguments.h \
	tests/support/corpus.h \
	tests/support/file_samples.h \
	tests/support/fuzz_options.h \
	tests/support/guarded.c \
	tests/support/guarded.h \
	tests/support/support_random.h \
	tests/support/workers.c \
	tests/support/workers.h
tests_stress_fuzz_objects_LDADD = $(plain_ldadd)
tests_stress_fuzz_objects_SOURCES = \
	tests/stress/fuzz_objects.c \
	tests/support/corpus.h \
	tests/support/guarded.c \
	tests/support/guarded.h \
	tests/support/support_random.h \
	tests/support/workers.c \
	tests/support/workers.h
tests_random_matmul_bounds_LDADD = $(plain_ldadd) $(DL_LIBS) $(LIBM)
tests_stress_stress_cache_LDADD = libtgjit.la
tests_stress_stress_calls_LDADD = $(plain_ldadd)
tests_stress_stress_compile_LDADD = $(plain_ldadd)
tests_stress_stress_forks_LDADD = $(plain_ldadd)
tests_stress_stress_killed_files_LDADD = $(plain_ldadd)
tests_stress_stress_killed_files_SOURCES = \
	tests/stress/stress_killed_files.c \
	tests/support/arguments.h \
	tests/support/support_random.h
tests_stress_stress_data_LDADD = $(plain_ldadd)
tests_stress_limits_LDADD = $(plain_ldadd)
tests_stress_limits_SOURCES = \
	tests/stress/limits.c \
	tests/support/arguments.h \
	tests/support/footprint.h
tests_stress_stress_mixed_LDADD = $(plain_ldadd)
tests_stress_stress_mixed_SOURCES = \
	tests/stress/stress_mixed.c \
	tests/support/arguments.h \
	tests/support/footprint.h \
	tests/support/support_random.h
tests_stress_stress_disk_cache_LDADD = $(plain_ldadd)
tests_stress_stress_teams_LDADD = $(plain_ldadd)
tests_stress_team_places_LDADD = $(plain_ldadd)
tests_stress_thread_limits_LDADD = $(plain_ldadd)

if HAVE_ONNX
plain_tests += tests/onnx/fuzz_onnx
endif
tests_onnx_fuzz_onnx_CPPFLAGS = $(AM_CPPFLAGS) -Isrc/onnx
tests_onnx_fuzz_onnx_CFLAGS = $(AM_CFLAGS) $(PROTOBUF_C_CFLAGS)
tests_onnx_fuzz_onnx_LDADD = libtgjit-onnx.la libtgjit.la $(PROTOBUF_C_LIBS)
tests_onnx_fuzz_onnx_SOURCES = \
	tests/onnx/fuzz_onnx.c \
	tests/onnx/onnx_messages.h \
	tests/onnx/onnx_models.h \
	tests/support/arguments.h \
	tests/support/support_random.h \
	tests/support/workers.c \
	tests/support/workers.h
nodist_tests_onnx_fuzz_onnx_SOURCES = src/onnx/onnx.pb-c.c
$(tests_onnx_fuzz_onnx_OBJECTS): src/onnx/onnx.pb-c.h

if HAVE_MPFR
plain_tests += tests/ulp/ulp
endif
tests_ulp_ulp_CPPFLAGS = $(AM_CPPFLAGS) \
	-DULP_MANY=ulp_many_plain
tests_ulp_ulp_LDADD = libtgjit-emit.la $(plain_ldadd) $(MPFR_LIBS)
tests_ulp_ulp_SOURCES = \
	tests/support/emit_eval.c \
	tests/support/emit_eval.h \
	tests/support/emit_eval_type.h \
	tests/support/support_random.h \
	tests/ulp/ulp.c \
	tests/ulp/ulp.h \
	tests/ulp/ulp_angles.c \
	tests/ulp/ulp_bounds.def \
	tests/ulp/ulp_cost.c \
	tests/ulp/ulp_inputs.c \
	tests/ulp/ulp_many.c \
	tests/ulp/ulp_numpy.c \
	tests/ulp/ulp_quick.h \
	tests/ulp/ulp_reference.c \
	tests/ulp/ulp_sweep.c \
	tests/ulp/ulp_wide.c

# The loops over all arguments, compiled again for AVX2 and FMA.
if HAVE_ULP_VECTOR
tests_ulp_ulp_CPPFLAGS += -DULP_HAS_VECTOR
tests_ulp_ulp_LDADD += libtgjit-ulp-vector.la
check_LTLIBRARIES = libtgjit-ulp-vector.la
endif
libtgjit_ulp_vector_la_SOURCES = tests/ulp/ulp_many.c
libtgjit_ulp_vector_la_CPPFLAGS = $(AM_CPPFLAGS) \
	$(ULP_VECTOR_CPPFLAGS) -DULP_MANY=ulp_many_vector
libtgjit_ulp_vector_la_CFLAGS = $(AM_CFLAGS) $(ULP_VECTOR_CFLAGS)
libtgjit_ulp_vector_la_LIBADD = $(LIBM)

check_PROGRAMS += $(plain_tests)
TESTS += $(plain_tests)

# Fuzzers of libFuzzer, from the same sources: `make fuzzers', with configure
# --enable-fuzz. Each takes the directory of a corpus.
if FUZZ
EXTRA_PROGRAMS = tests/fuzz-calls tests/fuzz-files tests/fuzz-graphs \
	tests/fuzz-objects
endif
fuzz_cppflags = $(AM_CPPFLAGS) -DTGI_LIBFUZZER
fuzz_cflags = $(AM_CFLAGS) -Wno-unused-function -Wno-unused-const-variable
fuzz_ldflags = $(AM_LDFLAGS) -fsanitize=fuzzer
tests_fuzz_calls_CPPFLAGS = $(fuzz_cppflags)
tests_fuzz_calls_CFLAGS = $(fuzz_cflags)
tests_fuzz_calls_LDFLAGS = $(fuzz_ldflags)
tests_fuzz_calls_LDADD = $(plain_ldadd)
tests_fuzz_calls_SOURCES = tests/stress/fuzz_calls.c
tests_fuzz_files_CPPFLAGS = $(fuzz_cppflags)
tests_fuzz_files_CFLAGS = $(fuzz_cflags)
tests_fuzz_files_LDFLAGS = $(fuzz_ldflags)
tests_fuzz_files_LDADD = $(plain_ldadd)
tests_fuzz_files_SOURCES = \
	tests/stress/fuzz_dlpack.c \
	tests/stress/fuzz_files.c \
	tests/support/guarded.c
tests_fuzz_objects_CPPFLAGS = $(fuzz_cppflags)
tests_fuzz_objects_CFLAGS = $(fuzz_cflags)
tests_fuzz_objects_LDFLAGS = $(fuzz_ldflags)
tests_fuzz_objects_LDADD = $(plain_ldadd)
tests_fuzz_objects_SOURCES = \
	tests/stress/fuzz_objects.c \
	tests/support/guarded.c
tests_fuzz_graphs_CPPFLAGS = $(fuzz_cppflags)
tests_fuzz_graphs_CFLAGS = $(fuzz_cflags)
tests_fuzz_graphs_LDFLAGS = $(fuzz_ldflags)
tests_fuzz_graphs_LDADD = $(plain_ldadd)
tests_fuzz_graphs_SOURCES = $(tests_random_random_graphs_SOURCES)

.PHONY: fuzzers
fuzzers: $(EXTRA_PROGRAMS)

# Run by check-export.sh, which compiles its output.
check_PROGRAMS += tests/support/export-cases
tests_support_export_cases_SOURCES = tests/support/export_cases.c
tests_support_export_cases_LDADD = libtgjit.la

# Run with its options by check-random-graphs.sh.
check_PROGRAMS += tests/random/random-graphs
tests_random_random_graphs_LDADD = $(plain_ldadd)
tests_random_random_graphs_SOURCES = \
	tests/random/random_graph.h \
	tests/random/random_graph_buffers.c \
	tests/random/random_graph_check.c \
	tests/random/random_graph_control.c \
	tests/random/random_graph_coverage.c \
	tests/random/random_graph_emit.c \
	tests/random/random_graph_jit.c \
	tests/random/random_graph_make.c \
	tests/random/random_graph_make_control.c \
	tests/random/random_graph_make_conv.c \
	tests/random/random_graph_make_dynamic.c \
	tests/random/random_graph_make_elementwise.c \
	tests/random/random_graph_make_empty.c \
	tests/random/random_graph_make_reassign.c \
	tests/random/random_graph_make_scan.c \
	tests/random/random_graph_make_reduce.c \
	tests/random/random_graph_make_shape.c \
	tests/random/random_graph_make_state.c \
	tests/random/random_graph_make_rows.c \
	tests/random/random_graph_make_stencil.c \
	tests/random/random_graph_minimise.c \
	tests/random/random_graph_native.c \
	tests/random/random_graph_operand.c \
	tests/random/random_graph_outcome.c \
	tests/random/random_graph_passes.c \
	tests/random/random_graph_program.c \
	tests/random/random_graph_repro.c \
	tests/random/random_graph_run.c \
	tests/random/random_graph_session.c \
	tests/random/random_graph_structure.c \
	tests/random/random_graph_values.c \
	tests/random/random_graph_work.c \
	tests/random/random_graphs.c \
	tests/support/arguments.h \
	tests/support/guarded.c \
	tests/support/guarded.h \
	tests/support/watched.h \
	tests/support/workers.c \
	tests/support/workers.h

# Run with its options by check-random-gradients.sh.
check_PROGRAMS += tests/random/random-gradients
tests_random_random_gradients_LDADD = $(plain_ldadd) $(LIBM)
tests_random_random_gradients_SOURCES = \
	tests/random/random_gradient.h \
	tests/random/random_gradient_check.c \
	tests/random/random_gradient_control.c \
	tests/random/random_gradient_elementwise.c \
	tests/random/random_gradient_frame.c \
	tests/random/random_gradient_program.c \
	tests/random/random_gradient_reduce.c \
	tests/random/random_gradient_run.c \
	tests/random/random_gradient_shape.c \
	tests/random/random_gradient_state.c \
	tests/random/random_gradient_weights.c \
	tests/random/random_gradients.c \
	tests/support/arguments.h \
	tests/support/instrument.h \
	tests/support/watched.h \
	tests/support/workers.c \
	tests/support/workers.h

# Run with its options by check-conv.sh.
check_PROGRAMS += tests/random/sweep-conv
tests_random_sweep_conv_LDADD = $(plain_ldadd) $(LIBM)
tests_random_sweep_conv_SOURCES = \
	tests/random/sweep_conv.c \
	tests/support/arguments.h \
	tests/support/instrument.h \
	tests/support/watched.h \
	tests/support/workers.c \
	tests/support/workers.h

if HAVE_ONNX
unit_tests += \
	tests/onnx/test_onnx \
	tests/onnx/test_onnx_damage \
	tests/onnx/test_onnx_zoo
endif
onnx_ldadd = libtgjit-onnx.la $(public_ldadd)
tests_onnx_test_onnx_LDADD = $(onnx_ldadd)
tests_onnx_test_onnx_SOURCES = \
	tests/onnx/onnx_messages.h \
	tests/onnx/onnx_models.h \
	tests/onnx/test_onnx.c
tests_onnx_test_onnx_damage_LDADD = $(onnx_ldadd)
tests_onnx_test_onnx_damage_SOURCES = \
	tests/onnx/onnx_messages.h \
	tests/onnx/onnx_models.h \
	tests/onnx/test_onnx_damage.c
tests_onnx_test_onnx_zoo_LDADD = $(onnx_ldadd)
tests_onnx_test_onnx_zoo_SOURCES = tests/onnx/test_onnx_zoo.c

# Run with its options by check-onnx.sh.
if HAVE_ONNX
check_PROGRAMS += tests/onnx-suite
endif
tests_onnx_suite_LDADD = libtgjit-onnx.la libtgjit.la $(LIBM)
tests_onnx_suite_SOURCES = \
	tests/onnx/onnx_suite.c \
	tests/onnx/onnx_suite.h \
	tests/onnx/suite_case.c \
	tests/onnx/suite_compare.c \
	tests/onnx/suite_tiled.c \
	tests/support/arguments.h \
	tests/support/workers.c \
	tests/support/workers.h

# Run with its options by check-matmul.sh.
check_PROGRAMS += tests/random/sweep-matmul
tests_random_sweep_matmul_LDADD = $(plain_ldadd) $(LIBM)
tests_random_sweep_matmul_SOURCES = \
	tests/random/matmul.h \
	tests/random/matmul_args.c \
	tests/random/matmul_check.c \
	tests/random/matmul_form.c \
	tests/random/matmul_team.c \
	tests/random/matmul_trace.c \
	tests/random/random_graph.h \
	tests/random/random_graph_outcome.c \
	tests/random/random_graph_structure.c \
	tests/random/random_graph_values.c \
	tests/random/sweep_matmul.c \
	tests/support/arguments.h \
	tests/support/guarded.c \
	tests/support/guarded.h \
	tests/support/watched.h \
	tests/support/workers.c \
	tests/support/workers.h

# Run by check-gdb.sh and check-perf.sh; uses only the public interface, and has
# debug information of its own.
check_PROGRAMS += tests/support/debugged
tests_support_debugged_CFLAGS = $(AM_CFLAGS) -g
tests_support_debugged_LDADD = libtgjit.la

# Run by check-warm.sh; uses only the public interface.
check_PROGRAMS += tests/support/warm
tests_support_warm_LDADD = libtgjit.la

# -- Scripts -----------------------------------------------------------------

script_tests = \
	tests/scripts/check-abi.sh \
	tests/scripts/check-architecture.sh \
	tests/scripts/check-arguments.sh \
	tests/scripts/check-background.sh \
	tests/scripts/check-bench.sh \
	tests/scripts/check-bench-page.sh \
	tests/scripts/check-cache.sh \
	tests/scripts/check-conv.sh \
	tests/scripts/check-doc-blocks.sh \
	tests/scripts/check-docs.sh \
	tests/scripts/check-export.sh \
	tests/scripts/check-exports.sh \
	tests/scripts/check-faults.sh \
	tests/scripts/check-from-tensorflow-python.sh \
	tests/scripts/check-gdb.sh \
	tests/scripts/check-headers.sh \
	tests/scripts/check-include-direction.sh \
	tests/scripts/check-inspect.sh \
	tests/scripts/check-lists.sh \
	tests/scripts/check-man-pages.sh \
	tests/scripts/check-matmul.sh \
	tests/scripts/check-misuse.sh \
	tests/scripts/check-modes.sh \
	tests/scripts/check-module.sh \
	tests/scripts/check-mpi.sh \
	tests/scripts/check-names.sh \
	tests/scripts/check-nesting.sh \
	tests/scripts/check-onnx.sh \
	tests/scripts/check-onnx-doc.sh \
	tests/scripts/check-ops-doc.sh \
	tests/scripts/check-peers.sh \
	tests/scripts/check-pasted.sh \
	tests/scripts/check-perf.sh \
	tests/scripts/check-performance-doc.sh \
	tests/scripts/check-profile.sh \
	tests/scripts/check-python-files.sh \
	tests/scripts/check-random-gradients.sh \
	tests/scripts/check-random-graphs.sh \
	tests/scripts/check-random-repro.sh \
	tests/scripts/check-readme.sh \
	tests/scripts/check-repro.sh \
	tests/scripts/check-schedules-doc.sh \
	tests/scripts/check-smpi.sh \
	tests/scripts/check-spelling.sh \
	tests/scripts/check-tgjit-run.sh \
	tests/scripts/check-training.sh \
	tests/scripts/check-tutorial.sh \
	tests/scripts/check-version.sh \
	tests/scripts/check-warm.sh

TESTS += $(script_tests)

# Scripts too long for `make check', run by `make check-long'.
LONG_TESTS = \
	tests/scripts/long-aarch64.sh \
	tests/scripts/long-cache.sh \
	tests/scripts/long-compile.sh \
	tests/scripts/long-conv.sh \
	tests/scripts/long-determinism.sh \
	tests/scripts/long-disk-cache.sh \
	tests/scripts/long-files.sh \
	tests/scripts/long-killed-files.sh \
	tests/scripts/long-limits.sh \
	tests/scripts/long-matmul.sh \
	tests/scripts/long-mpi.sh \
	tests/scripts/long-random-gradients.sh \
	tests/scripts/long-random-graphs.sh \
	tests/scripts/long-tsan.sh \
	tests/scripts/long-ulp.sh \
	tests/scripts/mutants.sh

# -- Support -----------------------------------------------------------------

EXTRA_DIST += \
	$(LONG_TESTS) \
	$(script_tests) \
	tests/docs/AHEAD_OF_TIME.c \
	tests/docs/DATASETS.c \
	tests/docs/DEBUGGING.c \
	tests/docs/DISTRIBUTED.c \
	tests/docs/FILES.c \
	tests/docs/GRADIENTS.c \
	tests/docs/ONNX.c \
	tests/docs/PROFILING.c \
	tests/docs/TRAINING.c \
	tests/docs/VARIABLES.c \
	tests/docs/run.h \
	tests/abi/README.md \
	tests/abi/accepted.suppr \
	tests/abi/libtgjit-fftw.abi.gz \
	tests/abi/libtgjit-fftw.symbols \
	tests/abi/libtgjit-lapack.abi.gz \
	tests/abi/libtgjit-lapack.symbols \
	tests/abi/libtgjit-mpi.abi.gz \
	tests/abi/libtgjit-mpi.symbols \
	tests/abi/libtgjit-onnx.abi.gz \
	tests/abi/libtgjit-onnx.symbols \
	tests/abi/libtgjit.abi.gz \
	tests/abi/libtgjit.symbols \
	tests/words.txt \
	tests/scripts/coverage.sh \
	tests/scripts/fake-engine.sh \
	tests/scripts/match_output.awk \
	tests/scripts/prose_words.awk \
	tests/scripts/slices.sh \
	tests/support/api.h \
	tests/support/building.h \
	tests/support/control.h \
	tests/support/datasets.h \
	tests/corpus/calls.hex \
	tests/corpus/control.hex \
	tests/corpus/files.hex \
	tests/corpus/jit.hex \
	tests/corpus/mutants.hex \
	tests/corpus/objects.hex \
	tests/support/file_samples.h \
	tests/support/files.h \
	tests/support/finite_differences.h \
	tests/support/fusing.h \
	tests/support/folders.h \
	tests/support/golden.h \
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
	tests/golden/loops_convolutions.txt \
	tests/golden/loops_dynamic.txt \
	tests/golden/loops_elementwise.txt \
	tests/golden/loops_extents.txt \
	tests/golden/loops_epilogues.txt \
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
	tests/golden/loops_straightline.txt \
	tests/golden/loops_twice.txt \
	tests/golden/loops_updates.txt \
	tests/golden/loops_views.txt \
	tests/golden/row_blocks/attention.txt \
	tests/golden/row_blocks/attention_unknown.txt \
	tests/golden/row_blocks/layers.txt \
	tests/golden/row_blocks/layers_and_sums.txt \
	tests/golden/row_blocks/logistic.txt \
	tests/golden/row_blocks/small_matrices.txt \
	tests/golden/schedule/bias_relu.txt \
	tests/golden/schedule/black_scholes.txt \
	tests/golden/schedule/chain.txt \
	tests/golden/schedule/depthwise.txt \
	tests/golden/schedule/few_filters.txt \
	tests/golden/schedule/few_pixels.txt \
	tests/golden/schedule/layer_norm.txt \
	tests/golden/schedule/many_pixels.txt \
	tests/golden/schedule/matmul.txt \
	tests/golden/schedule/max_columns.txt \
	tests/golden/schedule/non_temporal.txt \
	tests/golden/schedule/row_epilogue.txt \
	tests/golden/schedule/scan_rows.txt \
	tests/golden/schedule/scatter_elements.txt \
	tests/golden/schedule/scatter_rows.txt \
	tests/golden/schedule/softmax.txt \
	tests/golden/schedule/stencil.txt \
	tests/golden/schedule/straightline.txt \
	tests/golden/schedule/sum_columns.txt \
	tests/golden/schedule/sum_rows.txt \
	tests/golden/schedule/transpose_add.txt \
	tests/golden/schedule/unknown_extents.txt \
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
	tests/gradients/convolutions.txt \
	tests/gradients/elementwise.txt \
	tests/gradients/functions.txt \
	tests/gradients/layers.txt \
	tests/gradients/loops.txt \
	tests/gradients/make_expected.py \
	tests/gradients/networks.txt \
	tests/gradients/optimisers.txt \
	tests/gradients/products.txt \
	tests/gradients/reductions.txt \
	tests/gradients/shapes.txt \
	tests/gradients/training.txt \
	tests/onnx/make_zoo.py \
	tests/onnx/zoo/gpt/model.onnx \
	tests/onnx/zoo/gpt/test_data_set_0/input_0.pb \
	tests/onnx/zoo/gpt/test_data_set_0/input_1.pb \
	tests/onnx/zoo/gpt/test_data_set_0/input_2.pb \
	tests/onnx/zoo/gpt/test_data_set_0/input_3.pb \
	tests/onnx/zoo/gpt/test_data_set_0/input_4.pb \
	tests/onnx/zoo/gpt/test_data_set_0/output_0.pb \
	tests/onnx/zoo/gpt/test_data_set_0/output_1.pb \
	tests/onnx/zoo/gpt/test_data_set_0/output_2.pb \
	tests/onnx/zoo/gpt/test_data_set_0/output_3.pb \
	tests/onnx/zoo/gpt/test_data_set_0/output_4.pb \
	tests/onnx/zoo/gru_tagger/model.onnx \
	tests/onnx/zoo/gru_tagger/test_data_set_0/input_0.pb \
	tests/onnx/zoo/gru_tagger/test_data_set_0/output_0.pb \
	tests/onnx/zoo/lenet/model.onnx \
	tests/onnx/zoo/lenet/test_data_set_0/input_0.pb \
	tests/onnx/zoo/lenet/test_data_set_0/output_0.pb \
	tests/onnx/zoo/mlp/model.onnx \
	tests/onnx/zoo/mlp/test_data_set_0/input_0.pb \
	tests/onnx/zoo/mlp/test_data_set_0/output_0.pb \
	tests/onnx/zoo/mobilenet_v2/model.onnx \
	tests/onnx/zoo/mobilenet_v2/test_data_set_0/input_0.pb \
	tests/onnx/zoo/mobilenet_v2/test_data_set_0/output_0.pb \
	tests/onnx/zoo/resnet18/model.onnx \
	tests/onnx/zoo/resnet18/test_data_set_0/input_0.pb \
	tests/onnx/zoo/resnet18/test_data_set_0/output_0.pb \
	tests/onnx/zoo/transformer/model.onnx \
	tests/onnx/zoo/transformer/test_data_set_0/input_0.pb \
	tests/onnx/zoo/transformer/test_data_set_0/output_0.pb \
	tests/support/graphs.h \
	tests/support/image_objects.h \
	tests/support/instrument.h \
	tests/scripts/check-from-tensorflow.py \
	tests/scripts/check-python-files.py \
	tests/scripts/compare-code.sh \
	tests/scripts/lsan.supp \
	tests/support/mappings.h \
	tests/support/modes.h \
	tests/scripts/mutants.list \
	tests/api/op_matrix.h \
	tests/op_matrix/binary.txt \
	tests/op_matrix/case_file.py \
	tests/op_matrix/cast.txt \
	tests/op_matrix/composite.txt \
	tests/op_matrix/conv.txt \
	tests/op_matrix/scan.txt \
	tests/op_matrix/dynamic.txt \
	tests/op_matrix/elements.py \
	tests/op_matrix/elementwise.txt \
	tests/op_matrix/functions.py \
	tests/op_matrix/halves.py \
	tests/op_matrix/halves.txt \
	tests/op_matrix/halves_functions.txt \
	tests/op_matrix/images.txt \
	tests/op_matrix/networks.txt \
	tests/op_matrix/order.txt \
	tests/op_matrix/places.txt \
	tests/op_matrix/reductions.txt \
	tests/op_matrix/shapes.txt \
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
	tests/support/passes.h \
	tests/support/ping_pong.h \
	tests/support/regions.h \
	tests/support/row_blocking.h \
	tests/support/scheduling.h \
	tests/support/saved_values.h \
	tests/scripts/run-example.sh \
	tests/scripts/run-test.sh \
	tests/support/disk_caches.h \
	tests/support/expected_numbers.h \
	tests/scripts/summary.sh \
	tests/support/support.h \
	tests/support/support_random.h \
	tests/support/traced.h \
	tests/support/vector_widths.h \
	tests/support/vmaps.h \
	tests/support/word_reader.h

# -- Running -----------------------------------------------------------------

# No suffix: a program. .expected: the output of an example.
TEST_EXTENSIONS = .sh .expected
LOG_DRIVER = AM_TAP_AWK='$(AWK)' $(SHELL) $(top_srcdir)/build-aux/tap-driver.sh
LOG_COMPILER = $(SHELL) $(top_srcdir)/tests/scripts/run-test.sh
SH_LOG_COMPILER = $(SHELL)
EXPECTED_LOG_COMPILER = $(SHELL) $(top_srcdir)/tests/scripts/run-example.sh

# Criterion runs tests in parallel, so teams are small. Tests do not use the
# user's disk cache, and tests of compiled code wait for it.
AM_TESTS_ENVIRONMENT = \
	AWK='$(AWK)'; CC='$(CC)'; CXX17='$(cxx17)'; NM='$(NM)'; \
	OBJDUMP='$(OBJDUMP)'; PACKAGE_VERSION='$(PACKAGE_VERSION)'; \
	TGJIT_SOVERSION='$(TGJIT_SOVERSION)'; \
	TGJIT_SANITIZE='$(TGJIT_SANITIZE)'; \
	OPENMP_CFLAGS='$(OPENMP_CFLAGS)'; \
	OMP_NUM_THREADS="$${OMP_NUM_THREADS-2}"; \
	TGJIT_CACHE="$${TGJIT_CACHE-off}"; \
	TGJIT_COMPILE="$${TGJIT_COMPILE-eager}"; TGJIT_VERIFY=1; \
	MPI_NAMES='$(mpi_names)'; MPI_CFLAGS='$(MPI_CFLAGS)'; \
	MPI_LIBS='$(MPI_LIBS)'; \
	unset TGJIT_MODULE_DIR; \
	export AWK CC CXX17 NM OBJDUMP PACKAGE_VERSION TGJIT_SOVERSION \
		TGJIT_SANITIZE OPENMP_CFLAGS OMP_NUM_THREADS TGJIT_CACHE TGJIT_COMPILE \
		TGJIT_VERIFY MPI_NAMES MPI_CFLAGS MPI_LIBS;
if !HAVE_LLVM
# In mode auto a context would warn that it cannot compile; tests compare logs.
AM_TESTS_ENVIRONMENT += TGJIT_JIT="$${TGJIT_JIT-off}"; export TGJIT_JIT;
endif
if HAVE_CXX17
cxx17 = $(CXX)
endif
if HAVE_MPI
mpi_names = $(with_mpi) $(other_mpi)
endif

# Automake's rule, followed by a last line "N passed, N failed".
check-TESTS: $(check_PROGRAMS)
	@rm -f $(TEST_SUITE_LOG) $(RECHECK_LOGS) $(RECHECK_LOGS:.log=.trs)
	@$(MAKE) $(AM_MAKEFLAGS) $(TEST_SUITE_LOG); status=$$?; \
	$(SHELL) $(top_srcdir)/tests/scripts/summary.sh $(TEST_SUITE_LOG); exit $$status

.PHONY: check-long
check-long:
	@$(MAKE) $(AM_MAKEFLAGS) check TESTS='$(LONG_TESTS)'
	@$(SHELL) $(top_srcdir)/tests/scripts/slices.sh --summary || :

# Builds its own copy of the tree.
.PHONY: check-mutants
check-mutants:
	@$(AM_TESTS_ENVIRONMENT) srcdir='$(srcdir)' MAKE='$(MAKE)' \
		$(SHELL) $(top_srcdir)/tests/scripts/mutants.sh $(MUTANTS)

# The binary interface against the last release; for a release, recorded anew
# (needs abigail-tools).
.PHONY: check-abi update-abi
check-abi update-abi: $(lib_LTLIBRARIES)
	@srcdir='$(srcdir)' NM='$(NM)' PACKAGE_VERSION='$(PACKAGE_VERSION)' \
		$(SHELL) $(top_srcdir)/tests/scripts/check-abi.sh \
		`test $@ = check-abi || echo --update`

# Line coverage of make check (or of COVERED), in a build of its own.
.PHONY: coverage
coverage:
	@srcdir='$(srcdir)' MAKE='$(MAKE)' CC='$(CC)' CXX='$(CXX)' \
		$(SHELL) $(top_srcdir)/tests/scripts/coverage.sh $(COVERED)

# Random campaigns that add up, for SECONDS_OF_SLICES; what has run so far.
.PHONY: slices slices-summary
slices: all
	@$(MAKE) $(AM_MAKEFLAGS) tests/random/random-graphs \
		tests/random/random-gradients tests/stress/fuzz_calls \
		tests/stress/fuzz_files tests/stress/fuzz_objects \
		tests/stress/stress_disk_cache \
		tests/stress/stress_killed_files
	@$(SHELL) $(top_srcdir)/tests/scripts/slices.sh $(CAMPAIGNS)
slices-summary:
	@$(SHELL) $(top_srcdir)/tests/scripts/slices.sh --summary

mostlyclean-local:
	-rm -rf coverage.tmp tsan.tmp
	-rm -f slice.log slice-*.log
	-rm -f tests/*/*.out tests/*/*.sanitizer.*
	-rm -f examples/*.out examples/*/*.out
	-rm -rf mutants.tmp mutants.txt
