/* SPDX-License-Identifier: MIT */
/*
 * loop_builder.h - what the makers of a kernel's loops share.
 */
#ifndef TGI_LOOP_BUILDER_H
#define TGI_LOOP_BUILDER_H

#include "fuse/fuse_kernel.h"

/* Besides one bit for each axis: depends on the point, for a reduction. */
#define TGI_AXES_POINT (UINT32_C(1) << 31)

/* An inst that stands for an entry, in the phase it was made in. */
typedef struct tgi_cached_inst {
    const tgi_expr_node *entry;
    uint32_t inst;
    uint16_t phase;
} tgi_cached_inst;

/* A kernel in the making. */
typedef struct tgi_loop_builder {
    tgi_fuse_state *state;
    tgi_kernel_loops *loops;
    uint16_t phase;         /* the current one */
    uint32_t inner_axes;    /* bits of the axes that form the inner one */
    uint32_t *inst_of;      /* by entry of the current task */
    TGI_VEC(uint32_t) axes; /* by inst: what it depends on */
    TGI_VEC(tgi_cached_inst) known;
    tgi_index index;
} tgi_loop_builder;

/* The inst of a node of the current task's expression; 0: none. */
static inline uint32_t tgi_loop_builder_inst_of(const tgi_loop_builder *b,
                                                tgi_expr_id id)
{
    return tgi_expr_id_is_none(id) ? 0 : b->inst_of[tgi_expr_id_index(id)];
}

/* All give 0 (the access: UINT32_MAX) when out of memory (recorded). */

/* Insts for all of a task's expression; gives that of entry `root`. */
uint32_t tgi_loop_builder_expand(tgi_loop_builder *b, const tgi_task *task,
                                 tgi_expr_id root);
uint32_t tgi_loop_builder_load(tgi_loop_builder *b, int dtype,
                               const tgi_access *access);
uint32_t tgi_loop_builder_cast(tgi_loop_builder *b, uint32_t operand, int dtype,
                               tgi_ref node);
uint32_t tgi_loop_builder_reduced(tgi_loop_builder *b, uint32_t reduction);
/* An index as i64, clamped into 0 … extent - 1. */
uint32_t tgi_loop_builder_index(tgi_loop_builder *b, uint32_t operand,
                                tgi_dim extent, tgi_ref node);
/* An op whose operands, but for the first of SELECT, have one type. */
uint32_t tgi_loop_builder_op(tgi_loop_builder *b, int op, int n,
                             const uint32_t *operands, tgi_ref node);
/* Loads through an access that is stored through as well. */
uint32_t tgi_loop_builder_reload(tgi_loop_builder *b, uint32_t access,
                                 tgi_ref node);
/* Whether an integer is in 0 … extent - 1; an i64 for each point. */
uint32_t tgi_loop_builder_in_range(tgi_loop_builder *b, uint32_t operand,
                                   tgi_dim extent, tgi_ref node);
uint32_t tgi_loop_builder_position(tgi_loop_builder *b,
                                   const tgi_access *access);
/* Adds the shift of what a task stores, if there is one. */
bool tgi_loop_builder_shift(tgi_loop_builder *b, const tgi_task *task,
                            tgi_access *access);
/* The number of an access in the kernel's list. */
uint32_t tgi_loop_builder_access(tgi_loop_builder *b, const tgi_access *access);

#endif /* TGI_LOOP_BUILDER_H */
