/* SPDX-License-Identifier: MIT */
/*
 * compile_variant.h - compiles one variant of a trace with the options of its
 * context, and passes the stages of the compiler to its dumps.
 */
#ifndef TGI_COMPILE_VARIANT_H
#define TGI_COMPILE_VARIANT_H

#include "jit.h"
#include "tgjit/function.h"

/* How the traces of the concrete function's context are compiled. */
tgi_jit_options tgi_compile_options(const tg_concrete *concrete);

/*
 * The program for calls whose extents have these values. *out_program is NULL
 * if
 *   - the code is in no cache and its estimated compile exceeds `budget`:
 *     *out_work is the estimate;
 *   - the trace cannot be compiled, or exceeds TGI_MAX_COMPILE_WORK, in a
 *     context that does not require it: *out_work is 0, the reason is logged.
 * Calls log callbacks: the caller holds no lock.
 */
tg_status tgi_compile_variant(tg_concrete *concrete, const int64_t *values,
                              size_t budget, size_t *out_work,
                              tgi_program **out_program);

#endif /* TGI_COMPILE_VARIANT_H */
