/* SPDX-License-Identifier: MIT */
/*
 * compile.h - from loops to code.
 */
#ifndef TGI_COMPILE_H
#define TGI_COMPILE_H

#include "code.h"
#include "jit.h"

/*
 * The code of verified loops, retained: what the process has already, else
 * what the store keeps, else what the code generator makes; only then is its
 * module opened. NULL if that is not wanted (only_kept).
 */
tg_status tgi_compile(const tgi_loops *loops, const tgi_jit_options *options,
                      tgi_code **out_code);

/* Shows a stage to who wants it. */
bool tgi_jit_wants(const tgi_jit_options *options, const char *stage);
void tgi_jit_show(const tgi_jit_options *options, const char *stage,
                  const char *text);

#endif /* TGI_COMPILE_H */
