/* SPDX-License-Identifier: MIT */
/*
 * cache.h - the code caches: one in memory, one in a directory that persists
 * between processes.
 *
 * A parameter `dir` names a cache directory; NULL selects the default of
 * contexts: TGJIT_CACHE_DIR, else $XDG_CACHE_HOME/tgjit, else
 * $HOME/.cache/tgjit. A missing directory counts as empty. A directory that is
 * a symbolic link, belongs to another user, or is writable by others fails
 * with TG_ERROR_FILE; contexts reject it too. All functions are safe while
 * other processes use the directory.
 */
#ifndef TGJIT_CACHE_H
#define TGJIT_CACHE_H

#include "base.h"

TG_BEGIN_DECLS

/* -- The in-memory cache --------------------------------------------------- */

/*
 * A process compiles equal graphs once, whatever functions and contexts they
 * come from. The cache exists while a context does. It evicts the least
 * recently used code; evicted code is unmapped when its last user releases it.
 */
typedef struct tg_code_counters {
    size_t struct_bytes; /* sizeof(tg_code_counters) */

    /* Since the process started: */
    uint64_t hits;
    uint64_t misses;    /* code that was loaded from disk or compiled */
    uint64_t evictions;
    /* Now: */
    uint64_t entries;
    uint64_t bytes;     /* memory of all entries, including whole code pages */
    /* Since the process started: schedules that measured planning has timed. */
    uint64_t timed_schedules;
} tg_code_counters;

#define TG_CODE_COUNTERS_INIT TG_OPTIONS_INIT(tg_code_counters)

TG_API TG_MUST_CHECK tg_status tg_code_counts(tg_code_counters *out_counts);

/* Sets the capacity of the in-memory code cache (default 64 MiB); 0 disables
   it. */
TG_API void tg_code_limit(size_t bytes);

/* Empties the cache; functions keep the code they already hold. */
TG_API void tg_code_clear(void);

/* -- Counters of the disk cache -------------------------------------------- */

typedef struct tg_cache_counters {
    size_t struct_bytes; /* sizeof(tg_cache_counters) */

    uint64_t hits;
    uint64_t misses;    /* for any reason */
    uint64_t saves;     /* entries written */
    uint64_t evictions; /* entries removed to stay below the size limit */
    uint64_t bad;       /* damaged or untrusted entries, which are not used */
} tg_cache_counters;

#define TG_CACHE_COUNTERS_INIT TG_OPTIONS_INIT(tg_cache_counters)

/*
 * Counters of a context's disk cache. Contexts with the same directory, mode
 * and size limit share a cache and its counters. All are 0 if the context has
 * no disk cache or has not used it yet.
 */
TG_API TG_MUST_CHECK tg_status tg_cache_counts(tg_context *ctx,
                                               tg_cache_counters *out_counts);

/* -- The directory --------------------------------------------------------- */

/* Valid during the visit. */
typedef struct tg_cache_entry {
    const char *name;        /* file name */
    const char *description; /* first line of the key */
    uint64_t bytes;          /* file size */
    int64_t last_use;        /* seconds since 1970; may lag by an hour */
} tg_cache_entry;

/* Returns false to stop the enumeration. */
typedef bool tg_cache_visit(const tg_cache_entry *entry, void *user);

/* Calls `visit` for each entry, least recently used first. */
TG_API TG_MUST_CHECK tg_status tg_cache_list(const char *dir,
                                             tg_cache_visit *visit, void *user);

typedef struct tg_cache_report {
    size_t struct_bytes; /* sizeof(tg_cache_report) */

    uint64_t good;
    uint64_t bad;     /* damaged, or not a regular file that only this user
                         can write */
    uint64_t foreign; /* another version of the format */
    uint64_t unread;  /* could not be read; state unknown */
} tg_cache_report;

#define TG_CACHE_REPORT_INIT TG_OPTIONS_INIT(tg_cache_report)

/* Reads and counts all entries; deletes damaged or untrusted ones if
   `deletes_bad`. */
TG_API TG_MUST_CHECK tg_status tg_cache_verify(const char *dir,
                                               bool deletes_bad,
                                               tg_cache_report *out_report);

/* Deletes all entries, and no other file of the directory. */
TG_API TG_MUST_CHECK tg_status tg_cache_clear(const char *dir);

/* Counts the entries and the bytes of their files. Either result may be
   NULL. */
TG_API TG_MUST_CHECK tg_status tg_cache_size(const char *dir,
                                             size_t *out_entries,
                                             uint64_t *out_bytes);

TG_END_DECLS

#endif /* TGJIT_CACHE_H */
