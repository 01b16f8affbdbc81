/* SPDX-License-Identifier: MIT */
/*
 * code.h - compiled code: the image and its entry. It belongs to no graph or
 * context: all programs with the same loops share it. Immutable.
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
    /* The measured plan (tune.h) whose schedules it has; NULL: estimated. */
    void *plan;
    size_t plan_bytes;
} tgi_code;

/* Loads the object of the code generator. The caller owns the result. */
tg_status tgi_code_create(const tgi_codegen *codegen, tgi_code **out_code);
/* Copies the plan of code that is not shared yet. */
tg_status tgi_code_set_plan(tgi_code *code, const void *plan,
                            size_t plan_bytes);
tgi_code *tgi_code_retain(tgi_code *code);
void tgi_code_release(tgi_code *code);
size_t tgi_code_bytes(const tgi_code *code); /* of memory */

/* Code as bytes, for the disk cache. Deserialise accepts arbitrary bytes, with
   the limits of tgi_image_load. */
void tgi_code_serialise(const tgi_codegen *codegen, const void *plan,
                        size_t plan_bytes, tgi_strbuf *out);
tg_status tgi_code_deserialise(const void *bytes, size_t n_bytes,
                               size_t n_kernels, tgi_code **out_code);

/*
 * Appends the key of a compile: bytes that are equal if and only if the code
 * generator receives the same request, which is the loops without names, and
 * all options that affect code. The first line is a description.
 */
void tgi_code_key(const tgi_loops *loops, const tgi_codegen_options *options,
                  tgi_strbuf *out_key);

/* Appends the part of the schedule of a kernel: all choices. */
void tgi_code_key_of_schedule(const tgi_kernel_loops *kernel,
                              tgi_strbuf *out_key);

#endif /* TGI_CODE_H */
