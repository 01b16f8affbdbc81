/* SPDX-License-Identifier: MIT */
/*
 * group.c - variable groups. The variables of a group share a lock.
 *
 * A forked child has only one of its parent's threads, so a lock that another
 * one held would never be released. Therefore each process sets the lock of a
 * group free when it first uses it, and if another thread held it, whose call
 * may have assigned some variables and not others, the group is lost.
 */
#include "base/alloc.h"
#include "base/at_fork.h"
#include "base/error.h"
#include "base/live.h"
#include "front/object/context_object.h"
#include "front/object/variable_object.h"

/* -- Processes ------------------------------------------------------------- */

static pthread_mutex_t adopting = PTHREAD_MUTEX_INITIALIZER;
static atomic_uint n_forks; /* of this process and those before it */
static uintptr_t forker;    /* the thread that the last of them has kept */

static void note_fork(void)
{
    atomic_fetch_add(&n_forks, 1);
    forker = tgi_lock_self();
}

TGI_LOCK_ACROSS_FORK(&adopting, note_fork())

static void adopt(tg_group *group)
{
    pthread_mutex_lock(&adopting);
    if (atomic_load(&group->n_forks) != atomic_load(&n_forks)) {
        const uintptr_t owner = atomic_load(&group->lock.owner);
        if (owner != forker) {
            /* Without an owner, it was about to be held, or no longer was. */
            group->is_lost |= owner != 0;
            group->n_maps = 0;
            group->lock = (tgi_lock){0};
        }
        atomic_store(&group->n_forks, atomic_load(&n_forks));
    }
    pthread_mutex_unlock(&adopting);
}

static void adopt_after_fork(tg_group *group)
{
    if (atomic_load_explicit(&group->n_forks, memory_order_acquire) !=
        atomic_load_explicit(&n_forks, memory_order_relaxed))
        adopt(group);
}

bool tgi_group_acquire(tg_group *group)
{
    adopt_after_fork(group);
    return !group->is_lost && tgi_lock_acquire(&group->lock);
}

void tgi_group_release(tg_group *group)
{
    tgi_lock_release(&group->lock);
}

bool tgi_group_is_owned(tg_group *group)
{
    adopt_after_fork(group);
    return tgi_lock_is_owned(&group->lock);
}

/* -- Groups ---------------------------------------------------------------- */

tg_group *tg_group_create(tg_context *ctx)
{
    static _Atomic uint64_t next_id;
    tgi_api_frame frame = tgi_api_enter(ctx, __func__);
    tg_group *group = NULL;
    if (!ctx) {
        tgi_error_set(TG_ERROR_INVALID_ARGUMENT, TGI_NO_SITE,
                      "%s: the context is NULL", __func__);
    } else if (!(group = tgi_alloc_zero(sizeof(*group)))) {
        tgi_error_memory();
    } else {
        tgi_refcount_init(&group->refs);
        group->ctx = tgi_context_ref(ctx);
        group->id = atomic_fetch_add(&next_id, 1);
        atomic_init(&group->n_forks, atomic_load(&n_forks));
        tgi_live_add(TGI_LIVE_GROUP, 1);
    }
    tgi_api_leave(frame);
    return group;
}

tg_group *tg_group_retain(tg_group *group)
{
    if (group)
        tgi_refcount_inc(&group->refs);
    return group;
}

void tg_group_release(tg_group *group)
{
    if (!group || !tgi_refcount_dec(&group->refs))
        return;
    tgi_context_unref(group->ctx);
    tgi_free(group);
    tgi_live_add(TGI_LIVE_GROUP, -1);
}
