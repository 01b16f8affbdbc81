/* SPDX-License-Identifier: MIT */
/*
 * host_log.h - records what the prints and host calls of a run returned, so
 * that the call can be run again, from the start, without repeating them.
 */
#ifndef TGI_HOST_LOG_H
#define TGI_HOST_LOG_H

#include "base/vec.h"
#include "tgjit/host.h"

typedef struct tgi_host_log_entry {
    size_t bytes;  /* of all outputs */
    char *outputs; /* dense, one after the other; NULL: there are none */
} tgi_host_log_entry;

typedef struct tgi_host_log {
    TGI_VEC(tgi_host_log_entry) entries;
    bool has_failed;   /* a host call, or recording it: the run is over */
    bool replays;      /* entries are taken from it, before new ones happen */
    size_t n_replayed; /* if it replays */
} tgi_host_log;

/* Frees the entries. */
void tgi_host_log_clear(tgi_host_log *log);

/* The recorded entry that replaces the next print or host call; NULL: it
   happens. `log` may be NULL. */
const tgi_host_log_entry *tgi_host_log_next(tgi_host_log *log);

/*
 * Before a print, which has no outputs, or a host call: adds its entry, so that
 * whatever happens is recorded. False when out of memory (recorded). The log
 * may be NULL; nothing is added to one that replays.
 */
bool tgi_host_log_begin(tgi_host_log *log, const tg_host_buffer *outputs,
                        size_t n_outputs);
/* After it: completes the entry, or notes the failure. */
void tgi_host_log_end(tgi_host_log *log, bool has_failed,
                      const tg_host_buffer *outputs, size_t n_outputs);

/* Copies the outputs of an entry to those of the same host call. */
void tgi_host_log_replay(const tgi_host_log_entry *entry,
                         const tg_host_buffer *outputs, size_t n_outputs);

#endif /* TGI_HOST_LOG_H */
