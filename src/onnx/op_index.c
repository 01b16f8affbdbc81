/* SPDX-License-Identifier: MIT */
/*
 * op_index.c - elements selected or written by indices. Negative indices count
 * from the end.
 */
#include "onnx_known.h"

/* -- Negative indices ------------------------------------------------------ */

static bool is_known_nonnegative(const tgi_onnx_call *c, size_t i)
{
    const tgi_onnx_array *array = tgi_onnx_try_known(c, i);
    for (size_t k = 0; array && k < array->count; k++)
        if (tgi_onnx_array_int(array, k) < 0)
            return false;
    return array;
}

/* Input i, indices of an axis of x, as i64 from 0 on. */
static tg_value indices(const tgi_onnx_call *c, size_t i, tg_value x, int axis)
{
    tg_value at = tgi_onnx_in(c, i);
    if (is_known_nonnegative(c, i))
        return at;
    at = tg_cast_at(TG_IN(at), TG_I64, c->site);
    const tg_value n = tg_extent_at(TG_IN(x), axis, c->site);
    const tg_value zero = tg_scalar_at(TG_I64, tg_in_i64(0), c->site);
    return F3(select, F2(lt, at, zero), F2(add, at, n), at);
}

/* Input i, whose last axis holds indices of the axes of x after n_batch. */
static tg_value tuples(const tgi_onnx_call *c, size_t i, tg_value x,
                       int n_batch)
{
    tg_value at = tgi_onnx_in(c, i);
    tg_operand extents[TG_MAX_RANK];
    const int64_t n = tg_value_dim(at, -1);
    if (is_known_nonnegative(c, i) || tgi_onnx_failed(c))
        return at;
    if (n < 1 || n + n_batch > tg_value_rank(x)) {
        tgi_onnx_fail(c, TG_ERROR_SHAPE, "indices of %lld axes", (long long)n);
        return at;
    }
    for (int k = 0; k < n; k++)
        extents[k] = TG_IN(tg_extent_at(TG_IN(x), n_batch + k, c->site));
    at = tg_cast_at(TG_IN(at), TG_I64, c->site);
    const tg_value all = tg_stack_at(0, extents, (size_t)n, c->site);
    const tg_value zero = tg_scalar_at(TG_I64, tg_in_i64(0), c->site);
    return F3(select, F2(lt, at, zero), F2(add, at, all), at);
}

static int axis_of(const tgi_onnx_call *c)
{
    return tgi_onnx_axis(c, tgi_onnx_int(c, "axis", 0), tgi_onnx_in_rank(c, 0));
}

/* -- Gather ---------------------------------------------------------------- */

void tgi_onnx_build_gather(const tgi_onnx_call *c)
{
    const tg_value x = tgi_onnx_in(c, 0);
    const int axis = axis_of(c);
    tgi_onnx_out(c, 0,
                 tg_gather_at(TG_IN(x), TG_IN(indices(c, 1, x, axis)), axis,
                              TG_GATHER_CHECK, c->site));
}

void tgi_onnx_build_gather_elements(const tgi_onnx_call *c)
{
    const tg_value x = tgi_onnx_in(c, 0);
    const int axis = axis_of(c);
    tgi_onnx_out(c, 0,
                 tg_take_along_axis_at(TG_IN(x), TG_IN(indices(c, 1, x, axis)),
                                       axis, TG_GATHER_CHECK, c->site));
}

void tgi_onnx_build_gather_nd(const tgi_onnx_call *c)
{
    const tg_value x = tgi_onnx_in(c, 0);
    const int n_batch = (int)tgi_onnx_int(c, "batch_dims", 0);
    tgi_onnx_out(c, 0,
                 tg_gather_nd_at(TG_IN(x), TG_IN(tuples(c, 1, x, n_batch)),
                                 n_batch, TG_GATHER_CHECK, c->site));
}

/* -- Scatter --------------------------------------------------------------- */

static tg_scatter_mode scatter_mode(const tgi_onnx_call *c)
{
    static const char *const names[] = {"none", "add", "mul", "max", "min"};
    for (int i = 0; i < 5; i++)
        if (tgi_onnx_is(c, "reduction", names[i], "none"))
            return (tg_scatter_mode)i;
    tgi_onnx_fail(c, TG_ERROR_UNSUPPORTED, "unknown reduction");
    return TG_SCATTER_SET;
}

void tgi_onnx_build_scatter_elements(const tgi_onnx_call *c)
{
    const tg_value x = tgi_onnx_in(c, 0);
    const int axis = axis_of(c);
    tgi_onnx_out(c, 0,
                 tg_put_along_axis_at(TG_IN(x), TG_IN(indices(c, 1, x, axis)),
                                      TG_IN(tgi_onnx_in(c, 2)), axis,
                                      scatter_mode(c), TG_SCATTER_CHECK,
                                      c->site));
}

void tgi_onnx_build_scatter_nd(const tgi_onnx_call *c)
{
    const tg_value x = tgi_onnx_in(c, 0);
    tgi_onnx_out(c, 0,
                 tg_scatter_nd_at(TG_IN(x), TG_IN(tuples(c, 1, x, 0)),
                                  TG_IN(tgi_onnx_in(c, 2)), scatter_mode(c),
                                  TG_SCATTER_CHECK, c->site));
}
