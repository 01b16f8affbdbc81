/* SPDX-License-Identifier: MIT */
/*
 * cache.c - the disk cache of a context, and the functions of tgjit/cache.h.
 */
#include "front/object/cache_object.h"

#include "base/alloc.h"
#include "base/error.h"
#include "base/settings.h"
#include "base/versioned.h"
#include "front/object/context_object.h"

/* The directory for a user's `dir`, to be freed; NULL if there is none. */
static tg_status find_path(const char *dir, char **out_path)
{
    return tgi_disk_cache_path(tgi_setting_text(dir, "TGJIT_CACHE_DIR"),
                               out_path);
}

/* -- The cache of a context ------------------------------------------------ */

tg_status tgi_context_cache_init(tgi_context_cache *cache,
                                 tgi_disk_cache_mode mode, uint64_t max_bytes,
                                 const char *dir)
{
    cache->mode = mode;
    cache->max_bytes = max_bytes;
    return mode == TGI_DISK_CACHE_OFF ? TG_OK : find_path(dir, &cache->path);
}

void tgi_context_cache_deinit(tgi_context_cache *cache)
{
    tgi_disk_cache_release(cache->disk_cache);
    tgi_free(cache->path);
}

static tg_status fail_no_directory(void)
{
    TGI_FAIL(TG_ERROR_FILE, TGI_NO_SITE,
             "no cache directory: neither XDG_CACHE_HOME nor HOME is a "
             "directory");
}

static tg_status open_disk_cache(const tgi_context_cache *cache,
                                 tgi_disk_cache **out_cache)
{
    *out_cache = NULL;
    if (cache->mode == TGI_DISK_CACHE_OFF)
        return TG_OK;
    if (!cache->path)
        return fail_no_directory();
    return tgi_disk_cache_open(cache->path, cache->mode, cache->max_bytes,
                               out_cache);
}

/* Opens the cache without holding the lock, because the log may call back. Of
   concurrent callers, the first to finish sets it. */
static void open_once(tg_context *ctx)
{
    tgi_context_cache *cache = &ctx->cache;
    tgi_disk_cache *disk_cache;
    tgi_error_copy before;
    tgi_error_save(&before);
    const tg_status status = open_disk_cache(cache, &disk_cache);
    bool is_first = false;
    if (status != TG_ERROR_OUT_OF_MEMORY) {
        tgi_fork_lock_acquire(&ctx->lock);
        is_first = !atomic_load(&cache->is_opened);
        if (is_first)
            cache->disk_cache = disk_cache;
        atomic_store(&cache->is_opened, true);
        tgi_fork_lock_release(&ctx->lock);
    }
    if (!is_first)
        tgi_disk_cache_release(disk_cache);
    else if (status != TG_OK)
        tgi_log_write(&ctx->log, TG_LOG_WARN, TGI_LOG_CACHE,
                      "disk cache disabled: %s", tg_error_last()->message);
    if (status != TG_OK)
        tgi_error_restore(&before);
}

tgi_disk_cache *tgi_context_disk_cache(tg_context *ctx)
{
    if (!atomic_load(&ctx->cache.is_opened))
        open_once(ctx);
    return atomic_load(&ctx->cache.is_opened) ? ctx->cache.disk_cache : NULL;
}

/* -- The public functions -------------------------------------------------- */

#define WRITE_VERSIONED(to, from, type) \
    tgi_versioned_write(to, #to, from, sizeof(type), #type)

tg_status tg_cache_counts(tg_context *ctx, tg_cache_counters *out_counts)
{
    tgi_api_frame frame = tgi_api_enter(ctx, __func__);
    tg_cache_counters counts;
    tg_status status;
    if (ctx) {
        const bool is_opened = atomic_load(&ctx->cache.is_opened);
        tgi_disk_cache_counters(is_opened ? ctx->cache.disk_cache : NULL,
                                &counts);
        status = WRITE_VERSIONED(out_counts, &counts, tg_cache_counters);
    } else {
        status = tgi_error_set(TG_ERROR_INVALID_ARGUMENT, TGI_NO_SITE,
                               "the context is NULL");
    }
    tgi_api_leave(frame);
    return status;
}

/* -- The in-memory code cache ---------------------------------------------- */

tg_status tg_code_counts(tg_code_counters *out_counts)
{
    tgi_api_frame frame = tgi_api_enter(NULL, __func__);
    tg_code_counters counts;
    tgi_code_cache_counters(&counts);
    tg_status status = WRITE_VERSIONED(out_counts, &counts, tg_code_counters);
    tgi_api_leave(frame);
    return status;
}

void tg_code_limit(size_t bytes)
{
    tgi_code_cache_set_limit(bytes);
}

void tg_code_clear(void)
{
    tgi_code_cache_clear();
}

/* -- The directory --------------------------------------------------------- */

/* As find_path, but fails if there is none. */
static tg_status require_path(const char *dir, char **out_path)
{
    TGI_TRY(find_path(dir, out_path));
    return *out_path ? TG_OK : fail_no_directory();
}

tg_status tg_cache_list(const char *dir, tg_cache_visit *visit, void *user)
{
    tgi_api_frame frame = tgi_api_enter(NULL, __func__);
    char *path = NULL;
    tg_status status =
        visit ? require_path(dir, &path)
              : tgi_error_set(TG_ERROR_INVALID_ARGUMENT, TGI_NO_SITE,
                              "the visit callback is NULL");
    if (status == TG_OK)
        status = tgi_disk_cache_list(path, visit, user);
    tgi_free(path);
    tgi_api_leave(frame);
    return status;
}

tg_status tg_cache_verify(const char *dir, bool deletes_bad,
                          tg_cache_report *out_report)
{
    tgi_api_frame frame = tgi_api_enter(NULL, __func__);
    tg_cache_report report = TG_CACHE_REPORT_INIT;
    char *path = NULL;
    /* A bad report struct is rejected before anything is deleted. */
    tg_status status = WRITE_VERSIONED(out_report, &report, tg_cache_report);
    if (status == TG_OK)
        status = require_path(dir, &path);
    if (status == TG_OK) {
        status = tgi_disk_cache_verify(path, deletes_bad, &report);
        (void)WRITE_VERSIONED(out_report, &report, tg_cache_report);
    }
    tgi_free(path);
    tgi_api_leave(frame);
    return status;
}

tg_status tg_cache_clear(const char *dir)
{
    tgi_api_frame frame = tgi_api_enter(NULL, __func__);
    char *path;
    tg_status status = require_path(dir, &path);
    if (status == TG_OK)
        status = tgi_disk_cache_clear(path);
    tgi_free(path);
    tgi_api_leave(frame);
    return status;
}

tg_status tg_cache_size(const char *dir, size_t *out_entries,
                        uint64_t *out_bytes)
{
    tgi_api_frame frame = tgi_api_enter(NULL, __func__);
    size_t n_entries = 0;
    uint64_t bytes = 0;
    char *path;
    tg_status status = require_path(dir, &path);
    if (status == TG_OK)
        status = tgi_disk_cache_size(path, &n_entries, &bytes);
    if (out_entries)
        *out_entries = n_entries;
    if (out_bytes)
        *out_bytes = bytes;
    tgi_free(path);
    tgi_api_leave(frame);
    return status;
}
