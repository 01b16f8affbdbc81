/* SPDX-License-Identifier: MIT */
/*
 * ops_arrange.h - new axes, and comparison of class indices with all classes.
 */
#ifndef TGI_OPS_ARRANGE_H
#define TGI_OPS_ARRANGE_H

#include "build/build.h"

/* x with an axis of extent 1 inserted before `axis`, which may be its rank. */
tgi_ref tgi_build_insert_axis(tgi_builder *b, tgi_ref x, int axis);

/* The integer dtype, i32 or i64, in which class indices of a dtype are
   compared. */
tg_dtype tgi_class_dtype(tg_dtype labels);

/* Bool, with the axes of the integer `labels` and one of n_classes: true at the
   position that equals the label. */
tgi_ref tgi_build_class_mask(tgi_builder *b, tgi_ref labels,
                             tgi_dim n_classes);

#endif /* TGI_OPS_ARRANGE_H */
