/* SPDX-License-Identifier: MIT */
/*
 * ops_pool.c - pooling: reductions of sliding windows.
 */
#include <math.h>

#include "base/versioned.h"
#include "front/ops/ops_spatial.h"

typedef struct pooling {
    tgi_builder *b;
    tg_pool_options options;
    tgi_spatial spatial;
} pooling;

static tgi_ref number_of(tgi_builder *b, tg_dtype dtype, double value)
{
    return tgi_build_number(b, dtype, dtype,
                            (tgi_number){TGI_NUMBER_FLOAT, {.f = value}});
}

/* Fails if x has no axes of examples and channels. */
static bool check_rank(tgi_builder *b, tgi_ref x)
{
    if (tgi_graph_shape(b->graph, x)->rank >= 2)
        return true;
    return tgi_build_fail(b, TG_ERROR_SHAPE, &x, 1,
                          "needs axes of examples and channels");
}

/* Reads the options, and x with channels last. 0 and an error if invalid. */
static tgi_ref begin_pooling(tgi_operation *o, tg_operand operand,
                             const tg_pool_options *options, pooling *p)
{
    tgi_builder *b = &o->b;
    *p = (pooling){.b = b};
    tg_pool_options *read = &p->options;
    if (tgi_versioned_read(read, sizeof(*read), options, "tg_pool_options")) {
        b->has_error = true;
        return 0;
    }
    tgi_ref x = tgi_operation_operand(o, operand);
    if (!x)
        return 0;
    const int rank = tgi_graph_shape(b->graph, x)->rank;
    if (!check_rank(b, x) || !tgi_build_check_layout(b, read->layout))
        return 0;
    if (read->layout == TG_CHANNELS_FIRST)
        x = tgi_build_channels_last(b, x);
    for (int i = 0; i < TG_MAX_SPATIAL; i++) {
        read->window[i] += read->window[i] == 0;
        if (read->window[i] < 1)
            return tgi_build_fail(b, TG_ERROR_INVALID_ARGUMENT, &x, 1,
                                  "a window of %lld elements",
                                  (long long)read->window[i]);
        if (read->stride[i] == 0)
            read->stride[i] = read->window[i];
        read->dilation[i] += read->dilation[i] == 0;
    }
    p->spatial = (tgi_spatial){.first = 1,
                               .n = rank - 2,
                               .window = read->window,
                               .stride = read->stride,
                               .dilation = read->dilation,
                               .padding = read->padding,
                               .low = read->low,
                               .high = read->high};
    return x;
}

/* Reduces the windows of x: [example, spatial …, channel]. */
static tgi_ref reduce_windows(const pooling *p, tgi_op op, tgi_ref x)
{
    const int n = p->spatial.n;
    int axes[TG_MAX_RANK], perm[TG_MAX_RANK], reduced[TG_MAX_RANK];
    for (int i = 0; i < n; i++) {
        axes[i] = perm[i + 1] = i + 1;
        perm[n + 1 + i] = n + 2 + i;
        reduced[i] = n + 1 + i;
    }
    perm[0] = 0;
    perm[2 * n + 1] = n + 1;
    x = tgi_build_window(p->b, x, n, axes, p->options.window,
                         p->options.stride, p->options.dilation);
    if (!x || n == 0)
        return x;
    return tgi_build_reduce(p->b, op,
                            tgi_build_transpose(p->b, x, 2 * n + 2, perm),
                            tg_axes_of((size_t)n, reduced));
}

static tgi_ref end_pooling(const pooling *p, tgi_ref result)
{
    return p->options.layout == TG_CHANNELS_FIRST
               ? tgi_build_channels_first(p->b, result)
               : result;
}

/* -- Maximum --------------------------------------------------------------- */

/* A number that is less than or equal to any other of its dtype. */
static tgi_ref lowest_of(tgi_builder *b, tgi_ref x)
{
    const tg_dtype dtype = tgi_graph_node(b->graph, x)->dtype;
    if (tgi_dtype_is((int)dtype, TGI_CLASS_FLOAT))
        return number_of(b, dtype, -HUGE_VAL);
    uint64_t bits = 0;
    const int n = 8 * (int)tgi_dtype_bytes((int)dtype);
    if (tgi_dtype_is((int)dtype, TGI_CLASS_SINT))
        bits = UINT64_C(1) << (n - 1);
    return tgi_build_constant(b, dtype, 0, NULL, &bits);
}

tg_value tg_max_pool_at(tg_operand operand, const tg_pool_options *options,
                        tg_site site)
{
    tgi_operation o;
    pooling p;
    tgi_ref result = 0;
    if (tgi_operation_begin_wide(&o, "max_pool", site)) {
        tgi_ref x = begin_pooling(&o, operand, options, &p);
        x = x ? tgi_build_spatial_pad(&o.b, x, &p.spatial, lowest_of(&o.b, x))
              : 0;
        result = end_pooling(&p, reduce_windows(&p, TGI_OP_REDUCE_MAX, x));
    }
    return tgi_operation_end(&o, result);
}

/* -- Mean ------------------------------------------------------------------ */

/* The number of elements of each window that are not padding, or that of all
   elements if all windows have as many. */
static tgi_ref count_elements(const pooling *p, tgi_ref x, tgi_ref padded)
{
    tgi_builder *b = p->b;
    const tg_dtype dtype = tgi_graph_node(b->graph, x)->dtype;
    double n = 1;
    for (int i = 0; i < p->spatial.n; i++)
        n *= (double)p->options.window[i];
    if (x == padded || p->options.counts_padding)
        return number_of(b, dtype, n);
    tgi_dim dims[TG_MAX_RANK];
    const tgi_shape *shape = tgi_graph_shape(b->graph, x);
    for (int i = 0; i < shape->rank; i++)
        dims[i] = i == 0 || i == shape->rank - 1 ? 1 : shape->dims[i];
    const tgi_ref ones = tgi_build_broadcast(b, number_of(b, dtype, 1),
                                             shape->rank, dims);
    return reduce_windows(p, TGI_OP_SUM,
                          tgi_build_spatial_pad(b, ones, &p->spatial,
                                                number_of(b, dtype, 0)));
}

tg_value tg_avg_pool_at(tg_operand operand, const tg_pool_options *options,
                        tg_site site)
{
    tgi_operation o;
    pooling p;
    tgi_ref result = 0;
    if (tgi_operation_begin_wide(&o, "avg_pool", site)) {
        tgi_builder *b = &o.b;
        tgi_ref x = tgi_build_require_float(
            b, begin_pooling(&o, operand, options, &p));
        if (x) {
            const tgi_ref zero =
                number_of(b, tgi_graph_node(b->graph, x)->dtype, 0);
            const tgi_ref padded =
                tgi_build_spatial_pad(b, x, &p.spatial, zero);
            /* Before the sum: so the division can join its kernel. */
            const tgi_ref n = padded ? count_elements(&p, x, padded) : 0;
            result = tgi_build_2(b, TGI_OP_DIV,
                                 reduce_windows(&p, TGI_OP_SUM, padded), n);
        }
        result = end_pooling(&p, result);
    }
    return tgi_operation_end(&o, result);
}

/* -- Norm ------------------------------------------------------------------ */

/* |x|^p, and the p-th root. */
static tgi_ref raise_to(tgi_builder *b, tgi_ref x, double p)
{
    if (!x || p == 1)
        return x;
    if (p == 2)
        return tgi_build_2(b, TGI_OP_MUL, x, x);
    if (p == 0.5)
        return tgi_build_1(b, TGI_OP_SQRT, x);
    return tgi_build_2(b, TGI_OP_POW, x,
                       number_of(b, tgi_graph_node(b->graph, x)->dtype, p));
}

tg_value tg_lp_pool_at(tg_operand operand, const tg_pool_options *options,
                       tg_site site)
{
    tgi_operation o;
    pooling p;
    tgi_ref result = 0;
    if (tgi_operation_begin_wide(&o, "lp_pool", site)) {
        tgi_builder *b = &o.b;
        tgi_ref x = tgi_build_require_float(
            b, begin_pooling(&o, operand, options, &p));
        const double exponent = p.options.p == 0 ? 2 : p.options.p;
        if (x && !(exponent > 0 && isfinite(exponent)))
            x = tgi_build_fail(b, TG_ERROR_INVALID_ARGUMENT, &x, 1,
                               "exponent %g is not positive", exponent);
        if (x) {
            const tgi_ref zero =
                number_of(b, tgi_graph_node(b->graph, x)->dtype, 0);
            x = raise_to(b, tgi_build_1(b, TGI_OP_ABS, x), exponent);
            x = tgi_build_spatial_pad(b, x, &p.spatial, zero);
            result = raise_to(b, reduce_windows(&p, TGI_OP_SUM, x),
                              1 / exponent);
        }
        result = end_pooling(&p, result);
    }
    return tgi_operation_end(&o, result);
}

/* -- All of the spatial axes ----------------------------------------------- */

static tg_value pool_all(const char *name, bool is_mean, tg_operand operand,
                         tg_layout layout, tg_site site)
{
    tgi_operation o;
    tgi_ref result = 0;
    if (tgi_operation_begin_wide(&o, name, site)) {
        tgi_ref x = tgi_operation_operand(&o, operand);
        if (x && !(check_rank(&o.b, x) && tgi_build_check_layout(&o.b, layout)))
            x = 0;
        tg_axes axes = {.keep = true};
        const int rank = x ? tgi_graph_shape(o.b.graph, x)->rank : 0;
        for (int i = layout == TG_CHANNELS_FIRST ? 2 : 1;
             i < rank - (layout != TG_CHANNELS_FIRST); i++)
            axes.axis[axes.n++] = (int8_t)i;
        result = !x        ? 0
                 : is_mean ? tgi_build_mean(&o.b, x, axes)
                           : tgi_build_reduce(&o.b, TGI_OP_REDUCE_MAX, x, axes);
    }
    return tgi_operation_end(&o, result);
}

tg_value tg_global_max_pool_at(tg_operand x, tg_layout layout, tg_site site)
{
    return pool_all("global_max_pool", false, x, layout, site);
}

tg_value tg_global_avg_pool_at(tg_operand x, tg_layout layout, tg_site site)
{
    return pool_all("global_avg_pool", true, x, layout, site);
}
