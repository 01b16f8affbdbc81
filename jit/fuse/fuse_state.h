/* SPDX-License-Identifier: MIT */
/*
 * fuse_state.h - what the parts of fusion share. In order:
 *
 *   fuse_values.c  which values are stored, and which live inside others
 *   fuse_tasks.c   what there is to store: one task for each …
 *   fuse_matmul.c … or two, of matrix products
 *   fuse_expr.c  the expression of a task: nodes, each with a map that says
 *                  which of its elements belongs to a point of the loops
 *   fuse_place.c   tasks into kernels and phases …
 *   fuse_order.c   … behind what they read, in front of what they overwrite
 *   fuse_reduction_epilogue.c    … of a product: what reduces it
 *   fuse_steps.c   kernels into loops, with barriers between them, by
 *                  fuse_kernel.c and, inst by inst, loop_builder.c
 *   fuse_region.c  branches and loops: their graphs, by all of the above
 *   fuse_straightline.c    which of them are straight-line code
 *   in_place.c  which buffers take the place of others
 *
 * Extents of 1 have no say anywhere: axes are those of other extents.
 */
#ifndef TGI_FUSE_STATE_H
#define TGI_FUSE_STATE_H

#include "fuse/fuse.h"

/* -- Values ---------------------------------------------------------------- */

typedef enum tgi_value_class {
    TGI_VALUE_DEAD,
    TGI_VALUE_INLINED,      /* computed where it is used */
    TGI_VALUE_INPUT,        /* in a parameter or a literal: a dense buffer */
    TGI_VALUE_MATERIALISED, /* its task stores it in a dense buffer */
    TGI_VALUE_ALIAS         /* a reshape: another shape of `base`'s buffer */
} tgi_value_class;

/* Owner of a value that is used in more than one place. */
#define TGI_SEVERAL_OWNERS UINT32_MAX

typedef struct tgi_fuse_value {
    const char
        *force_reason; /* why it must be stored, if an earlier attempt has
                           found that out */
    uint8_t class;
    bool is_live;
    bool must_store;   /* someone needs it dense */
    bool prefers_memory; /* its elements are used often: store it unless it is
                          only a view */
    bool is_read;      /* STORED: from memory, by another kernel … */
    bool is_read_local; /* … or by a later phase of its own */
    uint32_t words;    /* of its own recipe, roughly */
    uint32_t cost;     /* of computing one element, all inputs included */
    tgi_ref forwards_to; /* the node whose value this is: mostly itself */
    tgi_ref owner;     /* whose expression it is part of … */
    tgi_ref view;      /* … and the view it is seen through */
    uint32_t task;     /* STORED: number + 1 of the last task that stores it;
                          0: it has no elements */
    uint32_t buffer;   /* GIVEN, STORED: number + 1 */
} tgi_fuse_value;

/* -- Maps ------------------------------------------------------------------ */

enum { TGI_AXIS_NONE = -1, TGI_AXIS_GATHERED = -2 };

/* Position on one axis of a value: start + step * index of a loop axis, and
   shift_step * a shift if there is one. */
typedef struct tgi_map_axis {
    int64_t axis; /* of the loops; STILL: none; DYNAMIC: the gather's index */
    tgi_dim start;
    int64_t step;
    int64_t shift; /* number + 1; 0: none */
    int64_t shift_step;
} tgi_map_axis;

/* Where a DYNAMIC_SLICE or DYNAMIC_UPDATE starts, clamped, and outer_step
   times another shift if there is one: known in all of a kernel. */
typedef struct tgi_shift {
    tgi_ref start;
    uint32_t outer; /* number + 1; 0: none */
    int64_t outer_step;
    tgi_dim n_starts; /* it is one of 0 … n_starts - 1 */
} tgi_shift;

/* Compared byte by byte; axes past the rank are 0. */
typedef struct tgi_map {
    int64_t rank;
    int64_t index; /* entry of the index of a DYNAMIC axis, else 0 */
    tgi_map_axis axis[TG_MAX_RANK];
} tgi_map;

/* -- Expressions ----------------------------------------------------------- */

/* A node as part of an expression. */
typedef struct tgi_expr_node {
    tgi_ref node;
    uint32_t n_operands;
    uint32_t operands[3]; /* numbers of entries; entry 0 is none */
    uint32_t depth;       /* 0; more: a shift needs it, or one of its shifts */
    bool is_ordered;      /* stands in `order` */
    tgi_map map;
} tgi_expr_node;

typedef struct tgi_expr {
    TGI_VEC(tgi_expr_node) nodes; /* [0] is unused */
    TGI_VEC(uint32_t) order;    /* operands before their users */
    tgi_index index;
} tgi_expr;

/* -- Tasks ----------------------------------------------------------------- */

typedef enum tgi_task_kind {
    TGI_TASK_MAP,      /* stores a value at every point */
    TGI_TASK_REDUCE,   /* a reduction or a product */
    TGI_TASK_EPILOGUE, /* a reduction that is part of a product's kernel */
    TGI_TASK_PACK,     /* stores a side of a product by slivers */
    TGI_TASK_SCATTER,  /* stores updates in order, where indices say */
    TGI_TASK_CHECK,    /* the indices of a gather or scatter */
    TGI_TASK_HOST,     /* a print or a host call */
    TGI_TASK_REGION    /* a branch or loop */
} tgi_task_kind;

/* A list of loop axes: extents other than 1. */
typedef struct tgi_domain {
    int n;
    tgi_dim extent[TGI_LOOP_AXES];
} tgi_domain;

typedef struct tgi_task {
    uint8_t kind;
    tgi_ref node;  /* whose value is stored or checked; whose turn it is */
    tgi_ref value; /* what is computed at a point: root of the expression */
    tgi_ref other; /* of a product: its second operand; SCATTER: indices */
    bool is_part;  /* a MAP into a part of `node`'s buffer … */
    bool is_over;  /* … which another part has filled */
    bool is_late;  /* an assignment */

    tgi_domain outer; /* MAP: all there is */
    tgi_domain inner; /* REDUCE, SCATTER: what it goes along … */
    uint8_t vectors;  /* … and how: tgi_vectors */
    uint8_t op;       /* REDUCE: that of tgi_reduction */
    bool combines_blocks;
    uint32_t source;  /* REDUCE of a buffer instead of `value`: number + 1 */
    tgi_stride source_stride[TGI_LOOP_AXES];
    /* REDUCE: the same for `other`, which the task before has packed. */
    uint32_t packed;
    tgi_stride packed_stride[TGI_LOOP_AXES];
    uint32_t panel_width; /* columns; PACK: of what it stores */
    uint32_t memo; /* PACK: the variable it is made from, as parameter + 1;
                        0: it is made anew in every call */

    /* Where it goes: a buffer (number + 1; 0: the buffer of `node`). */
    uint32_t buffer;
    tgi_dim offset;
    tgi_stride stride[TGI_LOOP_AXES];
    uint32_t shift; /* number + 1: times shift_stride, is added; 0: none */
    tgi_dim shift_stride;
    tgi_dim index_stride; /* SCATTER: of the axis that indices are for */

    tgi_map map, other_map; /* of value and other */
    tgi_expr expr;
    uint32_t root, other_root; /* entries */
    uint32_t words;            /* of all it computes at a point */

    uint32_t kernel; /* number */
    uint16_t phase;
    uint8_t level; /* tgi_level: INNER or POINT */
    uint32_t inst; /* of its value, while its kernel is built */
    uint32_t reduction;
} tgi_task;

/* -- Kernels --------------------------------------------------------------- */

typedef struct tgi_fuse_kernel {
    bool is_closed;   /* takes no more tasks */
    bool has_reduction;
    bool has_matmul;  /* a matrix product, by tiles */
    bool is_split;    /* blocks of its reductions are points of their own */
    uint8_t vectors;
    uint16_t n_phases;
    tgi_domain outer, inner;
    TGI_VEC(uint32_t) tasks;
    uint32_t words;
} tgi_fuse_kernel;

/* -- All of it ------------------------------------------------------------- */

/* A RESULT node that somebody uses, of a branch, loop or host call. */
typedef struct tgi_fuse_result {
    tgi_ref region;
    tgi_ref ref;
    size_t index;
} tgi_fuse_result;

/* A stack that begins with input `input` of a branch or loop. */
typedef struct tgi_fuse_stack {
    tgi_ref region;
    int64_t input;
    uint32_t buffer; /* number + 1 */
} tgi_fuse_stack;

typedef struct tgi_fuse_state {
    const tgi_graph *graph;
    const tgi_variant *variant;
    tgi_dims *dims; /* the variant's */
    tgi_strbuf *explain;
    tgi_loops *loops;

    tgi_fuse_value *values; /* by ref */
    TGI_VEC(tgi_task) tasks;
    TGI_VEC(tgi_fuse_kernel) kernels;
    TGI_VEC(tgi_shift) shifts; /* each once */
    tgi_ref last_check;      /* the last gather or scatter that may fail */
    tgi_ref *first_write;    /* by parameter */
    uint32_t *param_buffer;  /* number + 1, by parameter */
    uint32_t *last_reader;   /* kernel + 1, by parameter: of its contents */
    uint32_t *last_writer;   /* kernel + 1, by parameter … */
    uint32_t *first_writer;  /* … and that of the first one */
    uint32_t fence;    /* assignments may not go before this kernel */
    TGI_VEC(tgi_fuse_result) region_results;
    TGI_VEC(tgi_fuse_stack) stacks;
    uint32_t first_buffer; /* those before it are not its own */
    /* Of a branch or the body of a loop: buffers (number + 1) of parameters,
       and those its results go to (0: it stays where it is). Else NULL. */
    const uint32_t *param_buffers, *result_buffers;
    bool must_restart; /* more must be stored than was thought */
} tgi_fuse_state;

/* Extent of an axis of a node's shape, as the variant knows it. */
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

/* True of values without elements. */
static inline bool tgi_fuse_is_empty(const tgi_fuse_state *s, tgi_ref ref)
{
    bool is_empty = false;
    for (int axis = 0; axis < tgi_fuse_rank(s, ref); axis++)
        is_empty |= tgi_fuse_extent(s, ref, axis) == 0;
    return is_empty;
}

/* True of values that grow while a loop runs. */
static inline bool tgi_fuse_is_unbounded(const tgi_fuse_state *s, tgi_ref ref)
{
    return tgi_shape_is_unbounded(tgi_graph_shape(s->graph, ref));
}

/* The value a ref stands for. */
static inline tgi_ref tgi_fuse_resolve(const tgi_fuse_state *s, tgi_ref ref)
{
    return s->values[ref].forwards_to;
}

/* The number of the parameter that a VARIABLE or PARAM node is. */
static inline size_t tgi_fuse_param(const tgi_fuse_state *s, tgi_ref ref)
{
    const tgi_attr_index *attr = tgi_graph_node(s->graph, ref)->attr;
    return (size_t)attr->index;
}

void tgi_fuse_explain(const tgi_fuse_state *s, tgi_ref ref, const char *format,
                      ...) __attribute__((format(printf, 3, 4)));

/* fuse_map.c */
bool tgi_map_is_identity(const tgi_fuse_state *s, tgi_ref ref,
                         const tgi_map *map);
void tgi_map_init(const tgi_fuse_state *s, tgi_ref ref, tgi_map *out_map);
/* A view, or what is one but for a start that the run decides. */
static inline bool tgi_fuse_is_view(const tgi_node *node)
{
    return tgi_op_table[node->op].cls == TGI_OPCLASS_VIEW ||
           node->op == TGI_OP_DYNAMIC_SLICE;
}
/* A view that a map can be taken through. */
bool tgi_fuse_is_affine(const tgi_fuse_state *s, tgi_ref ref);
void tgi_map_compose(const tgi_fuse_state *s, tgi_ref view, const tgi_map *map,
                     tgi_map *out_map);
/* Number + 1 of the shift by which a DYNAMIC_SLICE or DYNAMIC_UPDATE moves
   `part`, over another one; found again or new; 0: out of memory (recorded). */
uint32_t tgi_fuse_find_shift(tgi_fuse_state *s, tgi_ref ref, tgi_ref part,
                             uint32_t outer, int64_t outer_step);
/* The same through a DYNAMIC_SLICE; false when out of memory (recorded). */
bool tgi_map_compose_dynamic(tgi_fuse_state *s, tgi_ref slice,
                             const tgi_map *map, tgi_map *out_map);
tgi_domain tgi_domain_of(const tgi_fuse_state *s, tgi_ref ref);
bool tgi_domain_equals(const tgi_domain *a, const tgi_domain *b);
tgi_domain tgi_domain_join(const tgi_domain *a, const tgi_domain *b);

/* fuse_buffer.c */
/* Number + 1 of a new buffer; 0 when out of memory (recorded). */
uint32_t tgi_fuse_add_buffer(tgi_fuse_state *s, tgi_loop_buffer buffer);
/* The buffer a value is read from, made at the first question. */
uint32_t tgi_fuse_buffer_of(tgi_fuse_state *s, tgi_ref ref);
/* The same for input i of a branch or loop, where a stack may begin; and the
   buffer of such a stack, a new one at the first question. */
uint32_t tgi_fuse_buffer_of_input(tgi_fuse_state *s, tgi_ref region,
                                  uint32_t i);
uint32_t tgi_fuse_stack_of(tgi_fuse_state *s, tgi_ref region, int64_t input);
/* Elements of a node (of what grows: of a slice), and the strides of its dense
   form (TG_MAX_RANK). */
tgi_dim tgi_fuse_n_elements(tgi_fuse_state *s, tgi_ref ref);
void tgi_fuse_dense_strides(tgi_fuse_state *s, tgi_ref ref,
                            tgi_dim *out_strides);

/* fuse_values.c: which values are stored. */
bool tgi_fuse_is_checked(const tgi_node *node);
/* The value of which `ref` is another shape: their dense forms are equal. */
tgi_ref tgi_fuse_storage_root(const tgi_fuse_state *s, tgi_ref ref);
tg_status tgi_fuse_values(tgi_fuse_state *s);

/* fuse_tasks.c: all tasks, in an order in which they can be done. */
tg_status tgi_fuse_tasks(tgi_fuse_state *s);
tg_status tgi_fuse_add_task(tgi_fuse_state *s, const tgi_task *task);
/* Strides of a dense array with these axes. */
void tgi_domain_dense_strides(tgi_fuse_state *s, const tgi_domain *domain,
                              tgi_stride *out_strides);

/* fuse_matmul.c: the tasks of a matrix product. */
/* True if its second side is packed, unless that lies in memory already. */
bool tgi_fuse_packs_rhs(const tgi_fuse_state *s, tgi_ref ref);
tg_status tgi_fuse_add_matmul(tgi_fuse_state *s, tgi_ref ref);

/* True for the task that stores the value of `ref` in its own buffer. */
static inline bool tgi_task_materialises(const tgi_task *task, tgi_ref ref)
{
    return task->node == ref && !task->buffer && !task->is_part;
}

/* fuse_expr.c */
tg_status tgi_fuse_build_expr(tgi_fuse_state *s, tgi_task *task);
void tgi_expr_deinit(tgi_expr *expansion);
/* The address of what a leaf reads. */
bool tgi_fuse_leaf_access(tgi_fuse_state *s, const tgi_expr_node *entry,
                          tgi_access *out_access);
/* True if `entry` is read from a buffer. Entries of empty values are not: they
   are constants. */
bool tgi_expr_node_is_loaded(const tgi_fuse_state *s, const tgi_task *task,
                             uint32_t entry);

/* fuse_order.c: which kernels a task may be in. */
/* The task that stores what entry `i` of `task` reads; NULL: none does. */
tgi_task *tgi_fuse_writer(tgi_fuse_state *s, const tgi_task *task, uint32_t i);
/* The first kernel a task may be in or, where `can_join_first` says no,
   behind. */
typedef struct tgi_fuse_bounds {
    uint32_t first; /* kernels before it are too early */
    bool can_join_first;
} tgi_fuse_bounds;
tgi_fuse_bounds tgi_fuse_bounds_of(tgi_fuse_state *s, const tgi_task *task);
/* True if the variables that a task reads or writes may be touched by kernel
   `number`, given what it does already. */
bool tgi_fuse_can_access_variables(tgi_fuse_state *s, uint32_t number,
                                   const tgi_task *task);
/* A read of a variable that is overwritten by the time of `kernel`; 0: none. */
tgi_ref tgi_fuse_find_stale_read(const tgi_fuse_state *s, const tgi_task *task,
                                 uint32_t kernel);
/* True if an assignment reads other elements of the variable than it writes
   at the same point. */
bool tgi_fuse_reads_other_points(const tgi_fuse_state *s, const tgi_task *task);
/* Notes what a task reads and writes in its kernel, for those after it. */
void tgi_fuse_record_accesses(tgi_fuse_state *s, const tgi_task *task);

/* fuse_place.c: tasks into kernels. */
tg_status tgi_fuse_place(tgi_fuse_state *s);
/* True if what an entry with this map reads of `writer`, in the same kernel, is
   what the same point has stored. */
bool tgi_fuse_is_aligned(const tgi_fuse_state *s, const tgi_task *writer,
                         const tgi_expr_node *entry, const tgi_map *map);

/* fuse_reduction_epilogue.c: reductions of a product in its kernel. */
/* True if a task can be one, in kernel `number`, and that is worth it. */
bool tgi_fuse_can_be_epilogue(tgi_fuse_state *s, uint32_t number,
                              const tgi_task *task);
/* Makes it one. */
void tgi_fuse_make_epilogue(const tgi_fuse_state *s, const tgi_fuse_kernel *k,
                            tgi_task *task);

/* fuse.c: all until kernels are known, for one graph of a program. */
tg_status tgi_fuse_begin(tgi_fuse_state *s);
void tgi_fuse_end(tgi_fuse_state *s);

/* A print or a host call. */
static inline bool tgi_fuse_is_host(const tgi_node *node)
{
    return tgi_op_table[node->op].cls == TGI_OPCLASS_EFFECT;
}

/* fuse_values.c: true if a branch or loop cannot be left out. */
bool tgi_fuse_is_needed(const tgi_fuse_state *s, tgi_ref ref);
/* The branch or loop whose write a read sees; 0: none. */
tgi_ref tgi_fuse_defining_region(const tgi_fuse_state *s, tgi_ref ref);

/* fuse_steps.c, fuse_kernel.c: kernels into loops. */
tg_status tgi_fuse_build(tgi_fuse_state *s);
tg_status tgi_fuse_build_kernel(tgi_fuse_state *s, const tgi_fuse_kernel *k);

/* fuse_straightline.c */
/* Elements of a tiny kernel, at most. */
enum { TGI_STRAIGHTLINE_ELEMENTS = 512 };
/* Words of a kernel as straight-line code, roughly; 0: it is not tiny. */
uint32_t tgi_fuse_straightline_cost(const tgi_fuse_state *s,
                                    const tgi_kernel_loops *k);
/* True if it is known which elements an access touches. */
bool tgi_access_is_static(const tgi_kernel_loops *k, const tgi_access *access);
/* fuse_straightline_loop.c: finds the loops that are tiny. */
tg_status tgi_fuse_straightline_loops(tgi_fuse_state *s);
/* Takes away the memory of what is touched in one tiny region alone. */
tg_status tgi_fuse_promote_buffers(tgi_fuse_state *s);

/* in_place.c: lets what is stored take the place of what dies. */
tg_status tgi_fuse_in_place(tgi_fuse_state *s);

#endif /* TGI_FUSE_STATE_H */
