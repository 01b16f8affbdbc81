/* SPDX-License-Identifier: MIT */
/*
 * profile.h - where the time of calls goes: per kernel, per trace of a
 * function, and as a timeline. docs/PROFILING.md has a worked session.
 *
 *     tg_profile_start(NULL);
 *     ... calls ...
 *     tg_profile_stop();
 *     char *text = tg_profile_report(TG_PROFILE_TABLE);
 *
 * There is one profile for the process; it covers all contexts and threads.
 * Without a change to the program, TGJIT_PROFILE=table prints it at exit, and
 * TGJIT_TRACE=FILE writes a timeline (context.h).
 *
 * Profiling does not change results, and compiles nothing anew. A profiled call
 * takes about 0.2 us longer, and 30 ns for each further kernel. Without a
 * profile, a call tests one flag.
 */
#ifndef TGJIT_PROFILE_H
#define TGJIT_PROFILE_H

#include "base.h"

TG_BEGIN_DECLS

typedef struct tg_profile_options {
    size_t struct_bytes; /* sizeof(tg_profile_options) */

    /* Also writes a timeline, until tg_profile_stop: calls, compiles, kernels
       and barriers of each thread, in Chrome's trace format, which Perfetto and
       chrome://tracing open. NULL: none. */
    const char *trace_file;
} tg_profile_options;

#define TG_PROFILE_OPTIONS_INIT TG_OPTIONS_INIT(tg_profile_options)

/*
 * Begins an empty profile; NULL options select defaults. Calls that are running
 * are not part of it. TG_ERROR_FILE if the trace file cannot be created,
 * TG_ERROR_BUSY if one is being written already; the profile is then unchanged.
 */
TG_API TG_MUST_CHECK tg_status
tg_profile_start(const tg_profile_options *options);

/*
 * Ends the profile, which can still be read, and completes the timeline of
 * tg_profile_start (that of TGJIT_TRACE goes on until exit). TG_ERROR_FILE if
 * the timeline is incomplete, such as on a full disk. Nothing happens if there
 * is no profile.
 */
TG_API tg_status tg_profile_stop(void);

/* Discards the recorded data and frees its memory. A running profile goes
   on, empty. */
TG_API void tg_profile_clear(void);

/* True while a timeline is written. */
TG_API bool tg_timeline_is_on(void);

/* The clock of the timeline, in nanoseconds. */
TG_API uint64_t tg_timeline_now(void);

/*
 * Adds a span of time of the program to the timeline, if there is one: a track
 * beside those of the threads, where spans may overlap.
 */
TG_API void tg_timeline_span(const char *track, const char *name,
                             uint64_t begin, uint64_t end);

typedef enum tg_profile_format {
    TG_PROFILE_TABLE = 0, /* for people */
    TG_PROFILE_JSON = 1   /* the same with all details; the members are
                             described in docs/PROFILING.md */
} tg_profile_format;

/*
 * The profile as text, also while it is running. The caller frees it with
 * tg_text_free; NULL on failure. The first report of a process takes 0.2 s to
 * measure the peak rates of the machine.
 */
TG_API TG_MUST_CHECK char *tg_profile_report(tg_profile_format format);

TG_END_DECLS

#endif /* TGJIT_PROFILE_H */
