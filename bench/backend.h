/* SPDX-License-Identifier: MIT */
/*
 * backend.h - what can compute a case: the library without and with its JIT,
 * the two hand-written peers, and other libraries. The only place that knows
 * how a back end and a number of threads are asked for.
 */
#ifndef BENCH_BACKEND_H
#define BENCH_BACKEND_H

#include <stdbool.h>

#include "tgjit.h"

typedef enum backend {
    BACKEND_INTERP,
    BACKEND_JIT,
    BACKEND_JIT_UNKNOWN_SIZES, /* the same, of extents that are not known */
    BACKEND_C,
    BACKEND_EXPERT,
    BACKEND_OPENBLAS,
    BACKEND_BLIS,
    BACKEND_ONEDNN,
    BACKEND_LIBXSMM,
    N_BACKENDS
} backend;

/* Why something failed or cannot be, for the report. */
typedef struct reason {
    char text[200];
} reason;

void reason_set(reason *why, const char *format, ...) TG_PRINTF(2, 3);

/* "interp", "jit", "jit_any", "c", "expert", "openblas" … */
const char *backend_name(backend which);

static inline bool backend_is_jit(backend which)
{
    return which == BACKEND_JIT || which == BACKEND_JIT_UNKNOWN_SIZES;
}

static inline bool backend_is_library(backend which)
{
    return which == BACKEND_INTERP || backend_is_jit(which);
}

/* Whether its results are those of the reference bit for bit. */
static inline bool backend_has_bits(backend which)
{
    return backend_is_library(which) || which == BACKEND_EXPERT;
}

/* Another library: it is there if it is installed, and else not missed. */
static inline bool backend_is_installed(backend which)
{
    return which >= BACKEND_OPENBLAS;
}

/* Whether it has threads of its own, not those of OpenMP. */
static inline bool backend_has_own_threads(backend which)
{
    return which == BACKEND_OPENBLAS;
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
