/* SPDX-License-Identifier: MIT */
/*
 * fuse_task.h - tasks: the units that fusion places into kernels. Each stores
 * one value or part of it, checks indices, or stands for a host call or region.
 */
#ifndef TGI_FUSE_TASK_H
#define TGI_FUSE_TASK_H

#include "fuse/fuse_expr.h"
#include "recipe/cost.h"

typedef enum tgi_task_kind {
    TGI_TASK_MAP,      /* stores a value at every point */
    TGI_TASK_REDUCE,   /* a reduction or matmul */
    TGI_TASK_EPILOGUE, /* a REDUCE that has become a reduction epilogue */
    TGI_TASK_PACK,     /* stores an operand of a matmul in packed panels */
    TGI_TASK_SCATTER,  /* stores updates at their indices, in order */
    TGI_TASK_SCAN,     /* stores a linear scan */
    TGI_TASK_CHECK,    /* checks the indices of a gather or scatter */
    TGI_TASK_HOST,     /* a print, failed assert or host call */
    TGI_TASK_REGION    /* a branch or loop */
} tgi_task_kind;

/* Where a task stores. */
typedef struct tgi_task_target {
    tgi_buffer_id buffer; /* none: the buffer of the task's node */
    tgi_dim offset;
    tgi_stride stride[TGI_LOOP_AXES];
    tgi_shift_id shift; /* adds shift * shift_stride, unless none */
    tgi_dim shift_stride;
} tgi_task_target;

/* A buffer that the preceding task fills for a REDUCE; none: an expression is
   reduced instead. */
typedef struct tgi_task_source {
    tgi_buffer_id buffer;
    tgi_stride stride[TGI_LOOP_AXES];
} tgi_task_source;

typedef struct tgi_task_map {
    bool is_part;       /* stores into a part of the node's buffer … */
    bool is_overwrite;  /* … which the preceding task has filled */
    bool is_assignment; /* stores to a variable */
    uint32_t inst;      /* of the value, while the kernel is built */
} tgi_task_map;

typedef struct tgi_task_reduce {
    uint8_t op;             /* that of tgi_reduction */
    bool is_bytes;          /* likewise */
    tgi_task_source source; /* replaces `value` */
    tgi_expr_root rhs;      /* MATMUL: the second operand, unless packed */
    tgi_task_source packed; /* MATMUL: replaces `rhs` */
    uint32_t panel_width;   /* of `packed` */
    uint32_t reduction;     /* its number, while the kernel is built */
} tgi_task_reduce;

typedef struct tgi_task_pack {
    uint32_t panel_width; /* of the stored panels */
} tgi_task_pack;

typedef struct tgi_task_scatter {
    tgi_expr_root indices;
    tgi_dim index_stride; /* of the indexed axis */
} tgi_task_scatter;

typedef struct tgi_task_scan {
    tgi_expr_root addend; /* `value` is the factor */
} tgi_task_scan;

typedef struct tgi_task {
    uint8_t kind;
    tgi_ref node; /* whose value is stored or checked, or which runs */
    tgi_ref user; /* for which an operand is copied or packed, or 0 */

    /* Loops. MAP, CHECK: `inner` is empty. */
    tgi_domain outer, inner;
    uint8_t vectors; /* tgi_vectors */
    /* Outer axes are not in the order of the node's axes: late_axis of these is
       the last but one. */
    bool is_permuted;
    uint8_t late_axis;

    /* Expression, of all kinds but HOST and REGION. */
    tgi_expr_root value; /* stored, reduced or checked at a point */
    tgi_expr expr;       /* of all roots */
    tgi_cost cost;       /* of a vector, without loads */

    /* Placement, set by fuse_place.c. */
    tgi_fuse_kernel_id kernel;
    uint16_t phase;
    uint8_t level; /* tgi_level: INNER or POINT */

    bool is_memoised;    /* MAP, PACK: depends only on … */
    uint32_t memo_param; /* … this parameter, a variable */

    tgi_task_target target; /* not CHECK, HOST, REGION */
    union {
        tgi_task_map map;         /* MAP */
        tgi_task_reduce reduce;   /* REDUCE, EPILOGUE */
        tgi_task_pack pack;       /* PACK */
        tgi_task_scatter scatter; /* SCATTER */
        tgi_task_scan scan;       /* SCAN */
    };
} tgi_task;

/* The node whose line a task has. */
static inline tgi_ref tgi_task_origin(const tgi_task *task)
{
    return task->user ? task->user : task->node;
}

static inline bool tgi_task_is_reduction(const tgi_task *task)
{
    return task->kind == TGI_TASK_REDUCE || task->kind == TGI_TASK_EPILOGUE;
}

static inline bool tgi_task_is_assignment(const tgi_task *task)
{
    return task->kind == TGI_TASK_MAP && task->map.is_assignment;
}

/* True if the task stores into a part of its node's buffer. */
static inline bool tgi_task_is_part(const tgi_task *task)
{
    return task->kind == TGI_TASK_SCATTER ||
           (task->kind == TGI_TASK_MAP && task->map.is_part);
}

/* True if the part was filled by the preceding task. */
static inline bool tgi_task_is_overwrite(const tgi_task *task)
{
    return task->kind == TGI_TASK_SCATTER ||
           (task->kind == TGI_TASK_MAP && task->map.is_overwrite);
}

/* True if the task reduces a buffer that the preceding task fills. */
static inline bool tgi_task_has_source(const tgi_task *task)
{
    return tgi_task_is_reduction(task) &&
           !tgi_buffer_id_is_none(task->reduce.source.buffer);
}

/* True if the preceding task packs the second operand of this matmul. */
static inline bool tgi_task_has_packed(const tgi_task *task)
{
    return tgi_task_is_reduction(task) &&
           !tgi_buffer_id_is_none(task->reduce.packed.buffer);
}

/* True for the task that stores the value of `ref` in the buffer of `ref`. */
static inline bool tgi_task_materialises(const tgi_task *task, tgi_ref ref)
{
    return task->node == ref && tgi_buffer_id_is_none(task->target.buffer) &&
           !tgi_task_is_part(task);
}

static inline tgi_task *tgi_fuse_task(const tgi_fuse_state *s, tgi_task_id id)
{
    return &s->tasks.data[tgi_task_id_index(id)];
}

/* Creates all tasks, in a valid order of execution. */
tg_status tgi_fuse_tasks(tgi_fuse_state *s);
/* Appends a task; fails if one of its extents could not be computed. */
tg_status tgi_fuse_add_task(tgi_fuse_state *s, const tgi_task *task);

/* fuse_matmul.c */
/* True if the second operand of a matmul is packed, unless it is in memory
   already. */
bool tgi_fuse_packs_rhs(const tgi_fuse_state *s, tgi_ref ref);

/* True if the filters of a convolution are a variable in another order, of
   which a copy is memoised and then packed. */
bool tgi_fuse_memoises_filters(const tgi_fuse_state *s, tgi_ref ref);
tg_status tgi_fuse_add_matmul(tgi_fuse_state *s, tgi_ref ref);

/* -- fuse_pack.c -- */

/* Maximum bytes of memoised panels. */
enum { TGI_MAX_MEMO_BYTES = 64 << 20 };

/* The parameter of the variable that an operand is a view of, or a memoised
   copy of one, if this graph does not write it; else -1. */
int64_t tgi_fuse_unwritten_variable(const tgi_fuse_state *s, tgi_ref ref);
/* The same for a view in memory, which may be copied. */
int64_t tgi_fuse_copied_variable(const tgi_fuse_state *s, tgi_ref ref);
/* Gives a task that stores its value a buffer of matrices of `size` elements,
   one per point of the outer axes but the last. False when out of memory
   (recorded). */
bool tgi_fuse_set_copy_buffer(tgi_fuse_state *s, tgi_task *task, tgi_dim size);
/* The same for a PACK task, whose last outer axis is that of columns. */
bool tgi_fuse_set_panels(tgi_fuse_state *s, tgi_task *task);

/* fuse_conv.c */
tg_status tgi_fuse_add_conv(tgi_fuse_state *s, tgi_ref ref);
/* True if the filters of a convolution are so few that they should be the rows
   of its micro-kernels, and windows the columns. */
bool tgi_fuse_suits_rows_of_filters(const tgi_fuse_state *s, tgi_ref ref);

#endif /* TGI_FUSE_TASK_H */
