/* SPDX-License-Identifier: MIT */
/*
 * cache.h - the directory where compiled code is kept between runs of
 * programs, and what became of it: to list, verify, measure and clear it.
 *
 * `dir` of the functions here: a directory, or NULL for the one that contexts
 * use by default: TGJIT_CACHE_DIR, else $XDG_CACHE_HOME/tgjit, else
 * $HOME/.cache/tgjit. One that is missing counts as empty. One that belongs
 * to another user, that others may write to, or that is a symbolic link is
 * refused (TG_ERROR_FILE), as it is by contexts. All of this may be done while
 * programs use the directory.
 */
#ifndef TGJIT_CACHE_H
#define TGJIT_CACHE_H

#include "base.h"

TG_BEGIN_DECLS

/* -- Counts of a context --------------------------------------------------- */

typedef struct tg_cache_counters {
    size_t struct_bytes; /* sizeof(tg_cache_counters) */

    uint64_t hits;      /* code that was found */
    uint64_t misses;    /* … and that was not, for whatever reason */
    uint64_t saves;     /* entries written */
    uint64_t evictions; /* removed to make room */
    uint64_t bad;       /* damaged or not trusted, and therefore not used */
} tg_cache_counters;

#define TG_CACHE_COUNTERS_INIT TG_OPTIONS_INIT(tg_cache_counters)

/*
 * What happened so far in the cache of a context. Contexts with the same
 * directory, mode and bound share a cache and its counts. All are 0 if there
 * is none, or nothing has been looked for yet.
 */
TG_API TG_MUST_CHECK tg_status tg_cache_counts(tg_context *ctx,
                                               tg_cache_counters *out_counts);

/* -- The directory --------------------------------------------------------- */

/* Lent for the time of a visit. */
typedef struct tg_cache_entry {
    const char *name;        /* of its file */
    const char *description; /* one line that says what it is for */
    uint64_t bytes;          /* of its file */
    int64_t last_use;        /* seconds since 1970; may lag by an hour */
} tg_cache_entry;

/* Returns whether to go on. */
typedef bool tg_cache_visit(const tg_cache_entry *entry, void *user);

/* Shows all entries, the least recently used first. */
TG_API TG_MUST_CHECK tg_status tg_cache_list(const char *dir,
                                             tg_cache_visit *visit, void *user);

typedef struct tg_cache_report {
    size_t struct_bytes; /* sizeof(tg_cache_report) */

    uint64_t good;
    uint64_t bad;     /* damaged, or not a plain file of this user's alone */
    uint64_t foreign; /* of another version of the format */
    uint64_t unread;  /* could not be read: nothing is known of them */
} tg_cache_report;

#define TG_CACHE_REPORT_INIT TG_OPTIONS_INIT(tg_cache_report)

/* Reads all entries and counts them. The bad ones are removed if it
   `deletes_bad`. */
TG_API TG_MUST_CHECK tg_status tg_cache_verify(const char *dir,
                                               bool deletes_bad,
                                               tg_cache_report *out_report);

/* Removes all entries, and nothing else that is there. */
TG_API TG_MUST_CHECK tg_status tg_cache_clear(const char *dir);

/* How many entries there are, and the bytes of their files. Either may be
   NULL. */
TG_API TG_MUST_CHECK tg_status tg_cache_size(const char *dir,
                                             size_t *out_entries,
                                             uint64_t *out_bytes);

TG_END_DECLS

#endif /* TGJIT_CACHE_H */
