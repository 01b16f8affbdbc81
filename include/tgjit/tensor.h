/* SPDX-License-Identifier: MIT */
/*
 * tensor.h - tensors: contiguous row-major arrays with a dtype and a shape,
 * used as arguments and results of calls.
 */
#ifndef TGJIT_TENSOR_H
#define TGJIT_TENSOR_H

#include "base.h"
#include "initial.h"
#include "result.h"
#include "value.h"

TG_BEGIN_DECLS

/*
 * Creates a tensor over the caller's memory, without copying. `data` needs only
 * the alignment of an element and must outlive the tensor. The library accesses
 * it only during calls: it reads arguments and writes results.
 */
TG_API TG_MUST_CHECK tg_tensor *tg_tensor_wrap(tg_context *ctx, void *data,
                                               tg_dtype dtype, int rank,
                                               const int64_t *dims);

/*
 * Creates a tensor that owns its memory, 64-byte aligned and filled by an
 * initialiser: tg_tensor_create(ctx, TG_F32, TG_DIMS(2, 3), tg_zeros()). Random
 * initialisers without tg_seeded take the seed of the context.
 */
TG_API TG_MUST_CHECK tg_tensor *tg_tensor_create(tg_context *ctx,
                                                 tg_dtype dtype, int rank,
                                                 const int64_t *dims,
                                                 tg_initial initial);

/* As tg_tensor_create, initialised with a copy of `data`. */
TG_API TG_MUST_CHECK tg_tensor *tg_tensor_copy(tg_context *ctx,
                                               const void *data,
                                               tg_dtype dtype, int rank,
                                               const int64_t *dims);

TG_API tg_tensor *tg_tensor_retain(tg_tensor *tensor);
TG_API void tg_tensor_release(tg_tensor *tensor);
TG_DEFINE_AUTO(tg_tensor)

TG_API void *tg_tensor_data(const tg_tensor *tensor);
TG_API tg_dtype tg_tensor_dtype(const tg_tensor *tensor);
TG_API int tg_tensor_rank(const tg_tensor *tensor);
TG_API const int64_t *tg_tensor_dims(const tg_tensor *tensor);
TG_API int64_t tg_tensor_count(const tg_tensor *tensor);
TG_API size_t tg_tensor_bytes(const tg_tensor *tensor);

/* -- Elements -------------------------------------------------------------- */

/* Name, C type and dtype of every element type. */
#define TG_TENSOR_TYPES(T) \
    T(bool, bool, TG_BOOL) \
    T(i8, int8_t, TG_I8) \
    T(i16, int16_t, TG_I16) \
    T(i32, int32_t, TG_I32) \
    T(i64, int64_t, TG_I64) \
    T(u8, uint8_t, TG_U8) \
    T(u16, uint16_t, TG_U16) \
    T(u32, uint32_t, TG_U32) \
    T(u64, uint64_t, TG_U64) \
    T(f16, tg_f16, TG_F16) \
    T(bf16, tg_bf16, TG_BF16) \
    T(f32, float, TG_F32) \
    T(f64, double, TG_F64)

/* tg_tensor_f32(tensor) and so on: the elements, row-major. NULL with
   TG_ERROR_DTYPE if the tensor has another dtype. */
#define TG_DECLARE_DATA(name, type, dtype) \
    TG_API type *tg_tensor_##name(const tg_tensor *tensor);
TG_TENSOR_TYPES(TG_DECLARE_DATA)
#undef TG_DECLARE_DATA

/*
 * Copies the element at an index, one number per axis, to a C number:
 * tg_tensor_get(tensor, &x, row, column). Fails if the dtype is another, or if
 * there is no such element.
 */
TG_API tg_status tg_tensor_get_at(const tg_tensor *tensor, tg_result out,
                                  int n, const int64_t *index, tg_site site);

/*
 * The elements as text, in the format of %v of tg_print. Valid until the next
 * tg_tensor_text or tg_tensor_format of this tensor, or its release. "" on
 * failure.
 */
TG_API const char *tg_tensor_text(const tg_tensor *tensor);

/*
 * As tg_tensor_text, in a format of tg_print. Every %v and %t stands for this
 * tensor: tg_tensor_format(x, "x is %t: %v"). Anything else, also after a
 * percent sign, is copied.
 */
TG_API const char *tg_tensor_format(const tg_tensor *tensor,
                                    const char *format);

TG_END_DECLS

#ifndef __cplusplus

/* From here on compilers omit the expansions of macros from their messages. */
#pragma GCC system_header

#define tg_tensor_get(tensor, address, ...) \
    tg_tensor_get_at(tensor, TG_OUT(address), TG_DIMS(__VA_ARGS__), TG_HERE)

#else /* __cplusplus */

inline tg_tensor *tg_tensor_wrap(tg_context *ctx, void *data, tg_dtype dtype,
                                 tg_dims dims)
{
    return tg_tensor_wrap(ctx, data, dtype, (int)dims.size(), dims.begin());
}
inline tg_tensor *tg_tensor_create(tg_context *ctx, tg_dtype dtype,
                                   tg_dims dims, tg_initial initial)
{
    return tg_tensor_create(ctx, dtype, (int)dims.size(), dims.begin(),
                            initial);
}
inline tg_tensor *tg_tensor_copy(tg_context *ctx, const void *data,
                                 tg_dtype dtype, tg_dims dims)
{
    return tg_tensor_copy(ctx, data, dtype, (int)dims.size(), dims.begin());
}
template <typename... index>
inline tg_status tg_tensor_get(const tg_tensor *tensor, tg_out out, index... i)
{
    const int64_t indices[sizeof...(i) + 1] = {(int64_t)i..., 0};
    return tg_tensor_get_at(tensor, out, (int)sizeof...(i), indices, TG_HERE);
}

#endif /* __cplusplus */

#endif /* TGJIT_TENSOR_H */
