/* SPDX-License-Identifier: MIT */
/*
 * fuse_state.h - the state of fusion for one graph of a program, and accessors
 * that all of its stages use. In order:
 *
 *   fuse_values.c              materialise or inline?            fuse_value.h
 *   fuse_tasks.c, fuse_matmul.c  materialised values to tasks    fuse_task.h
 *   fuse_expr.c                the expression of a task          fuse_expr.h
 *   fuse_place.c, fuse_order.c, fuse_reduction_epilogue.c
 *                              tasks to kernels                  fuse_kernel.h
 *   fuse_kernel.c, loop_builder.c  kernels to loops              loop_builder.h
 *   fuse_steps.c, fuse_region.c  steps, barriers, control flow   fuse_steps.h
 *   fuse_straightline.c, fuse_straightline_loop.c
 *                              straight-line code         fuse_straightline.h
 */
#ifndef TGI_FUSE_STATE_H
#define TGI_FUSE_STATE_H

#include "fuse/variant.h"
#include "loop/id.h"
#include "loop/loop_pass.h"

typedef struct tgi_fuse_value tgi_fuse_value;   /* fuse_value.h */
typedef struct tgi_shift tgi_shift;             /* fuse_map.h */
typedef struct tgi_task tgi_task;               /* fuse_task.h */
typedef struct tgi_fuse_kernel tgi_fuse_kernel; /* fuse_kernel.h */

TGI_DEFINE_ID(tgi_task_id);        /* into tgi_fuse_state.tasks */
TGI_DEFINE_ID(tgi_fuse_kernel_id); /* into tgi_fuse_state.kernels */
TGI_DEFINE_ID(tgi_shift_id);       /* into tgi_fuse_state.shifts */
TGI_DEFINE_ID(tgi_expr_id);        /* into tgi_expr.nodes of one task */

/* A RESULT node in use, of a branch, loop or host call. */
typedef struct tgi_fuse_result {
    tgi_ref region;
    tgi_ref ref;
    size_t index;
} tgi_fuse_result;

/* An unbounded stack that starts as an input of a branch or loop. */
typedef struct tgi_fuse_stack {
    tgi_ref region;
    int64_t input;
    tgi_buffer_id buffer;
} tgi_fuse_stack;

typedef struct tgi_fuse_state {
    const tgi_graph *graph;
    const tgi_variant *variant;
    tgi_dims *dims;      /* the variant's */
    tgi_strbuf *explain; /* or NULL */
    tgi_loops *loops;

    tgi_fuse_value *values; /* by ref */
    TGI_VEC(tgi_task) tasks;
    TGI_VEC(tgi_fuse_kernel) kernels;
    TGI_VEC(tgi_shift) shifts; /* unique */
    tgi_ref last_check;        /* the last node that may fail, or region */
    tgi_ref next_effect;       /* the last visited one of these, or of prints and
                                  host calls; backwards */

    /* By parameter. */
    tgi_ref *first_write;            /* the first node that writes it, or 0 */
    tgi_ref *next_write;             /* the last visited ASSIGN, or 0 */
    tgi_buffer_id *param_buffer;     /* none: not yet created */
    tgi_fuse_kernel_id *last_reader; /* of the contents on entry */
    tgi_fuse_kernel_id *last_writer;
    tgi_fuse_kernel_id *first_writer;

    tgi_fuse_kernel_id fence; /* assignments go into later kernels */
    TGI_VEC(tgi_fuse_result) used_results;
    TGI_VEC(tgi_fuse_stack) stacks;
    size_t first_buffer; /* buffers before it belong to enclosing graphs */
    /* Of a region: the buffers of its parameters, and those that its results
       are stored in (none: not stored). Otherwise NULL. */
    const tgi_buffer_id *bound_params, *bound_results;
    bool no_straightline; /* do not select straight-line kernels */
    bool must_restart;    /* another value has been forced into memory */
} tgi_fuse_state;

/* fuse.c: runs all stages until kernels are formed. */
tg_status tgi_fuse_begin(tgi_fuse_state *s);
/* Frees the state; its loops stay. */
void tgi_fuse_end(tgi_fuse_state *s);

/* fuse_steps.c: the steps of the formed kernels, as loops. */
tg_status tgi_fuse_build(tgi_fuse_state *s);

/* Extent of an axis of a node, in the variant's table. */
static inline tgi_dim tgi_fuse_extent(const tgi_fuse_state *s, tgi_ref ref,
                                      int axis)
{
    return tgi_variant_dim(s->variant,
                           tgi_graph_shape(s->graph, ref)->dims[axis]);
}

static inline int tgi_fuse_rank(const tgi_fuse_state *s, tgi_ref ref)
{
    return tgi_graph_shape(s->graph, ref)->rank;
}

/* True for a value without elements. */
static inline bool tgi_fuse_is_empty(const tgi_fuse_state *s, tgi_ref ref)
{
    bool is_empty = false;
    for (int axis = 0; axis < tgi_fuse_rank(s, ref); axis++)
        is_empty |= tgi_fuse_extent(s, ref, axis) == 0;
    return is_empty;
}

/* True for a pad with elements between those of its operand. */
static inline bool tgi_fuse_pad_has_gaps(const tgi_fuse_state *s, tgi_ref pad)
{
    const tgi_node *node = tgi_graph_node(s->graph, pad);
    const tgi_attr_pad *attr = node->attr;
    const tgi_ref in = node->inputs[0];
    bool has_gaps = false;
    for (int axis = 0; axis < tgi_fuse_rank(s, in); axis++)
        has_gaps |=
            attr->interior[axis] != 0 && tgi_fuse_extent(s, in, axis) != 1;
    return has_gaps;
}

/* True for an unbounded stack. */
static inline bool tgi_fuse_is_unbounded(const tgi_fuse_state *s, tgi_ref ref)
{
    return tgi_shape_is_unbounded(tgi_graph_shape(s->graph, ref));
}

static inline int tgi_fuse_dtype(const tgi_fuse_state *s, tgi_ref ref)
{
    return tgi_graph_node(s->graph, ref)->dtype;
}

/* The number of the parameter that a VARIABLE or PARAM node stands for. */
static inline size_t tgi_fuse_param(const tgi_fuse_state *s, tgi_ref ref)
{
    const tgi_attr_index *attr = tgi_graph_node(s->graph, ref)->attr;
    return (size_t)attr->index;
}

#endif /* TGI_FUSE_STATE_H */
