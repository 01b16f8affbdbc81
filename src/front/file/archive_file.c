/* SPDX-License-Identifier: MIT */
/*
 * archive_file.c - archives from files and into files, whatever their format.
 */
#include <string.h>

#include "base/versioned.h"
#include "front/file/archive.h"
#include "front/file/file_error.h"

/* -- Reading --------------------------------------------------------------- */

/* Every ZIP file begins with a record, the empty one with its last. */
static bool is_zip(const tgi_file_bytes *bytes)
{
    return bytes->n >= 4 && memcmp(bytes->data, "PK", 2) == 0 &&
           (memcmp(bytes->data + 2, "\3\4", 2) == 0 ||
            memcmp(bytes->data + 2, "\5\6", 2) == 0);
}

tg_status tgi_archive_of_bytes(tg_context *ctx, tgi_file_bytes *bytes,
                               tg_archive **out_archive)
{
    tg_archive *archive = tgi_archive_alloc(ctx);
    *out_archive = NULL;
    if (!archive)
        return TG_ERROR_OUT_OF_MEMORY;
    tgi_refcount_inc(&bytes->refs);
    archive->bytes = bytes;
    archive->format = is_zip(bytes) ? TG_ARCHIVE_NPZ : TG_ARCHIVE_SAFETENSORS;
    const tg_status status = archive->format == TG_ARCHIVE_NPZ
                                 ? tgi_npz_read(archive)
                                 : tgi_safetensors_read(archive);
    if (status)
        tg_archive_release(archive);
    else
        *out_archive = archive;
    return status;
}

tg_status tgi_archive_open(tg_context *ctx, const char *path,
                           const tg_load_options *options,
                           tg_archive **out_archive)
{
    tgi_file_bytes *bytes;
    *out_archive = NULL;
    TGI_TRY(tgi_file_bytes_open(ctx, path, options->no_map, &bytes));
    const tg_status status = tgi_archive_of_bytes(ctx, bytes, out_archive);
    tgi_file_bytes_release(bytes);
    return status;
}

static tg_archive *load_as(const char *who, tg_context *ctx, const char *path,
                           const tg_load_options *user)
{
    tgi_api_frame frame = tgi_api_enter(ctx, who);
    tg_archive *archive = NULL;
    tg_load_options options;
    if (!ctx || !path)
        tgi_bad_argument("the %s is NULL", ctx ? "path" : "context");
    else if (tgi_versioned_read(&options, sizeof(options), user,
                                "tg_load_options") ||
             tgi_archive_open(ctx, path, &options, &archive))
        archive = NULL;
    tgi_api_leave(frame);
    return archive;
}

tg_archive *tg_archive_load(tg_context *ctx, const char *path)
{
    return load_as(__func__, ctx, path, NULL);
}

tg_archive *tg_archive_load_with(tg_context *ctx, const char *path,
                                 const tg_load_options *options)
{
    return load_as(__func__, ctx, path, options);
}

/* -- Writing --------------------------------------------------------------- */

static bool has_suffix(const char *path, const char *suffix)
{
    const size_t n = strlen(path), n_suffix = strlen(suffix);
    return n > n_suffix && strcmp(path + n - n_suffix, suffix) == 0;
}

static tg_status choose_format(const char *path, tg_archive_format *format)
{
    switch (*format) {
    case TG_ARCHIVE_NPZ:
    case TG_ARCHIVE_SAFETENSORS:
        return TG_OK;
    case TG_ARCHIVE_BY_SUFFIX:
        break;
    default:
        return tgi_bad_argument("there is no archive format %d", (int)*format);
    }
    if (has_suffix(path, ".npz"))
        *format = TG_ARCHIVE_NPZ;
    else if (has_suffix(path, ".safetensors"))
        *format = TG_ARCHIVE_SAFETENSORS;
    else
        return tgi_bad_argument("the path '%.300s' ends neither with .npz nor "
                                "with .safetensors; use tg_archive_save_as",
                                path);
    return TG_OK;
}

/* With the lock. */
static tg_status write_locked(tg_archive *archive, const char *path,
                              tg_archive_format format)
{
    tgi_atomic_file file;
    for (size_t i = 0; i < archive->entries.n; i++)
        TGI_TRY(tgi_archive_materialise(archive, &archive->entries.data[i]));
    int reason = tgi_atomic_file_begin(&file, path);
    if (!reason) {
        reason = format == TG_ARCHIVE_NPZ
                     ? tgi_npz_write(archive, &file)
                     : tgi_safetensors_write(archive, &file);
        reason = tgi_atomic_file_end(&file, reason);
    }
    return reason ? tgi_error_file("write", path, reason) : TG_OK;
}

tg_status tgi_archive_write(tg_archive *archive, const char *path,
                            tg_archive_format format)
{
    if (!archive || !path)
        return tgi_bad_argument("the %s is NULL", archive ? "path" : "archive");
    TGI_TRY(choose_format(path, &format));
    tgi_fork_lock_acquire(&archive->lock);
    const tg_status status = write_locked(archive, path, format);
    tgi_fork_lock_release(&archive->lock);
    return status;
}

static tg_status save_as(const char *who, tg_archive *archive,
                         const char *path, tg_archive_format format)
{
    tgi_api_frame frame = tgi_api_enter(archive ? archive->ctx : NULL, who);
    const tg_status status = tgi_archive_write(archive, path, format);
    tgi_api_leave(frame);
    return status;
}

tg_status tg_archive_save(tg_archive *archive, const char *path)
{
    return save_as(__func__, archive, path, TG_ARCHIVE_BY_SUFFIX);
}

tg_status tg_archive_save_as(tg_archive *archive, const char *path,
                             tg_archive_format format)
{
    return save_as(__func__, archive, path, format);
}
