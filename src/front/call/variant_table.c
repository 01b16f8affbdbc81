/* SPDX-License-Identifier: MIT */
/*
 * variant_table.c - see variant_table.h.
 */
#include "front/call/variant_table.h"

#include <string.h>
#include <unistd.h>

#include "front/call/compile_policy.h"
#include "front/call/compile_queue.h"
#include "front/call/compile_variant.h"
#include "front/call/function_object.h"

/* Compiles under way on this thread; more than one if a log callback has made
   a call. */
static _Thread_local int n_compiling;

bool tgi_thread_is_compiling(void)
{
    return n_compiling > 0;
}

/* In a forked child, which has no waiting threads. */
static void forget_threads(tgi_fork_lock *lock)
{
    tgi_variant_table *table = TGI_OBJECT_OF(lock, tgi_variant_table, lock);
    pthread_cond_init(&table->compiled, NULL);
}

void tgi_variant_table_init(tgi_variant_table *table)
{
    tgi_fork_lock_init(&table->lock, forget_threads);
    pthread_cond_init(&table->compiled, NULL);
}

void tgi_variant_table_deinit(tgi_variant_table *table)
{
    for (size_t i = 0; i < table->list.n; i++) {
        tgi_free(table->list.data[i].values);
        tgi_program_release(table->list.data[i].program);
    }
    tgi_vec_deinit(&table->list);
    tgi_fork_lock_deinit(&table->lock);
    /* The condition is not destroyed: it owns no memory, and in a forked child
       pthread_cond_destroy would wait for threads that do not exist. */
}

size_t tgi_variant_table_bytes(tgi_variant_table *table)
{
    size_t bytes = 0;
    tgi_fork_lock_acquire(&table->lock);
    for (size_t i = 0; i < table->list.n; i++)
        if (table->list.data[i].program)
            bytes += tgi_program_bytes(table->list.data[i].program);
    tgi_fork_lock_release(&table->lock);
    return bytes;
}

/* -- Lookup and compilation, with the lock held ---------------------------- */

static bool is_compiling(const tgi_variant_table *table)
{
    return table->compiler && table->compiler == getpid();
}

static bool is_queued(const tgi_variant_table *table)
{
    return table->queued && table->queued == getpid();
}

static const tgi_compiled_variant *find_variant(const tg_concrete *c,
                                                const int64_t *values)
{
    const tgi_variant_table *table = &c->variants;
    for (size_t i = 0; i < table->list.n; i++) {
        const tgi_compiled_variant *known = &table->list.data[i];
        if (tgi_variant_is_same(c->graph, values, known->values))
            return known;
    }
    return NULL;
}

/* Compiles a variant and adds it, unless *out_work says that its compile
   exceeds the budget. Releases the lock during the compile. */
static tg_status add_variant(tg_concrete *c, const int64_t *values,
                             size_t budget, size_t *out_work)
{
    tgi_variant_table *table = &c->variants;
    size_t bytes = tgi_dims_n_values(c->graph->dims) * sizeof(*values);
    tgi_compiled_variant variant = {.values = tgi_alloc(bytes + 1)};
    *out_work = 0;
    if (!variant.values ||
        !tgi_vec_reserve(&table->list, table->list.n + 1)) {
        tgi_free(variant.values);
        return tgi_error_memory();
    }
    if (bytes)
        memcpy(variant.values, values, bytes);
    table->compiler = getpid();
    tgi_fork_lock_release(&table->lock);
    n_compiling++;
    tg_status status =
        tgi_compile_variant(c, values, budget, out_work, &variant.program);
    n_compiling--;
    tgi_fork_lock_acquire(&table->lock);
    table->compiler = 0;
    pthread_cond_broadcast(&table->compiled);
    if (!status && *out_work == 0)
        table->list.data[table->list.n++] = variant;
    else
        tgi_free(variant.values);
    return status;
}

/* Puts a variant into the queue; at most one of a trace is in it. False if
   none is, because the queue failed. */
static bool enqueue_variant(tg_concrete *c, const int64_t *values, size_t work)
{
    tgi_variant_table *table = &c->variants;
    if (!is_queued(table) &&
        tgi_compile_queue_push(c, values, tgi_dims_n_values(c->graph->dims),
                               work > TGI_LONG_COMPILE_WORK)) {
        table->queued = getpid();
        table->queued_work = work;
    }
    return is_queued(table);
}

/* True if a call with this budget waits for a compile of this trace. */
static bool is_within_budget(const tgi_variant_table *table, size_t budget)
{
    return budget > 0 && budget >= table->queued_work;
}

/* -- Entry points ---------------------------------------------------------- */

bool tgi_variant_table_first(tg_concrete *c, int64_t *out_values,
                             tgi_program **out_program)
{
    tgi_variant_table *table = &c->variants;
    const size_t n = tgi_dims_n_values(c->graph->dims);
    *out_program = NULL;
    tgi_fork_lock_acquire(&table->lock);
    for (size_t i = 0; i < table->list.n && !*out_program; i++) {
        const tgi_compiled_variant *variant = &table->list.data[i];
        if (!variant->program)
            continue;
        *out_program = tgi_program_retain(variant->program);
        if (n)
            memcpy(out_values, variant->values, n * sizeof(*out_values));
    }
    tgi_fork_lock_release(&table->lock);
    return *out_program != NULL;
}

void tgi_variant_table_compile(tg_concrete *c, const int64_t *values)
{
    tgi_variant_table *table = &c->variants;
    size_t work;
    tgi_fork_lock_acquire(&table->lock);
    while (is_compiling(table))
        pthread_cond_wait(&table->compiled, &table->lock.mutex);
    /* A failure (out of memory) is dropped: a later call tries again. */
    if (!find_variant(c, values))
        (void)add_variant(c, values, TGI_MAX_COMPILE_WORK, &work);
    table->queued = 0;
    table->queued_work = 0;
    tgi_fork_lock_release(&table->lock);
}

tg_status tgi_variant_table_get(tg_concrete *c, const int64_t *values,
                                size_t budget, tgi_program **out_program,
                                bool *out_is_pending)
{
    tgi_variant_table *table = &c->variants;
    const tgi_compiled_variant *known;
    tg_status status = TG_OK;
    size_t work;
    *out_program = NULL;
    tgi_fork_lock_acquire(&table->lock);
    while (!(known = find_variant(c, values)) && is_compiling(table) &&
           !n_compiling && is_within_budget(table, budget))
        pthread_cond_wait(&table->compiled, &table->lock.mutex);
    if (!known && !is_compiling(table) &&
        (is_within_budget(table, budget) || !is_queued(table))) {
        status = add_variant(c, values, budget, &work);
        if (!status && work && !enqueue_variant(c, values, work))
            status = add_variant(c, values, TGI_MAX_COMPILE_WORK, &work);
        if (!status)
            known = find_variant(c, values);
    }
    *out_is_pending = !status && !known;
    if (known && known->program)
        *out_program = tgi_program_retain(known->program);
    tgi_fork_lock_release(&table->lock);
    return status;
}
