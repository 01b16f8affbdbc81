/* SPDX-License-Identifier: MIT */
/*
 * cache.h - compiled code that is kept: in memory, and in a directory between
 * runs of programs, which can be listed, verified, measured and cleared.
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

/* -- Code of the process --------------------------------------------------- */

/*
 * Equal graphs are compiled once in a process, whichever functions and
 * contexts they come from: their code is kept in memory while there is a
 * context. What has not been used for longest makes room for other code; it
 * leaves when nobody runs it any more.
 */
typedef struct tg_code_counters {
    size_t struct_bytes; /* sizeof(tg_code_counters) */

    uint64_t hits;      /* since the process began: code that was there … */
    uint64_t misses;    /* … and that was not: loaded from disk or compiled */
    uint64_t evictions; /* forgotten */
    uint64_t entries;   /* kept now … */
    uint64_t bytes;     /* … and their memory, whole pages of code included */
} tg_code_counters;

#define TG_CODE_COUNTERS_INIT TG_OPTIONS_INIT(tg_code_counters)

TG_API TG_MUST_CHECK tg_status tg_code_counts(tg_code_counters *out_counts);

/* Keeps at most so many bytes of code from now on (64 MiB until then); 0 keeps
   none. */
TG_API void tg_code_limit(size_t bytes);

/* Forgets all code that is kept; functions keep what they have. */
TG_API void tg_code_clear(void);

/* -- Counts of a context --------------------------------------------------- */

typedef struct tg_cache_counters {
    size_t struct_bytes; /* sizeof(tg_cache_counters) */

    uint64_t hits;      /* code that was found */
    uint64_t misses;    /* … and that was not, whyever, and so was to be made */
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
