/* SPDX-License-Identifier: MIT */
/*
 * lower_saved_state.h - what the parts of settling share:
 *
 *   lower_saved_values.c          what is picked, and the walk through all graphs
 *   lower_saved_loop.c     what a loop saves as stacks that it carries
 *   lower_saved_channel.c  stacks that go through a graph
 *
 * A loop that nobody knows the trips of begins its stacks anew each time it
 * runs. If they are results of the graph it is in, it goes on instead with
 * those that it is given: they, and the number of slices in them, become
 * parameters of that graph and results of it, a channel. The region around
 * carries them, or hands them through, and if they are not results of its own
 * graph they begin there.
 */
#ifndef TGI_LOWER_SAVED_STATE_H
#define TGI_LOWER_SAVED_STATE_H

#include "build/build.h"
#include "ir/rebuild.h"

typedef TGI_VEC(tgi_ref) tgi_lowering_refs;

/* A stack that goes through a settled graph. */
typedef struct tgi_channel_stack {
    tgi_ref in, out; /* a parameter, and what it is in the end */
    int64_t result;  /* which one it was of the graph; -1: none */
} tgi_channel_stack;

/* Stacks with as many slices, and how many that is. */
typedef struct tgi_channel {
    tgi_ref in, out;
    TGI_VEC(tgi_channel_stack) stacks;
} tgi_channel;

typedef TGI_VEC(tgi_channel) tgi_channels;

/* A node with graphs and something to settle, and what is picked of it. */
typedef struct tgi_lowered_region {
    tgi_ref region;
    bool counts;
    size_t n_saved;
    tgi_ref *picks;  /* by result of its graphs: who picks it, or 0 */
    uint32_t *place; /* … and which one it is of the new node, + 1 */
    tgi_ref base;    /* LOOP: where its stacks begin, in the new graph; 0: at
                        their beginning */
    tgi_channels *channels; /* by graph */
} tgi_lowered_region;

typedef struct tgi_lowering {
    const tgi_graph *in;
    tgi_graph *out;
    const bool *wanted;  /* by result; NULL: all are */
    bool *is_used;       /* by ref: by a node, or as a wanted result … */
    uint32_t *result;    /* … and which one that is, + 1 */
    bool *is_zero;       /* by ref: the beginning of a stack that begins here */
    tgi_channels *given; /* the channels of this graph */
    TGI_VEC(tgi_lowered_region) regions;
    uint32_t *number; /* by ref: of `regions`, + 1 */
} tgi_lowering;

/* Which result of the graph, that is wanted, a result of a region is; -1: it
   is none. */
int64_t tgi_lower_result_index(const tgi_lowering *s,
                               const tgi_lowered_region *what, int64_t index);

/* -- Nodes of the new graph ------------------------------------------------ */

/* All 0 on failure (recorded). */
tgi_ref tgi_lower_i64_constant(tgi_graph *graph, int64_t value);
tgi_shape_ref tgi_lower_scalar_shape(const tgi_graph *graph);
/* A RESULT. */
tgi_ref tgi_lower_result_node(tgi_lowering *s, tgi_ref region, size_t index,
                              int dtype, tgi_shape_ref shape);
/* Parameter number `at` of a graph, for one more value. */
tgi_ref tgi_lower_add_param(tgi_graph *graph, size_t at, int dtype,
                            tgi_shape_ref shape);
/* What a stack of that type, and the number of its slices, is before there is
   anything in it; or a parameter. */
tgi_ref tgi_lower_initial_stack(tgi_lowering *s, bool is_given, int dtype,
                                tgi_shape_ref shape);
tgi_ref tgi_lower_initial_count(tgi_lowering *s, bool is_given);

/* -- lower_saved_channel.c ------------------------------------------------------ */

void tgi_channels_deinit(tgi_channels *list);

/* One more channel of this graph; NULL: out of memory (recorded). */
tgi_channel *tgi_channel_add(tgi_lowering *s, tgi_ref in);
bool tgi_channel_add_stack(tgi_channel *c, tgi_ref in, int64_t result);

/*
 * The channels of all graphs of a region as parameters of each from number
 * `at` on, and their results: in a graph that a channel is not of, what it
 * was; of a loop only the body has them.
 */
bool tgi_channels_align_params(const tgi_lowered_region *what,
                               const tgi_regions *regions, bool is_loop,
                               size_t at);

/* Inputs of the region for a channel of one of its graphs, `inner`; where it
   goes on it is one of this graph, too. */
bool tgi_channel_add_inputs(tgi_lowering *s, const tgi_lowered_region *what,
                            const tgi_graph *inner, const tgi_channel *c,
                            tgi_lowering_refs *inputs);

/*
 * When the node for the region is there: notes where the stacks of its
 * channels are among its results, from `first` on, and what those are in the
 * end that go on, which are channels of this graph from `n_before` on.
 */
bool tgi_channels_bind_results(tgi_lowering *s, tgi_lowered_region *what,
                               size_t n_graphs, tgi_ref region, size_t first,
                               size_t n_before);

/* -- lower_saved_loop.c --------------------------------------------------------- */

/* The new node for a loop that has the inputs of `node`, and graphs of its own
   in `attr`; 0 on failure (recorded). */
tgi_ref tgi_lower_loop(tgi_lowering *s, tgi_lowered_region *what,
                       const tgi_node *node, tgi_attr_regions *attr);

#endif /* TGI_LOWER_SAVED_STATE_H */
