/* SPDX-License-Identifier: MIT */
/*
 * walk.h - iterates over the elements of several views at once, in row-major
 * order. Axes that are contiguous in all views are merged first, to make the
 * inner loop, which the caller supplies, as long as possible.
 */
#ifndef TGI_WALK_H
#define TGI_WALK_H

#include "runtime/view.h"

#define TGI_WALK_VIEWS 4 /* a result and three operands */

/* A run of elements along the innermost axis. */
typedef struct tgi_run {
    int64_t n;
    char *data[TGI_WALK_VIEWS];      /* the first element of each view */
    int64_t strides[TGI_WALK_VIEWS]; /* in bytes */
    void *user;
} tgi_run;

/* By value, so that the compiler knows that no store changes it. */
typedef void tgi_inner_loop(tgi_run run);

typedef struct tgi_walk {
    int n_views;
    int rank;
    bool is_empty;
    int64_t dims[TG_MAX_RANK];
    int64_t strides[TG_MAX_RANK][TGI_WALK_VIEWS]; /* in bytes */
} tgi_walk;

/* All views must have the extents of the first. */
void tgi_walk_init(tgi_walk *walk, int n_views, const tgi_view *const *views);

/* Calls `loop` for every run; data[i] is the base address of view i. */
void tgi_walk_each(const tgi_walk *walk, char *const *data,
                   tgi_inner_loop *loop, void *user);

/* tgi_walk_init and tgi_walk_each. */
void tgi_walk_views(int n_views, const tgi_view *const *views,
                    tgi_inner_loop *loop, void *user);

#endif /* TGI_WALK_H */
