/* SPDX-License-Identifier: MIT */
/*
 * ops_index.c - gathers and scatters by several indices or by one index per
 * element, and selection by a condition.
 *
 * Several indices become one, into the merged axes: the sum of index * stride.
 * An index that is out of range along its own axis must not select another
 * element, so it makes the sum -1; with CLAMP it is clamped first.
 */
#include "tgjit/ops_index.h"

#include "build/build_formula.h"
#include "front/ops/ops_index.h"
#include "front/trace/trace_state.h"

static tgi_ref number(tgi_builder *b, tg_dtype dtype, int64_t value)
{
    return tgi_build_number(b, dtype, TG_I64,
                            (tgi_number){TGI_NUMBER_INT, {.i = value}});
}

static tgi_ref i64_number(tgi_builder *b, int64_t value)
{
    return number(b, TG_I64, value);
}

/* -- One index for several axes -------------------------------------------- */

/* The sum of index * stride so far, and whether all indices are in range. */
typedef struct merged_index {
    tg_dtype dtype;
    tgi_ref sum, is_valid; /* 0: none yet */
} merged_index;

/* Adds the index of an axis of extent n. Those computed from positions are in
   range anyway. */
static void add_index(tgi_builder *b, merged_index *m, tgi_ref index, tgi_dim n,
                      bool is_position, tg_gather_mode mode)
{
    tgi_ref extent = tgi_build_cast(b, tgi_build_extent(b, n), m->dtype);
    if (!is_position && mode == TG_GATHER_CLAMP) {
        tgi_ref last = SUB(extent, number(b, m->dtype, 1));
        index = MIN(MAX(index, number(b, m->dtype, 0)), last);
    } else if (!is_position) {
        tgi_ref is_valid = LE(number(b, m->dtype, 0), index);
        is_valid = AND(is_valid, LT(index, extent));
        m->is_valid = m->is_valid ? AND(m->is_valid, is_valid) : is_valid;
    }
    m->sum = m->sum ? ADD(MUL(m->sum, extent), index) : index;
}

static tgi_ref end_index(tgi_builder *b, const merged_index *m)
{
    return m->is_valid ? SELECT(m->is_valid, m->sum, number(b, m->dtype, -1))
                       : m->sum;
}

/*
 * Integer indices into x as i64, or, if no element of x is further away than it
 * can count, as i32, of which vectors hold twice as many. u64 ones beyond the
 * range of i64 become negative.
 */
static tgi_ref require_indices(tgi_builder *b, tgi_ref x, tgi_ref indices)
{
    if (!x || !indices)
        return 0;
    const int dtype = tgi_graph_node(b->graph, indices)->dtype;
    if (!tgi_dtype_is(dtype, TGI_CLASS_INT))
        return tgi_build_fail(b, TG_ERROR_DTYPE, &indices, 1,
                              "indices need an integer type");
    const tgi_shape *shape = tgi_graph_shape(b->graph, x);
    bool is_narrow = tgi_dtype_bytes(dtype) < 4 || dtype == TG_I32;
    int64_t count = 1;
    for (int i = 0; i < shape->rank; i++)
        is_narrow = is_narrow && tgi_dim_is_known(shape->dims[i]) &&
                    !__builtin_mul_overflow(count, shape->dims[i], &count) &&
                    count <= INT32_MAX;
    return tgi_build_cast(b, indices, is_narrow ? TG_I32 : TG_I64);
}

static tg_dtype dtype_of(const tgi_builder *b, tgi_ref x)
{
    return (tg_dtype)tgi_graph_node(b->graph, x)->dtype;
}

tgi_ref tgi_build_merge_first(tgi_builder *b, tgi_ref x, int n)
{
    if (!x)
        return 0;
    const tgi_shape *shape = tgi_graph_shape(b->graph, x);
    tgi_dim dims[TG_MAX_RANK + 1] = {1};
    for (int i = 0; i < shape->rank; i++)
        if (i < n)
            dims[0] = tgi_dim_mul(b->graph->dims, dims[0], shape->dims[i]);
        else
            dims[1 + i - n] = shape->dims[i];
    return tgi_build_dim(b, dims[0]) == TGI_DIM_NONE
               ? 0
               : tgi_build_reshape(b, x, 1 + shape->rank - n, dims);
}

/* x with the shape of `like`, which has as many elements. */
static tgi_ref reshape_like(tgi_builder *b, tgi_ref x, tgi_ref like)
{
    const tgi_shape *shape = tgi_graph_shape(b->graph, like);
    return tgi_build_reshape(b, x, shape->rank, shape->dims);
}

/* -- Several indices ------------------------------------------------------- */

/*
 * The number of axes that `indices` selects positions of, or -1 and an error:
 * the extent of its last axis, which must be known.
 */
static int indexed_axes(tgi_builder *b, tgi_ref x, tgi_ref indices, int n_batch)
{
    const tgi_ref pair[] = {x, indices};
    const tgi_shape *shape = tgi_graph_shape(b->graph, x);
    const tgi_shape *at = tgi_graph_shape(b->graph, indices);
    const tgi_dim n = at->rank ? at->dims[at->rank - 1] : 0;
    bool fits = n_batch >= 0 && at->rank > n_batch && tgi_dim_is_known(n) &&
                n >= 1 && n <= shape->rank - n_batch;
    for (int i = 0; fits && i < n_batch; i++)
        fits = tgi_build_check(b, TGI_CHECK_EQUAL, shape->dims[i], at->dims[i],
                               "batch extents");
    if (fits)
        return (int)n;
    tgi_build_fail(b, TG_ERROR_SHAPE, pair, 2,
                   "the last axis of the indices must have a known extent, "
                   "from 1 to the number of axes after the %d batch axes, "
                   "which must be equal",
                   n_batch);
    return -1;
}

/* Index `i` of the last axis, without that axis. */
static tgi_ref index_part(tgi_builder *b, tgi_ref indices, int64_t i)
{
    const tgi_shape *shape = tgi_graph_shape(b->graph, indices);
    tgi_ref part = tgi_build_slice(b, indices, -1, i, i + 1, 1);
    return tgi_build_reshape(b, part, shape->rank - 1, shape->dims);
}

/* The index into the merged batch and indexed axes of x. */
static tgi_ref merge_indices(tgi_builder *b, tgi_ref x, tgi_ref indices,
                             int n_batch, int n, tg_gather_mode mode)
{
    if (!indices)
        return 0;
    merged_index m = {.dtype = dtype_of(b, indices)};
    const tgi_shape *shape = tgi_graph_shape(b->graph, x);
    const tgi_shape *at = tgi_graph_shape(b->graph, indices);
    for (int i = 0; i < n_batch; i++)
        add_index(b, &m, tgi_build_iota(b, m.dtype, at->rank - 1, at->dims, i),
                  shape->dims[i], true, mode);
    for (int i = 0; i < n; i++)
        add_index(b, &m, index_part(b, indices, i), shape->dims[n_batch + i],
                  false, mode);
    return end_index(b, &m);
}

static tgi_ref build_gather_nd(tgi_builder *b, tgi_ref x, tgi_ref indices,
                               int n_batch, tg_gather_mode mode)
{
    indices = require_indices(b, x, indices);
    if (!x || !indices)
        return 0;
    const int n = indexed_axes(b, x, indices, n_batch);
    if (n < 0)
        return 0;
    tgi_ref at = merge_indices(b, x, indices, n_batch, n, mode);
    return tgi_build_gather(b, tgi_build_merge_first(b, x, n_batch + n), at, 0,
                            mode);
}

tg_value tg_gather_nd_at(tg_operand x, tg_operand indices, int n_batch,
                         tg_gather_mode mode, tg_site site)
{
    tgi_operation o;
    tgi_ref result = 0;
    if (tgi_operation_begin(&o, "gather_nd", site)) {
        tgi_ref in = tgi_operation_operand(&o, x);
        result = build_gather_nd(&o.b, in, tgi_operation_operand(&o, indices),
                                 n_batch, mode);
    }
    return tgi_operation_end(&o, result);
}

static tgi_ref build_scatter_nd(tgi_builder *b, tgi_ref x, tgi_ref indices,
                                tgi_ref updates, tg_scatter_mode mode,
                                tg_scatter_range range)
{
    indices = require_indices(b, x, indices);
    if (!x || !indices || !updates)
        return 0;
    const int n = indexed_axes(b, x, indices, 0);
    if (n < 0)
        return 0;
    tgi_ref at = merge_indices(b, x, indices, 0, n, TG_GATHER_CHECK);
    tgi_ref merged = tgi_build_merge_first(b, x, n);
    tgi_ref result = tgi_build_scatter(b, merged, at, updates, 0, mode, range);
    return result ? reshape_like(b, result, x) : 0;
}

tg_value tg_scatter_nd_at(tg_operand x, tg_operand indices, tg_operand updates,
                          tg_scatter_mode mode, tg_scatter_range range,
                          tg_site site)
{
    tgi_operation o;
    tgi_ref result = 0;
    if (tgi_operation_begin(&o, "scatter_nd", site)) {
        tgi_ref in = tgi_operation_operand(&o, x);
        tgi_ref at = tgi_operation_operand(&o, indices);
        result = build_scatter_nd(
            &o.b, in, at, tgi_operation_operand(&o, updates), mode, range);
    }
    return tgi_operation_end(&o, result);
}

/* -- One index per element ------------------------------------------------- */

/* The index into all elements of x, shaped like the indices; 0 and an error if
   their shapes do not fit. */
static tgi_ref merge_positions(tgi_builder *b, tgi_ref x, tgi_ref indices,
                               int axis, tg_gather_mode mode)
{
    const tgi_ref pair[] = {x, indices};
    if (!x || !indices)
        return 0;
    merged_index m = {.dtype = dtype_of(b, indices)};
    const tgi_shape *shape = tgi_graph_shape(b->graph, x);
    const tgi_shape *at = tgi_graph_shape(b->graph, indices);
    bool fits = shape->rank == at->rank;
    for (int i = 0; fits && i < shape->rank; i++)
        fits = i == axis ||
               tgi_build_check(b, TGI_CHECK_AT_MOST, at->dims[i],
                               shape->dims[i], "extents of indices and x");
    if (!fits)
        return tgi_build_fail(b, TG_ERROR_SHAPE, pair, 2,
                              "the indices exceed x in an axis other than %d, "
                              "or have another rank",
                              axis);
    for (int i = 0; i < shape->rank; i++)
        add_index(b, &m,
                  i == axis ? indices
                            : tgi_build_iota(b, m.dtype, at->rank, at->dims, i),
                  shape->dims[i], i != axis, mode);
    return end_index(b, &m);
}

tgi_ref tgi_build_take_along_axis(tgi_builder *b, tgi_ref x, tgi_ref indices,
                                  int axis, tg_gather_mode mode)
{
    indices = require_indices(b, x, indices);
    tgi_ref at = merge_positions(b, x, indices, axis, mode);
    if (!at)
        return 0;
    const int rank = tgi_graph_shape(b->graph, x)->rank;
    return tgi_build_gather(b, tgi_build_merge_first(b, x, rank), at, 0, mode);
}

tg_value tg_take_along_axis_at(tg_operand operand, tg_operand indices,
                               int user_axis, tg_gather_mode mode, tg_site site)
{
    tgi_operation o;
    tgi_ref result = 0;
    if (tgi_operation_begin(&o, "take_along_axis", site)) {
        tgi_ref x = tgi_operation_operand(&o, operand);
        tgi_ref at = tgi_operation_operand(&o, indices);
        const int axis = x && at ? tgi_build_axis(&o.b, x, user_axis) : -1;
        if (axis >= 0)
            result = tgi_build_take_along_axis(&o.b, x, at, axis, mode);
    }
    return tgi_operation_end(&o, result);
}

static tgi_ref build_put_along_axis(tgi_builder *b, tgi_ref x, tgi_ref indices,
                                    tgi_ref updates, int axis,
                                    tg_scatter_mode mode,
                                    tg_scatter_range range)
{
    indices = require_indices(b, x, indices);
    tgi_ref at = merge_positions(b, x, indices, axis, TG_GATHER_CHECK);
    if (!at || !updates)
        return 0;
    const int rank = tgi_graph_shape(b->graph, x)->rank;
    tgi_ref merged = tgi_build_merge_first(b, x, rank);
    tgi_ref result = tgi_build_scatter(b, merged, at, updates, 0, mode, range);
    return result ? reshape_like(b, result, x) : 0;
}

tg_value tg_put_along_axis_at(tg_operand operand, tg_operand indices,
                              tg_operand updates, int user_axis,
                              tg_scatter_mode mode, tg_scatter_range range,
                              tg_site site)
{
    tgi_operation o;
    tgi_ref result = 0;
    if (tgi_operation_begin(&o, "put_along_axis", site)) {
        tgi_ref x = tgi_operation_operand(&o, operand);
        tgi_ref at = tgi_operation_operand(&o, indices);
        tgi_ref values = tgi_operation_operand(&o, updates);
        const int axis =
            x && at && values ? tgi_build_axis(&o.b, x, user_axis) : -1;
        if (axis >= 0)
            result =
                build_put_along_axis(&o.b, x, at, values, axis, mode, range);
    }
    return tgi_operation_end(&o, result);
}

/* -- Conditions ------------------------------------------------------------ */

tg_value tg_count_nonzero_at(tg_operand x, tg_axes axes, tg_site site)
{
    tgi_operation o;
    tgi_ref result = 0;
    if (tgi_operation_begin(&o, "count_nonzero", site)) {
        tgi_ref is_set =
            tgi_build_cast(&o.b, tgi_operation_operand(&o, x), TG_BOOL);
        result = tgi_build_reduce(&o.b, TGI_OP_SUM,
                                  tgi_build_cast(&o.b, is_set, TG_I64), axes);
    }
    return tgi_operation_end(&o, result);
}

tgi_ref tgi_build_compressed_position(tgi_builder *b, tgi_ref is_kept,
                                      tgi_dim max_count)
{
    tgi_ref one = i64_number(b, 1);
    tgi_ref counted = tgi_build_linear_scan(
        b, one, tgi_build_cast(b, is_kept, TG_I64), 0, false);
    tgi_ref position = SUB(counted, one);
    is_kept = AND(is_kept, LT(position, tgi_build_extent(b, max_count)));
    return SELECT(is_kept, position, i64_number(b, -1));
}

/* The indices of the true elements of a bool vector, then -1. */
static tgi_ref build_true_indices(tgi_builder *b, tgi_ref is_kept,
                                  tgi_dim max_count)
{
    if (!is_kept || !tgi_build_shape(b, 1, &max_count))
        return 0;
    const tgi_dim n = tgi_graph_shape(b->graph, is_kept)->dims[0];
    tgi_ref unused = tgi_build_broadcast(b, i64_number(b, -1), 1, &max_count);
    tgi_ref index = tgi_build_iota(b, TG_I64, 1, &n, 0);
    return tgi_build_scatter(
        b, unused, tgi_build_compressed_position(b, is_kept, max_count), index,
        0, TG_SCATTER_SET, TG_SCATTER_DROP);
}

/* Splits indices into all elements into one index per axis, the last axis of
   the result; -1 stays -1. */
static tgi_ref split_indices(tgi_builder *b, tgi_ref indices,
                             const tgi_shape *shape)
{
    tgi_ref parts[TG_MAX_RANK];
    tgi_dim dims[2] = {0, 1};
    if (!indices)
        return 0;
    dims[0] = tgi_graph_shape(b->graph, indices)->dims[0];
    if (shape->rank == 0) {
        dims[1] = 0;
        return tgi_build_broadcast(b, i64_number(b, 0), 2, dims);
    }
    tgi_ref is_unused = LT(indices, i64_number(b, 0));
    tgi_ref rest = indices;
    for (int i = shape->rank - 1; i >= 0; i--) {
        tgi_ref n = tgi_build_extent(b, shape->dims[i]);
        tgi_ref outer = DIV(rest, n);
        tgi_ref inner = SUB(rest, MUL(outer, n));
        parts[i] =
            tgi_build_reshape(b, SELECT(is_unused, indices, inner), 2, dims);
        rest = outer;
    }
    return tgi_build_concat(b, 1, parts, (size_t)shape->rank);
}

tg_value tg_nonzero_at(tg_operand operand, int64_t max_count, tg_site site)
{
    tgi_operation o;
    tgi_ref result = 0;
    if (tgi_operation_begin(&o, "nonzero", site)) {
        tgi_builder *b = &o.b;
        tgi_ref x = tgi_operation_operand(&o, operand);
        if (x) {
            const tgi_shape *shape = tgi_graph_shape(b->graph, x);
            tgi_ref is_kept = tgi_build_cast(
                b, tgi_build_merge_first(b, x, shape->rank), TG_BOOL);
            result = split_indices(b, build_true_indices(b, is_kept, max_count),
                                   shape);
        }
    }
    return tgi_operation_end(&o, result);
}

tg_value tg_compress_at(tg_operand operand, tg_operand condition, int user_axis,
                        int64_t max_count, tg_site site)
{
    tgi_operation o;
    tgi_ref result = 0;
    if (tgi_operation_begin(&o, "compress", site)) {
        tgi_builder *b = &o.b;
        tgi_ref x = tgi_operation_operand(&o, operand);
        tgi_ref is_kept =
            tgi_build_cast(b, tgi_operation_operand(&o, condition), TG_BOOL);
        const int axis = x && is_kept ? tgi_build_axis(b, x, user_axis) : -1;
        const tgi_ref pair[] = {x, is_kept};
        if (axis >= 0 &&
            (tgi_graph_shape(b->graph, is_kept)->rank != 1 ||
             !tgi_build_check(b, TGI_CHECK_EQUAL,
                              tgi_graph_shape(b->graph, is_kept)->dims[0],
                              tgi_graph_shape(b->graph, x)->dims[axis],
                              "condition and extent")))
            tgi_build_fail(b, TG_ERROR_SHAPE, pair, 2,
                           "the condition is not a vector of the extent of "
                           "axis %d",
                           axis);
        else if (axis >= 0)
            result = tgi_build_gather(b, x,
                                      build_true_indices(b, is_kept, max_count),
                                      axis, TG_GATHER_ZERO);
    }
    return tgi_operation_end(&o, result);
}
