/* SPDX-License-Identifier: MIT */
/*
 * extents.c - arithmetic of extents for callbacks, in the table of the current
 * trace.
 */
#include "front/trace/trace_state.h"

typedef tgi_dim dim_function(tgi_dims *dims, tgi_dim a, tgi_dim b);

static int64_t apply(dim_function *function, int64_t a, int64_t b)
{
    const tg_trace *t = tgi_trace_current();
    if (!t || !tgi_dims_has(t->graph->dims, a) ||
        !tgi_dims_has(t->graph->dims, b))
        return TGI_DIM_NONE;
    return function(t->graph->dims, a, b);
}

/* a + b - max(a, b). */
static tgi_dim dim_min(tgi_dims *dims, tgi_dim a, tgi_dim b)
{
    return tgi_dim_sub(dims, tgi_dim_add(dims, a, b),
                       tgi_dim_max(dims, a, b));
}

#define DEFINE(name, function) \
    int64_t tg_dim_##name(int64_t a, int64_t b) \
    { \
        return apply(function, a, b); \
    }
DEFINE(add, tgi_dim_add)
DEFINE(sub, tgi_dim_sub)
DEFINE(mul, tgi_dim_mul)
DEFINE(div, tgi_dim_div)
DEFINE(max, tgi_dim_max)
DEFINE(min, dim_min)
