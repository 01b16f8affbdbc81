# SPDX-License-Identifier: MIT
#
# jit/ - from graphs to machine code. Only jit/llvm/ may include LLVM headers.

EXTRA_DIST += \
	jit/README.md \
	jit/blocks/README.md \
	jit/cache/README.md \
	jit/codegen/README.md \
	jit/export/README.md \
	jit/fuse/README.md \
	jit/llvm/README.md \
	jit/llvm/emit/README.md \
	jit/llvm/kernel/README.md \
	jit/llvm/loops/README.md \
	jit/llvm/matmul/README.md \
	jit/llvm/reduce/README.md \
	jit/llvm/straightline/README.md \
	jit/loop/README.md \
	jit/memory/README.md \
	jit/object/README.md \
	jit/run/README.md \
	jit/schedule/README.md \
	jit/target/README.md

# -- jit: the compile pipeline -----------------------------------------------

libtgjit_core_la_SOURCES += \
	jit/assembly_dump.c \
	jit/assembly_dump.h \
	jit/compile.c \
	jit/compile.h \
	jit/inspect.c \
	jit/inspect.h \
	jit/jit.h \
	jit/program.c \
	jit/program.h \
	jit/tune.c \
	jit/tune.h

# -- jit/loop: the loop IR ---------------------------------------------------

libtgjit_core_la_SOURCES += \
	jit/loop/explain.c \
	jit/loop/explain.h \
	jit/loop/id.h \
	jit/loop/inst_cost.c \
	jit/loop/inst_cost.h \
	jit/loop/kernel_work.c \
	jit/loop/kernel_work.h \
	jit/loop/leb128.h \
	jit/loop/loop_pass.c \
	jit/loop/loop_pass.h \
	jit/loop/loops.c \
	jit/loop/loops.h \
	jit/loop/loops_print.c \
	jit/loop/loops_verify.c

# -- jit/target: facts about the host CPU ------------------------------------

libtgjit_core_la_SOURCES += \
	jit/target/cpu.def \
	jit/target/cpu_cache.c \
	jit/target/cpu_cache.h \
	jit/target/host_calibration.c \
	jit/target/host_calibration.h \
	jit/target/host_cpu.c \
	jit/target/host_cpu.h \
	jit/target/target.c \
	jit/target/target.h \
	jit/target/target_names.c \
	jit/target/target_names.h

# -- jit/schedule: how kernels run -------------------------------------------

libtgjit_core_la_SOURCES += \
	jit/schedule/choose.c \
	jit/schedule/choose.h \
	jit/schedule/choose_epilogue.c \
	jit/schedule/choose_fission.c \
	jit/schedule/choose_interchange.c \
	jit/schedule/choose_lanes.c \
	jit/schedule/choose_matmul.c \
	jit/schedule/choose_matrices.c \
	jit/schedule/choose_micro_kernel.c \
	jit/schedule/choose_row_order.c \
	jit/schedule/choose_stores.c \
	jit/schedule/choose_tiles.c \
	jit/schedule/choose_wide.c \
	jit/schedule/cost.c \
	jit/schedule/facts.c \
	jit/schedule/hints.c \
	jit/schedule/hints.h \
	jit/schedule/schedule.h \
	jit/schedule/schedule_print.c \
	jit/schedule/schedule_random.c \
	jit/schedule/schedule_random.h \
	jit/schedule/schedule_verify.c \
	jit/schedule/verify.h \
	jit/schedule/verify_facts.c \
	jit/schedule/verify_interchange.c \
	jit/schedule/verify_matmul.c \
	jit/schedule/verify_nest.c \
	jit/schedule/verify_reduce.c \
	jit/schedule/verify_stages.c

# -- jit/codegen: the interface to the code generator ------------------------

libtgjit_core_la_SOURCES += \
	jit/codegen/codegen.h \
	jit/codegen/generator.h \
	jit/codegen/plugin.c \
	jit/codegen/plugin.h

# -- jit/fuse: graph to loops ------------------------------------------------

libtgjit_core_la_SOURCES += \
	jit/fuse/fuse.c \
	jit/fuse/fuse_buffer.c \
	jit/fuse/fuse_buffer.h \
	jit/fuse/fuse_conv.c \
	jit/fuse/fuse_early.c \
	jit/fuse/fuse_early.h \
	jit/fuse/fuse_expr.c \
	jit/fuse/fuse_expr.h \
	jit/fuse/fuse_kernel.c \
	jit/fuse/fuse_kernel.h \
	jit/fuse/fuse_map.c \
	jit/fuse/fuse_map.h \
	jit/fuse/fuse_matmul.c \
	jit/fuse/fuse_order.c \
	jit/fuse/fuse_pack.c \
	jit/fuse/fuse_place.c \
	jit/fuse/fuse_reduction_epilogue.c \
	jit/fuse/fuse_region.c \
	jit/fuse/fuse_sites.c \
	jit/fuse/fuse_starts.c \
	jit/fuse/fuse_starts.h \
	jit/fuse/fuse_state.h \
	jit/fuse/fuse_steps.c \
	jit/fuse/fuse_steps.h \
	jit/fuse/fuse_straightline.c \
	jit/fuse/fuse_straightline.h \
	jit/fuse/fuse_straightline_loop.c \
	jit/fuse/fuse_task.h \
	jit/fuse/fuse_tasks.c \
	jit/fuse/fuse_value.h \
	jit/fuse/fuse_values.c \
	jit/fuse/loop_builder.c \
	jit/fuse/loop_builder.h \
	jit/fuse/variant.c \
	jit/fuse/variant.h

# -- jit/blocks: kernels by blocks of rows ------------------------------------

libtgjit_core_la_SOURCES += \
	jit/blocks/block_pass.c \
	jit/blocks/block_steps.c \
	jit/blocks/block_sums.c \
	jit/blocks/block_sums.h \
	jit/blocks/blocks.h \
	jit/blocks/choose_blocks.c \
	jit/blocks/find_blocks.c \
	jit/blocks/row_map.c \
	jit/blocks/row_map.h \
	jit/blocks/verify_blocks.c \
	jit/blocks/verify_blocks.h

# -- jit/memory: buffers: elision, reuse, arena ------------------------------

libtgjit_core_la_SOURCES += \
	jit/memory/coalesce.c \
	jit/memory/coalesce.h \
	jit/memory/coalesce_apply.c \
	jit/memory/copy.c \
	jit/memory/copy_elision.c \
	jit/memory/in_place.c \
	jit/memory/live_ranges.c \
	jit/memory/live_ranges.h \
	jit/memory/memory_plan.c \
	jit/memory/memory_plan.h \
	jit/memory/plan_epochs.c

# -- jit/object: from ELF objects to executable pages ------------------------

libtgjit_core_la_SOURCES += \
	jit/object/debug_lines.c \
	jit/object/debug_lines.h \
	jit/object/elf_reader.c \
	jit/object/elf_reader.h \
	jit/object/executable_pages.c \
	jit/object/executable_pages.h \
	jit/object/image.c \
	jit/object/image.h \
	jit/object/image_debug.c \
	jit/object/image_debug.h \
	jit/object/image_write.c \
	jit/object/jitdump.c \
	jit/object/jitdump.h \
	jit/object/relocation.c \
	jit/object/relocation.h

# -- jit/cache: compiled code in the process and on disk ---------------------

libtgjit_core_la_SOURCES += \
	jit/cache/code.c \
	jit/cache/code.h \
	jit/cache/code_cache.c \
	jit/cache/code_cache.h \
	jit/cache/code_key.c \
	jit/cache/code_serialise.c \
	jit/cache/disk_cache.c \
	jit/cache/disk_cache.h \
	jit/cache/disk_cache_admin.c \
	jit/cache/disk_cache_dir.c \
	jit/cache/disk_cache_dir.h \
	jit/cache/disk_cache_entry.c \
	jit/cache/disk_cache_entry.h \
	jit/cache/disk_cache_evict.c \
	jit/cache/disk_cache_evict.h \
	jit/cache/kernel_key.c \
	jit/cache/kernel_key.h \
	jit/cache/share_kernels.c

# -- jit/run: running compiled code ------------------------------------------

libtgjit_core_la_SOURCES += \
	jit/run/calibrate.c \
	jit/run/kernel_timer.c \
	jit/run/native.c \
	jit/run/native_cancel.c \
	jit/run/native_cancel.h \
	jit/run/native_object.h \
	jit/run/native_profile.c \
	jit/run/native_profile.h \
	jit/run/pacer.c \
	jit/run/pacer.h \
	jit/run/roof.c \
	jit/run/roof.h \
	jit/run/store_threshold.c \
	jit/run/store_threshold.h \
	jit/run/work_share.c \
	jit/run/work_share.h

# -- jit/export: objects for other programs ----------------------------------

libtgjit_core_la_SOURCES += \
	jit/export/export_object.c

# Code that was kept by a build with other sources is not found again: this is
# part of its key. The file is written only if it changes.
CLEANFILES += build_id.h
BUILT_SOURCES += build_id.h
build_id.h: $(libtgjit_core_la_SOURCES) $(libtgjit_codegen_la_SOURCES) Makefile
	$(AM_V_GEN)sum=`cd $(srcdir) && \
	    LC_ALL=C find src jit -name '*.[ch]' -o -name '*.def' | \
	    sort | xargs cat | cksum | sed 's/ .*//'` && \
	{ echo '/* Generated by make: see jit/local.mk. */' && \
	  echo "#define TGI_BUILD_ID \"tgjit $(PACKAGE_VERSION)-$$sum\"" && \
	  echo '#define TGI_LLVM_VERSION "$(LLVM_VERSION)"'; } >$@.tmp && \
	if cmp -s $@.tmp $@; then rm -f $@.tmp; else mv $@.tmp $@; fi
jit/cache/code_key.lo: build_id.h

# OpenMP is for jit/run/openmp.c alone, which is in a library of its own. The
# flag is passed on to whoever links it.
noinst_LTLIBRARIES += libtgjit-rt.la
libtgjit_rt_la_SOURCES = \
	jit/codegen/entry_abi.h \
	jit/run/openmp.c \
	jit/run/openmp.h \
	jit/run/team.c \
	jit/run/team.h \
	jit/run/wait_word.c \
	jit/run/wait_word.h \
	jit/run/team_places.c \
	jit/run/team_places.h \
	jit/run/team_workers.c \
	jit/run/team_workers.h
libtgjit_rt_la_CFLAGS = $(AM_CFLAGS) $(OPENMP_CFLAGS)
libtgjit_core_la_LIBADD += libtgjit-rt.la $(OPENMP_CFLAGS)

# For programs with exported functions. Position independent, so that a shared
# library can have them too.
lib_LIBRARIES += libtgjit-aot.a
libtgjit_aot_a_SOURCES = \
	jit/codegen/entry_abi.h \
	jit/export/aot.c \
	jit/run/openmp.c \
	jit/run/openmp.h \
	jit/run/team.c \
	jit/run/team.h \
	jit/run/wait_word.c \
	jit/run/wait_word.h \
	jit/run/team_places.c \
	jit/run/team_places.h \
	jit/run/team_workers.c \
	jit/run/team_workers.h \
	jit/run/work_share.c \
	jit/run/work_share.h \
	src/base/fpenv.c \
	src/base/fpenv.h \
	src/base/initial_exec_tls.h \
	src/base/thread.h
libtgjit_aot_a_AR = $(AR) cr
libtgjit_aot_a_CFLAGS = $(AM_CFLAGS) -fPIC $(OPENMP_CFLAGS)

# -- The module with LLVM ----------------------------------------------------

if HAVE_LLVM
pkglib_LTLIBRARIES += libtgjit-llvm.la
noinst_LTLIBRARIES += libtgjit-codegen.la
endif

# All of it but the table: tests link this.
libtgjit_codegen_la_SOURCES = \
	jit/codegen/codegen.h \
	jit/llvm/llvm_codegen.c \
	jit/llvm/llvm_codegen.h \
	jit/llvm/llvm_compile.c \
	jit/llvm/llvm_compile.h \
	jit/llvm/llvm_control.c \
	jit/llvm/llvm_describe.c \
	jit/llvm/llvm_describe.h \
	jit/llvm/llvm_entry.c \
	jit/llvm/llvm_entry.h \
	jit/llvm/llvm_export.c \
	jit/llvm/llvm_export.h \
	jit/llvm/llvm_instrument.c \
	jit/llvm/llvm_instrument.h \
	jit/llvm/llvm_kernel_step.c \
	jit/llvm/llvm_kernel_step.h \
	jit/llvm/llvm_row_blocks.c \
	jit/llvm/llvm_share.c \
	jit/llvm/emit/llvm_aarch64.c \
	jit/llvm/emit/llvm_access.c \
	jit/llvm/emit/llvm_access.h \
	jit/llvm/emit/llvm_byte_products.c \
	jit/llvm/emit/llvm_byte_products.h \
	jit/llvm/emit/llvm_cache_hints.c \
	jit/llvm/emit/llvm_cache_hints.h \
	jit/llvm/emit/llvm_cast_index.c \
	jit/llvm/emit/llvm_cast_index.h \
	jit/llvm/emit/llvm_check.c \
	jit/llvm/emit/llvm_check.h \
	jit/llvm/emit/llvm_constant_pool.c \
	jit/llvm/emit/llvm_constant_pool.h \
	jit/llvm/emit/llvm_convert.c \
	jit/llvm/emit/llvm_convert.h \
	jit/llvm/emit/llvm_debug.c \
	jit/llvm/emit/llvm_debug.h \
	jit/llvm/emit/llvm_emit.c \
	jit/llvm/emit/llvm_emit.h \
	jit/llvm/emit/llvm_flow.c \
	jit/llvm/emit/llvm_flow.h \
	jit/llvm/emit/llvm_frame.c \
	jit/llvm/emit/llvm_half.c \
	jit/llvm/emit/llvm_half.h \
	jit/llvm/emit/llvm_frame.h \
	jit/llvm/emit/llvm_inst.c \
	jit/llvm/emit/llvm_inst.h \
	jit/llvm/emit/llvm_isa.c \
	jit/llvm/emit/llvm_isa.h \
	jit/llvm/emit/llvm_kernel_state.h \
	jit/llvm/emit/llvm_lookup.c \
	jit/llvm/emit/llvm_lookup.h \
	jit/llvm/emit/llvm_offsets.c \
	jit/llvm/emit/llvm_offsets.h \
	jit/llvm/emit/llvm_poll.c \
	jit/llvm/emit/llvm_poll.h \
	jit/llvm/emit/llvm_program.c \
	jit/llvm/emit/llvm_program.h \
	jit/llvm/emit/llvm_quirks.c \
	jit/llvm/emit/llvm_quirks.h \
	jit/llvm/emit/llvm_random.c \
	jit/llvm/emit/llvm_random.h \
	jit/llvm/emit/llvm_register_transpose.c \
	jit/llvm/emit/llvm_register_transpose.h \
	jit/llvm/emit/llvm_cancel.c \
	jit/llvm/emit/llvm_cancel.h \
	jit/llvm/emit/llvm_stack.c \
	jit/llvm/emit/llvm_stack.h \
	jit/llvm/emit/llvm_store_forwarding.c \
	jit/llvm/emit/llvm_store_forwarding.h \
	jit/llvm/emit/llvm_target.c \
	jit/llvm/emit/llvm_target.h \
	jit/llvm/emit/llvm_x86.c \
	jit/llvm/kernel/llvm_columns.c \
	jit/llvm/kernel/llvm_columns.h \
	jit/llvm/kernel/llvm_kernel.c \
	jit/llvm/kernel/llvm_kernel.h \
	jit/llvm/loops/llvm_columns_step.c \
	jit/llvm/loops/llvm_columns_step.h \
	jit/llvm/loops/llvm_fission.c \
	jit/llvm/loops/llvm_fission.h \
	jit/llvm/loops/llvm_fission_function.c \
	jit/llvm/loops/llvm_fission_loop.c \
	jit/llvm/loops/llvm_interchange.c \
	jit/llvm/loops/llvm_interchange.h \
	jit/llvm/loops/llvm_non_temporal.c \
	jit/llvm/loops/llvm_non_temporal.h \
	jit/llvm/loops/llvm_string_store.c \
	jit/llvm/loops/llvm_string_store.h \
	jit/llvm/loops/llvm_phases.c \
	jit/llvm/loops/llvm_phases.h \
	jit/llvm/loops/llvm_reduction.c \
	jit/llvm/loops/llvm_reduction.h \
	jit/llvm/loops/llvm_scan.c \
	jit/llvm/loops/llvm_scan.h \
	jit/llvm/loops/llvm_transpose.c \
	jit/llvm/loops/llvm_transpose.h \
	jit/llvm/loops/llvm_vector_loop.c \
	jit/llvm/loops/llvm_vector_loop.h \
	jit/llvm/matmul/llvm_matmul.c \
	jit/llvm/matmul/llvm_matmul.h \
	jit/llvm/matmul/llvm_matmul_epilogue.c \
	jit/llvm/matmul/llvm_micro_kernel.c \
	jit/llvm/matmul/llvm_micro_kernel_function.c \
	jit/llvm/matmul/llvm_pack.c \
	jit/llvm/matmul/llvm_pack.h \
	jit/llvm/reduce/llvm_accumulators.c \
	jit/llvm/reduce/llvm_accumulators.h \
	jit/llvm/reduce/llvm_pairwise.c \
	jit/llvm/reduce/llvm_pairwise.h \
	jit/llvm/reduce/llvm_reduce.c \
	jit/llvm/reduce/llvm_reduce.h \
	jit/llvm/straightline/llvm_straightline.c \
	jit/llvm/straightline/llvm_straightline.h \
	jit/llvm/straightline/llvm_straightline_loop.c
libtgjit_codegen_la_CPPFLAGS = $(AM_CPPFLAGS) $(LLVM_CPPFLAGS)
libtgjit_codegen_la_LIBADD = libtgjit-emit.la

libtgjit_llvm_la_SOURCES = \
	jit/codegen/plugin.h \
	jit/llvm/llvm_plugin.c
libtgjit_llvm_la_CPPFLAGS = $(AM_CPPFLAGS) $(LLVM_CPPFLAGS)
libtgjit_llvm_la_LDFLAGS = $(TGJIT_SANITIZE) \
	-module -avoid-version -shared -no-undefined \
	-export-symbols-regex "^tgi_plugin_entry$$" $(LLVM_LDFLAGS)
libtgjit_llvm_la_LIBADD = libtgjit-codegen.la $(LLVM_LIBS)
