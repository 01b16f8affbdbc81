/* SPDX-License-Identifier: MIT */
/*
 * file_bytes.h - the bytes of a file, or of a member of one that was inflated:
 * mapped, read, or lent by a test. Counted, as tensors are views of them.
 */
#ifndef TGI_FILE_BYTES_H
#define TGI_FILE_BYTES_H

#include <stddef.h>

#include "base/refcount.h"
#include "front/object/tensor_object.h"

typedef enum tgi_bytes_kind {
    TGI_BYTES_MAPPED,
    TGI_BYTES_OWNED, /* from tgi_buffer_alloc */
    TGI_BYTES_LENT
} tgi_bytes_kind;

typedef struct tgi_file_bytes {
    tgi_refcount refs;
    tgi_bytes_kind kind;
    unsigned char *data; /* at a multiple of TGI_BUFFER_ALIGN, unless lent */
    size_t n;
    char path[]; /* for messages */
} tgi_file_bytes;

/* Maps a regular file privately, or reads it within the context's memory
   limit. */
tg_status tgi_file_bytes_open(const tg_context *ctx, const char *path,
                              bool no_map, tgi_file_bytes **out_bytes);

/* Memory of `n` bytes that is not set, within the context's memory limit. */
tg_status tgi_file_bytes_alloc(const tg_context *ctx, const char *path,
                               size_t n, tgi_file_bytes **out_bytes);

/* Bytes that outlive the object. NULL when out of memory (recorded). */
tgi_file_bytes *tgi_file_bytes_lend(const char *path, void *data, size_t n);

void tgi_file_bytes_release(tgi_file_bytes *bytes);

/*
 * The tensor of `spec` at offset `at`, row-major and in the byte order of the
 * machine: a view, or a copy if it is not aligned. spec->bytes bytes are there.
 * Messages name `where`. FILE if an element of a bool is neither 0 nor 1.
 */
tg_status tgi_file_bytes_tensor(tg_context *ctx, tgi_file_bytes *bytes,
                                size_t at, const tgi_spec *spec,
                                const char *where, tg_tensor **out_tensor);

/* As tgi_spec_init, of a shape in a file. */
tg_status tgi_file_spec(tgi_spec *out_spec, const char *where, tg_dtype dtype,
                        int rank, const int64_t *dims);

/* `bad` if an element of a bool tensor is neither 0 nor 1. */
tg_status tgi_check_bools(const tgi_spec *spec, const void *data,
                          const char *where, tg_status bad);

#endif /* TGI_FILE_BYTES_H */
