/* SPDX-License-Identifier: MIT */
/*
 * target_names.h - the targets that options may name, known without LLVM.
 */
#ifndef TGI_TARGET_NAMES_H
#define TGI_TARGET_NAMES_H

#include "base/keyword.h"

/* The bits of a CPU are its index here, those of a width its vector bits. The
   first row stands for the host's own. */
extern const tgi_keyword tgi_jit_cpus[];
extern const tgi_keyword tgi_jit_widths[];

#endif /* TGI_TARGET_NAMES_H */
