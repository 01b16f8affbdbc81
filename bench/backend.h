/* SPDX-License-Identifier: MIT */
/*
 * backend.h - the back ends that compute a case: the library without and with
 * its JIT, two hand-written peers, and other libraries. All knowledge of how to
 * select a back end and a number of threads is here.
 */
#ifndef BENCH_BACKEND_H
#define BENCH_BACKEND_H

#include <stdbool.h>

#include "tgjit.h"

typedef enum backend {
    BACKEND_INTERP,
    BACKEND_JIT,
    BACKEND_JIT_UNKNOWN_SIZES, /* traced with all extents unknown */
    BACKEND_JIT_PROFILED,      /* while tg_profile_start is in effect */
    BACKEND_JIT_FAST,          /* with fast accuracy */
    BACKEND_C,
    BACKEND_C_STRICT, /* the same loops without fast math */
    BACKEND_EXPERT,
    BACKEND_OPENBLAS,
    BACKEND_BLIS,
    BACKEND_ONEDNN,
    BACKEND_LIBXSMM,
    BACKEND_TF_DATA,
    BACKEND_TORCH_DATA,
    BACKEND_NUMPY,
    BACKEND_NUMEXPR,
    BACKEND_NUMBA,
    BACKEND_TORCH,
    BACKEND_TORCH_COMPILE,
    BACKEND_TENSORFLOW,
    BACKEND_TENSORFLOW_XLA,
    BACKEND_JAX,
    BACKEND_ONNXRUNTIME,
    N_BACKENDS
} backend;

/* Why a row failed or is not available, for the report. */
typedef struct reason {
    char text[200];
} reason;

void reason_set(reason *why, const char *format, ...) TG_PRINTF(2, 3);

/* The label in row names: "interp", "jit", "jit, unknown sizes", "c", … */
const char *backend_name(backend which);

/* The back end of that name; N_BACKENDS if there is none. */
backend backend_by_name(const char *name);

static inline bool backend_is_jit(backend which)
{
    return which >= BACKEND_JIT && which <= BACKEND_JIT_FAST;
}

static inline bool backend_is_library(backend which)
{
    return which == BACKEND_INTERP || backend_is_jit(which);
}

/* True if its results must equal the reference bit for bit. */
static inline bool backend_has_bits(backend which)
{
    return (backend_is_library(which) && which != BACKEND_JIT_FAST) ||
           which == BACKEND_EXPERT;
}

/* True for another library, whose rows are omitted if it is not installed. */
static inline bool backend_is_installed(backend which)
{
    return which >= BACKEND_OPENBLAS;
}

/* True if the first screen shows its rows: not for variants of the JIT, nor for
   hand-written SIMD, which few users would write. */
static inline bool backend_is_on_screen(backend which)
{
    return which != BACKEND_JIT_UNKNOWN_SIZES && which != BACKEND_JIT_FAST &&
           which != BACKEND_EXPERT;
}

/* True for peers in Python, whose rows exist only with --peers. */
static inline bool backend_is_python(backend which)
{
    return which >= BACKEND_TF_DATA;
}

/* True for an engine that computes cases in processes of its own
   (peers/engine.h). */
static inline bool backend_is_engine(backend which)
{
    return which >= BACKEND_NUMPY;
}

/* Back ends with the same team share threads and caches: those of the library,
   of OpenBLAS, and of each engine; all others are OpenMP's. By a back end that
   has it. */
static inline backend backend_team(backend which)
{
    if (backend_is_library(which))
        return BACKEND_JIT;
    return which == BACKEND_OPENBLAS || backend_is_engine(which) ? which
                                                                 : BACKEND_C;
}

/* False, with the reason, if this build or machine lacks it. */
bool backend_is_available(backend which, reason *out_why);

/*
 * A context whose functions run only in that back end of the library: a
 * function that the JIT cannot compile fails. NULL on failure.
 */
tg_context *backend_context(backend which, int threads);

/* The same for the JIT and one thread, with a disk cache in `dir` and no cache
   in memory. */
tg_context *backend_context_disk(const char *dir);

/* The default mode, interpreting while code is compiled in the background,
   without caches. */
tg_context *backend_context_tiers(void);

/* Sets the number of threads of hand-written kernels. */
void backend_set_threads(int threads);

#endif /* BENCH_BACKEND_H */
