/* SPDX-License-Identifier: MIT */
/*
 * graph_check.c - checks: conditions on extents that are not known while
 * tracing. The graph stores them, each call evaluates them before it runs, and
 * passes remove those they can decide.
 */
#include <stdio.h>

#include "base/checked.h"
#include "base/error.h"
#include "ir/graph.h"

bool tgi_graph_add_check(tgi_graph *graph, tgi_check check)
{
    /* The key excludes the site: the first site is reported. */
    const int64_t key[] = {check.kind, check.a, check.b};
    uint64_t hash = tgi_hash(key, sizeof key, 0);
    size_t probe = 0;
    uint32_t position;
    while ((position = tgi_index_next(&graph->check_index, hash, &probe))) {
        const tgi_check *existing = &graph->checks.data[position - 1];
        if (existing->kind == check.kind && existing->a == check.a &&
            existing->b == check.b)
            return true;
    }

    if ((check.file && !(check.file = tgi_graph_intern(graph, check.file))) ||
        !(check.what = tgi_graph_intern(graph, check.what)))
        return false;
    if (!tgi_vec_reserve(&graph->checks, graph->checks.n + 1) ||
        !tgi_index_add(&graph->check_index, hash,
                       (uint32_t)graph->checks.n + 1)) {
        tgi_error_memory();
        return false;
    }
    graph->checks.data[graph->checks.n++] = check;
    graph->may_fail = true;
    return true;
}

bool tgi_graph_add_number_check(tgi_graph *graph, tgi_number_check check)
{
    for (size_t i = 0; i < graph->number_checks.n; i++) {
        const tgi_number_check *existing = &graph->number_checks.data[i];
        if (existing->param == check.param && existing->dtype == check.dtype)
            return true;
    }
    if (check.file && !(check.file = tgi_graph_intern(graph, check.file)))
        return false;
    if (tgi_vec_push(&graph->number_checks, check))
        return true;
    tgi_error_memory();
    return false;
}

/* -- Deciding -------------------------------------------------------------- */

static bool check_holds(tgi_check_kind kind, int64_t a, int64_t b)
{
    switch (kind) {
    case TGI_CHECK_EQUAL:
        return a == b;
    case TGI_CHECK_BROADCAST:
        return a == b || a == 1 || b == 1;
    case TGI_CHECK_EXPANDS:
        return a == b || a == 1;
    case TGI_CHECK_AT_MOST:
        return a <= b;
    case TGI_CHECK_NOT_ZERO:
        return a != 0;
    }
    return false;
}

int tgi_check_decide(tgi_dims *dims, const tgi_check *check)
{
    tgi_dim a = check->a, b = check->b;
    if (tgi_dim_is_known(a) && tgi_dim_is_known(b))
        return check_holds(check->kind, a, b);
    int64_t difference;
    bool is_constant = tgi_dim_difference(dims, a, b, &difference);
    switch ((tgi_check_kind)check->kind) {
    case TGI_CHECK_EQUAL:
        return is_constant ? difference == 0 : -1;
    case TGI_CHECK_BROADCAST:
        return a == 1 || b == 1 || (is_constant && difference == 0) ? 1 : -1;
    case TGI_CHECK_EXPANDS:
        return a == 1 || (is_constant && difference == 0) ? 1 : -1;
    case TGI_CHECK_AT_MOST:
        return a == 0 ? 1 : is_constant ? difference <= 0 : -1;
    case TGI_CHECK_NOT_ZERO:
        return tgi_dim_is_known(a) ? a != 0 : -1;
    }
    return -1;
}

/* -- At the call ----------------------------------------------------------- */

/* Records a failed broadcast with the shapes of this call. */
static tg_status fail_with_shapes(const tgi_graph *graph,
                                  const tgi_check *check,
                                  const int64_t *values)
{
    char texts[2][24 * TG_MAX_RANK + 3];
    for (int i = 0; i < 2; i++) {
        const tgi_shape *shape = tgi_shape_of(graph->dims, check->shapes[i]);
        char *end = texts[i];
        end += sprintf(end, "[");
        for (int axis = 0; axis < shape->rank; axis++)
            end += sprintf(
                end, "%s%lld", axis ? "," : "",
                (long long)tgi_dim_value(shape->dims[axis], values));
        sprintf(end, "]");
    }
    TGI_FAIL(TG_ERROR_SHAPE, ((tg_site){check->file, check->line}),
             check->is_target ? "%s: %s does not broadcast to %s"
                              : "%s: %s and %s do not broadcast",
             check->op, texts[0], texts[1]);
}

tg_status tgi_graph_run_checks(const tgi_graph *graph, const int64_t *values)
{
    /* Message text between the two extents, and after them. */
    static const char *const texts[][2] = {
        [TGI_CHECK_EQUAL] = {" and ", " are not equal"},
        [TGI_CHECK_BROADCAST] = {" and ", " do not broadcast"},
        [TGI_CHECK_EXPANDS] = {" does not expand to ", ""},
        [TGI_CHECK_AT_MOST] = {" exceeds ", ""},
    };
    for (size_t i = 0; i < graph->checks.n; i++) {
        const tgi_check *check = &graph->checks.data[i];
        int64_t a = tgi_dim_value(check->a, values);
        int64_t b = tgi_dim_value(check->b, values);
        if (check_holds(check->kind, a, b))
            continue;
        tg_site site = {check->file, check->line};
        if (check->shapes[0] && check->shapes[1])
            return fail_with_shapes(graph, check, values);
        if (check->kind == TGI_CHECK_NOT_ZERO)
            TGI_FAIL(TG_ERROR_SHAPE, site, "%s: %s: must not be 0", check->op,
                     check->what);
        TGI_FAIL(TG_ERROR_SHAPE, site, "%s: %s: %lld%s%lld%s", check->op,
                 check->what, (long long)a, texts[check->kind][0],
                 (long long)b, texts[check->kind][1]);
    }
    return TG_OK;
}

tg_status tgi_graph_type_size(const tgi_graph *graph, const tgi_node *node,
                              tg_dtype dtype, tgi_shape_ref shape_ref,
                              const int64_t *values, int64_t *out_dims,
                              int64_t *out_bytes)
{
    const tgi_shape *shape = tgi_shape_of(graph->dims, shape_ref);
    for (int axis = 0; axis < shape->rank; axis++)
        out_dims[axis] = tgi_dim_value(shape->dims[axis], values);
    const int first = tgi_shape_is_unbounded(shape);
    if (!tgi_checked_bytes(shape->rank - first, out_dims + first,
                           tgi_dtype_bytes(dtype), out_bytes))
        TGI_FAIL(TG_ERROR_OVERFLOW, tgi_node_site(node),
                 "%s: the size of the result overflows 64 bits",
                 tgi_op_table[node->op].name);
    return TG_OK;
}

tg_status tgi_graph_value_size(const tgi_graph *graph, tgi_ref ref,
                               const int64_t *values, int64_t *out_dims,
                               int64_t *out_bytes)
{
    const tgi_node *node = tgi_graph_node(graph, ref);
    return tgi_graph_type_size(graph, node, (tg_dtype)node->dtype, node->shape,
                               values, out_dims, out_bytes);
}
