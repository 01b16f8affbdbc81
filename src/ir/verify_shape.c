/* SPDX-License-Identifier: MIT */
/*
 * verify_shape.c - rules for the shape and attribute of each op. They share no
 * code with the builders, so that an error in either is detected.
 *
 * Unknown extents are accepted: the graph's checks decide at the call.
 */
#include "base/checked.h"
#include "ir/verify_rule.h"
#include "tgjit/ops.h"

static const tgi_shape *input_shape(const tgi_verifier *v, uint32_t i)
{
    return tgi_graph_shape(v->graph, v->node->inputs[i]);
}

static bool check_axis(const tgi_verifier *v, int64_t axis, int rank)
{
    return (axis >= 0 && axis < rank) ||
           tgi_verify_fail(v, "axis %lld is out of range for rank %d",
                           (long long)axis, rank);
}

/* The result must have exactly these extents. */
static bool check_shape(const tgi_verifier *v, int rank, const tgi_dim *dims)
{
    bool ok = v->shape->rank == rank;
    for (int i = 0; ok && i < rank; i++)
        ok = v->shape->dims[i] == dims[i];
    return ok || tgi_verify_fail(v, "the shape does not follow from its "
                                    "inputs");
}

static bool check_rank(const tgi_verifier *v, int rank)
{
    return v->shape->rank == rank ||
           tgi_verify_fail(v, "has rank %d instead of %d", v->shape->rank,
                           rank);
}

/* Attribute entries past the rank must be 0: attributes are compared as
   bytes. */
static bool check_unused_entries(const tgi_verifier *v, const int64_t *entries)
{
    for (int i = v->shape->rank; i < TG_MAX_RANK; i++)
        if (entries[i] != 0)
            return tgi_verify_fail(v, "attribute past the rank is not 0");
    return true;
}

/* -- Leaves and elementwise ------------------------------------------------ */

bool tgi_verify_iota(tgi_verifier *v)
{
    const tgi_attr_index *attr = v->node->attr;
    return check_axis(v, attr->index, v->shape->rank);
}

bool tgi_verify_extent(tgi_verifier *v)
{
    const tgi_attr_index *attr = v->node->attr;
    if (!tgi_dim_is_known(attr->index) && !tgi_dim_is_symbolic(attr->index))
        return tgi_verify_fail(v, "%lld is not an extent",
                               (long long)attr->index);
    return check_rank(v, 0);
}

bool tgi_verify_elementwise(tgi_verifier *v)
{
    for (uint32_t i = 0; i < v->node->n_inputs; i++)
        if (tgi_graph_node(v->graph, v->node->inputs[i])->shape !=
            v->node->shape)
            return tgi_verify_fail(v, "input %u has a different shape", i);
    return true;
}

bool tgi_verify_cast(tgi_verifier *v)
{
    const int from = tgi_graph_node(v->graph, v->node->inputs[0])->dtype;
    if (!tgi_dtype_casts_to(from, v->node->dtype))
        return tgi_verify_fail(v, "%s is cast to %s in one step",
                               tg_dtype_name((tg_dtype)from),
                               tg_dtype_name((tg_dtype)v->node->dtype));
    return tgi_verify_elementwise(v);
}

bool tgi_verify_bitcast(tgi_verifier *v)
{
    const int from = tgi_graph_node(v->graph, v->node->inputs[0])->dtype;
    const unsigned classes = TGI_CLASS_NUM_HALF;
    if (tgi_dtype_bytes(from) != tgi_dtype_bytes(v->node->dtype) ||
        !tgi_dtype_is(from, classes) ||
        !tgi_dtype_is(v->node->dtype, classes))
        return tgi_verify_fail(v, "is of a dtype with other bits");
    return tgi_verify_elementwise(v);
}

bool tgi_verify_random_bits(tgi_verifier *v)
{
    for (uint32_t i = 0; i < 2; i++) {
        int dtype = tgi_graph_node(v->graph, v->node->inputs[i])->dtype;
        if (dtype != TG_U64 || input_shape(v, i)->rank != 0)
            return tgi_verify_fail(v, "input %u is not a u64 scalar", i);
    }
    return v->node->dtype == TG_U32 || v->node->dtype == TG_U64 ||
           tgi_verify_fail(v, "is neither u32 nor u64");
}

/* -- Views ----------------------------------------------------------------- */

bool tgi_verify_broadcast(tgi_verifier *v)
{
    const tgi_shape *in = input_shape(v, 0);
    int added = v->shape->rank - in->rank;
    if (added < 0)
        return tgi_verify_fail(v, "reduces the rank");
    for (int i = 0; i < in->rank; i++)
        if (in->dims[i] != 1 &&
            !tgi_verify_may_equal(in->dims[i], v->shape->dims[added + i]))
            return tgi_verify_fail(v, "axis %d does not expand", i);
    return true;
}

bool tgi_verify_reshape(tgi_verifier *v)
{
    const tgi_shape *in = input_shape(v, 0);
    int64_t before, after;
    if (!tgi_shape_is_static(in) || !tgi_shape_is_static(v->shape))
        return true;
    return (tgi_checked_count(in->rank, in->dims, &before) &&
            tgi_checked_count(v->shape->rank, v->shape->dims, &after) &&
            before == after) ||
           tgi_verify_fail(v, "changes the number of elements");
}

bool tgi_verify_transpose(tgi_verifier *v)
{
    const tgi_shape *in = input_shape(v, 0);
    const tgi_attr_perm *attr = v->node->attr;
    tgi_dim dims[TG_MAX_RANK];
    unsigned seen = 0;
    for (int i = 0; i < in->rank; i++) {
        if (attr->perm[i] >= in->rank || seen >> attr->perm[i] & 1)
            return tgi_verify_fail(v, "is not a permutation");
        seen |= 1u << attr->perm[i];
        dims[i] = in->dims[attr->perm[i]];
    }
    for (int i = in->rank; i < TG_MAX_RANK; i++)
        if (attr->perm[i] != 0)
            return tgi_verify_fail(v, "attribute past the rank is not 0");
    return check_shape(v, in->rank, dims);
}

/* True if start … start + (n - 1) * step lies within 0 … extent - 1. */
static bool slice_fits(int64_t extent, int64_t start, int64_t step, int64_t n)
{
    int64_t last;
    if (n == 0)
        return start <= extent;
    return start < extent && tgi_checked_mul(n - 1, step, &last) &&
           tgi_checked_add(start, last, &last) && last >= 0 && last < extent;
}

bool tgi_verify_slice(tgi_verifier *v)
{
    const tgi_shape *in = input_shape(v, 0);
    const tgi_attr_slice *attr = v->node->attr;
    if (!check_rank(v, in->rank) || !check_unused_entries(v, attr->start) ||
        !check_unused_entries(v, attr->step))
        return false;
    for (int i = 0; i < in->rank; i++) {
        tgi_dim extent = in->dims[i], start = attr->start[i];
        tgi_dim n = v->shape->dims[i];
        if (attr->step[i] == 0)
            return tgi_verify_fail(v, "the step of axis %d is 0", i);
        if (!tgi_dim_is_known(start) && !tgi_dim_is_symbolic(start))
            return tgi_verify_fail(v, "the start of axis %d is negative", i);
        if (tgi_dim_is_known(extent) && tgi_dim_is_known(start) &&
            tgi_dim_is_known(n) && !slice_fits(extent, start, attr->step[i], n))
            return tgi_verify_fail(v, "exceeds axis %d", i);
    }
    return true;
}

/* -- Index maps ------------------------------------------------------------ */

bool tgi_verify_pad(tgi_verifier *v)
{
    const tgi_shape *in = input_shape(v, 0);
    const tgi_attr_pad *attr = v->node->attr;
    if (input_shape(v, 1)->rank != 0)
        return tgi_verify_fail(v, "the padding is not a scalar");
    if (!check_rank(v, in->rank) || !check_unused_entries(v, attr->low) ||
        !check_unused_entries(v, attr->high) ||
        !check_unused_entries(v, attr->interior))
        return false;
    for (int i = 0; i < in->rank; i++) {
        const tgi_dim parts[] = {attr->low[i], attr->high[i], in->dims[i],
                                 v->shape->dims[i]};
        bool is_known = true;
        for (int k = 0; k < 4; k++) {
            if (!tgi_dim_is_known(parts[k]) && !tgi_dim_is_symbolic(parts[k]))
                return tgi_verify_fail(v, "axis %d has negative padding", i);
            is_known &= tgi_dim_is_known(parts[k]);
        }
        if (attr->interior[i] < 0)
            return tgi_verify_fail(v, "axis %d has negative padding", i);
        int64_t gaps = parts[2] > 0 ? parts[2] - 1 : 0, extent;
        if (is_known &&
            !(tgi_checked_mul(gaps, attr->interior[i], &extent) &&
              tgi_checked_add(extent, parts[0], &extent) &&
              tgi_checked_add(extent, parts[1], &extent) &&
              tgi_checked_add(extent, parts[2], &extent) && extent == parts[3]))
            return tgi_verify_fail(v, "axis %d has the wrong extent", i);
    }
    return true;
}

bool tgi_verify_concat(tgi_verifier *v)
{
    const tgi_attr_index *attr = v->node->attr;
    int rank = v->shape->rank;
    if (v->node->n_inputs == 0)
        return tgi_verify_fail(v, "has no inputs");
    if (!check_axis(v, attr->index, rank))
        return false;
    int64_t total = 0;
    bool is_known = tgi_dim_is_known(v->shape->dims[attr->index]);
    for (uint32_t k = 0; k < v->node->n_inputs; k++) {
        const tgi_shape *in = input_shape(v, k);
        if (in->rank != rank)
            return tgi_verify_fail(v, "input %u has a different rank", k);
        for (int i = 0; i < rank; i++)
            if (i != attr->index &&
                !tgi_verify_may_equal(in->dims[i], v->shape->dims[i]))
                return tgi_verify_fail(v, "input %u has a different extent", k);
        tgi_dim extent = in->dims[attr->index];
        is_known &= tgi_dim_is_known(extent);
        if (is_known && !tgi_checked_add(total, extent, &total))
            return tgi_verify_fail(v, "has too many elements");
    }
    return !is_known || total == v->shape->dims[attr->index] ||
           tgi_verify_fail(v, "the extents of its inputs do not add up");
}

/* Input 1 must be indices into an axis of input 0. */
static bool check_indices(const tgi_verifier *v, int64_t axis)
{
    int dtype = tgi_graph_node(v->graph, v->node->inputs[1])->dtype;
    if (!tgi_dtype_is(dtype, TGI_CLASS_INT))
        return tgi_verify_fail(v, "the indices are not integers");
    return check_axis(v, axis, input_shape(v, 0)->rank);
}

/* Writes the shape of input 0 with an axis replaced by the axes of the indices,
   at most 2 * TG_MAX_RANK extents. Returns the rank. */
static int replace_axis(const tgi_verifier *v, int64_t axis, tgi_dim *dims)
{
    const tgi_shape *in = input_shape(v, 0), *indices = input_shape(v, 1);
    int n = 0;
    for (int i = 0; i < axis; i++)
        dims[n++] = in->dims[i];
    for (int i = 0; i < indices->rank; i++)
        dims[n++] = indices->dims[i];
    for (int i = (int)axis + 1; i < in->rank; i++)
        dims[n++] = in->dims[i];
    return n;
}

bool tgi_verify_gather(tgi_verifier *v)
{
    const tgi_attr_gather *attr = v->node->attr;
    tgi_dim dims[2 * TG_MAX_RANK];
    if (attr->mode < TG_GATHER_CHECK || attr->mode > TG_GATHER_ZERO)
        return tgi_verify_fail(v, "has invalid mode %lld",
                               (long long)attr->mode);
    return check_indices(v, attr->axis) &&
           check_shape(v, replace_axis(v, attr->axis, dims), dims);
}

bool tgi_verify_scatter(tgi_verifier *v)
{
    const tgi_attr_scatter *attr = v->node->attr;
    const tgi_shape *in = input_shape(v, 0), *updates = input_shape(v, 2);
    tgi_dim dims[2 * TG_MAX_RANK];
    if (attr->mode < TG_SCATTER_SET || attr->mode > TG_SCATTER_MIN ||
        attr->range < TG_SCATTER_CHECK || attr->range > TG_SCATTER_DROP)
        return tgi_verify_fail(v, "has invalid mode %lld or range %lld",
                               (long long)attr->mode, (long long)attr->range);
    const tgi_op op = tgi_scatter_op(attr->mode);
    if (op && !tgi_dtype_is(v->node->dtype, tgi_op_table[op].types))
        return tgi_verify_fail(v, "combines bools");
    if (tgi_graph_node(v->graph, v->node->inputs[2])->dtype != v->node->dtype)
        return tgi_verify_fail(v, "input 2 has a different dtype");
    if (!check_indices(v, attr->axis) ||
        !check_shape(v, in->rank, in->dims))
        return false;
    bool fits = replace_axis(v, attr->axis, dims) == updates->rank;
    for (int i = 0; fits && i < updates->rank; i++)
        fits = tgi_verify_may_equal(updates->dims[i], dims[i]);
    return fits || tgi_verify_fail(v, "the updates have the wrong shape");
}

/* Input i must be the start of a slice. */
static bool check_start(const tgi_verifier *v, uint32_t i)
{
    const tgi_node *start = tgi_graph_node(v->graph, v->node->inputs[i]);
    return (tgi_dtype_is(start->dtype, TGI_CLASS_INT) &&
            input_shape(v, i)->rank == 0) ||
           tgi_verify_fail(v, "the start is not an integer scalar");
}

/* Shape `part` must be `whole`, or smaller along one axis. An empty axis is
   accepted: the body of a loop along it slices it but never runs. */
static bool check_slice_shape(const tgi_verifier *v, const tgi_shape *whole,
                              const tgi_shape *part, int64_t axis)
{
    if (part->rank != whole->rank)
        return tgi_verify_fail(v, "has a different rank");
    for (int i = 0; i < whole->rank; i++) {
        const tgi_dim n = part->dims[i], whole_n = whole->dims[i];
        if (i != axis ? !tgi_verify_may_equal(n, whole_n)
                      : tgi_dim_is_known(n) && tgi_dim_is_known(whole_n) &&
                            whole_n != 0 && n > whole_n)
            return tgi_verify_fail(v, "axis %d does not match", i);
    }
    return true;
}

bool tgi_verify_dynamic_slice(tgi_verifier *v)
{
    const tgi_shape *in = input_shape(v, 0);
    const tgi_attr_index *attr = v->node->attr;
    return check_start(v, 1) && check_axis(v, attr->index, in->rank) &&
           check_slice_shape(v, in, v->shape, attr->index);
}

bool tgi_verify_dynamic_update(tgi_verifier *v)
{
    const tgi_shape *in = input_shape(v, 0);
    const tgi_attr_index *attr = v->node->attr;
    return check_start(v, 2) && check_axis(v, attr->index, in->rank) &&
           check_shape(v, in->rank, in->dims) &&
           check_slice_shape(v, in, input_shape(v, 1), attr->index);
}

/* -- Reductions and products ----------------------------------------------- */

bool tgi_verify_reduce(tgi_verifier *v)
{
    const tgi_shape *in = input_shape(v, 0);
    uint64_t mask;
    if (v->node->op == TGI_OP_ARGMAX || v->node->op == TGI_OP_ARGMIN) {
        const tgi_attr_index *attr = v->node->attr;
        if (!check_axis(v, attr->index, in->rank))
            return false;
        mask = UINT64_C(1) << attr->index;
    } else {
        mask = ((const tgi_attr_axes *)v->node->attr)->mask;
        if (mask >> in->rank)
            return tgi_verify_fail(v, "reduces axes it does not have");
    }
    tgi_dim dims[TG_MAX_RANK];
    int n = 0;
    for (int i = 0; i < in->rank; i++)
        if (!(mask >> i & 1))
            dims[n++] = in->dims[i];
    return check_shape(v, n, dims);
}

bool tgi_verify_scan(tgi_verifier *v)
{
    const tgi_attr_scan *attr = v->node->attr;
    if (!check_axis(v, attr->axis, v->shape->rank))
        return false;
    if (attr->starts_at_one & ~INT64_C(1))
        return tgi_verify_fail(v, "has an invalid start");
    return check_shape(v, input_shape(v, 0)->rank, input_shape(v, 0)->dims) &&
           check_shape(v, input_shape(v, 1)->rank, input_shape(v, 1)->dims);
}

bool tgi_verify_matmul(tgi_verifier *v)
{
    const tgi_shape *a = input_shape(v, 0), *b = input_shape(v, 1);
    int64_t flags = ((const tgi_attr_matmul *)v->node->attr)->flags;
    if (flags & ~(int64_t)(TG_TRANSPOSE_A | TG_TRANSPOSE_B | TG_MATMUL_BYTES))
        return tgi_verify_fail(v, "has invalid flags %lld", (long long)flags);
    if ((flags & TG_MATMUL_BYTES) && v->node->dtype != TG_I32)
        return tgi_verify_fail(v, "products of bytes need i32");
    if (a->rank < 2 || b->rank < 2)
        return tgi_verify_fail(v, "an operand is not a matrix");
    if (!check_rank(v, a->rank > b->rank ? a->rank : b->rank))
        return false;

    int rank = v->shape->rank;
    int a_transposed = (flags & TG_TRANSPOSE_A) != 0;
    int b_transposed = (flags & TG_TRANSPOSE_B) != 0;
    const tgi_dim *a_last = &a->dims[a->rank - 2];
    const tgi_dim *b_last = &b->dims[b->rank - 2];
    if (!tgi_verify_may_equal(a_last[!a_transposed], b_last[b_transposed]))
        return tgi_verify_fail(v, "inner extents differ");
    if (v->shape->dims[rank - 2] != a_last[a_transposed] ||
        v->shape->dims[rank - 1] != b_last[!b_transposed])
        return tgi_verify_fail(v, "outer extents do not match");

    const tgi_shape *operands[] = {a, b};
    for (int k = 0; k < 2; k++)
        for (int i = 0; i < operands[k]->rank - 2; i++) {
            tgi_dim extent = operands[k]->dims[i];
            tgi_dim result = v->shape->dims[rank - operands[k]->rank + i];
            if (extent != 1 && !tgi_verify_may_equal(extent, result))
                return tgi_verify_fail(v, "batch axis %d does not match", i);
        }
    return true;
}

/* -- Windows --------------------------------------------------------------- */

/* Checks that `count` windows of `size` elements fit an axis. */
static bool check_windows(tgi_verifier *v, int axis, tgi_dim extent,
                          tgi_dim size, tgi_dim count, int64_t stride,
                          int64_t dilation)
{
    if (stride < 1 || dilation < 1)
        return tgi_verify_fail(v, "axis %d has stride %lld, dilation %lld",
                               axis, (long long)stride, (long long)dilation);
    if (!tgi_dim_is_known(extent) || !tgi_dim_is_known(size) ||
        !tgi_dim_is_known(count) || size == 0 || count == 0)
        return true;
    if (size - 1 > (INT64_MAX - extent) / dilation ||
        count - 1 > (INT64_MAX - extent) / stride ||
        (size - 1) * dilation + (count - 1) * stride >= extent)
        return tgi_verify_fail(v, "windows exceed axis %d", axis);
    return true;
}

bool tgi_verify_window(tgi_verifier *v)
{
    const tgi_shape *in = input_shape(v, 0);
    const tgi_attr_window *attr = v->node->attr;
    int n = in->rank;
    for (int axis = 0; axis < TG_MAX_RANK; axis++) {
        const bool has_windows = attr->size[axis] != 0;
        if ((axis >= in->rank || !has_windows) &&
            (has_windows || attr->stride[axis] || attr->dilation[axis]))
            return tgi_verify_fail(v, "axis %d has no windows", axis);
        n += has_windows;
    }
    if (!check_rank(v, n))
        return false;
    for (int axis = 0, at = in->rank; axis < in->rank; axis++) {
        const tgi_dim count = v->shape->dims[axis];
        if (attr->size[axis] == 0) {
            if (count != in->dims[axis])
                return tgi_verify_fail(v, "axis %d changes", axis);
            continue;
        }
        if (v->shape->dims[at++] != attr->size[axis])
            return tgi_verify_fail(v, "the windows of axis %d differ", axis);
        if (!check_windows(v, axis, in->dims[axis], attr->size[axis], count,
                           attr->stride[axis], attr->dilation[axis]))
            return false;
    }
    return true;
}

bool tgi_verify_conv(tgi_verifier *v)
{
    const tgi_shape *x = input_shape(v, 0), *w = input_shape(v, 1);
    const tgi_attr_conv *attr = v->node->attr;
    const int n_batch = (int)attr->n_batch, n_spatial = x->rank - n_batch - 2;
    if (attr->n_batch < 0 || attr->n_batch > TG_MAX_RANK || n_spatial < 0 ||
        w->rank != x->rank)
        return tgi_verify_fail(v, "has invalid ranks");
    if (!check_rank(v, x->rank))
        return false;
    for (int i = n_spatial; i < TG_MAX_RANK; i++)
        if (attr->stride[i] || attr->dilation[i])
            return tgi_verify_fail(v, "spatial axis %d does not exist", i);
    const int last = x->rank - 1;
    for (int i = 0; i < n_batch; i++)
        if (v->shape->dims[i] != x->dims[i] ||
            !tgi_verify_may_equal(x->dims[i], w->dims[i]))
            return tgi_verify_fail(v, "batch axis %d does not match", i);
    if (v->shape->dims[n_batch] != x->dims[n_batch] ||
        v->shape->dims[last] != w->dims[last])
        return tgi_verify_fail(v, "outer extents do not match");
    if (!tgi_verify_may_equal(x->dims[last], w->dims[last - 1]))
        return tgi_verify_fail(v, "channels differ");
    for (int i = 0; i < n_spatial; i++)
        if (!check_windows(v, i, x->dims[n_batch + 1 + i], w->dims[n_batch + i],
                           v->shape->dims[n_batch + 1 + i], attr->stride[i],
                           attr->dilation[i]))
            return false;
    return true;
}
