/* SPDX-License-Identifier: MIT */
/*
 * dataset_prefetch.c - tg_dataset_prefetch. A pass has a thread that pulls
 * elements into a ring of slots. One slot more than the depth belongs to the
 * consumer, until its next pull. The lock guards the ring; it is not held while
 * elements are produced.
 *
 * A thread always adds a slot after each pull and ends with TG_END_OF_DATA, or
 * when it is stopped, which cancels the calls of its pull. So a consumer, which
 * may be the thread of another prefetch that is to stop, waits no longer than one
 * pull takes.
 */
#include <string.h>

#include "base/cancel.h"
#include "base/thread.h"
#include "front/data/dataset_object.h"
#include "profile/timeline.h"

enum { MAX_DEPTH = 65536, PAGE_BYTES = 4096 };

typedef struct prefetch_dataset {
    tg_dataset base;
    int64_t depth;
} prefetch_dataset;

typedef struct slot {
    tg_status status;
    tgi_stored stored;     /* if the status is TG_OK */
    tgi_error_copy *error; /* owned; of an error */
} slot;

typedef struct prefetch_cursor {
    tgi_cursor base;
    pthread_t thread;
    bool has_thread;
    unsigned n_forks; /* when the thread was started */
    bool is_lost;     /* the thread is that of a parent process */

    slot *slots;
    size_t n_slots;
    bool is_holding; /* the consumer uses slots[first] */

    pthread_mutex_t lock; /* guards all below */
    pthread_cond_t has_element, has_room;
    size_t first, n_used;
} prefetch_cursor;

/* -- Forks ----------------------------------------------------------------- */

/* Forks between this process and the one that loaded the library. A forked
   child has no threads, and their locks may be held for ever. */
static atomic_uint n_forks;

static void count_fork(void)
{
    atomic_fetch_add(&n_forks, 1);
}

__attribute__((constructor)) static void install_fork_handler(void)
{
    (void)pthread_atfork(NULL, NULL, count_fork);
}

static bool is_lost(prefetch_cursor *c)
{
    c->is_lost |= c->has_thread && c->n_forks != atomic_load(&n_forks);
    return c->is_lost;
}

/* -- Thread ---------------------------------------------------------------- */

/* Reads stable data, which may be a mapped file, from the disk. */
static void touch(const tgi_element *e)
{
    for (size_t i = 0; i < e->n; i++) {
        const volatile char *data = e->list[i].data;
        const int64_t bytes = e->list[i].is_stable ? e->list[i].spec->bytes : 0;
        for (int64_t at = 0; at < bytes; at += PAGE_BYTES)
            (void)data[at];
    }
}

/* The pull is to end, so that the thread can be joined. */
static bool is_input_stopped(const void *input)
{
    return tgi_cursor_is_stopped(input);
}

/* Pulls an element into a slot. */
static void produce(prefetch_cursor *c, slot *s)
{
    const tg_dataset *d = c->base.dataset;
    tgi_element e;
    const uint64_t begin = tgi_timeline_begin();
    const tgi_cancel outer = tgi_cancel_enter(&d->ctx->cancel_word);
    tgi_cancel_set_request(is_input_stopped, c->base.inputs[0]);
    s->status = tgi_cursor_next(c->base.inputs[0], &e);
    if (s->status == TG_OK) {
        touch(&e);
        s->status = tgi_stored_set(&s->stored, &e, d->ctx, d->kind->name);
    }
    if (s->status != TG_OK && s->status != TG_END_OF_DATA)
        tgi_error_save(s->error);
    tgi_cancel_leave(&outer);
    tgi_timeline_end("dataset", "element", begin);
}

static bool is_stopped(const prefetch_cursor *c)
{
    return atomic_load(&c->base.own_stop.is_requested);
}

static void *run_thread(void *user)
{
    prefetch_cursor *c = user;
    tg_status status = TG_OK;
    tgi_timeline_name_thread("tgjit dataset");
    tgi_iterator_enter_thread(c->base.iterator);
    tgi_api_frame frame = tgi_api_enter(c->base.dataset->ctx, "tg_next");
    pthread_mutex_lock(&c->lock);
    while (status != TG_END_OF_DATA) {
        while (c->n_used == c->n_slots && !is_stopped(c))
            pthread_cond_wait(&c->has_room, &c->lock);
        if (is_stopped(c))
            break;
        slot *s = &c->slots[(c->first + c->n_used) % c->n_slots];
        pthread_mutex_unlock(&c->lock);
        produce(c, s);
        status = s->status;
        pthread_mutex_lock(&c->lock);
        c->n_used++;
        pthread_cond_signal(&c->has_element);
    }
    pthread_mutex_unlock(&c->lock);
    tgi_api_leave(frame);
    return NULL;
}

static bool start_thread(prefetch_cursor *c)
{
    pthread_attr_t attributes;
    if (pthread_attr_init(&attributes) != 0)
        return false;
    tgi_thread_reserve_stack(&attributes);
    const bool is_started =
        tgi_thread_start(&c->thread, &attributes, run_thread, c);
    pthread_attr_destroy(&attributes);
    return is_started;
}

static void join_thread(prefetch_cursor *c)
{
    if (!c->has_thread)
        return;
    atomic_store(&c->base.own_stop.is_requested, true);
    pthread_mutex_lock(&c->lock);
    pthread_cond_signal(&c->has_room);
    pthread_mutex_unlock(&c->lock);
    pthread_join(c->thread, NULL);
    c->has_thread = false;
}

/* -- Cursor ---------------------------------------------------------------- */

static tg_status cursor_init(tgi_cursor *cursor)
{
    prefetch_cursor *c = (prefetch_cursor *)cursor;
    const int64_t depth = ((const prefetch_dataset *)cursor->dataset)->depth;
    pthread_mutex_init(&c->lock, NULL);
    pthread_cond_init(&c->has_element, NULL);
    pthread_cond_init(&c->has_room, NULL);
    c->n_slots = (size_t)depth + 1;
    c->slots = tgi_alloc_zero(c->n_slots * sizeof(*c->slots));
    for (size_t i = 0; c->slots && i < c->n_slots; i++)
        if (!(c->slots[i].error = tgi_alloc(sizeof(*c->slots[i].error))))
            return tgi_error_memory();
    return c->slots ? TG_OK : tgi_error_memory();
}

static void cursor_deinit(tgi_cursor *cursor)
{
    prefetch_cursor *c = (prefetch_cursor *)cursor;
    if (is_lost(c)) {
        cursor->n_inputs = 0; /* leaked: the thread may have been using them */
        return;
    }
    if (!c->n_slots)
        return; /* not initialised */
    join_thread(c);
    for (size_t i = 0; c->slots && i < c->n_slots; i++) {
        tgi_stored_deinit(&c->slots[i].stored);
        tgi_free(c->slots[i].error);
    }
    tgi_free(c->slots);
    pthread_cond_destroy(&c->has_room);
    pthread_cond_destroy(&c->has_element);
    pthread_mutex_destroy(&c->lock);
}

static void start(tgi_cursor *cursor)
{
    prefetch_cursor *c = (prefetch_cursor *)cursor;
    if (is_lost(c))
        return;
    join_thread(c);
    atomic_store(&cursor->own_stop.is_requested, false);
    c->first = c->n_used = 0;
    c->is_holding = false;
    tgi_cursor_start_inputs(cursor);
    c->n_forks = atomic_load(&n_forks);
    c->has_thread = start_thread(c);
}

static tg_status next(tgi_cursor *cursor, tgi_element *out_element)
{
    prefetch_cursor *c = (prefetch_cursor *)cursor;
    if (is_lost(c)) {
        cursor->has_ended = true;
        TGI_FAIL(TG_ERROR_STATE, TGI_NO_SITE,
                 "tg_next: the thread of tg_dataset_prefetch belongs to the "
                 "parent of this process; begin a new iteration");
    }
    if (!c->has_thread)
        return tgi_cursor_next(cursor->inputs[0], out_element);
    pthread_mutex_lock(&c->lock);
    if (c->is_holding) {
        c->first = (c->first + 1) % c->n_slots;
        c->n_used--;
        pthread_cond_signal(&c->has_room);
    }
    while (c->n_used == 0)
        pthread_cond_wait(&c->has_element, &c->lock);
    c->is_holding = true;
    const slot *s = &c->slots[c->first];
    pthread_mutex_unlock(&c->lock);
    if (s->status == TG_OK)
        *out_element = s->stored.element;
    else if (s->status != TG_END_OF_DATA)
        tgi_error_restore(s->error);
    return s->status;
}

static const tgi_dataset_kind prefetch_kind = {
    .name = "tg_dataset_prefetch",
    .cursor_bytes = sizeof(prefetch_cursor),
    .is_threaded = true,
    .cursor_init = cursor_init,
    .cursor_deinit = cursor_deinit,
    .start = start,
    .next = next,
};

tg_dataset *tg_dataset_prefetch(tg_dataset *dataset, int64_t depth)
{
    if (depth < 1 || depth > MAX_DEPTH)
        return tgi_dataset_reject(
            &prefetch_kind, dataset, TG_ERROR_INVALID_ARGUMENT, TGI_NO_SITE,
            "a depth of %lld is not in 1 … %d", (long long)depth, MAX_DEPTH);
    prefetch_dataset *d = tgi_dataset_create_step(&prefetch_kind, sizeof(*d),
                                                  dataset, TGI_NO_SITE);
    if (!d)
        return NULL;
    d->depth = depth;
    return &d->base;
}
