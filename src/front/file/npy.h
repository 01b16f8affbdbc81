/* SPDX-License-Identifier: MIT */
/*
 * npy.h - the .npy format: a magic string, a version, the length of the header,
 * the header, which is a Python literal such as
 *
 *     {'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }
 *
 * and the elements. Files, and the members of .npz files, have it.
 */
#ifndef TGI_NPY_H
#define TGI_NPY_H

#include "base/strbuf.h"
#include "front/file/file_bytes.h"

typedef struct tgi_npy_header {
    char descr[16];  /* the dtype as the file has it */
    tg_dtype dtype;  /* TG_DTYPE_NONE: the library does not have it */
    bool is_big_endian, is_fortran;
    int rank;
    int64_t dims[TG_MAX_RANK];
    size_t bytes; /* before the elements */
} tgi_npy_header;

/* Reads the header of n bytes; messages name `where`. */
tg_status tgi_npy_header_read(const unsigned char *data, size_t n,
                              const char *where, tgi_npy_header *out_header);

/* Writes what stands before the elements, a multiple of 64 bytes. */
void tgi_npy_header_write(const tgi_spec *spec, tgi_strbuf *out);

/* The array in the n bytes from `at` on; messages name `where`. */
tg_status tgi_npy_tensor(tg_context *ctx, tgi_file_bytes *bytes, size_t at,
                         size_t n, const char *where, tg_tensor **out_tensor);

#endif /* TGI_NPY_H */
