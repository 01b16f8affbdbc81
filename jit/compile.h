/* SPDX-License-Identifier: MIT */
/*
 * compile.h - from loops to code.
 */
#ifndef TGI_COMPILE_H
#define TGI_COMPILE_H

#include "cache/code.h"
#include "jit.h"

/*
 * The code of verified loops, retained: what the process has already, else
 * what the store keeps, else what the code generator makes; only then is its
 * module opened. If it `only_looks`, nothing is made, nor is waited for who
 * does; NULL then.
 */
tg_status tgi_compile(const tgi_loops *loops, const tgi_jit_options *options,
                      bool only_looks, tgi_code **out_code);

/* Shows a stage to who wants it. */
bool tgi_jit_wants_stage(const tgi_jit_options *options, const char *stage);
void tgi_jit_report_stage(const tgi_jit_options *options, const char *stage,
                          const char *text);

#endif /* TGI_COMPILE_H */
