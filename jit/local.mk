# SPDX-License-Identifier: MIT
#
# jit/ - from graphs to machine code. Only llvm_*.c may know LLVM.

libtgjit_core_la_SOURCES += \
	jit/cache_size.c \
	jit/cache_size.h \
	jit/codegen.h \
	jit/fuse.c \
	jit/fuse.h \
	jit/fuse_buffer.c \
	jit/fuse_build.c \
	jit/fuse_build.h \
	jit/fuse_expand.c \
	jit/fuse_in_place.c \
	jit/fuse_kernel.c \
	jit/fuse_map.c \
	jit/fuse_place.c \
	jit/fuse_state.h \
	jit/fuse_steps.c \
	jit/fuse_tasks.c \
	jit/fuse_tiny.c \
	jit/fuse_values.c \
	jit/image.c \
	jit/image.h \
	jit/image_debug.c \
	jit/image_debug.h \
	jit/image_object.c \
	jit/image_object.h \
	jit/image_reloc.c \
	jit/image_reloc.h \
	jit/image_write.c \
	jit/jit.h \
	jit/loops.c \
	jit/loops.h \
	jit/loops_print.c \
	jit/loops_verify.c \
	jit/module.c \
	jit/module.h \
	jit/native.c \
	jit/pages.c \
	jit/pages.h \
	jit/plan.c \
	jit/plan.h \
	jit/program.c \
	jit/program.h \
	jit/share.c \
	jit/share.h \
	jit/store.c \
	jit/store.h \
	jit/store_care.c \
	jit/store_dir.c \
	jit/store_dir.h \
	jit/store_entry.c \
	jit/store_entry.h \
	jit/store_scan.c \
	jit/store_scan.h \
	jit/variant.c \
	jit/variant.h

# OpenMP is for jit/rt.c alone, which therefore is a library of its own. The
# flag is passed on to whoever links it.
noinst_LTLIBRARIES += libtgjit-rt.la
libtgjit_rt_la_SOURCES = \
	jit/abi.h \
	jit/rt.c \
	jit/rt.h
libtgjit_rt_la_CFLAGS = $(AM_CFLAGS) $(OPENMP_CFLAGS)
libtgjit_core_la_LIBADD += libtgjit-rt.la $(OPENMP_CFLAGS)

# -- The module with LLVM ----------------------------------------------------

if HAVE_LLVM
pkglib_LTLIBRARIES += libtgjit-llvm.la
noinst_LTLIBRARIES += libtgjit-codegen.la
endif

# All of it but the table: tests link this.
libtgjit_codegen_la_SOURCES = \
	jit/codegen.h \
	jit/llvm_access.c \
	jit/llvm_cascade.c \
	jit/llvm_check.c \
	jit/llvm_codegen.c \
	jit/llvm_codegen.h \
	jit/llvm_columns.c \
	jit/llvm_columns_wide.c \
	jit/llvm_compile.c \
	jit/llvm_compile.h \
	jit/llvm_convert.c \
	jit/llvm_convert.h \
	jit/llvm_cost.c \
	jit/llvm_describe.c \
	jit/llvm_describe.h \
	jit/llvm_emit.c \
	jit/llvm_emit.h \
	jit/llvm_entry.c \
	jit/llvm_flow.c \
	jit/llvm_frame.c \
	jit/llvm_inst.c \
	jit/llvm_instrument.c \
	jit/llvm_instrument.h \
	jit/llvm_kernel.c \
	jit/llvm_lookup.c \
	jit/llvm_lookup.h \
	jit/llvm_lower.h \
	jit/llvm_random.c \
	jit/llvm_reduce.c \
	jit/llvm_rows.c \
	jit/llvm_rows_free.c \
	jit/llvm_rows_reduce.c \
	jit/llvm_shape.c \
	jit/llvm_stored.c \
	jit/llvm_stream.c \
	jit/llvm_strips.c \
	jit/llvm_strips.h \
	jit/llvm_strips_loop.c \
	jit/llvm_strips_plan.c \
	jit/llvm_strips_share.c \
	jit/llvm_target.c \
	jit/llvm_target.h \
	jit/llvm_tiny.c \
	jit/llvm_transpose.c \
	jit/llvm_turn.c
libtgjit_codegen_la_CPPFLAGS = $(AM_CPPFLAGS) $(LLVM_CPPFLAGS)
libtgjit_codegen_la_LIBADD = libtgjit-emit.la

libtgjit_llvm_la_SOURCES = \
	jit/llvm_module.c \
	jit/module.h
libtgjit_llvm_la_CPPFLAGS = $(AM_CPPFLAGS) $(LLVM_CPPFLAGS)
libtgjit_llvm_la_LDFLAGS = $(TGJIT_SANITIZE) \
	-module -avoid-version -shared -no-undefined \
	-export-symbols-regex "^tgi_module_entry$$" $(LLVM_LDFLAGS)
libtgjit_llvm_la_LIBADD = libtgjit-codegen.la $(LLVM_LIBS)
