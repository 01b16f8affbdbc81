/* SPDX-License-Identifier: MIT */
/*
 * gradient_tape.h - a graph that is gone back through, and where that leads.
 *
 * A tape goes with one graph. The gradients of its values are built in the
 * graph of a trace: for the graph of a function that is the very same, so a
 * value of the forward computation is at hand. The graph of a branch or a
 * loop body is gone back through in a new branch or body, where its values
 * are not: they are results of the region then, saved for every trip of a
 * loop, unless it costs little to compute them once more. A region is given
 * such results at the time somebody asks (save_or_rematerialise.c).
 *
 *   gradient.c         the walk: what depends on sources, rules called, sums
 *   save_or_rematerialise.c   values of the forward computation
 *   saved_element.c what was kept for each trip, in one of them
 *   gradient_region.c  calls, branches and loops: tapes inside tapes
 *   gradient_loop.c    the way back through a loop
 *   gradient_stacks.c   gradients of what loops have saved
 *   gradient_reason.c  why there is no gradient
 *   ops_gradient.c     the operations of tgjit/gradient.h
 */
#ifndef TGI_GRADIENT_TAPE_H
#define TGI_GRADIENT_TAPE_H

#include "front/trace/trace_region.h"
#include "gradient/gradient_rule.h"

/* Loops outer each other that gradients of one stack come out of, at most. */
enum { TGI_MAX_STACK_LEVELS = 16 };

/*
 * Gradients of a value that grows: they grow, too, and cannot be added. They
 * come out of the loops that have taken its elements in the order of the
 * trips, which is that of the elements or the reverse, and begin where these
 * loops began.
 */
typedef struct tgi_stack_gradient {
    tgi_ref ref;      /* the value */
    tgi_ref at;       /* where the elements begin in it: a node of its graph,
                         as the index that was taken is; 0: not known */
    tgi_ref gradient; /* of all its elements; in the body of a loop under way
                         that of one */
    /* The loops, from the innermost on. */
    size_t n_levels;
    struct {
        bool is_reversed; /* the first is that of the last element */
        tgi_ref base;     /* where it began, for each trip of those outer */
    } levels[TGI_MAX_STACK_LEVELS];
} tgi_stack_gradient;

struct tgi_tape {
    tgi_graph *graph;
    tg_trace *t; /* gradients go to its graph */
    tgi_builder b;

    /* Of a region: the tape of the graph it is in, its node there, and which
       of its graphs this is. */
    tgi_tape *outer;
    tgi_ref region;
    size_t number;
    tgi_ref trip; /* of a loop body: which one, in t's graph */
    tg_trace *home; /* of the graph of a function: that which records it */

    tgi_ref n;          /* nodes the walk knows; more may be added meanwhile */
    bool *is_active;    /* by ref: depends on a source */
    tgi_ref *gradients; /* by ref, in t's graph; 0: none so far */
    tgi_ref *next;      /* by ref: the next result of the same region */
    TGI_VEC(tgi_ref) values; /* by ref, in t's graph; 0: not asked for */
    TGI_VEC(tgi_stack_gradient) slots;
};

/* `graph` is lent. Deinitialised in any case. */
bool tgi_tape_init(tgi_tape *tape, tgi_graph *graph, tg_trace *t,
                   const tgi_builder *b);
void tgi_tape_deinit(tgi_tape *tape);

/* What depends on what is_active says of sources and parameters. */
bool tgi_tape_activate(tgi_tape *tape);

/* From the gradients that are set down to the first node. */
bool tgi_tape_backward(tgi_tape *tape);

/* Adds to the gradient of a node that is active; nothing of another. */
bool tgi_tape_add(tgi_tape *tape, tgi_ref ref, tgi_ref gradient);

/* A gradient as the user gets it: a view of itself, so that an operation that
   takes it cannot see whether it is a product, which depends on what is known
   of extents. Invalid on failure, which sticks. */
tg_value tgi_tape_export(tgi_tape *tape, tgi_ref gradient);

/* What a region makes of what is active: by result; n_results long. */
bool tgi_region_activate(const tgi_graph *graph, const tgi_node *node,
                         const bool *is_active, bool *out_results);

/* -- Values ---------------------------------------------------------------- */

/* A value of tape->graph in t's graph; 0 on failure, which sticks. */
tgi_ref tgi_tape_value(tgi_tape *tape, tgi_ref ref);

/* A node of the graph of trace `from`, tape->t itself or one outer it, in
   t's graph; 0 stands for a failure that is recorded, and gives 0. */
static inline tgi_ref tgi_tape_capture(const tgi_tape *tape,
                                       const tg_trace *from, tgi_ref ref)
{
    return ref ? tgi_trace_capture_value(tape->t, tgi_trace_value(from, ref))
               : 0;
}

/* Element number `at` of what was saved of value `like` for each trip; 0: of
   something that is no value of the tape's graph. */
tgi_ref tgi_tape_saved_element(tgi_tape *tape, tgi_ref stack, tgi_ref at,
                               tgi_ref like);

/* The same of node `outer` of the trace outer; what takes few operations, at
   most `depth` deep, is computed in each trip instead of once for all. */
tgi_ref tgi_tape_saved_element_of(tgi_tape *tape, tgi_ref outer, tgi_ref like,
                                  int depth);

/* -- Regions --------------------------------------------------------------- */

/* The gradients of the inputs of a node with results, from those of them. */
bool tgi_tape_region(tgi_tape *tape, tgi_ref ref);
bool tgi_tape_loop(tgi_tape *tape, tgi_ref ref);

/* Gives a call a callee of its own, as it was before passes, that speaks of
   extents of the caller: results can be added to it. */
bool tgi_tape_clone_callee(tgi_tape *tape, tgi_ref ref);

/* In a loop body: adds the gradient of a slice of a value that grows. */
bool tgi_tape_add_slice_gradient(tgi_tape *tape, tgi_ref ref);
bool tgi_tape_add_stack_gradient(tgi_tape *tape,
                                 const tgi_stack_gradient *slots);

/* Zeros like `like` of `graph`, in the graph of the builder. */
tgi_ref tgi_build_zeros_like(tgi_builder *b, const tgi_graph *graph,
                             tgi_ref like);

/* What stands for the value in a branch that has none: zeros, or a stack that
   nobody looks at. */
tgi_ref tgi_build_placeholder(tgi_builder *b, const tgi_graph *graph,
                              tgi_ref like);

#endif /* TGI_GRADIENT_TAPE_H */
