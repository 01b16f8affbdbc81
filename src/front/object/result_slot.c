/* SPDX-License-Identifier: MIT */
/*
 * result_slot.c - see result_slot.h.
 */
#include "front/object/result_slot.h"

#include <stdio.h>
#include <string.h>

#include "base/error.h"

static tg_status fail_slot(const tgi_slot_result *result, tg_status status,
                           const char *slot, tg_site site)
{
    char text[256];
    TGI_FAIL(status, site, "%s: %s %zu is %s, but the output %s", result->who,
             result->what, result->number,
             tgi_spec_text(result->dtype, result->rank, result->dims, text,
                           sizeof(text)),
             slot);
}

tg_status tgi_slot_check_number(const tgi_slot_result *result,
                                const tg_result *slot, tg_site site)
{
    char text[64];
    snprintf(text, sizeof(text), "is a number of type %s",
             tg_dtype_name(slot->dtype));
    if (result->dtype != slot->dtype)
        return fail_slot(result, TG_ERROR_DTYPE, text, site);
    if (result->bytes != (int64_t)tg_dtype_bytes(result->dtype))
        return fail_slot(result, TG_ERROR_SHAPE, text, site);
    return TG_OK;
}

/* True if the tensor has the dtype and shape of the result. */
static bool fits_result(const tg_tensor *tensor, const tgi_slot_result *result)
{
    const tgi_spec *spec = &tensor->spec;
    if (spec->dtype != result->dtype || spec->rank != result->rank)
        return false;
    for (int axis = 0; axis < spec->rank; axis++)
        if (spec->dims[axis] != result->dims[axis])
            return false;
    return true;
}

tg_status tgi_slot_choose_tensor(tg_context *ctx, const tgi_slot_result *result,
                                 const tg_result *slot, tg_tensor **out_tensor,
                                 tg_site site)
{
    tg_tensor *given = *slot->as.tensor;
    if (given && given->ctx != ctx)
        TGI_FAIL(TG_ERROR_INVALID_ARGUMENT, site,
                 "%s: %s %zu: the tensor belongs to another context",
                 result->who, result->what, result->number);
    if (given && given->is_read_only && !slot->is_fresh)
        TGI_FAIL(TG_ERROR_INVALID_ARGUMENT, site,
                 "%s: %s %zu: the memory of the tensor is read-only",
                 result->who, result->what, result->number);
    if (given && !given->is_read_only && fits_result(given, result)) {
        *out_tensor = given;
        return TG_OK;
    }
    if (!given || slot->is_fresh) {
        *out_tensor = tg_tensor_create(ctx, result->dtype, result->rank,
                                       result->dims, tg_zeros());
        return *out_tensor ? TG_OK : tg_error_last()->status;
    }
    char text[300] = "tensor is ";
    tgi_spec_text(given->spec.dtype, given->spec.rank, given->spec.dims,
                  text + strlen(text), 256);
    return fail_slot(result, TG_ERROR_SHAPE, text, site);
}

void tgi_result_store(const tg_result *result, tg_tensor *tensor,
                      tg_status status)
{
    tg_tensor *replaced = *result->as.tensor;
    if (status || (replaced && !result->is_fresh)) {
        tg_tensor_release(tensor);
        return;
    }
    *result->as.tensor = tensor;
    tg_tensor_release(replaced);
}
