/* SPDX-License-Identifier: MIT */
/*
 * compile_queue.c - see compile_queue.h.
 *
 * A job holds its trace, and thereby its context, but not the variables: these
 * end when the program has released them and the trace. In a forked child the
 * queue is empty, because the threads stay in the parent; later calls queue
 * their variants again. At process exit, plugin.c waits for running compiles
 * before LLVM is torn down.
 */
#include "front/call/compile_queue.h"

#include <string.h>

#include "base/at_fork.h"
#include "base/fpenv.h"
#include "base/thread.h"
#include "front/call/function_object.h"
#include "profile/timeline.h"

typedef struct job {
    struct job *next;
    tg_concrete *concrete; /* held */
    const tg_context *ctx; /* of the trace; only compared */
    int64_t values[];
} job;

typedef struct lane {
    pthread_cond_t has_job;
    bool has_thread;
    job *first, **last; /* waiting; `last` is NULL before the first push */
    job *current;       /* being compiled */
} lane;

enum { LANES = 2 };

static struct {
    pthread_mutex_t lock;
    pthread_cond_t job_done;
    lane lanes[LANES]; /* short compiles, long compiles */
} queue = {.lock = PTHREAD_MUTEX_INITIALIZER,
           .job_done = PTHREAD_COND_INITIALIZER,
           .lanes = {{.has_job = PTHREAD_COND_INITIALIZER},
                     {.has_job = PTHREAD_COND_INITIALIZER}}};

/* Jobs are leaked in the child: the lost threads may have been using them. */
static void reset_in_child(void)
{
    for (int i = 0; i < LANES; i++) {
        queue.lanes[i] = (lane){.has_thread = false};
        pthread_cond_init(&queue.lanes[i].has_job, NULL);
    }
    pthread_cond_init(&queue.job_done, NULL);
}

TGI_LOCK_ACROSS_FORK(&queue.lock, reset_in_child())

/* -- Compiler threads ------------------------------------------------------ */

/* Waits for a job and makes it the lane's current one. */
static job *pop_job(lane *l)
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

static void *compile_jobs(void *user)
{
    lane *l = user;
    tgi_timeline_name_thread("tgjit compiler");
    (void)tgi_fpenv_begin(); /* a thread inherits the mode of its creator */
    pthread_mutex_lock(&queue.lock);
    for (;;) {
        job *j = pop_job(l);
        pthread_mutex_unlock(&queue.lock);
        tgi_variant_table_compile(j->concrete, j->values);
        tgi_concrete_unhold(j->concrete);
        pthread_mutex_lock(&queue.lock);
        l->current = NULL;
        pthread_cond_broadcast(&queue.job_done);
        tgi_free(j);
    }
    return NULL;
}

static bool start_thread(lane *l)
{
    pthread_t thread;
    pthread_attr_t attributes;
    if (pthread_attr_init(&attributes) != 0)
        return false;
    pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
    tgi_thread_reserve_stack(&attributes);
    const bool is_started =
        tgi_thread_start(&thread, &attributes, compile_jobs, l);
    pthread_attr_destroy(&attributes);
    return is_started;
}

/* -- Pushing and waiting --------------------------------------------------- */

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
    const bool is_pushed = l->has_thread;
    if (is_pushed) {
        tgi_concrete_hold(concrete);
        j->concrete = concrete;
        j->ctx = concrete->ctx;
        if (!l->last)
            l->last = &l->first;
        *l->last = j;
        l->last = &j->next;
        pthread_cond_signal(&l->has_job);
    }
    pthread_mutex_unlock(&queue.lock);
    if (!is_pushed)
        tgi_free(j);
    return is_pushed;
}

static bool belongs_to(const job *j, const tg_context *ctx)
{
    return !ctx || j->ctx == ctx;
}

/* True if a job of the context, or of any if it is NULL, is not done. */
static bool has_jobs(const tg_context *ctx)
{
    for (const lane *l = queue.lanes; l < queue.lanes + LANES; l++) {
        if (l->current && belongs_to(l->current, ctx))
            return true;
        for (const job *j = l->first; j; j = j->next)
            if (belongs_to(j, ctx))
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
                               "tg_compile_wait: called by a log callback "
                               "during a compile");
    pthread_mutex_lock(&queue.lock);
    while (!status && has_jobs(ctx))
        pthread_cond_wait(&queue.job_done, &queue.lock);
    pthread_mutex_unlock(&queue.lock);
    tgi_api_leave(frame);
    return status;
}
