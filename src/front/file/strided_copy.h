/* SPDX-License-Identifier: MIT */
/*
 * strided_copy.h - elements that lie elsewhere in another order, made
 * row-major.
 */
#ifndef TGI_STRIDED_COPY_H
#define TGI_STRIDED_COPY_H

#include "front/object/tensor_object.h"

/* Row-major strides of a shape, in elements. */
void tgi_dense_strides(int rank, const int64_t *dims, int64_t *out_strides);

/* Copies the elements of `spec` from `from`, where axis i has a stride of
   strides[i] bytes, to `to`, row-major. */
void tgi_strided_copy(const tgi_spec *spec, void *to, const void *from,
                      const int64_t *strides);

/* Reverses the bytes of every element. */
void tgi_swap_bytes(const tgi_spec *spec, void *data);

#endif /* TGI_STRIDED_COPY_H */
