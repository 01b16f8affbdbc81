/* SPDX-License-Identifier: MIT */
/* helper_threads.c - see helper_threads.h. */
#include "run/helper_threads.h"

#include <assert.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/thread.h"

static void *helper_main(void *user)
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
    if (stack_bytes) /* on failure the default remains */
        (void)pthread_attr_setstacksize(&attributes, stack_bytes);
    if (n_wanted > TGI_HELPERS_MAX)
        n_wanted = TGI_HELPERS_MAX;
    while (helpers->n < n_wanted) {
        struct tgi_helper *next = &helpers->each[helpers->n];
        next->of = helpers;
        next->number = helpers->n + 1;
        if (!tgi_thread_start(&next->thread, &attributes, helper_main, next))
            break;
        helpers->n++;
    }
    pthread_attr_destroy(&attributes);
}

/* Wakes the helpers: those numbered below n_threads work, the others exit. */
static void wake_helpers(tgi_helpers *helpers, int n_threads)
{
    pthread_mutex_lock(&helpers->lock);
    helpers->n_threads = n_threads;
    helpers->is_decided = true;
    pthread_cond_broadcast(&helpers->decided);
    pthread_mutex_unlock(&helpers->lock);
}

static void join_helpers(tgi_helpers *helpers)
{
    for (int i = 0; i < helpers->n; i++)
        pthread_join(helpers->each[i].thread, NULL);
    pthread_cond_destroy(&helpers->decided);
    pthread_mutex_destroy(&helpers->lock);
}

/* Waits until the kernel has released the joined threads, which then no longer
   count towards limits. */
static bool wait_until_released(const tgi_helpers *helpers)
{
    enum { MAX_SLEEPS = 1000, SLEEP_NANOSECONDS = 50000 };
    int n_sleeps = 0;
    for (int i = 0; i < helpers->n; i++)
        while (syscall(SYS_tgkill, getpid(), helpers->each[i].id, 0) == 0) {
            if (n_sleeps++ == MAX_SLEEPS)
                return false; /* held by a debugger, or the id is reused */
            nanosleep(&(struct timespec){.tv_nsec = SLEEP_NANOSECONDS}, NULL);
        }
    return true;
}

bool tgi_helpers_dismiss(tgi_helpers *helpers)
{
    wake_helpers(helpers, 0);
    join_helpers(helpers);
    return wait_until_released(helpers);
}

void tgi_helpers_run(tgi_helpers *helpers, int n_threads,
                     tgi_helpers_part *part, void *user)
{
    assert(n_threads >= 1 && n_threads <= helpers->n + 1);
    helpers->part = part;
    helpers->user = user;
    wake_helpers(helpers, n_threads);
    part(user, 0, n_threads);
    join_helpers(helpers);
    /* Otherwise the next call would count them and find less capacity. */
    (void)wait_until_released(helpers);
}
