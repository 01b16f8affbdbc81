/* SPDX-License-Identifier: MIT */
/*
 * runner_pool.c - see runner_pool.h.
 */
#include "front/call/runner_pool.h"

#include <string.h>

#include "front/call/function_object.h"

enum { MAX_IDLE = 4 };

void tgi_runner_pool_init(tgi_runner_pool *pool)
{
    tgi_fork_lock_init(&pool->lock, NULL);
}

void tgi_runner_pool_deinit(tgi_runner_pool *pool)
{
    tgi_runner_destroy(atomic_load(&pool->fast_slot));
    for (size_t i = 0; i < pool->idle.n; i++)
        tgi_runner_destroy(pool->idle.data[i]);
    tgi_vec_deinit(&pool->idle);
    tgi_fork_lock_deinit(&pool->lock);
}

/* Empties the fast slot; NULL if it is empty. */
static tgi_runner *take_fast_slot(tgi_runner_pool *pool)
{
    return atomic_exchange_explicit(&pool->fast_slot, NULL,
                                    memory_order_acquire);
}

/* Appends to the idle list; the oldest leaves a full one. */
static void push_idle(tgi_runner_pool *pool, tgi_runner *runner)
{
    tgi_runner *excess = NULL;
    tgi_fork_lock_acquire(&pool->lock);
    if (pool->idle.n == MAX_IDLE) {
        excess = pool->idle.data[0];
        memmove(pool->idle.data, pool->idle.data + 1,
                --pool->idle.n * sizeof(excess));
    }
    if (!tgi_vec_push(&pool->idle, runner))
        excess = runner;
    tgi_fork_lock_release(&pool->lock);
    tgi_runner_destroy(excess);
}

static void return_runner(tgi_runner_pool *pool, tgi_runner *runner)
{
    tgi_runner *none = NULL;
    if (!atomic_compare_exchange_strong_explicit(&pool->fast_slot, &none,
                                                 runner, memory_order_release,
                                                 memory_order_relaxed))
        push_idle(pool, runner);
}

size_t tgi_runner_pool_bytes(tgi_runner_pool *pool)
{
    size_t bytes = 0;
    tgi_runner *fast = take_fast_slot(pool);
    if (fast) {
        bytes += (size_t)tgi_runner_bytes(fast, NULL);
        return_runner(pool, fast);
    }
    tgi_fork_lock_acquire(&pool->lock);
    for (size_t i = 0; i < pool->idle.n; i++)
        bytes += (size_t)tgi_runner_bytes(pool->idle.data[i], NULL);
    tgi_fork_lock_release(&pool->lock);
    return bytes;
}

tg_status tgi_runner_acquire(tg_concrete *c, const int64_t *symbols,
                             bool is_eager, tgi_runner **out_runner)
{
    tgi_runner_pool *pool = &c->runners;
    tgi_runner *fast = take_fast_slot(pool);
    if (fast && tgi_runner_has_symbols(fast, symbols)) {
        *out_runner = fast;
        return TG_OK;
    }
    *out_runner = NULL;
    tgi_fork_lock_acquire(&pool->lock);
    for (size_t i = pool->idle.n; i-- > 0 && !*out_runner;)
        if (tgi_runner_has_symbols(pool->idle.data[i], symbols)) {
            *out_runner = pool->idle.data[i];
            pool->idle.data[i] = pool->idle.data[--pool->idle.n];
        }
    tgi_fork_lock_release(&pool->lock);
    if (fast)
        push_idle(pool, fast);
    return *out_runner
               ? TG_OK
               : tgi_runner_create(c, symbols, is_eager || c->ctx->is_eager,
                                   out_runner);
}

void tgi_runner_release(tg_concrete *c, tgi_runner *runner)
{
    if (tgi_runner_is_stopgap(runner))
        tgi_runner_destroy(runner);
    else
        return_runner(&c->runners, runner);
}
