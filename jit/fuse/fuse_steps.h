/* SPDX-License-Identifier: MIT */
/*
 * fuse_steps.h - a program's steps in the making: between fuse_steps.c, which
 * adds kernels and barriers, and fuse_region.c, which adds branches and loops
 * with the steps of their graphs in them.
 */
#ifndef TGI_FUSE_STEPS_H
#define TGI_FUSE_STEPS_H

#include "fuse/loop_builder.h"

/* What has happened to a buffer in the current epoch; above these bits, what
   tiny kernels have done to it. */
enum {
    TGI_TOUCH_READ = 1,
    TGI_TOUCH_WRITTEN = 2,
    TGI_TOUCH_PARTLY = 4,
    TGI_TOUCH_BITS = 3
};

typedef struct tgi_stepper {
    tgi_fuse_state *state; /* of the graph whose steps are added */
    uint32_t epoch;
    uint32_t words;     /* of the tiny region of the last step … */
    uint32_t all_words; /* … and of all of them */
    bool is_tiny;       /* the kernel that is being added */
    TGI_VEC(uint8_t) touched; /* by buffer */
} tgi_stepper;

tg_status tgi_stepper_add(tgi_stepper *st, int kind, uint32_t number);
tg_status tgi_stepper_barrier(tgi_stepper *st);

/* Notes what is done to a buffer, also a new one, in this epoch. */
tg_status tgi_stepper_touch(tgi_stepper *st, uint32_t buffer, unsigned does);

/* The steps of all kernels of a graph. */
tg_status tgi_stepper_kernels(tgi_stepper *st);

/* fuse_region.c: those of a branch or loop. */
tg_status tgi_stepper_region(tgi_stepper *st, tgi_ref ref);

#endif /* TGI_FUSE_STEPS_H */
