/* SPDX-License-Identifier: MIT */
/*
 * build_labelled.h - tensors whose axes have labels (einsum.h), and the same
 * with other axes.
 */
#ifndef TGI_BUILD_LABELLED_H
#define TGI_BUILD_LABELLED_H

#include "build/build.h"

/* A tensor and the labels of its axes. A ref of 0: a recorded failure. */
typedef struct tgi_labelled {
    tgi_ref ref;
    tgi_einsum_term term;
} tgi_labelled;

/* The extent of one label; 1 if x lacks it. */
tgi_dim tgi_labelled_extent(const tgi_builder *b, const tgi_labelled *x,
                            int label);

/* Axis i is axis perm[i] of x; x itself if that is the same. */
tgi_ref tgi_build_permute(tgi_builder *b, tgi_ref x, int n, const int *perm);

/* Axes as groups of labels, each of which becomes one axis. */
typedef struct tgi_axis_groups {
    int n;
    int n_optional; /* leading groups that may be left out if x lacks them */
    tgi_einsum_term group[TG_MAX_RANK];
} tgi_axis_groups;

/* A group for each label; what broadcasts may be left out in front. */
tgi_axis_groups tgi_axis_groups_of(const tgi_einsum_term *labels);

/*
 * x with one axis for each group, merged in row-major order; it has all labels
 * of a group or none, and none that is in no group. A view of a dense x if the
 * labels of each group lie side by side.
 */
tgi_ref tgi_build_grouped_axes(tgi_builder *b, const tgi_labelled *x,
                               const tgi_axis_groups *to);

#endif /* TGI_BUILD_LABELLED_H */
