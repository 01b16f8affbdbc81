/* SPDX-License-Identifier: MIT */
/*
 * zip.h - ZIP files, as far as .npz files need them: members that are stored
 * or deflated, with 64-bit sizes, on one volume, not encrypted.
 */
#ifndef TGI_ZIP_H
#define TGI_ZIP_H

#include "base/atomic_file.h"
#include "base/strbuf.h"
#include "base/vec.h"
#include "front/file/file_bytes.h"

/* -- Reading --------------------------------------------------------------- */

typedef struct tgi_zip_member {
    const char *name; /* in the file, not terminated */
    size_t name_bytes;
    size_t begin, at, stored_bytes; /* its record; its data and their size */
    uint64_t bytes;                 /* once inflated */
    uint32_t crc;
    uint16_t method, flags;
} tgi_zip_member;

typedef TGI_VEC(tgi_zip_member) tgi_zip_members;

/*
 * Reads the directory, in its order. All lengths are checked: the records of
 * members lie in the file, apart from each other, and agree with the
 * directory. The caller deinits *out_members, on failure too.
 */
tg_status tgi_zip_read(const tgi_file_bytes *bytes,
                       tgi_zip_members *out_members);

/*
 * The contents of a member, its checksum verified: at *out_at in *out_bytes,
 * which are those of the file (retained) or new ones. `where` names it.
 */
tg_status tgi_zip_contents(const tg_context *ctx, tgi_file_bytes *bytes,
                           const tgi_zip_member *member, const char *where,
                           tgi_file_bytes **out_bytes, size_t *out_at);

/* -- Writing --------------------------------------------------------------- */

/* Sizes and offsets from here on need 64-bit fields. */
#define TGI_ZIP64_FROM ((uint64_t)UINT32_MAX)

typedef struct tgi_zip_writer {
    tgi_atomic_file *file;
    tgi_strbuf directory;
    uint64_t n_members;
    uint64_t zip64_from; /* TGI_ZIP64_FROM; less in tests */
} tgi_zip_writer;

/*
 * Writes a stored member of two parts, of which the second one lies at a
 * multiple of 64 in the file if the size of the first one is one, for readers
 * that map it. The name has at most 65535 bytes. 0 or an errno.
 */
int tgi_zip_write(tgi_zip_writer *writer, const char *name, const void *head,
                  size_t head_bytes, const void *body, size_t body_bytes);

/* Writes the directory. 0 or an errno. */
int tgi_zip_finish(tgi_zip_writer *writer);

#endif /* TGI_ZIP_H */
