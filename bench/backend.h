/* SPDX-License-Identifier: MIT */
/*
 * backend.h - what can compute a case: the library without and with its JIT,
 * and the two hand-written peers. The only place that knows how a back end
 * and a number of threads are asked for.
 */
#ifndef BENCH_BACKEND_H
#define BENCH_BACKEND_H

#include <stdbool.h>

#include "tgjit.h"

typedef enum backend {
    BACKEND_INTERP,
    BACKEND_JIT,
    BACKEND_JIT_ANY, /* the same, of extents that are not known */
    BACKEND_C,
    BACKEND_EXPERT,
    N_BACKENDS
} backend;

/* Why something failed or cannot be, for the report. */
typedef struct reason {
    char text[200];
} reason;

void reason_set(reason *why, const char *format, ...) TG_PRINTF(2, 3);

/* "interp", "jit", "jit_any", "c", "expert" */
const char *backend_name(backend which);

static inline bool backend_is_jit(backend which)
{
    return which == BACKEND_JIT || which == BACKEND_JIT_ANY;
}

static inline bool backend_is_library(backend which)
{
    return which == BACKEND_INTERP || backend_is_jit(which);
}

/* False, with the reason, if this build or machine does not have it. */
bool backend_is_available(backend which, reason *out_why);

/*
 * A context whose functions run in that back end of the library and in no
 * other: what the JIT cannot compile fails instead of being interpreted.
 * NULL on failure.
 */
tg_context *backend_context(backend which, int threads);

/* The same for the JIT and one thread, with code that is kept there, and not
   in memory. */
tg_context *backend_context_kept(const char *dir);

/* The library as it is by default, without code that is kept: it interprets
   while code is compiled in the background. */
tg_context *backend_context_tiers(void);

/* How many threads hand-written kernels take from now on. */
void backend_set_threads(int threads);

#endif /* BENCH_BACKEND_H */
