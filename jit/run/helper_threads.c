/* SPDX-License-Identifier: MIT */
/* helper_threads.c - see helper_threads.h. */
#include "run/helper_threads.h"

#include <assert.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/thread.h"

static void *help(void *user)
{
    struct tgi_helper *helper = user;
    tgi_helpers *all = helper->of;
    helper->id = gettid();
    pthread_mutex_lock(&all->lock);
    while (!all->is_decided)
        pthread_cond_wait(&all->decided, &all->lock);
    pthread_mutex_unlock(&all->lock);
    if (helper->number < all->n_threads)
        all->part(all->user, helper->number, all->n_threads);
    return NULL;
}

void tgi_helpers_start(tgi_helpers *helpers, int n_wanted, size_t stack_bytes)
{
    pthread_attr_t attributes;
    helpers->n = 0;
    helpers->is_decided = false;
    pthread_mutex_init(&helpers->lock, NULL);
    pthread_cond_init(&helpers->decided, NULL);
    if (pthread_attr_init(&attributes) != 0)
        return;
    if (stack_bytes) /* the usual one if the system does not like it */
        (void)pthread_attr_setstacksize(&attributes, stack_bytes);
    if (n_wanted > TGI_HELPERS_MAX)
        n_wanted = TGI_HELPERS_MAX;
    while (helpers->n < n_wanted) {
        struct tgi_helper *next = &helpers->each[helpers->n];
        next->of = helpers;
        next->number = helpers->n + 1;
        if (!tgi_thread_start(&next->thread, &attributes, help, next))
            break;
        helpers->n++;
    }
    pthread_attr_destroy(&attributes);
}

/* The first `n_threads` work, the others end at once. */
static void decide(tgi_helpers *helpers, int n_threads)
{
    pthread_mutex_lock(&helpers->lock);
    helpers->n_threads = n_threads;
    helpers->is_decided = true;
    pthread_cond_broadcast(&helpers->decided);
    pthread_mutex_unlock(&helpers->lock);
}

static void join(tgi_helpers *helpers)
{
    for (int i = 0; i < helpers->n; i++)
        pthread_join(helpers->each[i].thread, NULL);
    pthread_cond_destroy(&helpers->decided);
    pthread_mutex_destroy(&helpers->lock);
}

/* A joined thread counts until the kernel has released it, soon after. */
static bool wait_until_gone(const tgi_helpers *helpers)
{
    enum { MOST_NAPS = 1000, NAP_NANOSECONDS = 50000 };
    int n_naps = 0;
    for (int i = 0; i < helpers->n; i++)
        while (syscall(SYS_tgkill, getpid(), helpers->each[i].id, 0) == 0) {
            if (n_naps++ == MOST_NAPS)
                return false; /* held by a debugger, or a new thread's id */
            nanosleep(&(struct timespec){.tv_nsec = NAP_NANOSECONDS}, NULL);
        }
    return true;
}

bool tgi_helpers_dismiss(tgi_helpers *helpers)
{
    decide(helpers, 0);
    join(helpers);
    return wait_until_gone(helpers);
}

void tgi_helpers_run(tgi_helpers *helpers, int n_threads,
                     tgi_helpers_part *part, void *user)
{
    assert(n_threads >= 1 && n_threads <= helpers->n + 1);
    helpers->part = part;
    helpers->user = user;
    decide(helpers, n_threads);
    part(user, 0, n_threads);
    join(helpers);
}
