/* SPDX-License-Identifier: MIT */
/*
 * onnx_array.c - TensorProto to arrays. Elements are in raw_data, in the field
 * of their dtype, or in another file.
 */
#include "onnx_array.h"

#include <string.h>

#include "onnx_wire.h"

/* -- Element types --------------------------------------------------------- */

enum { N_CODES = 24 };

static const struct {
    const char *name;
    tg_dtype dtype;
} codes[N_CODES] = {
#define DTYPE(code, name, dtype, type, field) [code] = {#name, dtype},
#include "onnx_dtype.def"
#undef DTYPE
};

tg_dtype tgi_onnx_dtype(int32_t code)
{
    return code > 0 && code < N_CODES ? codes[code].dtype : TG_DTYPE_NONE;
}

const char *tgi_onnx_dtype_name(int32_t code)
{
    return code > 0 && code < N_CODES ? codes[code].name : "?";
}

/* -- Elements -------------------------------------------------------------- */

#define FAIL(status, ...) \
    return tg_error_set(NULL, status, site, __VA_ARGS__)

static tg_status read_dims(const Onnx__TensorProto *tensor, const char *name,
                           tg_site site, tgi_onnx_array *array)
{
    if (tensor->n_dims > TG_MAX_RANK)
        FAIL(TG_ERROR_UNSUPPORTED, "tensor '%s' has %zu axes; the maximum is %d",
             name, tensor->n_dims, TG_MAX_RANK);
    array->rank = (int)tensor->n_dims;
    array->count = 1;
    bool is_empty = false;
    for (int i = 0; i < array->rank; i++) {
        const int64_t dim = tensor->dims[i];
        array->dims[i] = dim;
        if (dim < 0)
            FAIL(TG_ERROR_FILE, "tensor '%s': dim %d is %lld", name, i,
                 (long long)dim);
        is_empty |= dim == 0;
        if (__builtin_mul_overflow(array->count, dim ? (size_t)dim : 1,
                                   &array->count) ||
            array->count > SIZE_MAX / 64)
            FAIL(TG_ERROR_OVERFLOW, "tensor '%s' is too large", name);
    }
    if (is_empty)
        array->count = 0;
    return TG_OK;
}

/* Copies the elements of one of the fields, which has `n` of them. */
static tg_status read_field(tgi_onnx_arena *arena,
                            const Onnx__TensorProto *tensor, const char *name,
                            tg_site site, tgi_onnx_array *array)
{
    size_t n = 0;
    switch (tensor->data_type) {
#define DTYPE(code, name_, dtype_, type, field) \
    case code: \
        n = tensor->n_##field; \
        break;
#include "onnx_dtype.def"
#undef DTYPE
    }
    if (n != array->count)
        FAIL(TG_ERROR_FILE,
             "tensor '%s' has %zu elements, but its dims are those of %zu",
             name, n, array->count);
    void *data = tgi_onnx_alloc(arena, array->count + 1,
                                tg_dtype_bytes(array->dtype));
    if (!data)
        return TG_ERROR_OUT_OF_MEMORY;
    array->data = data;
    switch (tensor->data_type) {
#define DTYPE(code, name_, dtype_, type, field) \
    case code: \
        for (size_t i = 0; i < n; i++) \
            ((type *)data)[i] = (type)tensor->field[i]; \
        break;
#include "onnx_dtype.def"
#undef DTYPE
    }
    return TG_OK;
}

/* The elements are the `bytes` bytes at `data`. Bools become 0 or 1. */
static tg_status take_bytes(tgi_onnx_arena *arena, const void *data,
                            size_t bytes, const char *name, tg_site site,
                            tgi_onnx_array *array)
{
    const size_t size = tg_dtype_bytes(array->dtype);
    if (bytes != array->count * size)
        FAIL(TG_ERROR_FILE,
             "tensor '%s' has %zu bytes of data, but its dims are those of %zu",
             name, bytes, array->count * size);
    const bool is_aligned = (uintptr_t)data % size == 0 && bytes;
    if (is_aligned && array->dtype != TG_BOOL) {
        array->data = data;
        return TG_OK;
    }
    unsigned char *copy = tgi_onnx_alloc(arena, bytes + 1, 1);
    if (!copy)
        return TG_ERROR_OUT_OF_MEMORY;
    if (bytes)
        memcpy(copy, data, bytes);
    for (size_t i = 0; array->dtype == TG_BOOL && i < bytes; i++)
        copy[i] = copy[i] != 0;
    array->data = copy;
    return TG_OK;
}

tg_status tgi_onnx_array_fetch(tgi_onnx_arena *arena, tgi_onnx_source *source,
                               size_t offset, tgi_onnx_array *array)
{
    const size_t bytes = array->count * tg_dtype_bytes(array->dtype);
    unsigned char *data = tgi_onnx_alloc_bytes(arena, bytes + 1);
    if (!data)
        return TG_ERROR_OUT_OF_MEMORY;
    array->data = data;
    return tgi_onnx_source_read(source, offset, bytes, data);
}

/* The elements are in the source, at the place that is in raw_data. */
static tg_status take_place(tgi_onnx_arena *arena,
                            const Onnx__TensorProto *tensor, const char *name,
                            tgi_onnx_source *source, tg_site site,
                            tgi_onnx_array *array, size_t *out_offset)
{
    tgi_onnx_place place;
    const size_t bytes = array->count * tg_dtype_bytes(array->dtype);
    if (tensor->raw_data.len != sizeof(place))
        FAIL(TG_ERROR_FILE, "tensor '%s': its data is damaged", name);
    memcpy(&place, tensor->raw_data.data, sizeof(place));
    if (bytes != place.bytes || bytes > source->bytes ||
        place.offset > source->bytes - bytes)
        FAIL(TG_ERROR_FILE,
             "tensor '%s' has %zu bytes of data, but its dims are those of %zu",
             name, (size_t)place.bytes, bytes);
    if (out_offset && tgi_onnx_is_float(array->dtype)) {
        *out_offset = (size_t)place.offset;
        return TG_OK;
    }
    const tg_status status =
        tgi_onnx_array_fetch(arena, source, (size_t)place.offset, array);
    return status ? status
                  : take_bytes(arena, array->data, bytes, name, site, array);
}

tg_status tgi_onnx_array_read(tgi_onnx_arena *arena,
                              const Onnx__TensorProto *tensor,
                              const tgi_onnx_origin *origin, tg_site site,
                              tgi_onnx_array *out_array, size_t *out_offset)
{
    const char *name = tensor->name ? tensor->name : "";
    const int32_t code = tensor->has_data_type ? tensor->data_type : 0;
    *out_array = (tgi_onnx_array){.dtype = tgi_onnx_dtype(code)};
    if (!out_array->dtype)
        FAIL(TG_ERROR_DTYPE, "tensor '%s' has the unsupported dtype %s (%d)",
             name, tgi_onnx_dtype_name(code), (int)code);
    if (tensor->segment)
        FAIL(TG_ERROR_UNSUPPORTED, "tensor '%s' is stored in segments", name);
    tg_status status = read_dims(tensor, name, site, out_array);
    if (status)
        return status;
    if (tensor->has_data_location &&
        tensor->data_location ==
            ONNX__TENSOR_PROTO__DATA_LOCATION__EXTERNAL) {
        const void *data;
        size_t bytes = out_array->count * tg_dtype_bytes(out_array->dtype);
        status = tgi_onnx_file_external(arena, tensor,
                                        origin ? origin->folder : NULL, site,
                                        bytes, &data);
        return status ? status
                      : take_bytes(arena, data, bytes, name, site, out_array);
    }
    if (!tensor->has_raw_data)
        return read_field(arena, tensor, name, site, out_array);
    return origin && origin->source
               ? take_place(arena, tensor, name, origin->source, site,
                            out_array, out_offset)
               : take_bytes(arena, tensor->raw_data.data, tensor->raw_data.len,
                            name, site, out_array);
}

tg_status tgi_onnx_array_copy(tgi_onnx_arena *arena, tg_dtype dtype, int rank,
                              const int64_t *dims, const void *data,
                              tgi_onnx_array **out_array)
{
    tgi_onnx_array *array = tgi_onnx_alloc(arena, 1, sizeof(*array));
    if (!array)
        return TG_ERROR_OUT_OF_MEMORY;
    array->dtype = dtype;
    array->rank = rank;
    array->count = 1;
    for (int i = 0; i < rank; i++) {
        array->dims[i] = dims[i];
        array->count *= (size_t)dims[i];
    }
    const size_t bytes = array->count * tg_dtype_bytes(dtype);
    void *copy = tgi_onnx_alloc(arena, bytes + 1, 1);
    if (!copy)
        return TG_ERROR_OUT_OF_MEMORY;
    memcpy(copy, data, bytes);
    array->data = copy;
    *out_array = array;
    return TG_OK;
}

/* -- Numbers --------------------------------------------------------------- */

static int64_t int_of(int64_t x)
{
    return x;
}

static int64_t int_of_double(double x)
{
    return (int64_t)x;
}

static int64_t int_of_f16(tg_f16 x)
{
    return (int64_t)tg_f16_to_float(x);
}

static int64_t int_of_bf16(tg_bf16 x)
{
    return (int64_t)tg_bf16_to_float(x);
}

#define TO_INT(x) \
    _Generic((x), tg_f16: int_of_f16, tg_bf16: int_of_bf16, \
             float: int_of_double, double: int_of_double, default: int_of)(x)

#define NUMBER_CASE(name, type, dtype) \
    case dtype: \
        return TO(((const type *)array->data)[i]);

int64_t tgi_onnx_array_int(const tgi_onnx_array *array, size_t i)
{
    switch (array->dtype) {
#define TO TO_INT
        TG_TENSOR_TYPES(NUMBER_CASE)
#undef TO
    default:
        return 0;
    }
}

double tgi_onnx_array_float(const tgi_onnx_array *array, size_t i)
{
    switch (array->dtype) {
#define TO TG_TO_DOUBLE
        TG_TENSOR_TYPES(NUMBER_CASE)
#undef TO
    default:
        return 0;
    }
}
