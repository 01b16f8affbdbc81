/* SPDX-License-Identifier: MIT */
/*
 * batch.h - builds the nodes of a graph again with a batch: values that depend
 * on the element have the batch as first axis, all others are as before.
 *
 *   vmap.c            tg_vmap: arguments, results
 *   batch.c           visits nodes; the table of rules
 *   batch_infer.c     which values depend on the element
 *   batch_shape.c     rules of views, pads, concats and reductions
 *   batch_index.c     rules of gathers, scatters, dynamic slices and updates
 *   batch_product.c   rules of matrix products and convolutions
 *   batch_region.c    rules of calls, branches and loops
 *   batch_host.c      rules of host operations and custom gradients
 *   batch_sequence.c  one element after the other
 */
#ifndef TGI_BATCH_H
#define TGI_BATCH_H

#include "front/trace/trace_region.h"

typedef struct tgi_batched {
    tgi_ref ref; /* 0: failure */
    bool is_batched;
} tgi_batched;

/* The state of one graph. Fails through the trace, whose error sticks. */
typedef struct tgi_batch {
    tg_trace *t;
    tgi_builder b;  /* of t's graph; nothing is contracted or made fast: the
                       nodes of the body have been */
    tgi_dim extent; /* of the batch */
    /* Bool [extent]: the elements for which the nodes run. The others have
       values that nobody uses, and must not fail. 0: all. */
    tgi_ref mask;
    const tgi_graph *in;
    tgi_ref at; /* the node being visited */
    tgi_batched *values;    /* by ref of `in` */
    uint32_t *first_result; /* by ref of a node with results: index + 1 of its
                               first one … */
    TGI_VEC(tgi_batched) results; /* … in this list; 0: a node that was copied
                                     as it is */
} tgi_batch;

/* -- Visiting (batch.c) ---------------------------------------------------- */

/*
 * Builds the nodes of `in`, whose parameters have the values `params`, in the
 * graph of the current trace `t`, and writes its results. False on failure,
 * which sticks.
 */
bool tgi_batch_graph(tg_trace *t, tgi_dim extent, tgi_ref mask,
                     const tgi_graph *in, const tgi_batched *params,
                     tg_site site, tgi_batched *out_results);

/* -- Inference (batch_infer.c) --------------------------------------------- */

typedef enum tgi_batch_verdict {
    TGI_BATCH_OK,
    TGI_BATCH_SEQUENCE, /* one element after the other */
    TGI_BATCH_FAILED    /* recorded */
} tgi_batch_verdict;

/* Which results depend on the element, if these parameters do, and all nodes
   run under a mask, if `is_masked`. */
tgi_batch_verdict tgi_batch_infer(const tgi_graph *in, const bool *params,
                                  bool is_masked, bool *out_results);

/* The same for a node that owns graphs. *out_carried, of a LOOP: whether the
   elements run different numbers of iterations. */
tgi_batch_verdict tgi_batch_infer_node(const tgi_node *node, const bool *inputs,
                                       bool is_masked, bool *out_results,
                                       bool *out_differ);

/* The first node of a graph, or of one inside it, with an effect that cannot be
   batched; NULL: none. */
const tgi_node *tgi_batch_find_effect(const tgi_graph *in);

/* The graph of a callee before passes. */
const tgi_graph *tgi_batch_callee(const tgi_node *call);

/* -- Parts of rules (batch.c) ---------------------------------------------- */

typedef tgi_batched tgi_batch_rule(tgi_batch *s, const tgi_node *node);

static inline tgi_batched tgi_batch_input(const tgi_batch *s,
                                          const tgi_node *node, uint32_t i)
{
    return s->values[node->inputs[i]];
}

static inline const tgi_shape *tgi_batch_shape(const tgi_batch *s, tgi_ref ref)
{
    return tgi_graph_shape(s->b.graph, ref);
}

/* The shape of an input for one element. */
static inline const tgi_shape *tgi_batch_element(const tgi_batch *s,
                                                 const tgi_node *node,
                                                 uint32_t i)
{
    return tgi_graph_shape(s->in, node->inputs[i]);
}

static inline tgi_batched tgi_batch_of(tgi_ref ref)
{
    return (tgi_batched){ref, true};
}

/* The extents with the batch before them; 0 and an error if these are too many
   axes. */
tgi_shape_ref tgi_batch_extend(tgi_batch *s, const tgi_shape *element);

/* The value with a batch, repeated if it has none. */
tgi_ref tgi_batch_repeat(tgi_batch *s, tgi_batched value);

/* `node` with other inputs, shape and attribute, of the same size. */
tgi_ref tgi_batch_add(tgi_batch *s, const tgi_node *node, tgi_shape_ref shape,
                      const tgi_ref *inputs, const void *attr);

/* x with another shape of as many elements, without a check. */
tgi_ref tgi_batch_reshape(tgi_batch *s, tgi_ref x, int rank,
                          const tgi_dim *dims);

/* A vector of the batch as a value of the shape `like`, batched: repeated along
   all other axes. */
tgi_ref tgi_batch_spread(tgi_batch *s, tgi_ref vector, const tgi_shape *like);

tgi_ref tgi_batch_i64(tgi_batch *s, int64_t value);

/* Whether the mask has any element, bool scalar. */
tgi_ref tgi_batch_any(tgi_batch *s, tgi_ref mask);

/* a and b, or the one that is not 0. */
tgi_ref tgi_batch_and(tgi_batch *s, tgi_ref a, tgi_ref b);

/* Makes lack of memory the error of the trace; returns false. */
bool tgi_batch_fail_memory(tgi_batch *s);

/* Keeps the results of a node with results; false on failure. */
bool tgi_batch_set_results(tgi_batch *s, tgi_ref old,
                           const tgi_batched *results, size_t n);

/* The rules; those of nodes with results record them, and return the node or
   any other ref. */
tgi_batch_rule tgi_batch_copy, tgi_batch_elementwise, tgi_batch_broadcast,
    tgi_batch_reshape_rule, tgi_batch_transpose, tgi_batch_slice,
    tgi_batch_window, tgi_batch_pad, tgi_batch_concat, tgi_batch_reduce,
    tgi_batch_arg_reduce, tgi_batch_scan, tgi_batch_gather, tgi_batch_scatter,
    tgi_batch_dynamic_slice, tgi_batch_dynamic_update, tgi_batch_matmul,
    tgi_batch_conv, tgi_batch_random, tgi_batch_read, tgi_batch_result,
    tgi_batch_call, tgi_batch_switch, tgi_batch_loop, tgi_batch_host;

/* -- Custom gradients (batch_host.c) --------------------------------------- */

/* A call with a custom gradient, which remains one. */
tgi_batched tgi_batch_custom_call(tgi_batch *s, const tgi_node *node,
                                  const tgi_graph *callee);

/* -- Sequences (batch_sequence.c) ------------------------------------------ */

/*
 * Runs `emit` in the body of a loop over the batch. It gets one element of the
 * batched values, and the others as they are, as nodes of the trace `t`, and
 * writes the results for it, of the types of the nodes `like` of `graph`. The
 * results are batched. False on failure, which sticks.
 */
typedef bool tgi_batch_emit(tg_trace *t, const tgi_ref *in, tgi_ref *out,
                            void *user);

bool tgi_batch_sequence(tg_trace *t, tgi_dim extent, const tgi_batched *values,
                        size_t n_values, const tgi_graph *graph,
                        const tgi_ref *like, size_t n_results, tg_site site,
                        tgi_batch_emit *emit, void *user, tgi_ref *out_results);

#endif /* TGI_BATCH_H */
