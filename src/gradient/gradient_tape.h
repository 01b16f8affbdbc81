/* SPDX-License-Identifier: MIT */
/*
 * gradient_tape.h - the state of reverse-mode differentiation of one graph.
 *
 * A tape belongs to one graph. Gradients of its values are built in the graph
 * of a trace. For the graph of a function that is the same graph, so forward
 * values are at hand. The graph of a branch or loop body is differentiated in a
 * new branch or body, where its values are not available. They become results
 * of the forward region, saved per iteration of a loop, unless they are cheap
 * to recompute. Such a result is added to the region when it is first needed
 * (save_or_rematerialise.c).
 *
 *   gradient.c               forward and backward sweep, accumulation
 *   save_or_rematerialise.c  forward values
 *   saved_element.c          values saved per iteration, in one iteration
 *   gradient_region.c        calls, branches and custom gradients
 *   gradient_loop.c          loops
 *   gradient_stacks.c        gradients of unbounded stacks
 *   gradient_reason.c        why a gradient does not exist
 *   ops_gradient.c           the operations of tgjit/gradient.h
 */
#ifndef TGI_GRADIENT_TAPE_H
#define TGI_GRADIENT_TAPE_H

#include "front/trace/trace_region.h"
#include "gradient/gradient_rule.h"

/* Maximum nesting of loops that return gradients of one stack. */
enum { TGI_MAX_STACK_LEVELS = 16 };

/*
 * The gradient of an unbounded value: it is unbounded itself, and cannot be
 * accumulated by addition. The loops that read the elements return it in the
 * order of their iterations, which is that of the elements or its reverse,
 * starting at the element where these loops started.
 */
typedef struct tgi_stack_gradient {
    tgi_ref ref;      /* the unbounded value */
    tgi_ref start;    /* index of the first element: a node of the value's
                         graph; 0: unknown */
    tgi_ref gradient; /* of all elements; in a loop body being traced, of one */
    /* The loops, from the innermost outwards. */
    size_t n_levels;
    struct {
        bool is_reversed; /* the first slice belongs to the last element */
        tgi_ref base;     /* start of the loop's slices, per iteration of the
                             outer loops; 0: none */
    } levels[TGI_MAX_STACK_LEVELS];
} tgi_stack_gradient;

struct tgi_tape {
    tgi_graph *graph;
    tg_trace *t; /* gradients are built in its graph */
    tgi_builder b;

    /* Of a region: the tape of the enclosing graph, the region's node there,
       and the index of this graph in it. */
    tgi_tape *outer;
    tgi_ref region;
    size_t index;
    tgi_ref iteration;  /* of a loop body: the iteration, in t's graph */
    tg_trace *recorder; /* of the graph of a function: the trace that records
                           it */

    tgi_ref n;               /* nodes at initialisation; more may be added
                                meanwhile */
    bool *is_active;         /* by ref: depends differentiably on a source */
    tgi_ref *gradients;      /* by ref, in t's graph; 0: none */
    tgi_ref *next;           /* by ref: the next RESULT of the same region */
    TGI_VEC(tgi_ref) values; /* by ref, in t's graph; 0: not yet needed */
    TGI_VEC(tgi_stack_gradient) stack_gradients;
};

/* Borrows `graph`. Deinitialise in any case. */
bool tgi_tape_init(tgi_tape *tape, tgi_graph *graph, tg_trace *t,
                   const tgi_builder *b);
void tgi_tape_deinit(tgi_tape *tape);

/* Propagates is_active from sources and parameters to their dependents. */
bool tgi_tape_activate(tgi_tape *tape);

/* The backward sweep: from the gradients that are set to all inputs. */
bool tgi_tape_backward(tgi_tape *tape);

/* Adds to the gradient of a node; ignored if the node is not active. */
bool tgi_tape_add(tgi_tape *tape, tgi_ref ref, tgi_ref gradient);

/* A gradient as a value for the user: a view of it, so that the user's
   operations cannot contract it. Whether it is a product depends on which
   extents are known, and bits must not. Invalid on failure, which sticks. */
tg_value tgi_tape_export(tgi_tape *tape, tgi_ref gradient);

/* True if an input of the node depends differentiably on a source. */
static inline bool tgi_node_has_active_input(const tgi_node *node,
                                             const bool *is_active)
{
    for (uint32_t i = 0; i < node->n_inputs; i++)
        if (is_active[node->inputs[i]])
            return true;
    return false;
}

/* Propagates activity from the inputs of a region to its results; `out_results`
   has n_results elements. */
bool tgi_region_activate(const tgi_graph *graph, const tgi_node *node,
                         const bool *is_active, bool *out_results);

/* -- Values ---------------------------------------------------------------- */

/* A value of tape->graph in t's graph; 0 on failure, which sticks. */
tgi_ref tgi_tape_value(tgi_tape *tape, tgi_ref ref);

/* Captures a node of trace `from`, which is tape->t or encloses it, in t's
   graph. A ref of 0 stands for a failure (recorded), and returns 0. */
static inline tgi_ref tgi_tape_capture(const tgi_tape *tape,
                                       const tg_trace *from, tgi_ref ref)
{
    return ref ? tgi_trace_capture_value(tape->t, tgi_trace_value(from, ref))
               : 0;
}

/* The saved element of iteration `at`, with the shape of value `like` of the
   tape's graph (0: the shape of a slice). */
tgi_ref tgi_tape_saved_element(tgi_tape *tape, tgi_ref stack, tgi_ref at,
                               tgi_ref like);

/* The element of node `outer` of the enclosing trace for this iteration.
   Elementwise expressions of up to `depth` levels are recomputed per iteration
   instead of being computed for all iterations at once. */
tgi_ref tgi_tape_saved_element_of(tgi_tape *tape, tgi_ref outer, tgi_ref like,
                                  int depth);

/* -- Regions --------------------------------------------------------------- */

/* Adds the gradients of the inputs of a node with results. */
bool tgi_tape_region(tgi_tape *tape, tgi_ref ref);
bool tgi_tape_loop(tgi_tape *tape, tgi_ref ref);

/* Replaces the callee of a call by a clone of its graph before passes, over the
   caller's extents, so that results can be added to it. */
bool tgi_tape_clone_callee(tgi_tape *tape, tgi_ref ref);

/* In a loop body: adds the gradient of a slice of an unbounded value. */
bool tgi_tape_add_slice_gradient(tgi_tape *tape, tgi_ref ref);
bool tgi_tape_add_stack_gradient(tgi_tape *tape,
                                 const tgi_stack_gradient *stack_gradients);

/* Zeros of the type of `like`, a value of `graph`. */
tgi_ref tgi_build_zeros_like(tgi_builder *b, const tgi_graph *graph,
                             tgi_ref like);

/* A placeholder for a value that a branch lacks: zeros, or an unset stack,
   neither of which is read. */
tgi_ref tgi_build_placeholder(tgi_builder *b, const tgi_graph *graph,
                              tgi_ref like);

#endif /* TGI_GRADIENT_TAPE_H */
