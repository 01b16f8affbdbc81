/* SPDX-License-Identifier: MIT */
/*
 * extend.h - for libraries of operations, such as <tgjit/lapack.h>: host
 * functions that behave like operations of this library.
 *
 * An operation converts its operands (tg_op_operand), checks their types
 * (tg_op_fail), and calls the host (tg_host_op) or composes other operations.
 * It passes the site that it got. Without a file, a site is that of the
 * operation before it; in the callback of a gradient, that of the operation
 * whose gradient it is.
 */
#ifndef TGJIT_EXTEND_H
#define TGJIT_EXTEND_H

#include "gradient.h"

TG_BEGIN_DECLS

/* The operand as a value; `op` is the name of the operation, static text.
   Invalid on failure, and without a trace. */
TG_API tg_value tg_op_operand(const char *op, tg_operand operand,
                              tg_site site);

/* Fails the current trace. The format begins with the name of the operation.
   Returns the invalid value. */
TG_API tg_value tg_op_fail(tg_status status, tg_site site, const char *format,
                           ...) TG_PRINTF(3, 4);

typedef struct tg_host_op {
    size_t struct_bytes; /* sizeof(tg_host_op) */
    const char *name;    /* in messages, in place of "host_call"; static text */
    tg_host_function *function;
    tg_callback *backward; /* its gradient; NULL: none flows through it */
    void *user;            /* passed to both */
    /* The function has no effects, and treats the leading axes of all inputs
       and outputs alike: tg_vmap adds one more to each. `backward` does too. */
    bool maps_leading_axes;
} tg_host_op;

/* tg_host_call_with_gradient in the current trace. `op` is copied. */
TG_API void tg_host_op_at(const tg_host_op *op, const tg_operand *inputs,
                          size_t n_inputs, const tg_host_spec *specs,
                          tg_value *out_results, size_t n_results,
                          tg_site site);

TG_END_DECLS

#endif /* TGJIT_EXTEND_H */
