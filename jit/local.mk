# SPDX-License-Identifier: MIT
#
# jit/ - from graphs to machine code. Only llvm_*.c may know LLVM.

libtgjit_core_la_SOURCES += \
	jit/jit.h \
	jit/module.c \
	jit/module.h

# OpenMP is for jit/rt.c alone, which therefore is a library of its own:
#   noinst_LTLIBRARIES += libtgjit-rt.la
#   libtgjit_rt_la_SOURCES = jit/rt.c jit/rt.h
#   libtgjit_rt_la_CFLAGS = $(AM_CFLAGS) $(OPENMP_CFLAGS)
#   libtgjit_core_la_LIBADD += libtgjit-rt.la $(OPENMP_CFLAGS)

# -- The module with LLVM ----------------------------------------------------

if HAVE_LLVM
pkglib_LTLIBRARIES += libtgjit-llvm.la
endif

libtgjit_llvm_la_SOURCES = \
	jit/llvm_describe.c \
	jit/llvm_describe.h \
	jit/llvm_module.c \
	jit/module.h
libtgjit_llvm_la_CPPFLAGS = $(AM_CPPFLAGS) $(LLVM_CPPFLAGS)
libtgjit_llvm_la_LDFLAGS = $(TGJIT_SANITIZE) \
	-module -avoid-version -shared -no-undefined $(LLVM_LDFLAGS)
libtgjit_llvm_la_LIBADD = $(LLVM_LIBS)
