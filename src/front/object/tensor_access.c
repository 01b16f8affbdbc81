/* SPDX-License-Identifier: MIT */
/*
 * tensor_access.c - elements of tensors for the host: by C type, by index, and
 * as text.
 */
#include <pthread.h>
#include <string.h>

#include "base/error.h"
#include "front/object/context_object.h"
#include "front/object/tensor_object.h"
#include "runtime/format.h"

/* -- Typed access ---------------------------------------------------------- */

/* The elements of a tensor of that dtype; NULL, with an error, otherwise. */
static void *typed_data(const tg_tensor *tensor, tg_dtype dtype,
                        const char *who)
{
    tgi_api_frame frame = tgi_api_enter(tensor ? tensor->ctx : NULL, who);
    void *data = NULL;
    if (!tensor)
        tgi_error_set(TG_ERROR_INVALID_ARGUMENT, TGI_NO_SITE,
                      "%s: the tensor is NULL", who);
    else if (tensor->spec.dtype != dtype)
        tgi_error_set(TG_ERROR_DTYPE, TGI_NO_SITE,
                      "%s: the tensor has dtype %s", who,
                      tg_dtype_name(tensor->spec.dtype));
    else
        data = tensor->data;
    tgi_api_leave(frame);
    return data;
}

#define TYPED_DATA(name, type, dtype) \
    type *tg_tensor_##name(const tg_tensor *tensor) \
    { \
        return typed_data(tensor, dtype, "tg_tensor_" #name); \
    }
TG_TENSOR_TYPES(TYPED_DATA)
#undef TYPED_DATA

/* -- Elements -------------------------------------------------------------- */

/* Sets *out_offset to the number of the element at an index. */
static tg_status find_element(const tgi_spec *spec, int n, const int64_t *index,
                              const char *who, tg_site site,
                              int64_t *out_offset)
{
    if (n != spec->rank)
        TGI_FAIL(TG_ERROR_SHAPE, site,
                 "%s: %d ind%s for a tensor of rank %d", who, n,
                 n == 1 ? "ex" : "ices", spec->rank);
    for (int axis = 0; axis < n; axis++) {
        if (index[axis] < 0 || index[axis] >= spec->dims[axis])
            TGI_FAIL(TG_ERROR_INDEX, site,
                     "%s: index %lld of axis %d is not below %lld", who,
                     (long long)index[axis], axis,
                     (long long)spec->dims[axis]);
        *out_offset = *out_offset * spec->dims[axis] + index[axis];
    }
    return TG_OK;
}

static tg_status get_element(const tg_tensor *tensor, tg_result out, int n,
                             const int64_t *index, const char *who,
                             tg_site site)
{
    int64_t offset = 0;
    if (!tensor || out.kind != TG_RESULT_NUMBER || (n && !index))
        TGI_FAIL(TG_ERROR_INVALID_ARGUMENT, site,
                 "%s: the %s", who,
                 !tensor ? "tensor is NULL" : "destination is not a number");
    if (tensor->spec.dtype != out.dtype)
        TGI_FAIL(TG_ERROR_DTYPE, site,
                 "%s: the tensor has dtype %s, but the number has type %s", who,
                 tg_dtype_name(tensor->spec.dtype), tg_dtype_name(out.dtype));
    TGI_TRY(find_element(&tensor->spec, n, index, who, site, &offset));
    const size_t bytes = tg_dtype_bytes(tensor->spec.dtype);
    memcpy(out.as.number, (const char *)tensor->data + (size_t)offset * bytes,
           bytes);
    return TG_OK;
}

tg_status tg_tensor_get_at(const tg_tensor *tensor, tg_result out, int n,
                           const int64_t *index, tg_site site)
{
    tgi_api_frame frame =
        tgi_api_enter(tensor ? tensor->ctx : NULL, "tg_tensor_get");
    const tg_status status =
        get_element(tensor, out, n, index, "tg_tensor_get", site);
    tgi_api_leave(frame);
    return status;
}

/* -- Text ------------------------------------------------------------------ */

/* Keeps a text in the tensor, instead of the previous one. */
static const char *keep_text(const tg_tensor *tensor, char *text)
{
    /* The cached text is not part of the tensor's value. */
    tg_tensor *mutable_tensor = (tg_tensor *)(uintptr_t)tensor;
    tgi_fork_lock_acquire(&tensor->ctx->lock);
    char *replaced = mutable_tensor->text;
    mutable_tensor->text = text;
    tgi_fork_lock_release(&tensor->ctx->lock);
    tgi_free(replaced);
    return text;
}

static const char *format_tensor(const tg_tensor *tensor, const char *format,
                                 const char *who)
{
    tgi_api_frame frame = tgi_api_enter(tensor ? tensor->ctx : NULL, who);
    const char *result = "";
    if (!tensor || !format) {
        tgi_error_set(TG_ERROR_INVALID_ARGUMENT, TGI_NO_SITE,
                      "%s: the %s is NULL", who,
                      tensor ? "format" : "tensor");
    } else {
        tgi_strbuf text = {0};
        tgi_view view;
        tgi_view_init(&view, tensor->data, tensor->spec.dtype,
                      tensor->spec.rank, tensor->spec.dims);
        tgi_format_repeated(format, &view, &text);
        char *taken = tgi_strbuf_take(&text);
        if (taken)
            result = keep_text(tensor, taken);
        else
            tgi_error_memory();
    }
    tgi_api_leave(frame);
    return result;
}

const char *tg_tensor_text(const tg_tensor *tensor)
{
    return format_tensor(tensor, "%v", __func__);
}

const char *tg_tensor_format(const tg_tensor *tensor, const char *format)
{
    return format_tensor(tensor, format, __func__);
}
