/* SPDX-License-Identifier: MIT */
/*
 * onnx_array.h - tensors of a model in memory.
 */
#ifndef TGI_ONNX_ARRAY_H
#define TGI_ONNX_ARRAY_H

#include "onnx_file.h"
#include "tgjit/tensor.h"

/* Row-major elements. `data` is NULL only before tgi_onnx_array_fetch. */
typedef struct tgi_onnx_array {
    tg_dtype dtype;
    int rank;
    int64_t dims[TG_MAX_RANK];
    size_t count;
    const void *data;
} tgi_onnx_array;

static inline bool tgi_onnx_is_float(tg_dtype dtype)
{
    return dtype == TG_F32 || dtype == TG_F64 || dtype == TG_F16 ||
           dtype == TG_BF16;
}

/* The dtype of a code of TensorProto.DataType; TG_DTYPE_NONE if there is none.
   The name of the code, "?" if there is none. */
tg_dtype tgi_onnx_dtype(int32_t code);
const char *tgi_onnx_dtype_name(int32_t code);

/* Where the data of tensors is, beside the tensors. */
typedef struct tgi_onnx_origin {
    const char *folder;      /* of external data; NULL: there may be none */
    tgi_onnx_source *source; /* of raw_data; NULL: it is in the message */
} tgi_onnx_origin;

/*
 * Checks the dims of a tensor against its data and converts it. The array
 * refers to the message where possible. `site` is for messages. If out_offset
 * is not NULL, floats may stay in the source: then `data` is NULL, and the
 * elements begin at *out_offset.
 */
TG_MUST_CHECK tg_status tgi_onnx_array_read(tgi_onnx_arena *arena,
                                            const Onnx__TensorProto *tensor,
                                            const tgi_onnx_origin *origin,
                                            tg_site site,
                                            tgi_onnx_array *out_array,
                                            size_t *out_offset);

/* Reads the elements that are still in the source at `offset`. */
TG_MUST_CHECK tg_status tgi_onnx_array_fetch(tgi_onnx_arena *arena,
                                             tgi_onnx_source *source,
                                             size_t offset,
                                             tgi_onnx_array *array);

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
