/* SPDX-License-Identifier: MIT */
/*
 * npy.c - arrays of .npy files as tensors, and tensors as .npy files.
 */
#include "front/file/npy.h"

#include <errno.h>
#include <string.h>

#include "base/atomic_file.h"
#include "base/dtype.h"
#include "base/versioned.h"
#include "front/file/file_error.h"
#include "front/file/little_endian.h"
#include "front/file/strided_copy.h"
#include "tgjit/file.h"

/* -- Reading --------------------------------------------------------------- */

/* Strides in bytes of an array in Fortran order. */
static void fortran_strides(const tgi_spec *spec, int64_t *out_strides)
{
    int64_t stride = tgi_dtype_bytes(spec->dtype);
    for (int i = 0; i < spec->rank; i++) {
        out_strides[i] = stride;
        stride *= spec->dims[i] > 0 ? spec->dims[i] : 1;
    }
}

/* In memory of its own, row-major and in the byte order of the machine. */
static tg_status convert(tg_context *ctx, const unsigned char *data,
                         const tgi_spec *spec, const tgi_npy_header *header,
                         const char *where, tg_tensor **out_tensor)
{
    tg_tensor *tensor = tgi_tensor_alloc(ctx, tgi_api_function(), spec);
    int64_t strides[TG_MAX_RANK];
    if (!tensor)
        return tg_error_last()->status;
    if (header->is_fortran) {
        fortran_strides(spec, strides);
        tgi_strided_copy(spec, tensor->data, data, strides);
    } else if (spec->bytes > 0) {
        memcpy(tensor->data, data, (size_t)spec->bytes);
    }
    if (header->is_big_endian != TGI_IS_BIG_ENDIAN)
        tgi_swap_bytes(spec, tensor->data);
    const tg_status status =
        tgi_check_bools(spec, tensor->data, where, TG_ERROR_FILE);
    if (status)
        tg_tensor_release(tensor);
    else
        *out_tensor = tensor;
    return status;
}

tg_status tgi_npy_tensor(tg_context *ctx, tgi_file_bytes *bytes, size_t at,
                         size_t n, const char *where, tg_tensor **out_tensor)
{
    tgi_npy_header header;
    tgi_spec spec;
    *out_tensor = NULL;
    TGI_TRY(tgi_npy_header_read(bytes->data + at, n, where, &header));
    if (!header.dtype)
        return tgi_file_error(TG_ERROR_DTYPE, where,
                              "dtype '%s' is not supported; convert the array "
                              "with NumPy's astype",
                              header.descr);
    TGI_TRY(tgi_file_spec(&spec, where, header.dtype, header.rank,
                          header.dims));
    const size_t left = n - header.bytes;
    if ((uint64_t)spec.bytes != left) {
        char text[256];
        TGI_FILE_FAIL(where, "has %zu byte%s of elements, but %s needs %lld",
                      left, TGI_PLURAL(left),
                      tgi_spec_text(spec.dtype, spec.rank, spec.dims, text,
                                    sizeof(text)),
                      (long long)spec.bytes);
    }
    if (header.is_fortran || header.is_big_endian != TGI_IS_BIG_ENDIAN)
        return convert(ctx, bytes->data + at + header.bytes, &spec, &header,
                       where, out_tensor);
    return tgi_file_bytes_tensor(ctx, bytes, at + header.bytes, &spec, where,
                                 out_tensor);
}

static tg_status load(tg_context *ctx, const char *path,
                      const tg_load_options *user, tg_tensor **out_tensor)
{
    tg_load_options options;
    tgi_file_bytes *bytes;
    if (!ctx || !path)
        return tgi_bad_argument("the %s is NULL", ctx ? "path" : "context");
    TGI_TRY(tgi_versioned_read(&options, sizeof(options), user,
                               "tg_load_options"));
    TGI_TRY(tgi_file_bytes_open(ctx, path, options.no_map, &bytes));
    const tg_status status =
        tgi_npy_tensor(ctx, bytes, 0, bytes->n, path, out_tensor);
    tgi_file_bytes_release(bytes);
    return status;
}

/* `who` is the function that the user called. */
static tg_tensor *load_as(const char *who, tg_context *ctx, const char *path,
                          const tg_load_options *options)
{
    tgi_api_frame frame = tgi_api_enter(ctx, who);
    tg_tensor *tensor = NULL;
    if (load(ctx, path, options, &tensor))
        tensor = NULL;
    tgi_api_leave(frame);
    return tensor;
}

tg_tensor *tg_npy_load(tg_context *ctx, const char *path)
{
    return load_as(__func__, ctx, path, NULL);
}

tg_tensor *tg_npy_load_with(tg_context *ctx, const char *path,
                            const tg_load_options *options)
{
    return load_as(__func__, ctx, path, options);
}

/* -- Writing --------------------------------------------------------------- */

static tg_status save(const tg_tensor *tensor, const char *path)
{
    tgi_atomic_file file;
    tgi_strbuf header = {0};
    if (!tensor || !path)
        return tgi_bad_argument("the %s is NULL", tensor ? "path" : "tensor");
    tgi_npy_header_write(&tensor->spec, &header);
    int reason = header.failed ? ENOMEM : tgi_atomic_file_begin(&file, path);
    if (!reason) {
        reason = tgi_atomic_file_write(&file, header.text, header.n);
        if (!reason)
            reason = tgi_atomic_file_write(&file, tensor->data,
                                           (size_t)tensor->spec.bytes);
        reason = tgi_atomic_file_end(&file, reason);
    }
    tgi_strbuf_deinit(&header);
    return reason ? tgi_error_file("write", path, reason) : TG_OK;
}

tg_status tg_npy_save(const tg_tensor *tensor, const char *path)
{
    tgi_api_frame frame = tgi_api_enter(tensor ? tensor->ctx : NULL, __func__);
    const tg_status status = save(tensor, path);
    tgi_api_leave(frame);
    return status;
}
