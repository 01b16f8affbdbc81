/* SPDX-License-Identifier: MIT */
/*
 * code.h - compiled code as programs share it: the image, its entry, and what
 * the planner wants to know of its kernels. It belongs to no graph and no
 * context: any program with the same loops can run it. Immutable.
 */
#ifndef TGI_CODE_H
#define TGI_CODE_H

#include "base/refcount.h"
#include "base/strbuf.h"
#include "codegen/codegen.h"
#include "codegen/entry_abi.h"
#include "object/image.h"

typedef struct tgi_code {
    tgi_refcount refs;
    tgi_image *image;
    tgi_entry *entry;
    size_t n_kernels;
    tgi_kernel_cost *costs; /* by kernel */
} tgi_code;

/* Loads what the code generator has made. */
tg_status tgi_code_create(const tgi_codegen *codegen, tgi_code **out_code);
tgi_code *tgi_code_retain(tgi_code *code);
void tgi_code_release(tgi_code *code);
size_t tgi_code_bytes(const tgi_code *code); /* of memory */

/* The same as bytes for a cache on disk, and back. They may hold anything, but
   see tgi_image_load. */
void tgi_code_serialise(const tgi_codegen *codegen, tgi_strbuf *out);
tg_status tgi_code_deserialise(const void *bytes, size_t n_bytes,
                               size_t n_kernels, tgi_code **out_code);

/*
 * The bytes that are equal if and only if the code generator is asked for the
 * same: loops, but for the names in them, and all options that count. They
 * begin with a line of text that says what it is.
 */
void tgi_code_key(const tgi_loops *loops, const tgi_codegen_options *options,
                  tgi_strbuf *out_key);

#endif /* TGI_CODE_H */
