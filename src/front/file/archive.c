/* SPDX-License-Identifier: MIT */
/*
 * archive.c - lists of named tensors and of metadata. Nothing leaves a list,
 * so names, tensors and texts are lent without a lock.
 */
#include "front/file/archive.h"

#include <string.h>

#include "base/live.h"
#include "front/file/file_error.h"
#include "front/object/context_object.h"

/* -- Objects --------------------------------------------------------------- */

tg_archive *tgi_archive_alloc(tg_context *ctx)
{
    tg_archive *archive = tgi_alloc_zero(sizeof(*archive));
    if (!archive) {
        tgi_error_memory();
        return NULL;
    }
    tgi_refcount_init(&archive->refs);
    archive->ctx = tgi_context_ref(ctx);
    tgi_fork_lock_init(&archive->lock, NULL);
    tgi_live_add(TGI_LIVE_ARCHIVE, 1);
    return archive;
}

const char *tgi_archive_path(const tg_archive *archive)
{
    return archive->bytes ? archive->bytes->path : "the archive";
}

tg_archive *tg_archive_create(tg_context *ctx)
{
    tgi_api_frame frame = tgi_api_enter(ctx, __func__);
    tg_archive *archive = NULL;
    if (ctx)
        archive = tgi_archive_alloc(ctx);
    else
        tgi_bad_argument("the context is NULL");
    tgi_api_leave(frame);
    return archive;
}

tg_archive *tg_archive_retain(tg_archive *archive)
{
    if (archive)
        tgi_refcount_inc(&archive->refs);
    return archive;
}

void tg_archive_release(tg_archive *archive)
{
    if (!archive || !tgi_refcount_dec(&archive->refs))
        return;
    tgi_archive_cut(archive, 0);
    for (size_t i = 0; i < archive->metadata.n; i++) {
        tgi_free(archive->metadata.data[i].key);
        tgi_free(archive->metadata.data[i].value);
    }
    tgi_vec_deinit(&archive->entries);
    tgi_vec_deinit(&archive->metadata);
    tgi_index_deinit(&archive->by_name);
    tgi_file_bytes_release(archive->bytes);
    tgi_fork_lock_deinit(&archive->lock);
    tgi_context_unref(archive->ctx);
    tgi_free(archive);
    tgi_live_add(TGI_LIVE_ARCHIVE, -1);
}

/* -- The list -------------------------------------------------------------- */

static uint64_t hash_name(const char *name)
{
    return tgi_hash(name, strlen(name), 0);
}

tgi_archive_entry *tgi_archive_find(tg_archive *archive, const char *name)
{
    const uint64_t hash = hash_name(name);
    size_t probe = 0;
    for (uint32_t at; (at = tgi_index_next(&archive->by_name, hash, &probe));)
        if (strcmp(archive->entries.data[at - 1].name, name) == 0)
            return &archive->entries.data[at - 1];
    return NULL;
}

/* Names that every format can hold. */
static tg_status check_name(const tg_archive *archive, const char *name,
                            tg_status bad_name)
{
    const size_t n = strlen(name);
    const tgi_quoted text = tgi_quote_bytes(name, n);
    if (n == 0 || n > TG_MAX_NAME_BYTES)
        return tgi_file_error(bad_name, tgi_archive_path(archive),
                              "a name of %zu bytes is not in 1 … %d: %s", n,
                              TG_MAX_NAME_BYTES, text.text);
    if (!tgi_is_utf8(name, n))
        return tgi_file_error(bad_name, tgi_archive_path(archive),
                              "the name %s is not UTF-8", text.text);
    if (strcmp(name, "__metadata__") == 0)
        return tgi_file_error(bad_name, tgi_archive_path(archive),
                              "the name %s is reserved", text.text);
    return TG_OK;
}

tg_status tgi_archive_push(tg_archive *archive, const char *name,
                           tg_tensor *tensor, const tgi_stored_tensor *stored,
                           tg_status bad_name)
{
    TGI_TRY(check_name(archive, name, bad_name));
    if (tgi_archive_find(archive, name))
        return tgi_file_error(stored ? bad_name : TG_ERROR_STATE,
                              tgi_archive_path(archive),
                              "there are two tensors %s",
                              tgi_quote_name(name).text);
    tgi_archive_entry entry = {.name = tgi_strdup(name)};
    if (stored)
        entry.stored = *stored;
    if (!entry.name || archive->entries.n >= UINT32_MAX - 1 ||
        !tgi_vec_push(&archive->entries, entry)) {
        tgi_free(entry.name);
        return tgi_error_memory();
    }
    if (!tgi_index_add(&archive->by_name, hash_name(name),
                       (uint32_t)archive->entries.n)) {
        archive->entries.n--;
        tgi_free(entry.name);
        return tgi_error_memory();
    }
    archive->entries.data[archive->entries.n - 1].tensor =
        tg_tensor_retain(tensor);
    return TG_OK;
}

void tgi_archive_cut(tg_archive *archive, size_t n)
{
    while (archive->entries.n > n) {
        tgi_archive_entry *last = &archive->entries.data[--archive->entries.n];
        tg_tensor_release(last->tensor);
        tgi_free(last->name);
    }
    /* It has had more, so that there is room. */
    tgi_index_clear(&archive->by_name);
    for (size_t i = 0; i < n; i++)
        tgi_index_add(&archive->by_name,
                      hash_name(archive->entries.data[i].name),
                      (uint32_t)i + 1);
}

tg_status tgi_archive_materialise(tg_archive *archive,
                                  tgi_archive_entry *entry)
{
    if (entry->tensor)
        return TG_OK;
    return archive->format == TG_ARCHIVE_NPZ
               ? tgi_npz_tensor(archive, entry, &entry->tensor)
               : tgi_safetensors_tensor(archive, entry, &entry->tensor);
}

/* -- Public: tensors ------------------------------------------------------- */

static tg_status check_arguments(const tg_archive *archive, const char *name,
                                 const char *what)
{
    if (!archive)
        return tgi_bad_argument("the archive is NULL");
    return name ? TG_OK : tgi_bad_argument("the %s is NULL", what);
}

size_t tg_archive_count(tg_archive *archive)
{
    if (!archive)
        return 0;
    tgi_fork_lock_acquire(&archive->lock);
    const size_t n = archive->entries.n;
    tgi_fork_lock_release(&archive->lock);
    return n;
}

const char *tg_archive_name(tg_archive *archive, size_t i)
{
    const char *name = NULL;
    if (!archive)
        return NULL;
    tgi_fork_lock_acquire(&archive->lock);
    if (i < archive->entries.n)
        name = archive->entries.data[i].name;
    tgi_fork_lock_release(&archive->lock);
    return name;
}

bool tg_archive_has(tg_archive *archive, const char *name)
{
    if (!archive || !name)
        return false;
    tgi_fork_lock_acquire(&archive->lock);
    const bool is_there = tgi_archive_find(archive, name) != NULL;
    tgi_fork_lock_release(&archive->lock);
    return is_there;
}

static tg_tensor *get_locked(tg_archive *archive, const char *name)
{
    tgi_archive_entry *entry = tgi_archive_find(archive, name);
    if (!entry) {
        tgi_file_error(TG_ERROR_STATE, tgi_archive_path(archive),
                       "there is no tensor %s",
                       tgi_quote_name(name).text);
        return NULL;
    }
    return tgi_archive_materialise(archive, entry) ? NULL : entry->tensor;
}

tg_tensor *tg_archive_get(tg_archive *archive, const char *name)
{
    tgi_api_frame frame =
        tgi_api_enter(archive ? archive->ctx : NULL, __func__);
    tg_tensor *tensor = NULL;
    if (check_arguments(archive, name, "name") == TG_OK) {
        tgi_fork_lock_acquire(&archive->lock);
        tensor = get_locked(archive, name);
        tgi_fork_lock_release(&archive->lock);
    }
    tgi_api_leave(frame);
    return tensor;
}

static tg_status add(tg_archive *archive, const char *name, tg_tensor *tensor)
{
    TGI_TRY(check_arguments(archive, name, "name"));
    if (!tensor || tensor->ctx != archive->ctx)
        return tgi_bad_argument("the tensor for '%.200s' %s", name,
                                tensor ? "belongs to another context"
                                       : "is NULL");
    tgi_fork_lock_acquire(&archive->lock);
    const tg_status status = tgi_archive_push(archive, name, tensor, NULL,
                                              TG_ERROR_INVALID_ARGUMENT);
    tgi_fork_lock_release(&archive->lock);
    return status;
}

tg_status tg_archive_add(tg_archive *archive, const char *name,
                         tg_tensor *tensor)
{
    tgi_api_frame frame =
        tgi_api_enter(archive ? archive->ctx : NULL, __func__);
    const tg_status status = add(archive, name, tensor);
    tgi_api_leave(frame);
    return status;
}

/* -- Public: metadata ------------------------------------------------------ */

static const char *find_metadata(const tg_archive *archive, const char *key)
{
    for (size_t i = 0; i < archive->metadata.n; i++)
        if (strcmp(archive->metadata.data[i].key, key) == 0)
            return archive->metadata.data[i].value;
    return NULL;
}

tg_status tgi_archive_push_metadata(tg_archive *archive, const char *key,
                                    const char *value, tg_status bad_text)
{
    if (!tgi_is_utf8(key, strlen(key)) || !tgi_is_utf8(value, strlen(value)))
        return tgi_file_error(bad_text, tgi_archive_path(archive),
                              "metadata %s is not UTF-8",
                              tgi_quote_name(key).text);
    if (find_metadata(archive, key))
        return tgi_file_error(TG_ERROR_STATE, tgi_archive_path(archive),
                              "there is metadata %s already",
                              tgi_quote_name(key).text);
    const tgi_metadata pair = {tgi_strdup(key), tgi_strdup(value)};
    if (pair.key && pair.value && tgi_vec_push(&archive->metadata, pair))
        return TG_OK;
    tgi_free(pair.key);
    tgi_free(pair.value);
    return tgi_error_memory();
}

const char *tg_archive_metadata(tg_archive *archive, const char *key)
{
    if (!archive || !key)
        return NULL;
    tgi_fork_lock_acquire(&archive->lock);
    const char *value = find_metadata(archive, key);
    tgi_fork_lock_release(&archive->lock);
    return value;
}

const char *tg_archive_metadata_key(tg_archive *archive, size_t i)
{
    const char *key = NULL;
    if (!archive)
        return NULL;
    tgi_fork_lock_acquire(&archive->lock);
    if (i < archive->metadata.n)
        key = archive->metadata.data[i].key;
    tgi_fork_lock_release(&archive->lock);
    return key;
}

tg_status tg_archive_add_metadata(tg_archive *archive, const char *key,
                                  const char *value)
{
    tgi_api_frame frame =
        tgi_api_enter(archive ? archive->ctx : NULL, __func__);
    tg_status status = check_arguments(archive, key, "key");
    if (!status && !value)
        status = tgi_bad_argument("the value is NULL");
    if (!status) {
        tgi_fork_lock_acquire(&archive->lock);
        status = tgi_archive_push_metadata(archive, key, value,
                                           TG_ERROR_INVALID_ARGUMENT);
        tgi_fork_lock_release(&archive->lock);
    }
    tgi_api_leave(frame);
    return status;
}
