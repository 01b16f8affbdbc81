/* SPDX-License-Identifier: MIT */
/*
 * ops_random.h - random numbers as part of another operation.
 */
#ifndef TGI_OPS_RANDOM_H
#define TGI_OPS_RANDOM_H

#include "front/trace/trace_state.h"

/* Uniform or normal numbers of a generator, which is advanced, or of a key; 0
   on error. */
tgi_ref tgi_random_numbers(tgi_operation *o, bool is_normal, tg_operand source,
                           tg_dtype dtype, int rank, const int64_t *dims);

#endif /* TGI_OPS_RANDOM_H */
