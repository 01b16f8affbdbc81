/* SPDX-License-Identifier: MIT */
/*
 * disk_cache_admin.c - administration of a cache directory that need not be
 * open: list, verify, clear, measure.
 */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/error.h"
#include "cache/disk_cache_dir.h"
#include "cache/disk_cache_evict.h"

enum { DESCRIPTION_BYTES = 200 };

static tg_status fail_cache(const char *path, const char *action, int reason)
{
    char text[128];
    if (reason == ENOMEM)
        return tgi_error_memory();
    TGI_FAIL(TG_ERROR_FILE, TGI_NO_SITE, "the cache %s: cannot %s: %s", path,
             action, strerror_r(reason, text, sizeof(text)));
}

/* Opens and scans the directory. If it is missing, *out_dir is -1 and the scan
   is empty. On success close_scan is due. */
static tg_status open_scan(const char *path, int *out_dir,
                           tgi_disk_cache_scan *out_scan)
{
    struct stat s;
    *out_scan = (tgi_disk_cache_scan){0};
    TGI_TRY(tgi_disk_cache_dir_open(path, false, out_dir, &s));
    const int reason =
        *out_dir < 0 ? 0 : tgi_disk_cache_scan_init(out_scan, *out_dir);
    if (!reason)
        return TG_OK;
    close(*out_dir);
    return fail_cache(path, "list it", reason);
}

static void close_scan(int dir, tgi_disk_cache_scan *scan)
{
    tgi_disk_cache_scan_deinit(scan);
    if (dir >= 0)
        close(dir);
}

tg_status tgi_disk_cache_list(const char *path, tg_cache_visit *visit,
                              void *user)
{
    int dir;
    tgi_disk_cache_scan scan;
    TGI_TRY(open_scan(path, &dir, &scan));
    bool continues = true;
    for (size_t i = 0; i < scan.files.n && continues; i++) {
        const tgi_disk_cache_file *file = &scan.files.data[i];
        if (file->writer)
            continue;
        char description[DESCRIPTION_BYTES];
        tgi_cache_entry_describe(dir, file->name, description,
                                 sizeof(description));
        const tg_cache_entry entry = {.name = file->name,
                                      .description = description,
                                      .bytes = file->bytes,
                                      .last_use = file->last_use.tv_sec};
        continues = visit(&entry, user);
    }
    close_scan(dir, &scan);
    return TG_OK;
}

/* Reads an entry, and checks that its name is the hash of its key. */
static tgi_cache_entry_state verify_entry(int dir, const char *name)
{
    tgi_cache_entry entry;
    tgi_cache_entry_state state = tgi_cache_entry_read(dir, name, &entry);
    if (state == TGI_CACHE_ENTRY_VALID) {
        char expected[TGI_CACHE_ENTRY_NAME_BYTES];
        tgi_cache_entry_name(entry.key, expected);
        if (strcmp(name, expected) != 0)
            state = TGI_CACHE_ENTRY_DAMAGED;
    }
    tgi_free(entry.file);
    return state;
}

tg_status tgi_disk_cache_verify(const char *path, bool deletes,
                                tg_cache_report *out_report)
{
    int dir;
    tgi_disk_cache_scan scan;
    TGI_TRY(open_scan(path, &dir, &scan));
    tg_status status = TG_OK;
    for (size_t i = 0; i < scan.files.n; i++) {
        const char *name = scan.files.data[i].name;
        if (scan.files.data[i].writer)
            continue;
        switch (verify_entry(dir, name)) {
        case TGI_CACHE_ENTRY_VALID:
            out_report->good++;
            break;
        case TGI_CACHE_ENTRY_MISSING: /* removed since the scan */
            break;
        case TGI_CACHE_ENTRY_OTHER_VERSION:
            out_report->foreign++;
            break;
        case TGI_CACHE_ENTRY_DAMAGED:
        case TGI_CACHE_ENTRY_UNTRUSTED:
            out_report->bad++;
            if (deletes && unlinkat(dir, name, 0) != 0 && errno != ENOENT)
                status = fail_cache(path, "remove an entry", errno);
            break;
        case TGI_CACHE_ENTRY_IO_ERROR:
            out_report->unread++;
            break;
        }
    }
    close_scan(dir, &scan);
    return status;
}

tg_status tgi_disk_cache_clear(const char *path)
{
    int dir;
    tgi_disk_cache_scan scan;
    TGI_TRY(open_scan(path, &dir, &scan));
    tg_status status = TG_OK;
    for (size_t i = 0; i < scan.files.n; i++)
        if (unlinkat(dir, scan.files.data[i].name, 0) != 0 && errno != ENOENT)
            status = fail_cache(path, "remove an entry", errno);
    close_scan(dir, &scan);
    return status;
}

tg_status tgi_disk_cache_size(const char *path, size_t *out_entries,
                              uint64_t *out_bytes)
{
    int dir;
    tgi_disk_cache_scan scan;
    TGI_TRY(open_scan(path, &dir, &scan));
    *out_entries = scan.n_entries;
    *out_bytes = scan.bytes;
    close_scan(dir, &scan);
    return TG_OK;
}
