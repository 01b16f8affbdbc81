/* SPDX-License-Identifier: MIT */
/*
 * code_serialise.c - code as bytes, for the disk cache: the number of kernels,
 * the measured plan (or none), the name of the entry, and the ELF object.
 */
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "cache/code.h"
#include "loop/leb128.h"

void tgi_code_serialise(const tgi_codegen *codegen, const void *plan,
                        size_t plan_bytes, tgi_strbuf *out)
{
    const size_t entry_bytes = strlen(codegen->entry) + 1;
    tgi_leb128_put(out, codegen->n_kernels);
    tgi_leb128_put(out, plan_bytes);
    if (plan_bytes)
        tgi_strbuf_add_bytes(out, plan, plan_bytes);
    tgi_leb128_put(out, entry_bytes);
    tgi_strbuf_add_bytes(out, codegen->entry, entry_bytes);
    tgi_strbuf_add_bytes(out, codegen->object, codegen->object_bytes);
}

/* Reads the entry name and the object; false if the bytes are malformed. */
static bool read_object(const unsigned char *at, const unsigned char *end,
                        tgi_codegen *codegen)
{
    uint64_t entry_bytes;
    if (!tgi_leb128_get(&at, end, &entry_bytes) || entry_bytes == 0 ||
        entry_bytes > (uint64_t)(end - at) || at[entry_bytes - 1] != 0)
        return false;
    codegen->entry = (const char *)at;
    codegen->object = at + entry_bytes;
    codegen->object_bytes = (size_t)(end - at) - (size_t)entry_bytes;
    return true;
}

tg_status tgi_code_deserialise(const void *bytes, size_t n_bytes,
                               size_t n_kernels, tgi_code **out_code)
{
    const unsigned char *at = bytes, *end = at + n_bytes;
    uint64_t n, plan_bytes = 0;
    *out_code = NULL;
    if (!tgi_leb128_get(&at, end, &n) || n != n_kernels)
        TGI_FAIL(TG_ERROR_INVALID_ARGUMENT, TGI_NO_SITE,
                 "cached code: expected %zu kernels", n_kernels);
    tgi_codegen codegen = {.n_kernels = n_kernels};
    const bool has_plan = tgi_leb128_get(&at, end, &plan_bytes) &&
                          plan_bytes <= (uint64_t)(end - at);
    const unsigned char *plan = at;
    if (!has_plan || !read_object(at + plan_bytes, end, &codegen))
        TGI_FAIL(TG_ERROR_INVALID_ARGUMENT, TGI_NO_SITE,
                 "cached code is damaged");
    TGI_TRY(tgi_code_create(&codegen, out_code));
    const tg_status status =
        tgi_code_set_plan(*out_code, plan, (size_t)plan_bytes);
    if (status) {
        tgi_code_release(*out_code);
        *out_code = NULL;
    }
    return status;
}
