/* SPDX-License-Identifier: MIT */
/*
 * variant_table.h - the compiled variants of a trace. Each variant is compiled
 * once: one thread compiles, the others wait or interpret. The lock is not
 * held during a compile, because log callbacks are user code.
 */
#ifndef TGI_VARIANT_TABLE_H
#define TGI_VARIANT_TABLE_H

#include <pthread.h>
#include <sys/types.h>

#include "base/fork_lock.h"
#include "base/vec.h"
#include "jit.h"
#include "tgjit/function.h"

typedef struct tgi_compiled_variant {
    int64_t *values;      /* extents of the call it was compiled for */
    tgi_program *program; /* NULL: it cannot be compiled */
} tgi_compiled_variant;

typedef struct tgi_variant_table {
    tgi_fork_lock lock; /* guards all below */
    pthread_cond_t compiled;
    TGI_VEC(tgi_compiled_variant) list;
    /* Process ids, not flags: a forked child has neither the compiling thread
       nor the queue of its parent. 0: none. */
    pid_t compiler;     /* a thread of this process compiles now */
    pid_t queued;       /* a variant is in the queue of this process … */
    size_t queued_work; /* … and the estimate of its compile */
} tgi_variant_table;

void tgi_variant_table_init(tgi_variant_table *table);
void tgi_variant_table_deinit(tgi_variant_table *table);
size_t tgi_variant_table_bytes(tgi_variant_table *table);

/*
 * The program for calls with these extents, retained. NULL if the call is to
 * be interpreted: for good, because the variant cannot be compiled, or this
 * time (*out_is_pending), because its code is not ready and waiting for it
 * would exceed `budget`. A call made by a log callback during a compile never
 * waits for other compiles, which may wait for it.
 */
tg_status tgi_variant_table_get(tg_concrete *concrete, const int64_t *values,
                                size_t budget, tgi_program **out_program,
                                bool *out_is_pending);

/* The first variant that was compiled: copies its extents, and retains its
   program; false if there is none. */
bool tgi_variant_table_first(tg_concrete *concrete, int64_t *out_values,
                             tgi_program **out_program);

/* Compiles a queued variant; called by compile_queue.c. */
void tgi_variant_table_compile(tg_concrete *concrete, const int64_t *values);

/* True if the calling thread is compiling: a log callback has called. */
bool tgi_thread_is_compiling(void);

#endif /* TGI_VARIANT_TABLE_H */
