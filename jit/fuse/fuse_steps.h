/* SPDX-License-Identifier: MIT */
/*
 * fuse_steps.h - builds the steps of a program: fuse_steps.c adds kernels and
 * barriers, fuse_region.c branches and loops with the steps of their graphs.
 */
#ifndef TGI_FUSE_STEPS_H
#define TGI_FUSE_STEPS_H

#include "fuse/fuse_kernel.h"

/* Accesses to a buffer in the current epoch; shifted left by TGI_TOUCH_BITS for
   those of straight-line kernels. */
enum {
    TGI_TOUCH_READ = 1,
    TGI_TOUCH_WRITTEN = 2,
    TGI_TOUCH_PARTLY = 4, /* written, in a part that no other step writes */
    TGI_TOUCH_BITS = 3
};

typedef struct tgi_step_builder {
    tgi_fuse_state *state; /* of the graph whose steps are added */
    uint32_t group_cost;      /* of the straight-line group of the last step */
    uint32_t total_cost;      /* of all straight-line groups */
    bool is_straightline;     /* the kernel being added */
    TGI_VEC(uint8_t) touched; /* by buffer */
} tgi_step_builder;

tg_status tgi_step_builder_add(tgi_step_builder *st, tgi_loop_step step);
tg_status tgi_step_builder_barrier(tgi_step_builder *st);

/* Records an access to a buffer in this epoch; `does` is a TGI_TOUCH_ set. */
tg_status tgi_step_builder_touch(tgi_step_builder *st, tgi_buffer_id buffer,
                                 unsigned does);

/* Adds the steps of all kernels of the graph. */
tg_status tgi_step_builder_kernels(tgi_step_builder *st);

/* Adds those of a branch or loop (fuse_region.c). */
tg_status tgi_step_builder_region(tgi_step_builder *st, tgi_ref ref);

#endif /* TGI_FUSE_STEPS_H */
