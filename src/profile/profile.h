/* SPDX-License-Identifier: MIT */
/*
 * profile.h - the profile: where the time of calls went, per trace of a
 * function and per kernel. There is one for the process. A call measures into
 * memory of its own and adds its times at its end, under a lock.
 *
 * Memory is bounded: TGI_PROFILE_MAX_TRACES traces and TGI_PROFILE_MAX_UNITS
 * kernels are recorded; calls beyond are counted only. Times are kept as sums
 * and histograms.
 */
#ifndef TGI_PROFILE_H
#define TGI_PROFILE_H

#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/vec.h"
#include "profile/profile_mode.h"
#include "tgjit/base.h"

enum { TGI_PROFILE_MAX_TRACES = 1024, TGI_PROFILE_MAX_UNITS = 16384 };

/* -- Histograms of durations ----------------------------------------------- */

/* Buckets are a sixteenth of a power of two wide: 6 % or less. */
enum {
    TGI_HISTOGRAM_STEPS = 16,
    TGI_HISTOGRAM_BUCKETS = 40 * TGI_HISTOGRAM_STEPS
};

typedef struct tgi_histogram {
    uint64_t n;
    uint32_t counts[TGI_HISTOGRAM_BUCKETS];
} tgi_histogram;

void tgi_histogram_add(tgi_histogram *histogram, uint64_t ns, uint64_t n);
/* The middle of the median's bucket; 0 if it is empty. */
uint64_t tgi_histogram_median(const tgi_histogram *histogram);

/* -- What is recorded ------------------------------------------------------ */

/* Where the time of making code goes. */
#define TGI_PROFILE_PHASES(X) \
    X(TRACE, "trace")         /* the callback */ \
    X(PASSES, "passes")       /* graph passes */ \
    X(FUSE, "fuse")           /* loop passes before scheduling */ \
    X(SCHEDULE, "schedule")   /* schedules and memory plan */ \
    X(CODEGEN, "codegen")     /* LLVM */ \
    X(LOAD, "load")           /* relocation, mapping; reading the disk cache */

#define TGI_PROFILE_PHASE_NUMBER(phase, name) TGI_PHASE_##phase,
typedef enum tgi_profile_phase {
    TGI_PROFILE_PHASES(TGI_PROFILE_PHASE_NUMBER) TGI_N_PHASES
} tgi_profile_phase;

extern const char *const tgi_profile_phase_names[TGI_N_PHASES];

/* Where code came from. */
typedef enum tgi_code_source {
    TGI_CODE_COMPILED,
    TGI_CODE_FROM_MEMORY,
    TGI_CODE_FROM_DISK,
    TGI_CODE_SOURCES
} tgi_code_source;

/* How code was made. */
typedef struct tgi_compile_stats {
    uint64_t phase_ns[TGI_N_PHASES];
    tgi_code_source source;
    uint64_t n_timed; /* schedules timed by measured planning */
} tgi_compile_stats;

/* A *unit* is a kernel, a group of straight-line kernels, or all interpreted
   nodes of one operation. The strings belong to its trace. */
typedef struct tgi_profile_unit {
    const char *name, *ops;
    uint64_t hash;        /* of the name; set by tgi_profile_unit_get */
    const tg_site *sites; /* that traced it; the main one first */
    size_t n_sites;
    bool is_interpreted;
    unsigned element_bytes; /* of the arithmetic */

    uint64_t n_runs;
    uint64_t total_ns, min_ns; /* of a run: of its slowest thread */
    tgi_histogram times;
    double bytes, flops;   /* of all runs; 0: unknown */
    uint64_t threads_ns;   /* summed over threads */
    double thread_runs;    /* runs, each times its number of threads */
    uint64_t wait_ns;      /* at the barriers after it: mean of the threads */
    int threads;           /* of the largest team */
} tgi_profile_unit;

typedef struct tgi_profile_trace {
    unsigned n_refs; /* of runners; guarded by the lock of the profile */
    unsigned generation;
    tgi_arena arena;
    const char *function;
    size_t number;      /* of the trace in its context, from 0 */
    const char *reason; /* why it was traced */
    tg_site site;       /* the call that traced it */

    uint64_t n_calls, n_interpreted;
    /* Of the calls, after lookup and compilation: total_ns is the sum of units,
       barriers, host steps and the rest. */
    uint64_t total_ns, barrier_ns, host_ns;
    uint64_t temporary_bytes; /* at most, of a call */

    uint64_t phase_ns[TGI_N_PHASES];
    unsigned n_codes[TGI_CODE_SOURCES];
    TGI_VEC(tgi_profile_unit *) units;
} tgi_profile_trace;

/* -- Adding to it ---------------------------------------------------------- */

/* Identifies a trace. The strings are copied. */
typedef struct tgi_profile_key {
    const char *function;
    size_t number;
    tg_site site;
} tgi_profile_key;

/*
 * The trace of this key in the current profile, referenced once more; NULL if
 * the profile is full or out of memory. *cached, NULL at first, remembers it
 * for the next call with this key; it is to be released. *out_is_new: the
 * caller may describe it with tgi_profile_describe.
 */
tgi_profile_trace *tgi_profile_trace_get(const tgi_profile_key *key,
                                         tgi_profile_trace **cached,
                                         bool *out_is_new);
tgi_profile_trace *tgi_profile_trace_retain(tgi_profile_trace *trace);
void tgi_profile_trace_release(tgi_profile_trace *trace);

/* Sets the reason, and adds times of phases. */
void tgi_profile_describe(tgi_profile_trace *trace, const char *reason,
                          const uint64_t phase_ns[TGI_N_PHASES]);

/* Adds the phases and the source of a program. */
void tgi_profile_add_code(tgi_profile_trace *trace,
                          const tgi_compile_stats *stats);

/* Finds or adds the unit with this name, kind and main site; copies all of
   them. NULL if the profile is full or out of memory. */
tgi_profile_unit *tgi_profile_unit_get(tgi_profile_trace *trace,
                                       const tgi_profile_unit *description);

/* The runs of a unit in one call. */
typedef struct tgi_profile_sample {
    tgi_profile_unit *unit; /* NULL: not recorded */
    uint64_t n_runs, ns, min_ns, threads_ns, wait_ns;
    double bytes, flops; /* of one run */
} tgi_profile_sample;

typedef struct tgi_profile_call {
    bool is_interpreted;
    uint64_t total_ns, barrier_ns, host_ns;
    uint64_t setup_ns; /* of profiling itself; not part of the total */
    uint64_t temporary_bytes;
    int n_threads;
    const tgi_profile_sample *samples;
    size_t n_samples;
} tgi_profile_call;

/* Adds a finished call; `trace` NULL: it is only counted. */
void tgi_profile_add_call(tgi_profile_trace *trace,
                          const tgi_profile_call *call);

/* -- Control and reading --------------------------------------------------- */

/* Begins an empty profile. */
void tgi_profile_begin(void);
void tgi_profile_end(void);
/* Discards what has been recorded. */
void tgi_profile_clear(void);

typedef struct tgi_profile_view {
    tgi_profile_trace *const *traces;
    size_t n_traces;
    uint64_t wall_ns;   /* while profiling was on */
    uint64_t n_dropped; /* calls that were only counted */
} tgi_profile_view;

/* Calls `read` with the profile, which does not change meanwhile. */
void tgi_profile_read(void (*read)(const tgi_profile_view *view, void *user),
                      void *user);

#endif /* TGI_PROFILE_H */
