/* SPDX-License-Identifier: MIT */
/*
 * context.h - a context owns the options, the list of variables and the sinks
 * of log and print. Most programs have one.
 */
#ifndef TGJIT_CONTEXT_H
#define TGJIT_CONTEXT_H

#include "base.h"
#include "variable.h"

TG_BEGIN_DECLS

/* Receives the text of tg_print, on the thread that made the call. */
typedef void tg_print_callback(const char *text, void *user);

/*
 * The accuracy of elementary functions. Every function has a recipe with an
 * error of at most 1 ulp in f32 and 2 in f64. Some have a second, faster one
 * with at most 4: log, log2, log10, sin, cos, tan, atan, atan2, tanh, erf, erfc,
 * sigmoid, silu, gelu. TG_ACCURACY_FAST selects it for the operations of a callback, also in layers and losses;
 * tg_tanh_fast and its kin select it for one operation. An operation keeps its
 * accuracy when it is differentiated or called by another function. Both
 * recipes have the same bits interpreted and compiled, for any number of
 * threads and any vector width (docs/NUMERICS.md).
 */
typedef enum tg_accuracy_level {
    TG_ACCURACY_DEFAULT = 0, /* of a function: that of its context; of a
                                context: TG_ACCURACY_FULL */
    TG_ACCURACY_FULL = 1,
    TG_ACCURACY_FAST = 2
} tg_accuracy_level;

/*
 * Zero members select defaults. A member takes precedence over the environment
 * variable named beside it. List items are separated by commas. An invalid
 * value fails tg_context_create with TG_ERROR_INVALID_ARGUMENT; in an
 * environment variable it is ignored with a warning.
 */
typedef struct tg_context_options {
    size_t struct_bytes; /* sizeof(tg_context_options) */

    const char *log; /* TGJIT_LOG: "warn", "info,+trace", … */
    tg_log_callback *log_callback;
    void *log_user;

    tg_print_callback *print_callback; /* NULL: stderr */
    void *print_user;

    /* Limit, in bytes, of one call's temporaries and new results, and of each
       tensor or variable created in the context. A larger request fails with
       TG_ERROR_OUT_OF_MEMORY before memory is touched. Memory wrapped by a
       tensor does not count. 0: the memory of the machine or of its control
       group (cgroup v1, v2), whichever is less, read when the process creates
       its first context. UINT64_MAX: no limit. */
    uint64_t memory_limit;
    bool no_contraction;   /* round a*b and the sum in a*b + c separately */
    const char *skip_passes; /* TGJIT_SKIP_PASSES: "fold,in-place" */
    const char *explain;     /* TGJIT_EXPLAIN: "retrace,fusion" */
    const char *dump; /* TGJIT_DUMP: "graph,passes,dot,loops,llvm,asm,repro" */
    const char *dump_dir; /* TGJIT_DUMP_DIR; default "." */

    const char *jit;   /* TGJIT_JIT: "auto" (the default: compile, unless the
                          compile is estimated to exceed ten seconds), "off"
                          (always interpret) or "required" (compile, or
                          fail) */
    const char *cpu;   /* TGJIT_CPU: "host", or LLVM's name of a CPU with AVX2
                          and FMA: "x86-64-v3", "skylake", "znver3", … */
    int vector_bits;   /* TGJIT_VECTOR_BITS: 128, 256, 512; 0: automatic */
    const char *show_code; /* TGJIT_SHOW_CODE: "gdb" registers compiled
                              functions with gdb, "perf" names them in
                              /tmp/perf-PID.map, "jitdump" writes them and
                              their lines to jit-PID.dump in dump_dir, for
                              perf inject; process-wide */
    int threads;       /* TGJIT_THREADS: maximum per call; 0: one per CPU */

    const char *cache; /* TGJIT_CACHE: the disk cache: "rw" (default), "ro"
                          (read only) or "off" */
    const char *cache_dir;    /* TGJIT_CACHE_DIR: its directory; see cache.h */
    uint64_t cache_max_bytes; /* TGJIT_CACHE_MAX: its size; 0: 256 MiB */

    const char *compile; /* TGJIT_COMPILE: "background" (the default: small
                            calls are interpreted until their code is ready)
                            or "eager" (every call waits for its code) */

    uint64_t seed; /* random initial values of variables derive from it and
                      from their names; see initial.h */

    /* Both are process-wide: the first context that sets them decides. A file
       that cannot be created fails tg_context_create with TG_ERROR_FILE; if the
       environment names it, it is logged as a warning. */
    const char *profile;    /* TGJIT_PROFILE: profiles all calls, and writes the
                               report at exit: "table", "json" (to stderr), or
                               a file, as JSON if it ends with ".json" */
    const char *trace_file; /* TGJIT_TRACE: a file for the timeline of all calls
                               (profile.h) */

    const char *check; /* TGJIT_CHECK: "nan,inf": a call fails with
                          TG_ERROR_ASSERT at the first operation that makes a
                          NaN or an infinity; the message names it */

    const char *inspect; /* TGJIT_INSPECT: a directory, created if necessary,
                            for a page about each trace (tg_concrete_inspect).
                            Every code is compiled once more for its page. */

    tg_accuracy_level accuracy; /* of functions that do not choose */

    /* How schedules are chosen: which vectors, unrolling, blocks and stores the
       kernels of a function have. The bits of results do not depend on it. */
    const char *plan; /* TGJIT_PLAN: "estimate" (the default: from the code and
                         facts about the CPU) or "measure": the compile times
                         several schedules of each large kernel on scratch
                         memory and keeps the fastest, in the disk cache too.
                         Calls wait for it. Of functions that do not choose. */
    const char *calibration; /* TGJIT_CALIBRATION: "on" (the default: estimates
                                use measurements of this machine, if the disk
                                cache has them; see tg_calibrate) or "off" */
    int plan_budget; /* TGJIT_PLAN_BUDGET: milliseconds after which the compile
                        of a trace times no further schedule; 0: 5000 */
} tg_context_options;

#define TG_CONTEXT_OPTIONS_INIT TG_OPTIONS_INIT(tg_context_options)

/*
 * Creates a context; NULL options select defaults. Returns NULL on failure;
 * tg_error(NULL) has the reason.
 */
TG_API TG_MUST_CHECK tg_context *
tg_context_create(const tg_context_options *options);

TG_API tg_context *tg_context_retain(tg_context *ctx);

/* Objects created in a context keep it alive, so they may be released in any
   order. */
TG_API void tg_context_release(tg_context *ctx);
TG_DEFINE_AUTO(tg_context)

/*
 * Waits until the context (NULL: every context) has no running or queued
 * background compile. A background compile keeps its context alive. exit()
 * waits for running compiles, for at most a minute, and drops queued ones. A
 * thread other than the main thread that has never caused a compile should
 * call this before exit(). TG_ERROR_BUSY inside a log callback that a compile
 * invoked.
 */
TG_API tg_status tg_compile_wait(tg_context *ctx);

/* -- Variables of a context ------------------------------------------------ */

/*
 * Writes up to `capacity` variables to `out_variables`, in order of creation,
 * and returns how many there are. Each variable written is retained for the
 * caller.
 */
TG_API size_t tg_context_variables(tg_context *ctx, tg_variable_filter filter,
                                   tg_variable **out_variables,
                                   size_t capacity);

/* Returns the variable with that name, retained for the caller; NULL if there
   is none. */
TG_API TG_MUST_CHECK tg_variable *tg_context_find_variable(tg_context *ctx,
                                                           const char *name);

TG_END_DECLS

#endif /* TGJIT_CONTEXT_H */
