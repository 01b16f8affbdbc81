/* SPDX-License-Identifier: MIT */
/*
 * compile_queue.c - see compile_queue.h.
 *
 * Jobs keep their trace, and so its context, alive. After a fork the queue of
 * a child is empty: the thread was the parent's, and calls put in again what
 * they miss. The end of the process waits for a compile that is under way in
 * module.c, before LLVM is gone.
 */
#include "compile_queue.h"

#include <pthread.h>
#include <signal.h>
#include <string.h>

#include "fpenv.h"
#include "function_object.h"

typedef struct job {
    struct job *next;
    tg_concrete *concrete; /* retained */
    const tg_context *ctx; /* whose it is: to tell, no more */
    int64_t values[];
} job;

static struct {
    pthread_mutex_t lock;
    pthread_cond_t has_job, has_done;
    bool has_thread;
    job *first, **last; /* waiting; `last` is NULL before the first one */
    job *current;       /* being compiled */
} queue = {.lock = PTHREAD_MUTEX_INITIALIZER,
           .has_job = PTHREAD_COND_INITIALIZER,
           .has_done = PTHREAD_COND_INITIALIZER};

/* -- Forks ----------------------------------------------------------------- */

static void before_fork(void)
{
    pthread_mutex_lock(&queue.lock);
}

static void in_parent(void)
{
    pthread_mutex_unlock(&queue.lock);
}

/* What jobs keep alive stays alive in a child: it cannot be known what the
   lost thread was doing with it. */
static void in_child(void)
{
    queue.has_thread = false;
    queue.first = queue.current = NULL;
    queue.last = NULL;
    pthread_cond_init(&queue.has_job, NULL);
    pthread_cond_init(&queue.has_done, NULL);
    pthread_mutex_unlock(&queue.lock);
}

__attribute__((constructor)) static void watch_forks(void)
{
    (void)pthread_atfork(before_fork, in_parent, in_child);
}

/* -- The thread ------------------------------------------------------------ */

/* The next job, now the current one. */
static job *take(void)
{
    while (!queue.first)
        pthread_cond_wait(&queue.has_job, &queue.lock);
    job *j = queue.first;
    queue.first = j->next;
    if (!queue.first)
        queue.last = &queue.first;
    queue.current = j;
    return j;
}

static void *work(void *unused)
{
    (void)unused;
    (void)tgi_fpenv_begin(); /* not that of who happened to come first */
    pthread_mutex_lock(&queue.lock);
    for (;;) {
        job *j = take();
        pthread_mutex_unlock(&queue.lock);
        tgi_runners_compile(j->concrete, j->values);
        tg_concrete_release(j->concrete);
        pthread_mutex_lock(&queue.lock);
        queue.current = NULL;
        pthread_cond_broadcast(&queue.has_done);
        tgi_free(j);
    }
    return NULL;
}

/* It takes no signals: they are for the program's own threads. */
static bool start_thread(void)
{
    pthread_t thread;
    pthread_attr_t attributes;
    sigset_t all, before;
    if (pthread_attr_init(&attributes) != 0)
        return false;
    pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    const bool is_there = pthread_create(&thread, &attributes, work, NULL) == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    pthread_attr_destroy(&attributes);
    return is_there;
}

/* -- Putting in, and waiting ----------------------------------------------- */

bool tgi_compile_later(tg_concrete *concrete, const int64_t *values, size_t n)
{
    job *j = tgi_alloc(sizeof(*j) + n * sizeof(*values));
    if (!j)
        return false;
    j->next = NULL;
    if (n)
        memcpy(j->values, values, n * sizeof(*values));
    tgi_jit_watch_thread();
    pthread_mutex_lock(&queue.lock);
    if (!queue.has_thread)
        queue.has_thread = start_thread();
    const bool is_there = queue.has_thread;
    if (is_there) {
        j->concrete = tg_concrete_retain(concrete);
        j->ctx = concrete->ctx;
        if (!queue.last)
            queue.last = &queue.first;
        *queue.last = j;
        queue.last = &j->next;
        pthread_cond_signal(&queue.has_job);
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
    if (queue.current && is_of(queue.current, ctx))
        return true;
    for (const job *j = queue.first; j; j = j->next)
        if (is_of(j, ctx))
            return true;
    return false;
}

tg_status tg_compile_wait(tg_context *ctx)
{
    tgi_api_frame frame = tgi_api_enter(ctx, __func__);
    tg_status status = TG_OK;
    if (tgi_runners_is_compiling())
        status = tgi_error_set(TG_ERROR_BUSY, TGI_NO_SITE,
                               "tg_compile_wait: this thread is compiling");
    pthread_mutex_lock(&queue.lock);
    while (!status && has_work(ctx))
        pthread_cond_wait(&queue.has_done, &queue.lock);
    pthread_mutex_unlock(&queue.lock);
    tgi_api_leave(frame);
    return status;
}
