/* SPDX-License-Identifier: MIT */
/*
 * ops_control.h - what the operations of control flow share: between
 * ops_control.c, for branches and loops, and ops_scan.c, for sequences.
 */
#ifndef TGI_OPS_CONTROL_H
#define TGI_OPS_CONTROL_H

#include "front/trace/trace_region.h"

/* Makes results invalid, for the case that something fails. */
void tgi_control_invalidate_results(tg_value *out_results, size_t n_results);

/* Records "op: message" at the place of the operation; false. */
bool tgi_control_fail(tgi_control *c, tg_status status, const char *format,
                      ...) TG_PRINTF(3, 4);

/* That nothing is NULL which must not be; false after a failure. */
bool tgi_control_check_pointers(tgi_control *c, tg_callback *const *callbacks,
                                size_t n, const tg_operand *operands,
                                size_t n_operands, const tg_value *results,
                                size_t n_results);

bool tgi_control_add_operands(tgi_control *c, const tg_operand *operands,
                              size_t n);

/*
 * The results of a body, in its graph, against the loop values: inputs 1 … n.
 * If n_more is not 0, at least so many follow, of any type. False after a
 * failure.
 */
bool tgi_control_check_body(tgi_control *c, tgi_graph *graph,
                            const tgi_refs *results, size_t n_values,
                            size_t n_more);

#endif /* TGI_OPS_CONTROL_H */
