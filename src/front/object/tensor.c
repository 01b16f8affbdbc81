/* SPDX-License-Identifier: MIT */
/*
 * tensor.c - tensors: the data that calls take and return.
 */
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/checked.h"
#include "base/dtype.h"
#include "base/error.h"
#include "base/live.h"
#include "front/object/context_object.h"
#include "front/object/initialiser.h"
#include "front/object/tensor_object.h"

/* -- Specs ----------------------------------------------------------------- */

tg_status tgi_spec_init(tgi_spec *out_spec, const char *who, tg_dtype dtype,
                        int rank, const int64_t *dims)
{
    tgi_spec spec = {.dtype = dtype, .rank = rank};
    if (!tgi_dtype_is_valid(dtype))
        TGI_FAIL(TG_ERROR_DTYPE, TGI_NO_SITE, "%s: %d is not an element type",
                 who, (int)dtype);
    if (rank < 0 || rank > TG_MAX_RANK)
        TGI_FAIL(TG_ERROR_OVERFLOW, TGI_NO_SITE,
                 "%s: rank %d is not in 0 … %d", who, rank, TG_MAX_RANK);
    if (rank > 0 && !dims)
        TGI_FAIL(TG_ERROR_INVALID_ARGUMENT, TGI_NO_SITE,
                 "%s: extents are NULL", who);
    for (int i = 0; i < rank; i++) {
        if (dims[i] < 0)
            TGI_FAIL(TG_ERROR_SHAPE, TGI_NO_SITE,
                     "%s: extent %lld of axis %d is negative", who,
                     (long long)dims[i], i);
        spec.dims[i] = dims[i];
    }
    if (!tgi_checked_count(rank, dims, &spec.count) ||
        !tgi_checked_bytes(rank, dims, tgi_dtype_bytes(dtype), &spec.bytes)) {
        char text[256];
        TGI_FAIL(TG_ERROR_OVERFLOW, TGI_NO_SITE,
                 "%s: %s has too many elements", who,
                 tgi_spec_text(dtype, rank, dims, text, sizeof(text)));
    }
    *out_spec = spec;
    return TG_OK;
}

bool tgi_spec_equals(const tgi_spec *a, const tgi_spec *b)
{
    return a->dtype == b->dtype && a->rank == b->rank &&
           memcmp(a->dims, b->dims, sizeof(a->dims)) == 0;
}

const char *tgi_spec_text(tg_dtype dtype, int rank, const int64_t *dims,
                          char *buf, size_t n)
{
    size_t used = (size_t)snprintf(buf, n, "%s[", tg_dtype_name(dtype));
    for (int i = 0; i < rank && used < n; i++) {
        const char *comma = i ? "," : "";
        used += (size_t)snprintf(buf + used, n - used, "%s%s%lld", comma,
                                 dims[i] < 0 ? "?" : "",
                                 (long long)(dims[i] < 0 ? ~dims[i] : dims[i]));
    }
    if (used < n)
        snprintf(buf + used, n - used, "]");
    return buf;
}

/* -- Tensors --------------------------------------------------------------- */

/* Fails unless `data` can be the memory of a tensor. */
static tg_status check_data(const void *data, const tgi_spec *spec,
                            const char *who)
{
    if (!data && spec->bytes > 0)
        TGI_FAIL(TG_ERROR_INVALID_ARGUMENT, TGI_NO_SITE, "%s: data is NULL",
                 who);
    if ((uintptr_t)data % (uintptr_t)tgi_dtype_bytes(spec->dtype) != 0)
        TGI_FAIL(TG_ERROR_INVALID_ARGUMENT, TGI_NO_SITE,
                 "%s: data is not aligned to its elements of %lld bytes", who,
                 (long long)tgi_dtype_bytes(spec->dtype));
    return TG_OK;
}

tg_tensor *tgi_tensor_of_owner(tg_context *ctx, const tgi_spec *spec,
                               void *data, tgi_owner owner)
{
    tg_tensor *tensor = tgi_alloc_zero(sizeof(*tensor));
    if (!tensor) {
        tgi_error_memory();
        return NULL;
    }
    tgi_refcount_init(&tensor->refs);
    tensor->ctx = tgi_context_ref(ctx);
    tensor->spec = *spec;
    tensor->data = data;
    tensor->owner = owner;
    tgi_live_add(TGI_LIVE_TENSOR, 1);
    return tensor;
}

tg_tensor *tgi_tensor_alloc(tg_context *ctx, const char *who,
                            const tgi_spec *spec)
{
    if (tgi_context_check_memory(ctx, (uint64_t)spec->bytes, who, "",
                                 TGI_NO_SITE))
        return NULL;
    void *data = tgi_buffer_alloc((size_t)spec->bytes);
    if (!data) {
        tgi_error_memory();
        return NULL;
    }
    tg_tensor *tensor = tgi_tensor_of_owner(ctx, spec, data, (tgi_owner){0});
    if (tensor)
        tensor->owns_data = true;
    else
        tgi_buffer_free(data, (size_t)spec->bytes);
    return tensor;
}

static void release_tensor(void *tensor)
{
    tg_tensor_release(tensor);
}

/* A tensor that owns memory filled by an initialiser. */
static tg_tensor *create_filled(tg_context *ctx, const char *who,
                                const tgi_spec *spec,
                                const tg_initial *initial)
{
    tg_tensor *tensor = tgi_tensor_alloc(ctx, who, spec);
    if (tensor &&
        tgi_initial_fill(ctx, who, spec, initial, "", tensor->data)) {
        tgi_error_preserve_during(release_tensor, tensor);
        tensor = NULL;
    }
    return tensor;
}

/* Creates a tensor over `data` or, if `initial` is given, one that owns memory
   filled by it. */
static tg_tensor *create_tensor(tg_context *ctx, const char *who, void *data,
                                const tg_initial *initial, tg_dtype dtype,
                                int rank, const int64_t *dims)
{
    tgi_api_frame frame = tgi_api_enter(ctx, who);
    tg_tensor *tensor = NULL;
    tgi_spec spec;
    if (!ctx)
        tgi_error_set(TG_ERROR_INVALID_ARGUMENT, TGI_NO_SITE,
                      "%s: the context is NULL", who);
    else if (!tgi_spec_init(&spec, who, dtype, rank, dims)) {
        if (initial)
            tensor = create_filled(ctx, who, &spec, initial);
        else if (!check_data(data, &spec, who))
            tensor = tgi_tensor_of_owner(ctx, &spec, data, (tgi_owner){0});
    }
    tgi_api_leave(frame);
    return tensor;
}

tg_tensor *tg_tensor_wrap(tg_context *ctx, void *data, tg_dtype dtype,
                          int rank, const int64_t *dims)
{
    return create_tensor(ctx, __func__, data, NULL, dtype, rank, dims);
}

tg_tensor *tg_tensor_create(tg_context *ctx, tg_dtype dtype, int rank,
                            const int64_t *dims, tg_initial initial)
{
    return create_tensor(ctx, __func__, NULL, &initial, dtype, rank, dims);
}

tg_tensor *tg_tensor_copy(tg_context *ctx, const void *data, tg_dtype dtype,
                          int rank, const int64_t *dims)
{
    const tg_initial initial = tg_from_data(data);
    return create_tensor(ctx, __func__, NULL, &initial, dtype, rank, dims);
}

tg_tensor *tg_tensor_retain(tg_tensor *tensor)
{
    if (tensor)
        tgi_refcount_inc(&tensor->refs);
    return tensor;
}

void tg_tensor_release(tg_tensor *tensor)
{
    if (!tensor || !tgi_refcount_dec(&tensor->refs))
        return;
    if (tensor->owns_data)
        tgi_buffer_free(tensor->data, (size_t)tensor->spec.bytes);
    if (tensor->owner.release)
        tensor->owner.release(tensor->owner.object);
    tgi_free(tensor->text);
    tgi_context_unref(tensor->ctx);
    tgi_free(tensor);
    tgi_live_add(TGI_LIVE_TENSOR, -1);
}

void *tg_tensor_data(const tg_tensor *tensor)
{
    return tensor ? tensor->data : NULL;
}

tg_dtype tg_tensor_dtype(const tg_tensor *tensor)
{
    return tensor ? tensor->spec.dtype : TG_DTYPE_NONE;
}

int tg_tensor_rank(const tg_tensor *tensor)
{
    return tensor ? tensor->spec.rank : -1;
}

const int64_t *tg_tensor_dims(const tg_tensor *tensor)
{
    return tensor ? tensor->spec.dims : NULL;
}

int64_t tg_tensor_count(const tg_tensor *tensor)
{
    return tensor ? tensor->spec.count : 0;
}

size_t tg_tensor_bytes(const tg_tensor *tensor)
{
    return tensor ? (size_t)tensor->spec.bytes : 0;
}
