# SPDX-License-Identifier: MIT
#
# src/ - all that works without LLVM. A file belongs to one layer, named in
# tests/layers.txt, and includes its own and lower layers only.

# -- Base: memory, errors, logging, types ------------------------------------

libtgjit_core_la_SOURCES += \
	src/alloc.c \
	src/alloc.h \
	src/arena.c \
	src/arena.h \
	src/at_fork.h \
	src/checked.c \
	src/checked.h \
	src/dtype.c \
	src/dtype.def \
	src/dtype.h \
	src/error.c \
	src/error.h \
	src/fpenv.c \
	src/fpenv.h \
	src/hash.c \
	src/hash.h \
	src/keyword.c \
	src/keyword.h \
	src/live.c \
	src/live.h \
	src/lock.c \
	src/lock.h \
	src/log.c \
	src/log.h \
	src/machine_memory.c \
	src/machine_memory.h \
	src/quick_tls.h \
	src/refcount.h \
	src/strbuf.c \
	src/strbuf.h \
	src/temporary.c \
	src/temporary.h \
	src/thread.h \
	src/vec.c \
	src/vec.h \
	src/version.c

# -- Ir: the op table and graphs ---------------------------------------------

libtgjit_core_la_SOURCES += \
	src/build.c \
	src/build.h \
	src/build_dynamic.c \
	src/build_einsum.c \
	src/build_elementwise.c \
	src/build_labelled.c \
	src/build_labelled.h \
	src/build_number.c \
	src/build_random.c \
	src/build_reduce.c \
	src/build_shape.c \
	src/dims.c \
	src/dims.h \
	src/dims_eval.c \
	src/dims_expr.c \
	src/dims_print.c \
	src/dims_table.h \
	src/dump.c \
	src/dump.h \
	src/dump_dot.c \
	src/einsum.h \
	src/einsum_parse.c \
	src/graph.c \
	src/graph.h \
	src/graph_check.c \
	src/literal.c \
	src/literal.h \
	src/op.c \
	src/op.def \
	src/op.h \
	src/op_family.h \
	src/verify.c \
	src/verify.h \
	src/verify_grows.c \
	src/verify_rule.h \
	src/verify_shape.c

# -- Graph work: passes, recipes, interpreter, gradients ---------------------

libtgjit_core_la_SOURCES += \
	src/format.c \
	src/format.h \
	src/gradient_binary.c \
	src/gradient_index.c \
	src/gradient_matmul.c \
	src/gradient_reduce.c \
	src/gradient_rule.h \
	src/gradient_rules.c \
	src/gradient_shape.c \
	src/gradient_unary.c \
	src/gradient_words.h \
	src/host.c \
	src/host.h \
	src/interp.c \
	src/interp.h \
	src/interp_instance.h \
	src/interp_place.c \
	src/interp_plan.c \
	src/interp_plan.h \
	src/interp_stacks.c \
	src/interp_stacks.h \
	src/interp_updates.c \
	src/interp_prepare.c \
	src/interp_region.c \
	src/kernel.c \
	src/kernel.h \
	src/kernel_cascade.h \
	src/kernel_cast.c \
	src/kernel_cast_type.h \
	src/kernel_elementwise.c \
	src/kernel_elementwise_type.h \
	src/kernel_gather.c \
	src/kernel_index.c \
	src/kernel_index_type.h \
	src/kernel_indices.c \
	src/kernel_indices.h \
	src/kernel_matmul.c \
	src/kernel_matmul_type.h \
	src/kernel_random.c \
	src/kernel_reduce.c \
	src/kernel_reduce_tree.h \
	src/kernel_reduce_type.h \
	src/kernel_rows.h \
	src/kernel_scatter.c \
	src/kernel_view.c \
	src/pass.c \
	src/pass.h \
	src/pass_dead.c \
	src/pass_fold.c \
	src/pass_hoist.c \
	src/pass_inline.c \
	src/pass_shape.c \
	src/pass_simplify.c \
	src/pass_translate.c \
	src/pass_translate.h \
	src/rebuild.c \
	src/rebuild.h \
	src/recipe.h \
	src/recipe_arc.h \
	src/recipe_cast.h \
	src/recipe_each.h \
	src/recipe_erf.h \
	src/recipe_exp.h \
	src/recipe_log.h \
	src/recipe_math.h \
	src/recipe_one.h \
	src/recipe_parts.h \
	src/recipe_pow.h \
	src/recipe_sets.h \
	src/recipe_trig.h \
	src/reduce_tree.h \
	src/scalar.h \
	src/settle.c \
	src/settle.h \
	src/settle_channel.c \
	src/settle_loop.c \
	src/settle_state.h \
	src/view.c \
	src/view.h \
	src/view_copy.c \
	src/walk.c \
	src/walk.h

# Recipes over an emitter, and the tables they need: for code generators, which
# link nothing else of the library, and for their tests.
noinst_LTLIBRARIES += libtgjit-emit.la
libtgjit_emit_la_SOURCES = \
	src/dtype.c \
	src/emit.c \
	src/emit.h \
	src/emit_type.h \
	src/emit_words.h \
	src/fpenv.c \
	src/op.c \
	src/word.def

# -- Front: the objects behind the public functions --------------------------

libtgjit_core_la_SOURCES += \
	src/apply.c \
	src/bound.c \
	src/bundle.c \
	src/bundle.h \
	src/cache.c \
	src/cache_object.h \
	src/call.c \
	src/callback.c \
	src/compile_queue.c \
	src/compile_queue.h \
	src/concrete.c \
	src/context.c \
	src/context_object.h \
	src/dump_file.c \
	src/dump_file.h \
	src/dump_repro.c \
	src/dump_repro.h \
	src/explain.c \
	src/export.c \
	src/export_header.c \
	src/export_header.h \
	src/function.c \
	src/function_object.h \
	src/function_variables.c \
	src/gradient.c \
	src/gradient_element.c \
	src/gradient_loop.c \
	src/gradient_reason.c \
	src/gradient_reason.h \
	src/gradient_region.c \
	src/gradient_region.h \
	src/gradient_slots.c \
	src/gradient_tape.h \
	src/gradient_value.c \
	src/group.c \
	src/initial.c \
	src/launch.c \
	src/launch.h \
	src/ops.c \
	src/ops_einsum.c \
	src/ops_nn.c \
	src/ops_random.c \
	src/ops_control.c \
	src/ops_control.h \
	src/ops_custom.c \
	src/ops_derivative.c \
	src/ops_gradient.c \
	src/ops_gradient.h \
	src/ops_host.c \
	src/ops_list.c \
	src/ops_scan.c \
	src/ops_state.c \
	src/pending.c \
	src/pending.h \
	src/runner.c \
	src/runner.h \
	src/settings.c \
	src/settings.h \
	src/signature.c \
	src/signature.h \
	src/signature_match.c \
	src/tensor.c \
	src/tensor_object.h \
	src/trace.c \
	src/trace_region.c \
	src/trace_region.h \
	src/trace_state.h \
	src/variable.c \
	src/variable_object.h \
	src/versioned.c \
	src/versioned.def \
	src/versioned.h

# -- tgjit-cache: a program that sees public headers only --------------------

# Installed: without the -no-install of AM_LDFLAGS.
bin_PROGRAMS += src/tgjit-cache
src_tgjit_cache_SOURCES = src/tgjit_cache.c
src_tgjit_cache_CPPFLAGS = -I$(top_srcdir)/include -D_GNU_SOURCE
src_tgjit_cache_LDFLAGS = $(TGJIT_SANITIZE)
src_tgjit_cache_LDADD = libtgjit.la
