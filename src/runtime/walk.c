/* SPDX-License-Identifier: MIT */
/*
 * walk.c - merges axes and iterates over the remaining ones.
 */
#include "runtime/walk.h"

#include <assert.h>

#include "base/dtype.h"

/* True if `axis` of the walk and the next one are contiguous in all views. */
static bool can_merge(const tgi_walk *walk, int axis, int64_t next_dim,
                      const int64_t *next_strides)
{
    for (int i = 0; i < walk->n_views; i++)
        if (walk->strides[axis][i] != next_dim * next_strides[i])
            return false;
    return true;
}

void tgi_walk_init(tgi_walk *walk, int n_views, const tgi_view *const *views)
{
    assert(n_views > 0 && n_views <= TGI_WALK_VIEWS);
    walk->n_views = n_views;
    walk->rank = 0;
    walk->is_empty = tgi_view_count(views[0]) == 0;
    if (walk->is_empty)
        return;
    for (int axis = 0; axis < views[0]->rank; axis++) {
        int64_t dim = views[0]->dims[axis];
        if (dim == 1)
            continue;
        int64_t strides[TGI_WALK_VIEWS] = {0};
        for (int i = 0; i < n_views; i++) {
            assert(views[i]->rank == views[0]->rank);
            assert(views[i]->dims[axis] == dim);
            strides[i] =
                views[i]->strides[axis] * tgi_dtype_bytes(views[i]->dtype);
        }
        int last = walk->rank - 1;
        if (last >= 0 && can_merge(walk, last, dim, strides))
            walk->dims[last] *= dim;
        else
            walk->dims[last = walk->rank++] = dim;
        for (int i = 0; i < TGI_WALK_VIEWS; i++)
            walk->strides[last][i] = strides[i];
    }
}

void tgi_walk_each(const tgi_walk *walk, char *const *data,
                   tgi_inner_loop *loop, void *user)
{
    if (walk->is_empty)
        return;
    int inner = walk->rank - 1;
    int64_t position[TG_MAX_RANK] = {0};
    tgi_run run = {.n = 1, .user = user};
    for (int i = 0; i < walk->n_views; i++)
        run.data[i] = data[i];
    if (inner >= 0) {
        run.n = walk->dims[inner];
        for (int i = 0; i < walk->n_views; i++)
            run.strides[i] = walk->strides[inner][i];
    }
    for (;;) {
        loop(run);
        int axis = inner - 1;
        for (; axis >= 0; axis--) {
            bool wraps = ++position[axis] == walk->dims[axis];
            int64_t steps = wraps ? 1 - walk->dims[axis] : 1;
            for (int i = 0; i < walk->n_views; i++)
                run.data[i] += steps * walk->strides[axis][i];
            if (!wraps)
                break;
            position[axis] = 0;
        }
        if (axis < 0)
            return;
    }
}

void tgi_walk_views(int n_views, const tgi_view *const *views,
                    tgi_inner_loop *loop, void *user)
{
    tgi_walk walk;
    char *data[TGI_WALK_VIEWS];
    tgi_walk_init(&walk, n_views, views);
    for (int i = 0; i < n_views; i++)
        data[i] = views[i]->data;
    tgi_walk_each(&walk, data, loop, user);
}
