/* SPDX-License-Identifier: MIT */
/*
 * gradient_region.h - tapes of the graphs that nodes own; shared by
 * gradient_region.c, gradient_loop.c and gradient_stacks.c.
 */
#ifndef TGI_GRADIENT_REGION_H
#define TGI_GRADIENT_REGION_H

#include "gradient/gradient_tape.h"

/* Initialises the tape of one graph of a region, with gradients built in the
   graph of trace t. Deinitialise it in any case. */
bool tgi_inner_begin(tgi_tape *inner, tgi_tape *outer, tgi_ref region,
                     size_t index, tg_trace *t);

/* Sets whether the parameter of input i depends differentiably on a source. */
void tgi_inner_activate_input(tgi_tape *inner, uint32_t i, bool is_active);

/* Captures a node of the graph of outer->t in the graph of inner->t; 0 on
   failure. */
tgi_ref tgi_inner_capture(tgi_tape *inner, tgi_ref ref);

/* The first RESULT with a gradient, from `ref` on in the list of tape->next; 0:
   none. */
tgi_ref tgi_tape_next_result(const tgi_tape *tape, tgi_ref ref);

/* True if an unbounded result of the region has gradients. */
bool tgi_tape_has_stack_gradients(const tgi_tape *tape, tgi_ref region);

typedef TGI_VEC(tgi_stack_gradient) tgi_stack_gradients;

/*
 * Returns gradients of unbounded values that the region captures, after its
 * backward pass: they become results of inner->t and are appended to the list.
 * Once the node of inner->t's region exists, `receive` adds them to the tape;
 * `results` are those of the list, in order (NULL: unchanged).
 */
bool tgi_stack_gradients_return(tgi_tape *inner, tgi_stack_gradients *out_list);
bool tgi_stack_gradients_receive(tgi_tape *tape,
                                 const tgi_stack_gradients *list,
                                 const tg_value *results, bool is_loop);

/* The number of results that a branch returns for them. */
size_t tgi_stack_gradients_n_results(const tgi_stack_gradients *list);

/* Passes gradients of the region's unbounded results into it, before its
   backward pass. */
bool tgi_stack_gradients_seed(tgi_tape *inner);

/* The result index of a RESULT node. */
int64_t tgi_result_index(const tgi_tape *tape, tgi_ref ref);

static inline bool tgi_is_result_of(const tgi_graph *graph, tgi_ref ref,
                                    tgi_ref region)
{
    const tgi_node *node = tgi_graph_node(graph, ref);
    return node->op == TGI_OP_RESULT && node->inputs[0] == region;
}

#endif /* TGI_GRADIENT_REGION_H */
