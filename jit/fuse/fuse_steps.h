/* SPDX-License-Identifier: MIT */
/*
 * fuse_steps.h - a program's steps in the making: between fuse_steps.c, which
 * adds kernels and barriers, and fuse_region.c, which adds branches and loops
 * with the steps of their graphs in them.
 */
#ifndef TGI_FUSE_STEPS_H
#define TGI_FUSE_STEPS_H

#include "fuse/fuse_kernel.h"

/* What has happened to a buffer in the current epoch; above these bits, what
   tiny kernels have done to it. */
enum {
    TGI_TOUCH_READ = 1,
    TGI_TOUCH_WRITTEN = 2,
    TGI_TOUCH_PARTLY = 4,
    TGI_TOUCH_BITS = 3
};

typedef struct tgi_step_builder {
    tgi_fuse_state *state; /* of the graph whose steps are added */
    uint32_t epoch;
    uint32_t words;           /* of the tiny region of the last step … */
    uint32_t all_words;       /* … and of all of them */
    bool is_straightline;     /* the kernel that is being added */
    TGI_VEC(uint8_t) touched; /* by buffer */
} tgi_step_builder;

/* Appends a step; `kind` needs no operand, or takes the one of its name. */
tg_status tgi_step_builder_add(tgi_step_builder *st, tgi_loop_step step);
tg_status tgi_step_builder_barrier(tgi_step_builder *st);

/* Notes what is done to a buffer, also a new one, in this epoch. */
tg_status tgi_step_builder_touch(tgi_step_builder *st, tgi_buffer_id buffer,
                                 unsigned does);

/* The steps of all kernels of a graph. */
tg_status tgi_step_builder_kernels(tgi_step_builder *st);

/* fuse_region.c: those of a branch or loop. */
tg_status tgi_step_builder_region(tgi_step_builder *st, tgi_ref ref);

#endif /* TGI_FUSE_STEPS_H */
