/* SPDX-License-Identifier: MIT */
/*
 * gradient_region.h - tapes inside tapes: between gradient_region.c,
 * gradient_loop.c and gradient_stacks.c.
 */
#ifndef TGI_GRADIENT_REGION_H
#define TGI_GRADIENT_REGION_H

#include "gradient/gradient_tape.h"

/* The tape of one graph of a region, whose gradients go to trace t; to be
   deinitialised in any case. */
bool tgi_inner_begin(tgi_tape *inner, tgi_tape *around, tgi_ref region,
                     size_t number, tg_trace *t);

/* Says whether the parameter that input i is depends on a source. */
void tgi_inner_activate_input(tgi_tape *inner, uint32_t i, bool is_active);

/* A node of the graph of around->t, in that of inner->t; 0 on failure. */
tgi_ref tgi_inner_capture(tgi_tape *inner, tgi_ref ref);

/* The first result from `ref` on, in the list of tape->next, that has a
   gradient; 0: none. */
tgi_ref tgi_tape_next_result(const tgi_tape *tape, tgi_ref ref);

/* True if a result of the region grows and has gradients. */
bool tgi_tape_has_stack_gradients(const tgi_tape *tape, tgi_ref region);

typedef TGI_VEC(tgi_stack_gradient) tgi_stack_gradients;

/*
 * Gradients of what the region has captured and grows, when all of it is gone
 * back through: they become results of inner->t, and are noted in the list.
 * When the region of inner->t is there, `take` gives them to the tape; results
 * are those of the list, in order (NULL: they are where they were).
 */
bool tgi_stack_gradients_return(tgi_tape *inner, tgi_stack_gradients *out);
bool tgi_stack_gradients_receive(tgi_tape *tape,
                                 const tgi_stack_gradients *list,
                                 const tg_value *results, bool is_loop);

/* How many results they are, of a branch. */
size_t tgi_stack_gradients_n_results(const tgi_stack_gradients *list);

/* Those of results of the region, before it is gone back through. */
bool tgi_stack_gradients_seed(tgi_tape *inner);

/* Which result a RESULT node is. */
int64_t tgi_result_index(const tgi_tape *tape, tgi_ref ref);

static inline bool tgi_is_result_of(const tgi_graph *graph, tgi_ref ref,
                                    tgi_ref region)
{
    const tgi_node *node = tgi_graph_node(graph, ref);
    return node->op == TGI_OP_RESULT && node->inputs[0] == region;
}

#endif /* TGI_GRADIENT_REGION_H */
