/* SPDX-License-Identifier: MIT */
/*
 * group.c - variable groups. The variables of a group share a lock.
 */
#include "base/alloc.h"
#include "base/error.h"
#include "base/live.h"
#include "front/object/context_object.h"
#include "front/object/variable_object.h"

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
