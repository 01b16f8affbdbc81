/* SPDX-License-Identifier: MIT */
/*
 * onnx_known.h - values whose contents are known while tracing.
 */
#ifndef TGI_ONNX_KNOWN_H
#define TGI_ONNX_KNOWN_H

#include "onnx_run.h"

/*
 * Computes the outputs of a node while tracing, if they are needed there and its
 * inputs are known. Returns whether the node is done; its outputs are known
 * then, or the trace has failed.
 */
bool tgi_onnx_compute_known(const tgi_onnx_call *c);

/* The same by arithmetic on extents. */
bool tgi_onnx_compute_extents(const tgi_onnx_call *c);

/* -- For builders ---------------------------------------------------------- */

/* The contents of input i; NULL if they are not known. */
const tgi_onnx_array *tgi_onnx_try_known(const tgi_onnx_call *c, size_t i);

/* The same; fails the trace if they are not known. */
const tgi_onnx_array *tgi_onnx_known(const tgi_onnx_call *c, size_t i);

/* The contents of input i, as integers that may be symbols; false, with the
   trace failed, if they are not known. */
bool tgi_onnx_known_extents(const tgi_onnx_call *c, size_t i,
                            tgi_onnx_extents *out);

/* The same without failing the trace. */
bool tgi_onnx_try_extents(const tgi_onnx_call *c, size_t i,
                          tgi_onnx_extents *out);

/* The integers of input i in the arena; NULL, with the trace failed, if they are
   not known. */
const int64_t *tgi_onnx_known_ints(const tgi_onnx_call *c, size_t i,
                                   size_t *out_n);

/* The integer or float that is the only element of input i. */
int64_t tgi_onnx_known_int(const tgi_onnx_call *c, size_t i);
double tgi_onnx_known_float(const tgi_onnx_call *c, size_t i);

/*
 * Integers that older opsets have as an attribute, and later ones as input i.
 * NULL and 0 if there are none.
 */
const int64_t *tgi_onnx_ints_of(const tgi_onnx_call *c, const char *attribute,
                                size_t i, size_t *out_n);

/* Makes extents the contents of output i. */
void tgi_onnx_out_extents(const tgi_onnx_call *c, size_t i,
                          const tgi_onnx_extents *extents);
void tgi_onnx_out_array(const tgi_onnx_call *c, size_t i,
                        const tgi_onnx_array *array);

/* -- Extents --------------------------------------------------------------- */

tgi_onnx_extent tgi_onnx_extent_of(int64_t dim);

/* An i64 scalar. */
tg_value tgi_onnx_extent_value(tgi_onnx_extent e, tg_site site);

/* Product, sum, difference and rounded-down quotient of extents; false if the
   result is not known, or not an extent. */
bool tgi_onnx_extent_mul(tgi_onnx_extent a, tgi_onnx_extent b, tg_site site,
                         tgi_onnx_extent *out);
bool tgi_onnx_extent_add(tgi_onnx_extent a, tgi_onnx_extent b, tg_site site,
                         tgi_onnx_extent *out);
bool tgi_onnx_extent_sub(tgi_onnx_extent a, tgi_onnx_extent b, tg_site site,
                         tgi_onnx_extent *out);
bool tgi_onnx_extent_div(tgi_onnx_extent a, tgi_onnx_extent b, tg_site site,
                         tgi_onnx_extent *out);

#endif /* TGI_ONNX_KNOWN_H */
