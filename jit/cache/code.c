/* SPDX-License-Identifier: MIT */
/*
 * code.c - see code.h.
 */
#include "cache/code.h"

#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/live.h"

static tg_status code_init(tgi_code *code, const tgi_codegen *codegen)
{
    TGI_TRY(tgi_image_load(codegen->object, codegen->object_bytes,
                           &code->image));
    union {
        void *symbol;
        tgi_entry *entry;
    } found = {tgi_image_symbol(code->image, codegen->entry)};
    code->entry = found.entry;
    if (!code->entry)
        TGI_FAIL(TG_ERROR_INTERNAL, TGI_NO_SITE,
                 "compiled code has no entry '%s'", codegen->entry);
    return TG_OK;
}

tg_status tgi_code_create(const tgi_codegen *codegen, tgi_code **out_code)
{
    *out_code = NULL;
    tgi_code *code = tgi_alloc_zero(sizeof(*code));
    if (!code)
        return tgi_error_memory();
    tgi_refcount_init(&code->refs);
    tgi_live_add(TGI_LIVE_CODE, 1);
    tg_status status = code_init(code, codegen);
    if (status)
        tgi_code_release(code);
    else
        *out_code = code;
    return status;
}

tg_status tgi_code_set_plan(tgi_code *code, const void *plan,
                            size_t plan_bytes)
{
    if (!plan_bytes)
        return TG_OK;
    code->plan = tgi_alloc(plan_bytes);
    if (!code->plan)
        return tgi_error_memory();
    memcpy(code->plan, plan, plan_bytes);
    code->plan_bytes = plan_bytes;
    return TG_OK;
}

tgi_code *tgi_code_retain(tgi_code *code)
{
    tgi_refcount_inc(&code->refs);
    return code;
}

void tgi_code_release(tgi_code *code)
{
    if (!code || !tgi_refcount_dec(&code->refs))
        return;
    tgi_image_release(code->image);
    tgi_free(code->plan);
    tgi_free(code);
    tgi_live_add(TGI_LIVE_CODE, -1);
}

size_t tgi_code_bytes(const tgi_code *code)
{
    return tgi_block_bytes(code) + tgi_block_bytes(code->plan) +
           tgi_image_bytes(code->image);
}
