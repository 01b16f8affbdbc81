/* SPDX-License-Identifier: MIT */
/*
 * graph.h - a function as data.
 *
 * Nodes are 32-bit refs into chunks that never move; everything a graph owns
 * lies in its arena. Nodes are hash-consed: adding what is already there
 * gives the old ref. A pass never changes a graph, it writes a new one.
 *
 * The order of refs is an order of execution: inputs come before their users,
 * and reads and effects stand in program order. That is the whole rule of
 * effects; a read names the write it sees (or none), and tgi_graph_verify
 * checks that this is the last one before it.
 *
 * Regions: a CALL, SWITCH or LOOP node owns graphs. Its inputs are their
 * parameters in order, variables among them; RESULT nodes pick its results, as
 * they do of a HOST node. A callee has extents of its own. The graphs of a
 * SWITCH or LOOP speak of those of the graph they are in: they share its dims
 * table.
 *
 *   SWITCH  runs graph `input 0` (i64; past either end: the nearest one).
 *   LOOP    inputs: number of trips (i64), carried values, others. Graph 0 is
 *           the body: it sees the trips done so far in place of the number,
 *           and gives the carried values of the next trip. Graph 1, if there,
 *           says before each trip whether to go on (bool). The results are
 *           the carried values at the end.
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
 * One record per kind; compared byte by byte, hence no padding. Entries past
 * the rank are 0.
 */

/* PARAM, VARIABLE: its number. RESULT: which one. IOTA, CONCAT, ARGMAX,
   ARGMIN, DYNAMIC_SLICE, DYNAMIC_UPDATE: the axis. EXTENT: a tgi_dim. */
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

/* PAD: before, after, and between every two elements. */
typedef struct tgi_attr_pad {
    tgi_dim low[TG_MAX_RANK];
    tgi_dim high[TG_MAX_RANK];
    int64_t interior[TG_MAX_RANK];
} tgi_attr_pad;

typedef struct tgi_attr_gather {
    int64_t axis;
    int64_t mode; /* tg_gather_mode */
} tgi_attr_gather;

/* Begins as that of GATHER. */
typedef struct tgi_attr_scatter {
    int64_t axis;
    int64_t mode;  /* tg_scatter_mode */
    int64_t range; /* tg_scatter_range */
} tgi_attr_scatter;

typedef struct tgi_attr_matmul {
    int64_t flags; /* tg_matmul_flags */
} tgi_attr_matmul;

typedef struct tgi_attr_literal {
    tgi_literal *literal; /* kept by the graph */
} tgi_attr_literal;

/* A gradient of the user's own; asked for only while tracing. */
typedef struct tgi_custom_gradient {
    tg_callback *backward; /* NULL: none */
    void *user;
} tgi_custom_gradient;

typedef struct tgi_attr_call {
    tgi_graph *callee; /* kept by the graph */
    /* What it was before passes, for gradients: they ask for the user's own
       operations. Kept by the graph; or NULL. */
    tgi_graph *traced;
    tgi_custom_gradient gradient;
} tgi_attr_call;

enum {
    /* Going on after that number of trips is an error, not the end. */
    TGI_LOOP_LIMITED = 1,
    /* SWITCH of one graph: gradients compute what is inside once more. */
    TGI_SWITCH_CHECKPOINT = 2
};

/* As the index of a RESULT of a LOOP: the number of trips done, and where in
   its stacks the first trip has put its slices. While tracing only, as are
   results of the body behind the carried ones: these are kept for each trip
   (lower_saved_values.h). */
#define TGI_RESULT_ITERATIONS (-1)
#define TGI_RESULT_STACK_BASE (-2)

/* SWITCH, LOOP. */
typedef struct tgi_attr_regions {
    int64_t n_graphs;
    int64_t n_carried; /* LOOP: values */
    int64_t flags;     /* LOOP */
    tgi_graph *graphs[]; /* kept by the graph */
} tgi_attr_regions;

/* PRINT: the format itself, with its terminating 0. */

typedef struct tgi_host_output {
    uint32_t dtype;
    tgi_shape_ref shape;
} tgi_host_output;

/* HOST. */
typedef struct tgi_attr_host {
    tg_host_function *function;
    void *user;
    tgi_custom_gradient gradient;
    int64_t n_outputs;
    tgi_host_output outputs[];
} tgi_attr_host;

static inline size_t tgi_attr_host_bytes(size_t n_outputs)
{
    return sizeof(tgi_attr_host) + n_outputs * sizeof(tgi_host_output);
}

/* -- Nodes ----------------------------------------------------------------- */

enum {
    /*
     * Comes from plain numbers only, and is a scalar: takes the dtype of what
     * it meets (build_number.c). Read while building, ignored afterwards.
     */
    TGI_NODE_NUMBER = 1,  /* from arguments: weak towards tensors */
    TGI_NODE_LITERAL = 2, /* from literals alone: weak towards numbers too */
    TGI_NODE_WEAK = TGI_NODE_NUMBER | TGI_NODE_LITERAL /* either */
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
    const char *name; /* the user's, or NULL */
    const char *file; /* where the user asked for it, or NULL */
    int line;
} tgi_node;

/* -- Parameters, checks ---------------------------------------------------- */

typedef struct tgi_param {
    tgi_ref node;    /* PARAM or VARIABLE */
    bool is_read;    /* VARIABLE: its contents are used … */
    bool is_written; /* … or set, here or in a callee */
} tgi_param;

typedef enum tgi_check_kind {
    TGI_CHECK_EQUAL,     /* a == b */
    TGI_CHECK_BROADCAST, /* a == b, or one of them is 1 */
    TGI_CHECK_EXPANDS,   /* a == b or a == 1 */
    TGI_CHECK_AT_MOST,   /* a <= b */
    TGI_CHECK_NOT_ZERO   /* a != 0 */
} tgi_check_kind;

/* A condition on extents that only the call can decide. */
typedef struct tgi_check {
    uint8_t kind;
    int line;
    const char *file;
    const char *op;   /* the user's word for the operation, static text */
    const char *what; /* such as "inner dimensions" */
    tgi_dim a, b;
    tgi_shape_ref shapes[2]; /* whose extents they are, or 0 */
    bool is_target;          /* the second one is wanted, not an operand's */
} tgi_check;

/* A number that arrives as parameter `param` must fit `dtype`. */
typedef struct tgi_number_check {
    tgi_ref param; /* its node: parameters may still be renumbered */
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
    tgi_dims *dims; /* shared with the graphs it was made from */
    const char *name;

    TGI_VEC(tgi_node *) chunks;
    uint32_t n_nodes; /* refs are 1 … n_nodes */
    tgi_index nodes;  /* hash-consing */

    TGI_VEC(tgi_param) params;
    TGI_VEC(tgi_ref) results;
    TGI_VEC(tgi_check) checks;
    TGI_VEC(tgi_number_check) number_checks; /* of a trace; passes drop them */
    TGI_VEC(tgi_literal *) literals; /* retained */
    TGI_VEC(tgi_graph *) callees;    /* retained */
    TGI_VEC(const char *) strings;   /* interned names and files */
    tgi_index literal_index, string_index, check_index;

    bool has_effects; /* writes a variable, prints or calls the host, here or
                         in a callee */
    bool may_fail;    /* has checks or ops that may fail, here or there */
    bool has_loops;   /* here or there */
    uint32_t height;  /* levels of nested graphs, this one included, also as
                         they were before passes */
    tgi_graph *dying; /* links graphs while they are being destroyed */
};

/* NULL when out of memory (recorded). `dims` is retained, NULL makes one. */
tgi_graph *tgi_graph_create(const char *name, tgi_dims *dims);
/* Counting does not change a graph: also one that is only read may be kept. */
tgi_graph *tgi_graph_retain(const tgi_graph *graph);
void tgi_graph_release(tgi_graph *graph);
/* What it holds itself, its literals too; not its dims table and callees. */
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
 * Adds a node, or finds the equal one (the same op, type, inputs and
 * attribute; ORDERED ops, calls among them, are always new). All of
 * `node` is copied. Param reads and writes, literals and callees are noted.
 * 0 when out of memory (recorded). Meaning is not checked here: builders make
 * sure, tgi_graph_verify tells.
 */
tgi_ref tgi_graph_add(tgi_graph *graph, const tgi_node *node);

/* Another callee for a call that is there, with the same parameters, effects
   and first results; false when out of memory (recorded). */
bool tgi_graph_set_callee(tgi_graph *graph, tgi_ref call, tgi_graph *callee);

/* A PARAM or VARIABLE with the next number. */
tgi_ref tgi_graph_add_param(tgi_graph *graph, tgi_op op, tg_dtype dtype,
                            tgi_shape_ref shape, uint16_t flags);

/* A CONSTANT of the given elements (row-major, shape all known). */
tgi_ref tgi_graph_add_constant(tgi_graph *graph, tg_dtype dtype,
                               tgi_shape_ref shape, const void *data,
                               size_t bytes, uint16_t flags, tg_site site);

/* Gives parameter `from` the number `to`, at most as high; others move up. */
void tgi_graph_move_param(tgi_graph *graph, size_t from, size_t to);

/* Names a node unless it has a name. */
void tgi_graph_set_name(tgi_graph *graph, tgi_ref ref, const char *name);

/* All false when out of memory (recorded). Equal checks are kept once. */
bool tgi_graph_add_check(tgi_graph *graph, tgi_check check);
bool tgi_graph_add_number_check(tgi_graph *graph, tgi_number_check check);
bool tgi_graph_add_result(tgi_graph *graph, tgi_ref ref);

/* Whether a check holds or fails whatever the call, 1 or 0; else -1. */
int tgi_check_decide(tgi_dims *dims, const tgi_check *check);

/* A copy of `string` owned by the graph, one per content. */
const char *tgi_graph_intern(tgi_graph *graph, const char *string);

/* The elements of a constant node, or NULL. */
const void *tgi_graph_constant(const tgi_graph *graph, tgi_ref ref);

/*
 * True for nodes that must be kept even if nobody uses their value: effects,
 * calls with effects, and what can fail at run time.
 */
bool tgi_graph_is_root(const tgi_graph *graph, const tgi_node *node);

/* Conditions of the graph for given extents; records the first that fails. */
tg_status tgi_graph_run_checks(const tgi_graph *graph, const int64_t *values);

/* Bytes of a node's value, whose extents it writes (TG_MAX_RANK); the error
   names the node if they do not fit 64 bits. Of what grows: of one slice. */
tg_status tgi_graph_value_size(const tgi_graph *graph, tgi_ref ref,
                               const int64_t *values, int64_t *out_dims,
                               int64_t *out_bytes);

/* The same for what has that type, an output of `node`. */
tg_status tgi_graph_type_size(const tgi_graph *graph, const tgi_node *node,
                              tg_dtype dtype, tgi_shape_ref shape,
                              const int64_t *values, int64_t *out_dims,
                              int64_t *out_bytes);

/* -- Regions --------------------------------------------------------------- */

/* The graphs that a node owns; none of most nodes. */
typedef struct tgi_regions {
    size_t n;
    tgi_graph *const *graphs;
} tgi_regions;

tgi_regions tgi_node_regions(const tgi_node *node);

/* True if a region of the node writes the variable that is its input i. */
bool tgi_node_writes(const tgi_node *node, uint32_t i);

/* How many results RESULT nodes can pick: of a region or a HOST node. */
size_t tgi_node_n_results(const tgi_node *node);

/* The number of trips of a LOOP as an extent; TGI_UNBOUNDED: the run decides. */
tgi_dim tgi_loop_iterations(const tgi_graph *graph, const tgi_node *loop);

/*
 * Where the stack comes from that a value of the graph is, if it grows: from a
 * parameter, or from an input of a region, UNSET, with which it begins.
 */
typedef struct tgi_origin {
    int64_t param;  /* -1: none */
    tgi_ref region;
    int64_t input;
} tgi_origin;

tgi_origin tgi_stack_origin(const tgi_graph *graph, tgi_ref ref);

/* Which input of a region its result `index` is, if that grows; -1: it is
   none, which verifying does not let pass. */
int64_t tgi_stack_input(const tgi_node *region, size_t index);

/* The gradient that the user has given a CALL or HOST node; NULL: none. */
const tgi_custom_gradient *tgi_node_custom_gradient(const tgi_node *node);

/* A SWITCH or a LOOP: its graphs are parts of this one. */
static inline bool tgi_node_has_regions(const tgi_node *node)
{
    return node->op == TGI_OP_SWITCH || node->op == TGI_OP_LOOP;
}

static inline bool tgi_node_owns_graphs(const tgi_node *node)
{
    return node->op == TGI_OP_CALL || tgi_node_has_regions(node);
}

/* The attribute of an op that has a tgi_attr_index. */
static inline int64_t tgi_node_index(const tgi_node *node)
{
    return ((const tgi_attr_index *)node->attr)->index;
}

static inline tg_site tgi_node_site(const tgi_node *node)
{
    return (tg_site){node->file, node->line};
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
