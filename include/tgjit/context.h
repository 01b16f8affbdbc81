/* SPDX-License-Identifier: MIT */
/*
 * context.h - the object that owns options, the list of variables and the
 * sinks for log and print. Programs usually have one.
 */
#ifndef TGJIT_CONTEXT_H
#define TGJIT_CONTEXT_H

#include "base.h"
#include "variable.h"

TG_BEGIN_DECLS

/* Receives the text of tg_print. Called from the thread that runs the call. */
typedef void tg_print_callback(const char *text, void *user);

/*
 * All zero but `struct_bytes` means: defaults. What is set here wins over the
 * environment variable named beside it. Lists take commas. An unknown word or
 * an impossible number is TG_ERROR_INVALID_ARGUMENT here, and nothing is made;
 * in an environment variable it is a warning.
 */
typedef struct tg_context_options {
    size_t struct_bytes; /* sizeof(tg_context_options) */

    const char *log; /* TGJIT_LOG: "warn", "info,+trace" … */
    tg_log_callback *log_callback;
    void *log_user;

    tg_print_callback *print_callback; /* NULL: stderr */
    void *print_user;

    /* Bytes of one call's temporaries and new results, and of one tensor or
       variable made in the context: more is TG_ERROR_OUT_OF_MEMORY, before
       memory is touched. 0: the memory of the machine, or of the control
       group (cgroup v1, v2) if that is less, as it was when the process made
       its first context. All of it counts, as the library writes to all of
       it; memory that tensors wrap does not. UINT64_MAX: no limit. */
    uint64_t memory_limit;
    bool no_contraction;   /* keep a*b+c as two roundings */
    const char *skip_passes; /* TGJIT_SKIP_PASSES: "fold,simplify" */
    const char *explain;     /* TGJIT_EXPLAIN: "retrace,fusion" */
    const char *dump; /* TGJIT_DUMP: "graph,passes,dot,loops,llvm,asm,repro" */
    const char *dump_dir; /* TGJIT_DUMP_DIR: where dumps go; "." */

    const char *jit;   /* TGJIT_JIT: "auto", "off" (interpret all) or
                          "required" (what cannot be compiled fails) */
    const char *cpu;   /* TGJIT_CPU: "host", or LLVM's name of a CPU with AVX2
                          and FMA: "x86-64-v3", "skylake", "znver3" … */
    int vector_bits;   /* TGJIT_VECTOR_BITS: 128, 256, 512; 0: what suits */
    const char *show_code; /* TGJIT_SHOW_CODE: "gdb,perf": compiled code is
                              known to gdb, or named in /tmp/perf-PID.map;
                              for the whole process */
    int threads;       /* TGJIT_THREADS: of a call, at most; 0: all CPUs */

    const char *cache; /* TGJIT_CACHE: compiled code kept on disk: "rw", "ro"
                          (use it, add nothing) or "off" */
    const char *cache_dir;    /* TGJIT_CACHE_DIR: where; see cache.h */
    uint64_t cache_max_bytes; /* TGJIT_CACHE_MAX: "256M"; 0: that much */

    const char *compile; /* TGJIT_COMPILE: "background" (the default: calls
                            are interpreted until their code is there, if that
                            is sooner) or "eager" (they wait for it) */

    uint64_t seed; /* from which, with a variable's name, the random initial
                      value of the variable is derived (tg_seeded) */
} tg_context_options;

#define TG_CONTEXT_OPTIONS_INIT TG_OPTIONS_INIT(tg_context_options)

/*
 * Makes a context; NULL options are defaults. NULL on failure: see
 * tg_error(NULL).
 */
TG_API TG_MUST_CHECK tg_context *
tg_context_create(const tg_context_options *options);

TG_API tg_context *tg_context_retain(tg_context *ctx);

/* Objects made in a context keep it alive: any order of release is right. */
TG_API void tg_context_release(tg_context *ctx);

/*
 * Waits until nothing of the context (NULL: of any) is being compiled in the
 * background, or waits for it. What is compiled there keeps its context alive.
 * exit() waits for what is being compiled, a minute at most, and drops what
 * waits for it. A thread that has never had anything compiled, and is not the
 * main one, should wait here before it calls exit().
 * BUSY in a callback of the log that a compile has called.
 */
TG_API tg_status tg_compile_wait(tg_context *ctx);

/* -- Variables of a context ------------------------------------------------ */

/*
 * Writes up to `capacity` variables, in the order of their creation, into
 * `out_variables` and returns how many there are. Each one written is
 * retained for the caller.
 */
TG_API size_t tg_context_variables(tg_context *ctx, tg_variable_filter filter,
                                   tg_variable **out_variables,
                                   size_t capacity);

/* The variable of that name, retained for the caller; NULL if none. */
TG_API TG_MUST_CHECK tg_variable *tg_context_find_variable(tg_context *ctx,
                                                           const char *name);

TG_END_DECLS

#endif /* TGJIT_CONTEXT_H */
