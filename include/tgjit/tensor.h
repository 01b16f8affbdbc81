/* SPDX-License-Identifier: MIT */
/*
 * tensor.h - tensors: contiguous row-major arrays with a dtype and a shape,
 * used as arguments and results of calls.
 */
#ifndef TGJIT_TENSOR_H
#define TGJIT_TENSOR_H

#include "base.h"

TG_BEGIN_DECLS

/*
 * Creates a tensor over the caller's memory, without copying. `data` needs only
 * the alignment of an element and must outlive the tensor. The library accesses
 * it only during calls: it reads arguments and writes results.
 */
TG_API TG_MUST_CHECK tg_tensor *tg_tensor_wrap(tg_context *ctx, void *data,
                                               tg_dtype dtype, int rank,
                                               const int64_t *dims);

/* Creates a tensor that owns its memory, 64-byte aligned and zeroed. */
TG_API TG_MUST_CHECK tg_tensor *tg_tensor_create(tg_context *ctx,
                                                 tg_dtype dtype, int rank,
                                                 const int64_t *dims);

/* As tg_tensor_create, initialised with a copy of `data`. */
TG_API TG_MUST_CHECK tg_tensor *tg_tensor_copy(tg_context *ctx,
                                               const void *data,
                                               tg_dtype dtype, int rank,
                                               const int64_t *dims);

TG_API tg_tensor *tg_tensor_retain(tg_tensor *tensor);
TG_API void tg_tensor_release(tg_tensor *tensor);

TG_API void *tg_tensor_data(const tg_tensor *tensor);
TG_API tg_dtype tg_tensor_dtype(const tg_tensor *tensor);
TG_API int tg_tensor_rank(const tg_tensor *tensor);
TG_API const int64_t *tg_tensor_dims(const tg_tensor *tensor);
TG_API int64_t tg_tensor_count(const tg_tensor *tensor);
TG_API size_t tg_tensor_bytes(const tg_tensor *tensor);

TG_END_DECLS

#endif /* TGJIT_TENSOR_H */
