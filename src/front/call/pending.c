/* SPDX-License-Identifier: MIT */
/*
 * pending.c - see pending.h. The waits-for graph of all threads is guarded by
 * one lock, which is acquired inside a table lock, never the other way round.
 */
#include "front/call/pending.h"

#include <string.h>

#include "base/at_fork.h"

/* A thread in the waits-for graph, identified by its address. */
typedef struct waiter {
    tgi_pending *waits_for; /* guarded by graph_lock */
} waiter;

struct tgi_pending {
    tgi_key key;
    waiter *owner;    /* the tracing thread; NULL when the trace has ended */
    unsigned n_users; /* tracing and waiting threads; under the table lock */
};

static pthread_mutex_t graph_lock = PTHREAD_MUTEX_INITIALIZER;
static _Thread_local waiter self;

TGI_LOCK_ACROSS_FORK(&graph_lock, (void)0)

/* The last user frees it. */
static void pending_release(tgi_pending *pending)
{
    if (--pending->n_users > 0)
        return;
    tgi_vec_deinit(&pending->key);
    tgi_free(pending);
}

tg_status tgi_pending_begin(tg_function *f, const tgi_key *key,
                            tgi_pending **out_pending)
{
    tgi_pending *pending = tgi_alloc_zero(sizeof(*pending));
    if (!pending || !tgi_vec_reserve(&pending->key, key->n + 1) ||
        !tgi_vec_push(&f->pending, pending)) {
        if (pending)
            tgi_vec_deinit(&pending->key);
        tgi_free(pending);
        return tgi_error_memory();
    }
    memcpy(pending->key.data, key->data, key->n);
    pending->key.n = key->n;
    pending->n_users = 1;
    pending->owner = &self;
    *out_pending = pending;
    return TG_OK;
}

void tgi_pending_end(tg_function *f, tgi_pending *pending)
{
    for (size_t i = 0; i < f->pending.n; i++)
        if (f->pending.data[i] == pending)
            f->pending.data[i] = f->pending.data[--f->pending.n];
    pthread_mutex_lock(&graph_lock);
    pending->owner = NULL;
    pthread_mutex_unlock(&graph_lock);
    pthread_cond_broadcast(&f->traced);
    pending_release(pending);
}

tgi_pending *tgi_pending_find(tg_function *f, const tgi_key *key)
{
    for (size_t i = 0; i < f->pending.n; i++) {
        tgi_pending *pending = f->pending.data[i];
        bool is_first = f->n_traces == 0 && pending->owner != &self;
        if (is_first || (pending->key.n == key->n &&
                         memcmp(pending->key.data, key->data, key->n) == 0))
            return pending;
    }
    return NULL;
}

void tgi_pending_forget(tg_function *f)
{
    size_t n = 0;
    for (size_t i = 0; i < f->pending.n; i++) {
        tgi_pending *pending = f->pending.data[i];
        pending->n_users = 1; /* the waiting threads are not there, either */
        if (pending->owner == &self)
            f->pending.data[n++] = pending;
        else
            pending_release(pending);
    }
    f->pending.n = n;
}

/* Adds the edge to the waits-for graph, unless it would close a cycle. */
static bool begin_wait(tgi_pending *pending)
{
    bool is_cycle = false;
    pthread_mutex_lock(&graph_lock);
    for (tgi_pending *at = pending; at && at->owner && !is_cycle;
         at = at->owner->waits_for)
        is_cycle = at->owner == &self;
    if (!is_cycle)
        self.waits_for = pending;
    pthread_mutex_unlock(&graph_lock);
    return !is_cycle;
}

tg_status tgi_pending_wait(tg_function *f, tgi_pending *pending, tg_site site)
{
    if (!begin_wait(pending))
        TGI_FAIL(TG_ERROR_RECURSION, site,
                 "%s: recursive trace: this signature depends on its own trace",
                 f->name);
    pending->n_users++;
    while (pending->owner)
        pthread_cond_wait(&f->traced, &f->lock.mutex);
    pthread_mutex_lock(&graph_lock);
    self.waits_for = NULL;
    pthread_mutex_unlock(&graph_lock);
    pending_release(pending);
    return TG_OK;
}
