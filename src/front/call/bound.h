/* SPDX-License-Identifier: MIT */
/*
 * bound.h - the definition of tg_bound, and what datasets need of it.
 *
 * A bound call has one prepared launch per set of extents that its tensor
 * arguments have had. Setting an argument only records it, because the extents
 * of several arguments may have to change together; the next run selects, or
 * prepares, the launch.
 */
#ifndef TGI_BOUND_H
#define TGI_BOUND_H

#include "front/call/launch.h"

/* A launch for one set of extents. */
typedef struct tgi_bound_launch {
    tgi_launch launch;
    int64_t (*dims)[TG_MAX_RANK]; /* by argument; compared if it is a tensor */
    tg_tensor **tensors;          /* by result slot: retained, or NULL */
    uint64_t last_use;
} tgi_bound_launch;

struct tg_bound {
    tg_function *function; /* retained */
    tg_site site;
    tgi_bound_launch *active; /* one of `launches` */
    /* The first one is that of tg_bind and is never evicted: it retains the
       variables. */
    TGI_VEC(tgi_bound_launch *) launches;
    uint64_t tick;

    /* Current arguments, as for tgi_function_lookup. The tensors are retained,
       `data` is what runs read. */
    tgi_args args;
    uint32_t *operand_arg; /* by operand: argument that can be set, or
                              TGI_NO_PARAM */

    tg_result *results; /* slots; addresses of NUMBER and FRESH ones are used
                           by runs */
    size_t n_results;
    void **result_data; /* by result: set by tg_bound_set_result, or NULL */

    bool has_set;  /* numbers may change per run */
    bool is_stale; /* extents have changed since the last selection */
};

/*
 * As tg_bind_at, but all results of the function go to tensors of the bound
 * call, which tg_bound_result returns. Enters no API frame.
 */
tg_status tgi_bind_all(tg_function *function, const tg_operand *operands,
                       size_t n_operands, tg_site site, tg_bound **out_bound);

/*
 * Makes `data` with this dtype and shape the argument `operand`. Fails, with
 * nothing changed, if the argument cannot be set, or if its dtype or rank is
 * another. tgi_bound_end_set is due after one or several of them.
 */
tg_status tgi_bound_set_data(tg_bound *bound, size_t operand,
                             const tgi_spec *spec, const void *data);

/* Binds the buffers set before, unless the extents have changed. */
tg_status tgi_bound_end_set(tg_bound *bound);

/* tg_run without an API frame. */
tg_status tgi_bound_run(tg_bound *bound);

/* Selects the launch for the current extents; prepares it if there is none. */
tg_status tgi_bound_select(tg_bound *bound);

/* Prepares a launch of `concrete`, which it takes over, and its results. */
tg_status tgi_bound_launch_create(tg_bound *bound, tg_concrete *concrete,
                                  const tg_result *results,
                                  tgi_bound_launch **out_launch);
void tgi_bound_launch_destroy(const tg_bound *bound, tgi_bound_launch *launch);

/* Number of results of the function. */
static inline size_t tgi_bound_n_results(const tg_bound *bound)
{
    return bound->active->launch.n_results;
}

#endif /* TGI_BOUND_H */
