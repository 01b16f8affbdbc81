/* SPDX-License-Identifier: MIT */
/*
 * timeline.h - a file of events in Chrome's trace format, a JSON array, for
 * Perfetto and chrome://tracing. An event is a span of time on one thread; the
 * spans of a thread nest.
 */
#ifndef TGI_TIMELINE_H
#define TGI_TIMELINE_H

#include <stdint.h>

#include "base/clock.h"
#include "profile/profile_mode.h"
#include "tgjit/base.h"

/* Creates the file and turns tracing on. BUSY if there is a timeline, FILE if
   the file cannot be created. */
tg_status tgi_timeline_open(const char *path);

/* Completes and closes the file; FILE if an event could not be written. There
   need not be a timeline. */
tg_status tgi_timeline_close(void);

/*
 * Adds an event of the calling thread, in nanoseconds of tgi_clock_ns. Nothing
 * happens if there is no timeline. `category` and `detail` (which may be NULL)
 * end up in quotes, `name` too. Thread-safe; allocates nothing.
 */
void tgi_timeline_add(const char *category, const char *name,
                      const char *detail, uint64_t begin, uint64_t end);

/* The same for a track of its own instead of a thread: its spans need not
   nest. */
void tgi_timeline_add_span(const char *track, const char *name, uint64_t begin,
                           uint64_t end);

/* The name of the calling thread, a literal; before its first event. */
void tgi_timeline_name_thread(const char *name);

/* The beginning of an event; 0 if there is no timeline. */
static inline uint64_t tgi_timeline_begin(void)
{
    return tgi_profile_mode_has(TGI_TRACING) ? tgi_clock_ns() : 0;
}

/* Ends an event that began at a nonzero `begin`. */
static inline void tgi_timeline_end(const char *category, const char *name,
                                    uint64_t begin)
{
    if (begin)
        tgi_timeline_add(category, name, NULL, begin, tgi_clock_ns());
}

#endif /* TGI_TIMELINE_H */
