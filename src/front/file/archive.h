/* SPDX-License-Identifier: MIT */
/*
 * archive.h - the inside of a tg_archive: named tensors, some of them still in
 * a file. What the formats fill in, and what they are asked for.
 */
#ifndef TGI_ARCHIVE_H
#define TGI_ARCHIVE_H

#include "base/fork_lock.h"
#include "base/hash.h"
#include "base/strbuf.h"
#include "base/vec.h"
#include "front/file/file_bytes.h"
#include "front/file/zip.h"
#include "tgjit/file.h"

/* A tensor that is in the archive's file. */
typedef struct tgi_stored_tensor {
    /* .safetensors: its bytes, checked; its spec, unless the library does not
       have the dtype, which is then NONE. */
    size_t at;
    tgi_spec spec;
    char dtype[16]; /* as the file has it */
    /* .npz */
    tgi_zip_member member;
} tgi_stored_tensor;

typedef struct tgi_archive_entry {
    char *name;
    tg_tensor *tensor; /* NULL: still in the file */
    tgi_stored_tensor stored;
} tgi_archive_entry;

typedef struct tgi_metadata {
    char *key, *value;
} tgi_metadata;

struct tg_archive {
    tgi_refcount refs;
    tg_context *ctx;          /* retained */
    tgi_file_bytes *bytes;    /* NULL: not from a file */
    tg_archive_format format; /* of the file */

    tgi_fork_lock lock; /* guards what follows */
    TGI_VEC(tgi_archive_entry) entries;
    tgi_index by_name; /* positions are from 1 on */
    TGI_VEC(tgi_metadata) metadata;
};

/* -- The list (the lock is held, or nobody else has the archive) ----------- */

tg_archive *tgi_archive_alloc(tg_context *ctx);

/* The text of messages that names the archive: its path, if it has one. */
const char *tgi_archive_path(const tg_archive *archive);

/* Adds a tensor (retained) or one of the file; `name` is copied. A bad name is
   `bad_name`, as it depends on where the name is from; one that is there is
   TG_ERROR_STATE, or `bad_name` for one of the file. */
tg_status tgi_archive_push(tg_archive *archive, const char *name,
                           tg_tensor *tensor, const tgi_stored_tensor *stored,
                           tg_status bad_name);

/* Takes the last entries back, until there are n. */
void tgi_archive_cut(tg_archive *archive, size_t n);

tg_status tgi_archive_push_metadata(tg_archive *archive, const char *key,
                                    const char *value, tg_status bad_text);

/* The entry, or NULL. */
tgi_archive_entry *tgi_archive_find(tg_archive *archive, const char *name);

/* Makes sure that the entry has its tensor. */
tg_status tgi_archive_materialise(tg_archive *archive,
                                  tgi_archive_entry *entry);

/* -- Files ----------------------------------------------------------------- */

/* Opens an archive over the bytes of a file, which it retains. */
tg_status tgi_archive_of_bytes(tg_context *ctx, tgi_file_bytes *bytes,
                               tg_archive **out_archive);

/* As tg_archive_load_with. */
tg_status tgi_archive_open(tg_context *ctx, const char *path,
                           const tg_load_options *options,
                           tg_archive **out_archive);

/* As tg_archive_save_as. */
tg_status tgi_archive_write(tg_archive *archive, const char *path,
                            tg_archive_format format);

/* -- Formats --------------------------------------------------------------- */

/* Fill the list of an archive from the table of contents of its file. */
tg_status tgi_npz_read(tg_archive *archive);
tg_status tgi_safetensors_read(tg_archive *archive);

/* The tensor of an entry. */
tg_status tgi_npz_tensor(tg_archive *archive, const tgi_archive_entry *entry,
                         tg_tensor **out_tensor);
tg_status tgi_safetensors_tensor(tg_archive *archive,
                                 const tgi_archive_entry *entry,
                                 tg_tensor **out_tensor);

/* Write an archive whose entries all have their tensors. 0 or an errno. */
int tgi_npz_write(const tg_archive *archive, tgi_atomic_file *file);
int tgi_safetensors_write(const tg_archive *archive, tgi_atomic_file *file);

/* -- JSON ------------------------------------------------------------------ */

/* Adds the metadata as an object. */
void tgi_json_add_metadata(tgi_strbuf *buf, const tg_archive *archive);

/* The object in n bytes of UTF-8, NULL and a record if it is not one, with
   unique keys; within the context's memory limit. json_decref it. */
struct json_t *tgi_json_read_object(const tg_context *ctx, const void *text,
                                    size_t n, const char *where);

/* Adds an object of strings to the metadata. */
tg_status tgi_json_read_metadata(tg_archive *archive,
                                 const struct json_t *object);

#endif /* TGI_ARCHIVE_H */
