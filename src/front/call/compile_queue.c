/* SPDX-License-Identifier: MIT */
/*
 * compile_queue.c - see compile_queue.h.
 *
 * Jobs keep their trace, and so its context, alive. After a fork the queue of
 * a child is empty: the threads were the parent's, and calls put in again what
 * they miss. The end of the process waits for compiles that are under way in
 * plugin.c, before LLVM is gone.
 */
#include "front/call/compile_queue.h"

#include <string.h>

#include "base/at_fork.h"
#include "base/fpenv.h"
#include "base/thread.h"
#include "front/call/function_object.h"

typedef struct job {
    struct job *next;
    tg_concrete *concrete; /* retained */
    const tg_context *ctx; /* whose it is: to tell, no more */
    int64_t values[];
} job;

typedef struct lane {
    pthread_cond_t has_job;
    bool has_thread;
    job *first, **last; /* waiting; `last` is NULL before the first one */
    job *current;       /* being compiled */
} lane;

enum { LANES = 2 };

static struct {
    pthread_mutex_t lock;
    pthread_cond_t has_done;
    lane lanes[LANES]; /* of short and of long ones */
} queue = {.lock = PTHREAD_MUTEX_INITIALIZER,
           .has_done = PTHREAD_COND_INITIALIZER,
           .lanes = {{.has_job = PTHREAD_COND_INITIALIZER},
                     {.has_job = PTHREAD_COND_INITIALIZER}}};

/* What jobs keep alive stays alive in a child: it cannot be known what the
   lost threads were doing with it. */
static void forget_jobs(void)
{
    for (int i = 0; i < LANES; i++) {
        queue.lanes[i] = (lane){.has_thread = false};
        pthread_cond_init(&queue.lanes[i].has_job, NULL);
    }
    pthread_cond_init(&queue.has_done, NULL);
}

TGI_LOCK_ACROSS_FORK(&queue.lock, forget_jobs())

/* -- The threads ----------------------------------------------------------- */

/* The next job, now the current one. */
static job *take(lane *l)
{
    while (!l->first)
        pthread_cond_wait(&l->has_job, &queue.lock);
    job *j = l->first;
    l->first = j->next;
    if (!l->first)
        l->last = &l->first;
    l->current = j;
    return j;
}

static void *work(void *of_lane)
{
    lane *l = of_lane;
    (void)tgi_fpenv_begin(); /* not that of who happened to come first */
    pthread_mutex_lock(&queue.lock);
    for (;;) {
        job *j = take(l);
        pthread_mutex_unlock(&queue.lock);
        tgi_variant_table_compile(j->concrete, j->values);
        tg_concrete_release(j->concrete);
        pthread_mutex_lock(&queue.lock);
        l->current = NULL;
        pthread_cond_broadcast(&queue.has_done);
        tgi_free(j);
    }
    return NULL;
}

/* LLVM needs up to 160 KiB of stack for the largest kernels. The usual size,
   that of RLIMIT_STACK, may be less. */
enum { LEAST_STACK_BYTES = 1 << 20 };

static void reserve_stack(pthread_attr_t *attributes)
{
    size_t bytes = 0;
    if (pthread_attr_getstacksize(attributes, &bytes) == 0 &&
        bytes < LEAST_STACK_BYTES)
        pthread_attr_setstacksize(attributes, LEAST_STACK_BYTES);
}

static bool start_thread(lane *l)
{
    pthread_t thread;
    pthread_attr_t attributes;
    if (pthread_attr_init(&attributes) != 0)
        return false;
    pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
    reserve_stack(&attributes);
    const bool is_there = tgi_thread_start(&thread, &attributes, work, l);
    pthread_attr_destroy(&attributes);
    return is_there;
}

/* -- Putting in, and waiting ----------------------------------------------- */

bool tgi_compile_queue_push(tg_concrete *concrete, const int64_t *values,
                            size_t n, bool is_long)
{
    lane *l = &queue.lanes[is_long];
    job *j = tgi_alloc(sizeof(*j) + n * sizeof(*values));
    if (!j)
        return false;
    j->next = NULL;
    if (n)
        memcpy(j->values, values, n * sizeof(*values));
    tgi_jit_wait_at_exit();
    pthread_mutex_lock(&queue.lock);
    if (!l->has_thread)
        l->has_thread = start_thread(l);
    const bool is_there = l->has_thread;
    if (is_there) {
        j->concrete = tg_concrete_retain(concrete);
        j->ctx = concrete->ctx;
        if (!l->last)
            l->last = &l->first;
        *l->last = j;
        l->last = &j->next;
        pthread_cond_signal(&l->has_job);
    }
    pthread_mutex_unlock(&queue.lock);
    if (!is_there)
        tgi_free(j);
    return is_there;
}

static bool is_of(const job *j, const tg_context *ctx)
{
    return !ctx || j->ctx == ctx;
}

static bool has_work(const tg_context *ctx)
{
    for (const lane *l = queue.lanes; l < queue.lanes + LANES; l++) {
        if (l->current && is_of(l->current, ctx))
            return true;
        for (const job *j = l->first; j; j = j->next)
            if (is_of(j, ctx))
                return true;
    }
    return false;
}

tg_status tg_compile_wait(tg_context *ctx)
{
    tgi_api_frame frame = tgi_api_enter(ctx, __func__);
    tg_status status = TG_OK;
    if (tgi_thread_is_compiling())
        status = tgi_error_set(TG_ERROR_BUSY, TGI_NO_SITE,
                               "tg_compile_wait: this thread is compiling");
    pthread_mutex_lock(&queue.lock);
    while (!status && has_work(ctx))
        pthread_cond_wait(&queue.has_done, &queue.lock);
    pthread_mutex_unlock(&queue.lock);
    tgi_api_leave(frame);
    return status;
}
