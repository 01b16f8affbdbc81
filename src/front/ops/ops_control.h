/* SPDX-License-Identifier: MIT */
/*
 * ops_control.h - helpers shared by ops_control.c (branches and loops),
 * ops_scan.c (loops over sequences) and ops_print.c (asserts).
 */
#ifndef TGI_OPS_CONTROL_H
#define TGI_OPS_CONTROL_H

#include "front/trace/trace_region.h"

/* Sets results to the invalid value, in case the operation fails. */
void tgi_control_invalidate_results(tg_value *out_results, size_t n_results);

/* Records "op: message" at the site of the operation; returns false. */
bool tgi_control_fail(tgi_control *c, tg_status status, const char *format,
                      ...) TG_PRINTF(3, 4);

/* Checks callbacks and arrays for NULL; false after a failure. */
bool tgi_control_check_pointers(tgi_control *c, tg_callback *const *callbacks,
                                size_t n, const tg_operand *operands,
                                size_t n_operands, const tg_value *results,
                                size_t n_results);

bool tgi_control_add_operands(tgi_control *c, const tg_operand *operands,
                              size_t n);

/* Traces a branch, which receives the fixed inputs from 1 on; false after a
   failure. */
bool tgi_control_branch(tgi_control *c, const char *name,
                        tg_callback *callback, void *user);

/*
 * Checks the results of a body against the loop values, inputs 1 … n_values,
 * and converts numbers to their dtypes. If n_more is not 0, at least that many
 * results of any type must follow. False after a failure.
 */
bool tgi_control_check_body(tgi_control *c, tgi_graph *graph,
                            const tgi_refs *results, size_t n_values,
                            size_t n_more);

#endif /* TGI_OPS_CONTROL_H */
