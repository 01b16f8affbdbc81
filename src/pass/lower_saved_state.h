/* SPDX-License-Identifier: MIT */
/*
 * lower_saved_state.h - shared state of the lowering of saved values:
 *
 *   lower_saved_values.c   finds picked results, visits all graphs
 *   lower_saved_loop.c     turns saved values of a loop into carried stacks
 *   lower_saved_channel.c  passes stacks through enclosing graphs
 *
 * A loop with an unknown number of iterations normally starts its stacks empty
 * each time it runs. If its stacks are results of the enclosing graph, it
 * appends to stacks that it is passed instead. These stacks and their number of
 * slices, together a channel, become parameters and results of that graph. The
 * enclosing region carries them (loop) or passes them through (branch, call).
 * They start empty in the innermost graph that they are not results of.
 */
#ifndef TGI_LOWER_SAVED_STATE_H
#define TGI_LOWER_SAVED_STATE_H

#include "build/build.h"
#include "ir/rebuild.h"

typedef TGI_VEC(tgi_ref) tgi_lowering_refs;

/* A stack passed through a graph. */
typedef struct tgi_channel_stack {
    tgi_ref in, out; /* the parameter, and its final value */
    int64_t result;  /* former result index, or -1 */
} tgi_channel_stack;

/* Stacks with the same number of slices, and that number. */
typedef struct tgi_channel {
    tgi_ref in, out;
    TGI_VEC(tgi_channel_stack) stacks;
} tgi_channel;

typedef TGI_VEC(tgi_channel) tgi_channels;

/* A node that owns graphs, and the results that RESULT nodes pick. */
typedef struct tgi_lowered_region {
    tgi_ref region;
    bool counts_iterations; /* TGI_RESULT_ITERATIONS is picked */
    size_t n_saved;
    tgi_ref *picked_by;  /* by result of its graphs: the RESULT node, or 0 */
    uint32_t *new_index; /* … and its index + 1 in the new node, or 0 */
    tgi_ref base; /* LOOP: number of slices already on its stacks, in the new
                     graph; 0: none */
    tgi_channels *channels; /* by graph */
} tgi_lowered_region;

typedef struct tgi_lowering {
    const tgi_graph *in;
    tgi_graph *out;
    const bool *is_wanted;      /* by result; NULL: all */
    bool *is_used;              /* by ref: by a node, or as a wanted result … */
    uint32_t *result_index;     /* … and that result's index + 1 */
    bool *is_zero_base;         /* by ref: the base of a stack that starts
                                   empty */
    tgi_channels *channels_out; /* channels of this graph */
    TGI_VEC(tgi_lowered_region) regions;
    uint32_t *region_index; /* by ref: index + 1 in `regions` */
} tgi_lowering;

/* The index of the wanted graph result that is result `index` of a region, or
   -1. */
int64_t tgi_lower_result_index(const tgi_lowering *s,
                               const tgi_lowered_region *lowered,
                               int64_t index);

/* -- Nodes of the new graph ------------------------------------------------ */

/* All return 0 on failure (recorded). */
tgi_ref tgi_lower_i64_constant(tgi_graph *graph, int64_t value);
tgi_shape_ref tgi_lower_scalar_shape(const tgi_graph *graph);
/* A RESULT node. */
tgi_ref tgi_lower_result_node(tgi_lowering *s, tgi_ref region, size_t index,
                              int dtype, tgi_shape_ref shape);
/* Inserts a parameter at index `at`. */
tgi_ref tgi_lower_add_param(tgi_graph *graph, size_t at, int dtype,
                            tgi_shape_ref shape);
/* The initial value of a stack and of its number of slices: empty, or a new
   parameter. */
tgi_ref tgi_lower_initial_stack(tgi_lowering *s, bool is_param, int dtype,
                                tgi_shape_ref shape);
tgi_ref tgi_lower_initial_count(tgi_lowering *s, bool is_param);

/* -- lower_saved_channel.c ------------------------------------------------- */

void tgi_channels_deinit(tgi_channels *list);

/* Adds a channel to this graph; NULL when out of memory (recorded). */
tgi_channel *tgi_channel_add(tgi_lowering *s, tgi_ref in);
bool tgi_channel_add_stack(tgi_channel *c, tgi_ref in, int64_t result);

/*
 * Makes the channels of all graphs of a region parameters of each graph, from
 * index `at` on, and results. A graph that does not use a channel returns it
 * unchanged. Of a loop, only the body has the results.
 */
bool tgi_channels_align_params(const tgi_lowered_region *lowered,
                               const tgi_regions *regions, bool is_loop,
                               size_t at);

/* Appends the region's inputs for a channel of its graph `inner`. If one of its
   stacks is a result of this graph, it becomes a channel of this graph too. */
bool tgi_channel_add_inputs(tgi_lowering *s, const tgi_lowered_region *lowered,
                            const tgi_graph *inner, const tgi_channel *c,
                            tgi_lowering_refs *inputs);

/*
 * After the node of the region has been added: records the result indices of
 * the stacks of its channels, from `first` on, and the final values of those
 * that are channels of this graph, from `n_before` on.
 */
bool tgi_channels_bind_results(tgi_lowering *s, tgi_lowered_region *lowered,
                               size_t n_graphs, tgi_ref region, size_t first,
                               size_t n_before);

/* -- lower_saved_loop.c ---------------------------------------------------- */

/* Adds the lowered loop. `node` has the new inputs; the graphs of `attr` may be
   modified. 0 on failure (recorded). */
tgi_ref tgi_lower_loop(tgi_lowering *s, tgi_lowered_region *lowered,
                       const tgi_node *node, tgi_attr_regions *attr);

#endif /* TGI_LOWER_SAVED_STATE_H */
