/* SPDX-License-Identifier: MIT */
/*
 * graph.h - the graph IR: the trace of a function.
 *
 * Nodes are 32-bit refs into chunks that never move; an arena holds the rest.
 * Nodes are hash-consed: adding a node equal to an existing one returns the old
 * ref. Passes never modify a graph, they write a new one.
 *
 * The order of refs is the execution order: inputs precede users, and reads and
 * effects are in program order. There is no other order of effects. A read
 * names the write it sees, if any; tgi_graph_verify checks that this is the
 * last one before it.
 *
 * Regions: a CALL, SWITCH or LOOP node owns graphs. Its inputs, which may be
 * variables, are their parameters in order. RESULT nodes select its results,
 * and those of a HOST node. A callee has its own dims table; the graphs of a
 * SWITCH or LOOP share that of the enclosing graph.
 *
 *   SWITCH  runs the graph with the number `input 0` (i64, clamped).
 *   LOOP    inputs: number of iterations (i64), carried values, invariants.
 *           Graph 0 is the body: its first parameter is the iteration number,
 *           from 0; it returns the next carried values. Graph 1, if present,
 *           is the test (bool), evaluated before each iteration. The results
 *           are the final carried values.
 */
#ifndef TGI_GRAPH_H
#define TGI_GRAPH_H

#include "base/arena.h"
#include "base/hash.h"
#include "base/refcount.h"
#include "base/vec.h"
#include "ir/dims.h"
#include "ir/literal.h"
#include "ir/op.h"
#include "tgjit/function.h"
#include "tgjit/host.h"

typedef uint32_t tgi_ref; /* 0: none */

typedef struct tgi_graph tgi_graph;

/* -- Attributes ------------------------------------------------------------
 * Attributes are compared as bytes, so they have no padding, and entries past
 * the rank are 0.
 */

/* PARAM, VARIABLE: the parameter number. RESULT: the result number. IOTA,
   CONCAT, ARGMAX, ARGMIN, DYNAMIC_SLICE, DYNAMIC_UPDATE: the axis. EXTENT: a
   tgi_dim. */
typedef struct tgi_attr_index {
    int64_t index;
} tgi_attr_index;

/* SUM … REDUCE_MIN: bit a is set if axis a is reduced. */
typedef struct tgi_attr_axes {
    uint64_t mask;
} tgi_attr_axes;

/* TRANSPOSE: axis i of the result is axis perm[i] of the input. */
typedef struct tgi_attr_perm {
    uint8_t perm[TG_MAX_RANK];
} tgi_attr_perm;

/* SLICE: element i of the result is element start + i * step. */
typedef struct tgi_attr_slice {
    tgi_dim start[TG_MAX_RANK];
    int64_t step[TG_MAX_RANK];
} tgi_attr_slice;

/* PAD: elements before, after, and between each pair of elements. */
typedef struct tgi_attr_pad {
    tgi_dim low[TG_MAX_RANK];
    tgi_dim high[TG_MAX_RANK];
    int64_t interior[TG_MAX_RANK];
} tgi_attr_pad;

typedef struct tgi_attr_gather {
    int64_t axis;
    int64_t mode; /* tg_gather_mode */
} tgi_attr_gather;

/* Starts like that of GATHER. */
typedef struct tgi_attr_scatter {
    int64_t axis;
    int64_t mode;  /* tg_scatter_mode */
    int64_t range; /* tg_scatter_range */
} tgi_attr_scatter;

/* The op that combines an element with an update; TGI_OP_NONE: SET. */
tgi_op tgi_scatter_op(int64_t mode);

typedef struct tgi_attr_matmul {
    int64_t flags; /* tg_matmul_flags */
} tgi_attr_matmul;

/* LINEAR_SCAN: the axis, and whether the element before the first is 1, not
   -0. */
typedef struct tgi_attr_scan {
    int64_t axis;
    int64_t starts_at_one;
} tgi_attr_scan;

/* WINDOW: by axis of the operand, the elements of a window, the distance of
   windows and that of their elements; size 0: the axis has no windows. */
typedef struct tgi_attr_window {
    tgi_dim size[TG_MAX_RANK];
    int64_t stride[TG_MAX_RANK];
    int64_t dilation[TG_MAX_RANK];
} tgi_attr_window;

/*
 * CONV. The axes of the operand, the filters and the result are
 *
 *     batch …, example, spatial …, channel
 *     batch …, spatial …, channel, filter
 *     batch …, example, spatial …, filter
 *
 * with n_batch axes `batch`, which are not convolved. Stride and dilation are
 * by spatial axis.
 */
typedef struct tgi_attr_conv {
    int64_t n_batch;
    int64_t stride[TG_MAX_RANK];
    int64_t dilation[TG_MAX_RANK];
} tgi_attr_conv;

typedef struct tgi_attr_literal {
    tgi_literal *literal; /* retained by the graph */
} tgi_attr_literal;

/* A user-defined gradient; used only while tracing. */
typedef struct tgi_custom_gradient {
    tg_callback *backward; /* NULL: none */
    void *user;
} tgi_custom_gradient;

typedef struct tgi_attr_call {
    tgi_graph *callee; /* retained by the graph */
    /* The callee before passes, or NULL: gradients need the operations that the
       user wrote. Retained by the graph. */
    tgi_graph *traced;
    tgi_custom_gradient gradient;
} tgi_attr_call;

enum {
    /* LOOP: a test still true after that number of iterations is an error. */
    TGI_LOOP_LIMITED = 1,
    /* SWITCH of one graph: the backward pass recomputes its values. */
    TGI_SWITCH_CHECKPOINT = 2
};

/* Result numbers of a LOOP: the number of iterations executed, and the position
   of the first iteration's slice in the loop's stacks. Valid only while
   tracing, as are results of the body after the carried ones, which are saved
   per iteration (lower_saved_values.h). */
#define TGI_RESULT_ITERATIONS (-1)
#define TGI_RESULT_STACK_BASE (-2)

/* SWITCH, LOOP. */
typedef struct tgi_attr_regions {
    int64_t n_graphs;
    int64_t n_carried;   /* LOOP */
    int64_t flags;       /* TGI_LOOP_LIMITED, TGI_SWITCH_CHECKPOINT */
    tgi_graph *graphs[]; /* retained by the graph */
} tgi_attr_regions;

/* PRINT, FAIL: the NUL-terminated format itself. */

typedef struct tgi_host_output {
    uint32_t dtype;
    tgi_shape_ref shape;
} tgi_host_output;

/* HOST. */
typedef struct tgi_attr_host {
    tg_host_function *function;
    void *user;
    tgi_custom_gradient gradient;
    int64_t is_start; /* runs as soon as its inputs exist (tg_host_start) */
    const char *name; /* of the operation, static text; NULL: a host call */
    int64_t maps_leading_axes; /* tg_host_op */
    int64_t n_outputs;
    tgi_host_output outputs[];
} tgi_attr_host;

static inline size_t tgi_attr_host_bytes(size_t n_outputs)
{
    return sizeof(tgi_attr_host) + n_outputs * sizeof(tgi_host_output);
}

/* -- Sites ----------------------------------------------------------------- */

/*
 * A line of the user's program, and the calls through which it was reached: a
 * function that is inlined appends the site of its call to those of its nodes.
 * Interned in a graph, so that few sites serve many nodes.
 */
typedef struct tgi_site_chain {
    const char *file;
    const char *function; /* that was inlined; NULL without a caller */
    const struct tgi_site_chain *caller; /* the call of it, or NULL */
    int line;
} tgi_site_chain;

/* -- Nodes ----------------------------------------------------------------- */

enum {
    /*
     * Weakly typed: a scalar computed from plain numbers only, which takes the
     * dtype of the other operands (build_number.c). Ignored after building.
     */
    TGI_NODE_NUMBER = 1,  /* from arguments: adapts to tensors */
    TGI_NODE_LITERAL = 2, /* from literals only: adapts to NUMBERs as well */
    TGI_NODE_WEAK = TGI_NODE_NUMBER | TGI_NODE_LITERAL
};

typedef struct tgi_node {
    uint8_t op; /* tgi_op */
    uint8_t dtype;
    uint16_t flags;
    tgi_shape_ref shape;
    uint32_t n_inputs;
    uint32_t attr_bytes;
    const tgi_ref *inputs;
    const void *attr; /* NULL if attr_bytes is 0 */
    const char *name; /* given by the user, or NULL */
    const tgi_site_chain *site; /* in the user's source, or NULL */
} tgi_node;

/* -- Parameters, checks ---------------------------------------------------- */

typedef struct tgi_param {
    tgi_ref node;    /* PARAM or VARIABLE */
    bool is_read;    /* VARIABLE: here or in a graph that a node owns */
    bool is_written; /* likewise */
} tgi_param;

typedef enum tgi_check_kind {
    TGI_CHECK_EQUAL,     /* a == b */
    TGI_CHECK_BROADCAST, /* a == b, or one of them is 1 */
    TGI_CHECK_EXPANDS,   /* a == b or a == 1 */
    TGI_CHECK_AT_MOST,   /* a <= b */
    TGI_CHECK_NOT_ZERO   /* a != 0 */
} tgi_check_kind;

/* A condition on extents that is evaluated at the call. */
typedef struct tgi_check {
    uint8_t kind;
    int line;
    const char *file;
    const char *op;   /* public name of the operation, static text */
    const char *what; /* such as "inner dimensions" */
    tgi_dim a, b;
    tgi_shape_ref shapes[2]; /* the shapes that messages print, or 0 */
    bool is_target; /* the second shape is requested, not that of an operand */
} tgi_check;

/* The number passed as parameter `param` must fit `dtype`. */
typedef struct tgi_number_check {
    tgi_ref param; /* the node: parameters may be renumbered */
    uint8_t dtype;
    int line;
    const char *file;
    const char *op; /* the operation that converts it, static text */
} tgi_number_check;

/* -- Graphs ---------------------------------------------------------------- */

#define TGI_CHUNK_BITS 6 /* small, since most graphs are */
#define TGI_CHUNK_NODES (1u << TGI_CHUNK_BITS)

struct tgi_graph {
    tgi_refcount refs;
    tgi_arena arena;
    tgi_dims *dims; /* shared with regions and across passes */
    const char *name;

    TGI_VEC(tgi_node *) chunks;
    uint32_t n_nodes; /* refs are 1 … n_nodes */
    tgi_index nodes;  /* hash-consing */

    TGI_VEC(tgi_param) params;
    TGI_VEC(tgi_ref) results;
    TGI_VEC(tgi_check) checks;
    TGI_VEC(tgi_number_check) number_checks; /* of a trace; passes drop them */
    TGI_VEC(tgi_literal *) literals; /* retained */
    TGI_VEC(tgi_graph *) callees;    /* retained; regions too */
    TGI_VEC(const char *) strings;   /* interned names and files */
    TGI_VEC(const tgi_site_chain *) sites; /* interned */
    tgi_index literal_index, string_index, check_index, site_index;
    const tgi_site_chain *last_site; /* of the last node that has one */

    /* These include the graphs that nodes own. */
    bool has_effects; /* writes a variable, prints, asserts or calls the host */
    bool may_fail;    /* has checks or ops that may fail */
    bool has_loops;
    uint32_t height; /* nesting levels, from 1, before or after passes */
    tgi_graph *next_dead; /* list of graphs to destroy */
};

/* NULL when out of memory (recorded). Retains `dims`; NULL creates a table. */
tgi_graph *tgi_graph_create(const char *name, tgi_dims *dims);
/* Casts const away: the reference count is not part of the value. */
tgi_graph *tgi_graph_retain(const tgi_graph *graph);
void tgi_graph_release(tgi_graph *graph);
/* Bytes of memory, including literals, excluding the dims table and callees. */
size_t tgi_graph_bytes(const tgi_graph *graph);

static inline const tgi_node *tgi_graph_node(const tgi_graph *graph,
                                             tgi_ref ref)
{
    uint32_t i = ref - 1;
    return &graph->chunks.data[i >> TGI_CHUNK_BITS][i & (TGI_CHUNK_NODES - 1)];
}

static inline const tgi_shape *tgi_graph_shape(const tgi_graph *graph,
                                               tgi_ref ref)
{
    return tgi_shape_of(graph->dims, tgi_graph_node(graph, ref)->shape);
}

/*
 * Adds a node, or returns an equal one (same op, type, inputs and attribute);
 * ORDERED ops are always new. Copies everything `node` points to, retains
 * literals and callees, and updates the summary of the graph (is_read,
 * has_effects, …). 0 when out of memory (recorded). Does not validate the node:
 * builders do, and tgi_graph_verify checks.
 */
tgi_ref tgi_graph_add(tgi_graph *graph, const tgi_node *node);

/* Replaces the callee of a call by one with the same parameters and effects
   whose results start with the same ones; false when out of memory
   (recorded). */
bool tgi_graph_set_callee(tgi_graph *graph, tgi_ref call, tgi_graph *callee);

/* A PARAM or VARIABLE with the next number. */
tgi_ref tgi_graph_add_param(tgi_graph *graph, tgi_op op, tg_dtype dtype,
                            tgi_shape_ref shape, uint16_t flags);

/* A CONSTANT of the given elements, row-major; the shape is static. */
tgi_ref tgi_graph_add_constant(tgi_graph *graph, tg_dtype dtype,
                               tgi_shape_ref shape, const void *data,
                               size_t bytes, uint16_t flags, tg_site site);

/* Moves parameter `from` to number `to` <= `from`; those between shift up. */
void tgi_graph_move_param(tgi_graph *graph, size_t from, size_t to);

/* Names a node that has no name. */
void tgi_graph_set_name(tgi_graph *graph, tgi_ref ref, const char *name);

/* False when out of memory (recorded). Equal checks are stored once. */
bool tgi_graph_add_check(tgi_graph *graph, tgi_check check);
bool tgi_graph_add_number_check(tgi_graph *graph, tgi_number_check check);
bool tgi_graph_add_result(tgi_graph *graph, tgi_ref ref);

/* 1 if a check holds for every call, 0 if it fails for every call, else -1. */
int tgi_check_decide(tgi_dims *dims, const tgi_check *check);

/* An interned copy of `string`, owned by the graph. */
const char *tgi_graph_intern(tgi_graph *graph, const char *string);

/*
 * An interned copy of `site`, of a callee with the name `function`, extended by
 * the call through which the graph reaches it. NULL without a site, or when out
 * of memory (recorded).
 */
const tgi_site_chain *tgi_graph_site_through(tgi_graph *graph,
                                             const tgi_site_chain *site,
                                             const char *function,
                                             const tgi_site_chain *call);

/* The elements of a constant node, or NULL. */
const void *tgi_graph_constant(const tgi_graph *graph, tgi_ref ref);

/*
 * True for nodes that dead code elimination must preserve even without users:
 * effects, regions with effects, and ops that can fail at run time.
 */
bool tgi_graph_is_root(const tgi_graph *graph, const tgi_node *node);

/* Evaluates the checks for given extents; records the first that fails. */
tg_status tgi_graph_run_checks(const tgi_graph *graph, const int64_t *values);

/* Extents (up to TG_MAX_RANK) and bytes of a node's value; for an unbounded
   stack, the bytes of one slice. TG_ERROR_OVERFLOW names the node. */
tg_status tgi_graph_value_size(const tgi_graph *graph, tgi_ref ref,
                               const int64_t *values, int64_t *out_dims,
                               int64_t *out_bytes);

/* The same for an output of `node` of the given type. */
tg_status tgi_graph_type_size(const tgi_graph *graph, const tgi_node *node,
                              tg_dtype dtype, tgi_shape_ref shape,
                              const int64_t *values, int64_t *out_dims,
                              int64_t *out_bytes);

/* -- Regions --------------------------------------------------------------- */

/* The graphs that a node owns; most nodes own none. */
typedef struct tgi_regions {
    size_t n;
    tgi_graph *const *graphs;
} tgi_regions;

tgi_regions tgi_node_regions(const tgi_node *node);

/* True if a region of the node writes the variable that is its input i. */
bool tgi_node_writes(const tgi_node *node, uint32_t i);

/* The number of results of a CALL, SWITCH, LOOP or HOST node; else 0. */
size_t tgi_node_n_results(const tgi_node *node);

/* The number of iterations of a LOOP as an extent; TGI_UNBOUNDED if it is known
   only at run time. */
tgi_dim tgi_loop_iterations(const tgi_graph *graph, const tgi_node *loop);

/*
 * Where an unbounded stack in a graph originates: a parameter, or the UNSET
 * input of the region that creates it.
 */
typedef struct tgi_origin {
    int64_t param; /* -1: none */
    tgi_ref region;
    int64_t input;
} tgi_origin;

tgi_origin tgi_stack_origin(const tgi_graph *graph, tgi_ref ref);

/* The input of a region that its result `index`, an unbounded stack, continues;
   -1 if none, which the verifier rejects. */
int64_t tgi_stack_input(const tgi_node *region, size_t index);

/* The user-defined gradient of a CALL or HOST node, or NULL. */
const tgi_custom_gradient *tgi_node_custom_gradient(const tgi_node *node);

/* SWITCH or LOOP: its graphs share this graph's dims table. */
static inline bool tgi_node_has_regions(const tgi_node *node)
{
    return node->op == TGI_OP_SWITCH || node->op == TGI_OP_LOOP;
}

/* CALL, SWITCH or LOOP. */
static inline bool tgi_node_owns_graphs(const tgi_node *node)
{
    return node->op == TGI_OP_CALL || tgi_node_has_regions(node);
}

/* The attribute of PARAM, VARIABLE, RESULT and other ops that have a
   tgi_attr_index. */
static inline int64_t tgi_node_index(const tgi_node *node)
{
    return ((const tgi_attr_index *)node->attr)->index;
}

static inline tg_site tgi_node_site(const tgi_node *node)
{
    return node->site ? (tg_site){node->site->file, node->site->line}
                      : (tg_site){NULL, 0};
}

/* The parameter index of a PARAM or VARIABLE node. */
static inline size_t tgi_graph_param_index(const tgi_graph *graph, tgi_ref ref)
{
    return (size_t)tgi_node_index(tgi_graph_node(graph, ref));
}

/* True if the value of a node is an unbounded stack. */
static inline bool tgi_graph_is_unbounded(const tgi_graph *graph, tgi_ref ref)
{
    return tgi_shape_is_unbounded(tgi_graph_shape(graph, ref));
}

#endif /* TGI_GRAPH_H */
