/* SPDX-License-Identifier: MIT */
/*
 * loop_builder.h - emits the insts of one kernel. Functions that return an inst
 * return 0 when out of memory (recorded).
 */
#ifndef TGI_LOOP_BUILDER_H
#define TGI_LOOP_BUILDER_H

#include "fuse/fuse_kernel.h"

/* In a set of axes, one bit each: a reduction, which depends on the point. */
#define TGI_AXES_POINT (UINT32_C(1) << 31)

/* The inst of an expression node, for common subexpression elimination; valid
   in its phase if it depends on the inner axis. */
typedef struct tgi_cached_inst {
    const tgi_expr_node *node;
    uint32_t inst;
    uint16_t phase;
} tgi_cached_inst;

/* A kernel under construction. */
typedef struct tgi_loop_builder {
    tgi_fuse_state *state;
    tgi_kernel_loops *loops;
    uint16_t phase;         /* current */
    uint32_t inner_axes;    /* the axes that form the inner one */
    int first_inner, n_inner; /* their numbers, before axes are merged */
    uint32_t *inst_of;      /* by expression node of the current task */
    TGI_VEC(uint32_t) axes; /* by inst: the axes it depends on */
    TGI_VEC(tgi_cached_inst) cached;
    tgi_index index;
} tgi_loop_builder;

/* The inst of a node of the current task's expression; 0: none. */
static inline uint32_t tgi_loop_builder_inst_of(const tgi_loop_builder *b,
                                                tgi_expr_id id)
{
    return tgi_expr_id_is_none(id) ? 0 : b->inst_of[tgi_expr_id_index(id)];
}

/* Emits a task's expression; returns the inst of `root`. */
uint32_t tgi_loop_builder_expand(tgi_loop_builder *b, const tgi_task *task,
                                 tgi_expr_id root);
uint32_t tgi_loop_builder_load(tgi_loop_builder *b, int dtype,
                               const tgi_access *access);
uint32_t tgi_loop_builder_cast(tgi_loop_builder *b, tgi_op op,
                               uint32_t operand, int dtype, tgi_ref node);
uint32_t tgi_loop_builder_reduced(tgi_loop_builder *b, uint32_t reduction);
/* An index as i64, clamped to 0 … extent - 1. */
uint32_t tgi_loop_builder_index(tgi_loop_builder *b, uint32_t operand,
                                tgi_dim extent, tgi_ref node);
/* An op whose operands, but for the first of SELECT, have one dtype. */
uint32_t tgi_loop_builder_op(tgi_loop_builder *b, int op, int n,
                             const uint32_t *operands, tgi_ref node);
/* factor * previous + addend, where `previous` is this value at the previous
   inner index, and at the first, or if there are no others (has_steps), 1 or
   -0. */
uint32_t tgi_loop_builder_linear_step(tgi_loop_builder *b, uint32_t factor,
                                      uint32_t addend, bool starts_at_one,
                                      bool has_steps, tgi_ref node);
/* A load through an access that the kernel also stores through. */
uint32_t tgi_loop_builder_reload(tgi_loop_builder *b, uint32_t access,
                                 tgi_ref node);
/* bool: an integer is in 0 … extent - 1. */
uint32_t tgi_loop_builder_in_range(tgi_loop_builder *b, uint32_t operand,
                                   tgi_dim extent, tgi_ref node);
uint32_t tgi_loop_builder_position(tgi_loop_builder *b,
                                   const tgi_access *access);
/* Adds the shift of a task's target, if any; false when out of memory
   (recorded). */
bool tgi_loop_builder_shift(tgi_loop_builder *b, const tgi_task *task,
                            tgi_access *access);
/* Appends an access; returns its number, or UINT32_MAX when out of memory
   (recorded). */
uint32_t tgi_loop_builder_access(tgi_loop_builder *b, const tgi_access *access);

#endif /* TGI_LOOP_BUILDER_H */
