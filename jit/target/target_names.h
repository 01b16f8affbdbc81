/* SPDX-License-Identifier: MIT */
/*
 * target_names.h - the CPU names and vector widths that options accept, without
 * LLVM.
 */
#ifndef TGI_TARGET_NAMES_H
#define TGI_TARGET_NAMES_H

#include "base/keyword.h"

/* `bits` of a CPU is its index, that of a width the number of vector bits. The
   first row stands for the host. */
extern const tgi_keyword tgi_jit_cpus[];
extern const tgi_keyword tgi_jit_widths[];

#endif /* TGI_TARGET_NAMES_H */
