/* SPDX-License-Identifier: MIT */
/*
 * onnx_array.h - tensors of a model in memory.
 */
#ifndef TGI_ONNX_ARRAY_H
#define TGI_ONNX_ARRAY_H

#include "onnx_memory.h"
#include "onnx_proto.h"
#include "tgjit/tensor.h"

/* Row-major elements; `data` is never NULL. */
typedef struct tgi_onnx_array {
    tg_dtype dtype;
    int rank;
    int64_t dims[TG_MAX_RANK];
    size_t count;
    const void *data;
} tgi_onnx_array;

/* The dtype of a code of TensorProto.DataType; TG_DTYPE_NONE if there is none.
   The name of the code, "?" if there is none. */
tg_dtype tgi_onnx_dtype(int32_t code);
const char *tgi_onnx_dtype_name(int32_t code);

/*
 * Checks the dims of a tensor against its data and converts it. The array
 * refers to the message where possible. `folder` is where external data is
 * looked for, or NULL if there may be none. `site` is for messages.
 */
TG_MUST_CHECK tg_status tgi_onnx_array_read(tgi_onnx_arena *arena,
                                            const Onnx__TensorProto *tensor,
                                            const char *folder, tg_site site,
                                            tgi_onnx_array *out_array);

/* A copy of the elements. */
TG_MUST_CHECK tg_status tgi_onnx_array_copy(tgi_onnx_arena *arena,
                                            tg_dtype dtype, int rank,
                                            const int64_t *dims,
                                            const void *data,
                                            tgi_onnx_array **out_array);

/* Element i of an array of integers or bools; of floats, rounded down. */
int64_t tgi_onnx_array_int(const tgi_onnx_array *array, size_t i);
double tgi_onnx_array_float(const tgi_onnx_array *array, size_t i);

#endif /* TGI_ONNX_ARRAY_H */
