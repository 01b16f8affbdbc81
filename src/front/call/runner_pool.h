/* SPDX-License-Identifier: MIT */
/*
 * runner_pool.h - the idle runners of a trace. A call acquires the runner of
 * its extents, or creates one, and releases it after the run.
 */
#ifndef TGI_RUNNER_POOL_H
#define TGI_RUNNER_POOL_H

#include <stdatomic.h>

#include "base/fork_lock.h"
#include "base/vec.h"
#include "front/call/runner.h"

typedef struct tgi_runner_pool {
    /* One idle runner, or NULL, exchanged without the lock: most traces are
       called by one thread. */
    _Atomic(tgi_runner *) fast_slot;
    tgi_fork_lock lock; /* guards `idle` */
    TGI_VEC(tgi_runner *) idle;
} tgi_runner_pool;

void tgi_runner_pool_init(tgi_runner_pool *pool);
void tgi_runner_pool_deinit(tgi_runner_pool *pool);
/* Bytes of temporaries of the idle runners. */
size_t tgi_runner_pool_bytes(tgi_runner_pool *pool);

/*
 * A runner for these extents: an idle one, or a new one (tgi_runner_create;
 * an eager context makes every call eager). Released after use, or destroyed.
 */
tg_status tgi_runner_acquire(tg_concrete *concrete, const int64_t *symbols,
                             bool is_eager, tgi_runner **out_runner);
void tgi_runner_release(tg_concrete *concrete, tgi_runner *runner);

#endif /* TGI_RUNNER_POOL_H */
