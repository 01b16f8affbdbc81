/* SPDX-License-Identifier: MIT */
/*
 * build_labelled.h - tensors whose axes have labels (einsum.h), and reordering
 * and merging of their axes.
 */
#ifndef TGI_BUILD_LABELLED_H
#define TGI_BUILD_LABELLED_H

#include "build/build.h"

/* A tensor and the labels of its axes; ref is 0 after a recorded failure. */
typedef struct tgi_labelled {
    tgi_ref ref;
    tgi_einsum_term term;
} tgi_labelled;

/* The extent of a label; 1 if x lacks it. */
tgi_dim tgi_labelled_extent(const tgi_builder *b, const tgi_labelled *x,
                            int label);

/* Transposes x: axis i is axis perm[i] of x. Returns x for the identity. */
tgi_ref tgi_build_permute(tgi_builder *b, tgi_ref x, int n, const int *perm);

/* Groups of labels; each group becomes one axis. */
typedef struct tgi_axis_groups {
    int n;
    int n_optional; /* leading groups to omit if x lacks them */
    tgi_einsum_term group[TG_MAX_RANK];
} tgi_axis_groups;

/* One group per label, all optional: leading axes broadcast. */
tgi_axis_groups tgi_axis_groups_of(const tgi_einsum_term *labels);

/*
 * x with one axis per group, whose labels are merged in row-major order. x has
 * all labels of a group or none, and each of its labels is in a group. The
 * result is a view of a contiguous x if the labels of each group are adjacent.
 */
tgi_ref tgi_build_grouped_axes(tgi_builder *b, const tgi_labelled *x,
                               const tgi_axis_groups *to);

#endif /* TGI_BUILD_LABELLED_H */
