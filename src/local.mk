# SPDX-License-Identifier: MIT
#
# src/ - everything that works without LLVM. The README.md of a folder says which
# folders it may include; tests/scripts/check-include-direction.sh enforces it.

EXTRA_DIST += \
	src/base/README.md \
	src/build/README.md \
	src/front/call/README.md \
	src/front/data/README.md \
	src/front/export/README.md \
	src/front/file/README.md \
	src/front/inspect/README.md \
	src/front/object/README.md \
	src/front/ops/README.md \
	src/front/profile/README.md \
	src/fftw/README.md \
	src/front/trace/README.md \
	src/front/train/README.md \
	src/gradient/README.md \
	src/interp/README.md \
	src/ir/README.md \
	src/lapack/README.md \
	src/onnx/README.md \
	src/pass/README.md \
	src/profile/README.md \
	src/recipe/README.md \
	src/runtime/README.md \
	src/tools/README.md \
	src/vmap/README.md

# -- src/base: memory, errors, logging, element types ------------------------

libtgjit_core_la_SOURCES += \
	src/base/alloc.c \
	src/base/alloc.h \
	src/base/arena.c \
	src/base/arena.h \
	src/base/at_fork.h \
	src/base/atomic_file.c \
	src/base/atomic_file.h \
	src/base/checked.c \
	src/base/checked.h \
	src/base/cancel.c \
	src/base/cancel.h \
	src/base/clock.h \
	src/base/dtype.c \
	src/base/dtype.def \
	src/base/dtype.h \
	src/base/error.c \
	src/base/error.h \
	src/base/fork_lock.c \
	src/base/fork_lock.h \
	src/base/fpenv.c \
	src/base/fpenv.h \
	src/base/hash.c \
	src/base/hash.h \
	src/base/initial_exec_tls.h \
	src/base/keyword.c \
	src/base/keyword.h \
	src/base/live.c \
	src/base/live.h \
	src/base/lock.c \
	src/base/lock.h \
	src/base/log.c \
	src/base/log.h \
	src/base/machine_memory.c \
	src/base/machine_memory.h \
	src/base/name_counts.c \
	src/base/name_counts.h \
	src/base/pass_driver.c \
	src/base/pass_driver.h \
	src/base/refcount.h \
	src/base/settings.c \
	src/base/settings.h \
	src/base/spin.h \
	src/base/strbuf.c \
	src/base/strbuf.h \
	src/base/temporary_file.c \
	src/base/temporary_file.h \
	src/base/thread.h \
	src/base/vec.c \
	src/base/vec.h \
	src/base/version.c \
	src/base/versioned.c \
	src/base/versioned.def \
	src/base/versioned.h

# -- src/profile: profiles and timelines -------------------------------------

libtgjit_core_la_SOURCES += \
	src/profile/profile.c \
	src/profile/profile.h \
	src/profile/profile_mode.h \
	src/profile/timeline.c \
	src/profile/timeline.h

# -- src/ir: the op table, graphs, extents -----------------------------------

libtgjit_core_la_SOURCES += \
	src/ir/dims.c \
	src/ir/dims.h \
	src/ir/dims_eval.c \
	src/ir/dims_expr.c \
	src/ir/dims_print.c \
	src/ir/dims_table.h \
	src/ir/dump.c \
	src/ir/dump.h \
	src/ir/dump_dot.c \
	src/ir/graph.c \
	src/ir/graph.h \
	src/ir/graph_check.c \
	src/ir/literal.c \
	src/ir/literal.h \
	src/ir/op.c \
	src/ir/op.def \
	src/ir/op.h \
	src/ir/rebuild.c \
	src/ir/rebuild.h \
	src/ir/verify.c \
	src/ir/verify.h \
	src/ir/verify_rule.h \
	src/ir/verify_shape.c \
	src/ir/verify_unbounded.c

# -- src/recipe: what an operation computes for one element ------------------

libtgjit_core_la_SOURCES += \
	src/recipe/byte_products.h \
	src/recipe/cost.c \
	src/recipe/cost.h \
	src/recipe/cost_node.c \
	src/recipe/cost_node.h \
	src/recipe/emit.c \
	src/recipe/emit.h \
	src/recipe/emit_primitives.h \
	src/recipe/emit_type.h \
	src/recipe/op_family.h \
	src/recipe/primitive.def \
	src/recipe/recipe.h \
	src/recipe/recipe_arc.h \
	src/recipe/recipe_cast.h \
	src/recipe/recipe_each.h \
	src/recipe/recipe_erf.h \
	src/recipe/recipe_exp.h \
	src/recipe/recipe_fast.h \
	src/recipe/recipe_fast_trig.h \
	src/recipe/recipe_half.h \
	src/recipe/recipe_log.h \
	src/recipe/recipe_math.h \
	src/recipe/recipe_one.h \
	src/recipe/recipe_parts.h \
	src/recipe/recipe_pow.h \
	src/recipe/recipe_sets.h \
	src/recipe/recipe_trig.h \
	src/recipe/reduce_tree.h \
	src/recipe/scalar.h

# -- src/build: node builders ------------------------------------------------

libtgjit_core_la_SOURCES += \
	src/build/build.c \
	src/build/build.h \
	src/build/build_dynamic.c \
	src/build/build_einsum.c \
	src/build/build_elementwise.c \
	src/build/build_labelled.c \
	src/build/build_formula.h \
	src/build/build_half.c \
	src/build/build_labelled.h \
	src/build/build_number.c \
	src/build/build_random.c \
	src/build/build_conv.c \
	src/build/build_scan.c \
	src/build/build_reduce.c \
	src/build/build_shape.c \
	src/build/einsum.h \
	src/build/einsum_parse.c

# -- src/runtime: shared by interpreter and compiled code --------------------

libtgjit_core_la_SOURCES += \
	src/runtime/format.c \
	src/runtime/format.h \
	src/runtime/host.c \
	src/runtime/host.h \
	src/runtime/host_log.c \
	src/runtime/host_log.h \
	src/runtime/host_poll.c \
	src/runtime/host_poll.h \
	src/runtime/index_check.c \
	src/runtime/index_check.h \
	src/runtime/memory_packing.c \
	src/runtime/memory_packing.h \
	src/runtime/unbounded_stack.c \
	src/runtime/unbounded_stack.h \
	src/runtime/view.c \
	src/runtime/view.h \
	src/runtime/view_copy.c \
	src/runtime/walk.c \
	src/runtime/walk.h

# -- src/interp: the reference interpreter -----------------------------------

libtgjit_core_la_SOURCES += \
	src/interp/interp.c \
	src/interp/interp.h \
	src/interp/interp_check.c \
	src/interp/interp_check.h \
	src/interp/interp_instance.h \
	src/interp/interp_place.c \
	src/interp/interp_prepare.c \
	src/interp/interp_region.c \
	src/interp/interp_updates.c \
	src/interp/kernel.c \
	src/interp/kernel.h \
	src/interp/kernel_cast.c \
	src/interp/kernel_cast_type.h \
	src/interp/kernel_elementwise.c \
	src/interp/kernel_elementwise_type.h \
	src/interp/kernel_gather.c \
	src/interp/kernel_index.c \
	src/interp/kernel_index_type.h \
	src/interp/kernel_scan.c \
	src/interp/kernel_scan_type.h \
	src/interp/kernel_conv.c \
	src/interp/kernel_conv_type.h \
	src/interp/kernel_matmul.c \
	src/interp/kernel_matmul_type.h \
	src/interp/kernel_pairwise.h \
	src/interp/kernel_random.c \
	src/interp/kernel_reduce.c \
	src/interp/kernel_reduce_tree.h \
	src/interp/kernel_reduce_type.h \
	src/interp/kernel_rows.h \
	src/interp/kernel_scatter.c \
	src/interp/kernel_view.c

# -- src/pass: graph to graph ------------------------------------------------

libtgjit_core_la_SOURCES += \
	src/pass/callee_import.c \
	src/pass/callee_import.h \
	src/pass/dead_results.c \
	src/pass/dead_results.h \
	src/pass/edge_pieces.c \
	src/pass/edge_pieces.h \
	src/pass/lower_saved_channel.c \
	src/pass/lower_saved_loop.c \
	src/pass/lower_saved_state.h \
	src/pass/lower_saved_values.c \
	src/pass/lower_saved_values.h \
	src/pass/pass.c \
	src/pass/pass.h \
	src/pass/pass_crop.c \
	src/pass/pass_dead.c \
	src/pass/pass_distribute.c \
	src/pass/pass_constant_fold.c \
	src/pass/pass_hoist.c \
	src/pass/pass_inline.c \
	src/pass/pass_layout.c \
	src/pass/pass_shape.c \
	src/pass/pass_simplify.c \
	src/pass/reduce_rows.c \
	src/pass/reduce_rows.h \
	src/pass/update_pieces.c \
	src/pass/update_pieces.h \
	src/pass/value_checks.c \
	src/pass/value_checks.h

# -- src/gradient: reverse-mode differentiation ------------------------------

libtgjit_core_la_SOURCES += \
	src/gradient/gradient.c \
	src/gradient/gradient_binary.c \
	src/gradient/gradient_index.c \
	src/gradient/gradient_loop.c \
	src/gradient/gradient_conv.c \
	src/gradient/gradient_scan.c \
	src/gradient/gradient_matmul.c \
	src/gradient/gradient_primitives.h \
	src/gradient/gradient_reason.c \
	src/gradient/gradient_reason.h \
	src/gradient/gradient_reduce.c \
	src/gradient/gradient_region.c \
	src/gradient/gradient_region.h \
	src/gradient/gradient_rule.h \
	src/gradient/gradient_rules.c \
	src/gradient/gradient_shape.c \
	src/gradient/gradient_stacks.c \
	src/gradient/gradient_tape.h \
	src/gradient/gradient_unary.c \
	src/gradient/save_or_rematerialise.c \
	src/gradient/saved_element.c

# -- src/front/object: contexts, tensors, variables --------------------------

libtgjit_core_la_SOURCES += \
	src/front/object/bundle.c \
	src/front/object/bundle.h \
	src/front/object/cache.c \
	src/front/object/context_calibration.c \
	src/front/object/cache_object.h \
	src/front/object/context.c \
	src/front/object/context_object.h \
	src/front/object/dump_file.c \
	src/front/object/dump_file.h \
	src/front/object/group.c \
	src/front/object/initialiser.c \
	src/front/object/initialiser.h \
	src/front/object/orthogonalise.c \
	src/front/object/result_slot.c \
	src/front/object/result_slot.h \
	src/front/object/scope.c \
	src/front/object/scope.h \
	src/front/object/tensor.c \
	src/front/object/tensor_access.c \
	src/front/object/tensor_object.h \
	src/front/object/variable.c \
	src/front/object/variable_assign.c \
	src/front/object/variable_object.h

# -- src/front/trace: recording a callback -----------------------------------

libtgjit_core_la_SOURCES += \
	src/front/trace/callback.c \
	src/front/trace/extents.c \
	src/front/trace/trace.c \
	src/front/trace/trace_region.c \
	src/front/trace/trace_region.h \
	src/front/trace/trace_state.h

# -- src/front/call: from a call to a run ------------------------------------

libtgjit_core_la_SOURCES += \
	src/front/call/apply.c \
	src/front/call/bound.c \
	src/front/call/bound.h \
	src/front/call/bound_extents.c \
	src/front/call/call.c \
	src/front/call/checked_run.c \
	src/front/call/checked_run.h \
	src/front/call/compile_policy.c \
	src/front/call/compile_policy.h \
	src/front/call/compile_queue.c \
	src/front/call/compile_queue.h \
	src/front/call/compile_variant.c \
	src/front/call/compile_variant.h \
	src/front/call/concrete.c \
	src/front/call/dump_repro.c \
	src/front/call/dump_repro.h \
	src/front/call/explain.c \
	src/front/call/function.c \
	src/front/call/function_object.h \
	src/front/call/function_variables.c \
	src/front/call/inspect_concrete.c \
	src/front/call/inspect_concrete.h \
	src/front/call/launch.c \
	src/front/call/launch.h \
	src/front/call/pending.c \
	src/front/call/pending.h \
	src/front/call/runner.c \
	src/front/call/runner.h \
	src/front/call/runner_pool.c \
	src/front/call/runner_pool.h \
	src/front/call/scoped_variables.c \
	src/front/call/signature.c \
	src/front/call/signature.h \
	src/front/call/signature_match.c \
	src/front/call/variant_table.c \
	src/front/call/variant_table.h

# -- src/front/ops: the public operations ------------------------------------

libtgjit_core_la_SOURCES += \
	src/front/ops/ops.c \
	src/front/ops/ops_activation.c \
	src/front/ops/ops_arrange.c \
	src/front/ops/ops_arrange.h \
	src/front/ops/ops_axes.c \
	src/front/ops/ops_class_loss.c \
	src/front/ops/ops_control.c \
	src/front/ops/ops_control.h \
	src/front/ops/ops_conv.c \
	src/front/ops/ops_cumulative.c \
	src/front/ops/ops_custom.c \
	src/front/ops/ops_derivative.c \
	src/front/ops/ops_detection.c \
	src/front/ops/ops_distribution.c \
	src/front/ops/ops_einsum.c \
	src/front/ops/ops_elementwise.c \
	src/front/ops/ops_formula.c \
	src/front/ops/ops_formula.h \
	src/front/ops/ops_gradient.c \
	src/front/ops/ops_gradient.h \
	src/front/ops/ops_grid_sample.c \
	src/front/ops/ops_host.c \
	src/front/ops/ops_index.c \
	src/front/ops/ops_index.h \
	src/front/ops/ops_list.c \
	src/front/ops/ops_losses.c \
	src/front/ops/ops_nn.c \
	src/front/ops/ops_nn.h \
	src/front/ops/ops_pool.c \
	src/front/ops/ops_quantize.c \
	src/front/ops/ops_print.c \
	src/front/ops/ops_random.c \
	src/front/ops/ops_random.h \
	src/front/ops/ops_norm.c \
	src/front/ops/ops_order.c \
	src/front/ops/ops_pattern.c \
	src/front/ops/ops_reduce.c \
	src/front/ops/ops_resize.c \
	src/front/ops/ops_sampling.c \
	src/front/ops/ops_sampling.h \
	src/front/ops/ops_scan.c \
	src/front/ops/ops_shape.c \
	src/front/ops/ops_signal.c \
	src/front/ops/ops_sort.c \
	src/front/ops/ops_sort.h \
	src/front/ops/ops_spatial.c \
	src/front/ops/ops_spatial.h \
	src/front/ops/ops_state.c \
	src/front/ops/ops_statistics.c

# -- src/front/data: datasets and iterators ----------------------------------

libtgjit_core_la_SOURCES += \
	src/front/data/dataset.c \
	src/front/data/dataset_batch.c \
	src/front/data/dataset_cache.c \
	src/front/data/dataset_count.c \
	src/front/data/dataset_element.c \
	src/front/data/dataset_from.c \
	src/front/data/dataset_generator.c \
	src/front/data/dataset_interleave.c \
	src/front/data/dataset_map.c \
	src/front/data/dataset_csv.c \
	src/front/data/dataset_npy.c \
	src/front/data/dataset_object.h \
	src/front/data/dataset_prefetch.c \
	src/front/data/dataset_shuffle.c \
	src/front/data/dataset_zip.c \
	src/front/data/iterator.c

# -- src/front/inspect: pages about traces ------------------------------------

libtgjit_core_la_SOURCES += \
	src/front/inspect/assembly.c \
	src/front/inspect/assembly.h \
	src/front/inspect/html.c \
	src/front/inspect/html.h \
	src/front/inspect/inspect_session.c \
	src/front/inspect/inspect_session.h \
	src/front/inspect/inspection.h \
	src/front/inspect/layered_layout.c \
	src/front/inspect/layered_layout.h \
	src/front/inspect/page.c \
	src/front/inspect/page.h \
	src/front/inspect/page_facts.c \
	src/front/inspect/page_graph.c \
	src/front/inspect/page_kernels.c \
	src/front/inspect/page_memory.c \
	src/front/inspect/page_profile.c \
	src/front/inspect/page_source.c \
	src/front/inspect/page_style.c \
	src/front/inspect/page_style.h

# -- src/front/profile: reports of profiles ----------------------------------

libtgjit_core_la_SOURCES += \
	src/front/profile/profile_api.c \
	src/front/profile/profile_session.h \
	src/front/profile/profile_json.c \
	src/front/profile/profile_report.h \
	src/front/profile/profile_table.c

# -- src/front/export: ahead-of-time export ----------------------------------

libtgjit_core_la_SOURCES += \
	src/front/export/export.c \
	src/front/export/export_header.c \
	src/front/export/export_header.h

# -- src/front/file: files and DLPack ----------------------------------------

libtgjit_core_la_SOURCES += \
	src/front/file/archive.c \
	src/front/file/archive.h \
	src/front/file/archive_file.c \
	src/front/file/checkpoint.c \
	src/front/file/crc32.c \
	src/front/file/crc32.h \
	src/front/file/csv.c \
	src/front/file/csv_number.c \
	src/front/file/csv_number.h \
	src/front/file/csv_reader.c \
	src/front/file/csv_reader.h \
	src/front/file/csv_table.c \
	src/front/file/csv_table.h \
	src/front/file/dlpack.c \
	src/front/file/file_bytes.c \
	src/front/file/file_bytes.h \
	src/front/file/file_error.c \
	src/front/file/file_error.h \
	src/front/file/file_json.c \
	src/front/file/little_endian.h \
	src/front/file/npy.c \
	src/front/file/npy.h \
	src/front/file/npy_header.c \
	src/front/file/npz.c \
	src/front/file/safetensors.c \
	src/front/file/strided_copy.c \
	src/front/file/strided_copy.h \
	src/front/file/variable_list.c \
	src/front/file/variable_list.h \
	src/front/file/zip.h \
	src/front/file/zip_format.h \
	src/front/file/zip_read.c \
	src/front/file/zip_write.c

# -- src/front/train: layers, optimisers, schedules ---------------------------

libtgjit_core_la_SOURCES += \
	src/front/train/attention.c \
	src/front/train/layer_create.c \
	src/front/train/layer_create.h \
	src/front/train/layer_parts.h \
	src/front/train/layers.c \
	src/front/train/loss_scale.c \
	src/front/train/optimiser.c \
	src/front/train/optimiser_state.c \
	src/front/train/optimiser_state.h \
	src/front/train/recurrent.c \
	src/front/train/schedules.c

# Recipes over an emitter, and the tables they need: for code generators, which
# link nothing else of the library, and for their tests.
noinst_LTLIBRARIES += libtgjit-emit.la
libtgjit_emit_la_SOURCES = \
	src/base/dtype.c \
	src/base/fpenv.c \
	src/ir/op.c \
	src/recipe/emit.c

# -- tgjit-cache: a program that sees public headers only --------------------

# Installed: without the -no-install of AM_LDFLAGS.
bin_PROGRAMS += src/tools/tgjit-cache
src_tools_tgjit_cache_SOURCES = src/tools/tgjit_cache.c
src_tools_tgjit_cache_CPPFLAGS = -I$(top_srcdir)/include -D_GNU_SOURCE
src_tools_tgjit_cache_LDFLAGS = $(TGJIT_SANITIZE)
src_tools_tgjit_cache_LDADD = libtgjit.la

bin_PROGRAMS += src/tools/tgjit-inspect
src_tools_tgjit_inspect_SOURCES = src/tools/tgjit_inspect.c
src_tools_tgjit_inspect_CPPFLAGS = -I$(top_srcdir)/include -D_GNU_SOURCE
src_tools_tgjit_inspect_LDFLAGS = $(TGJIT_SANITIZE)
src_tools_tgjit_inspect_LDADD = libtgjit.la

# -- src/vmap: batching -------------------------------------------------------

libtgjit_core_la_SOURCES += \
	src/vmap/batch.c \
	src/vmap/batch.h \
	src/vmap/batch_host.c \
	src/vmap/batch_index.c \
	src/vmap/batch_infer.c \
	src/vmap/batch_product.c \
	src/vmap/batch_region.c \
	src/vmap/batch_sequence.c \
	src/vmap/batch_shape.c \
	src/vmap/vmap.c

# -- src/lapack, src/fftw: libraries of operations ----------------------------

libtgjit_lapack_la_SOURCES = \
	src/lapack/lapack_gradient.c \
	src/lapack/lapack_gradient.h \
	src/lapack/lapack_host.c \
	src/lapack/lapack_host.h \
	src/lapack/lapack_host_type.h \
	src/lapack/lapack_ops.c
libtgjit_lapack_la_CFLAGS = $(AM_CFLAGS) $(LAPACK_CFLAGS)
libtgjit_lapack_la_LIBADD = libtgjit.la $(LAPACK_LIBS) $(LIBM)
libtgjit_lapack_la_LDFLAGS = $(extension_ldflags)

libtgjit_fftw_la_SOURCES = \
	src/fftw/fftw_host.c \
	src/fftw/fftw_host.h \
	src/fftw/fftw_ops.c \
	src/fftw/fftw_plan.c \
	src/fftw/fftw_plan.h
libtgjit_fftw_la_CFLAGS = $(AM_CFLAGS) $(FFTW_CFLAGS)
libtgjit_fftw_la_LIBADD = libtgjit.la $(FFTW_LIBS) $(PTHREAD_LIBS) $(LIBM)
libtgjit_fftw_la_LDFLAGS = $(extension_ldflags)

# -- src/onnx: libtgjit-onnx, which sees public headers only -----------------

onnx_sources = \
	src/onnx/onnx_array.c \
	src/onnx/onnx_array.h \
	src/onnx/onnx_body.h \
	src/onnx/onnx_dtype.def \
	src/onnx/onnx_extents.c \
	src/onnx/onnx_file.c \
	src/onnx/onnx_file.h \
	src/onnx/onnx_inputs.c \
	src/onnx/onnx_inputs.h \
	src/onnx/onnx_known.c \
	src/onnx/onnx_known.h \
	src/onnx/onnx_memory.c \
	src/onnx/onnx_memory.h \
	src/onnx/onnx_model.c \
	src/onnx/onnx_model.h \
	src/onnx/onnx_needs.c \
	src/onnx/onnx_ops.c \
	src/onnx/onnx_ops.def \
	src/onnx/onnx_ops.h \
	src/onnx/onnx_proto.h \
	src/onnx/onnx_reader.c \
	src/onnx/onnx_reader.h \
	src/onnx/onnx_run.c \
	src/onnx/onnx_run.h \
	src/onnx/onnx_trace.c \
	src/onnx/onnx_wire.c \
	src/onnx/onnx_wire.h \
	src/onnx/op_activation.c \
	src/onnx/op_attention.c \
	src/onnx/op_boxes.c \
	src/onnx/op_constant.c \
	src/onnx/op_control.c \
	src/onnx/op_conv.c \
	src/onnx/op_det.c \
	src/onnx/op_elementwise.c \
	src/onnx/op_index.c \
	src/onnx/op_loss.c \
	src/onnx/op_matmul.c \
	src/onnx/op_ngrams.c \
	src/onnx/op_norm.c \
	src/onnx/op_pool.c \
	src/onnx/op_quantise.c \
	src/onnx/op_random.c \
	src/onnx/op_reduce.c \
	src/onnx/op_resize.c \
	src/onnx/op_rnn.c \
	src/onnx/op_roi.c \
	src/onnx/op_select.c \
	src/onnx/op_shape.c \
	src/onnx/op_signal.c \
	src/onnx/op_slice.c \
	src/onnx/op_windows.c \
	src/onnx/op_windows.h
EXTRA_DIST += $(onnx_sources)

if HAVE_ONNX
lib_LTLIBRARIES += libtgjit-onnx.la
pkgconfig_DATA += tgjit-onnx.pc
endif
libtgjit_onnx_la_SOURCES = $(onnx_sources)
nodist_libtgjit_onnx_la_SOURCES = \
	src/onnx/onnx.pb-c.c \
	src/onnx/onnx.pb-c.h
libtgjit_onnx_la_CPPFLAGS = -I$(top_srcdir)/include -Isrc/onnx -D_GNU_SOURCE
libtgjit_onnx_la_CFLAGS = $(TGJIT_CFLAGS) $(TGJIT_SANITIZE) \
	$(PROTOBUF_C_CFLAGS)
libtgjit_onnx_la_LDFLAGS = $(extension_ldflags)
libtgjit_onnx_la_LIBADD = libtgjit.la $(PROTOBUF_C_LIBS) $(LIBM)

# The messages of ONNX.
src/onnx/onnx.pb-c.c: $(ONNX_PROTO)
	$(AM_V_GEN)$(MKDIR_P) src/onnx && \
	    $(PROTOC_C) -I$$(dirname $(ONNX_PROTO)) --c_out=src/onnx $(ONNX_PROTO)
src/onnx/onnx.pb-c.h: src/onnx/onnx.pb-c.c
$(libtgjit_onnx_la_OBJECTS): src/onnx/onnx.pb-c.h
CLEANFILES += src/onnx/onnx.pb-c.c src/onnx/onnx.pb-c.h
if HAVE_ONNX
BUILT_SOURCES += src/onnx/onnx.pb-c.h
endif

# tgjit-run: a program that sees public headers only.
if HAVE_ONNX
bin_PROGRAMS += src/tools/tgjit-run
endif
src_tools_tgjit_run_SOURCES = src/tools/tgjit_run.c
src_tools_tgjit_run_CPPFLAGS = -I$(top_srcdir)/include -D_GNU_SOURCE
src_tools_tgjit_run_LDFLAGS = $(TGJIT_SANITIZE)
src_tools_tgjit_run_LDADD = libtgjit-onnx.la libtgjit.la $(LIBM)
