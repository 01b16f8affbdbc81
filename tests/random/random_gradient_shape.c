/* SPDX-License-Identifier: MIT */
/*
 * random_gradient_shape.c - operations of random programs that move elements:
 * reshapes, slices, gathers.
 */
#include <math.h>

#include "random/random_gradient.h"

static void add_like(gr_frame *f, const char *name, tg_value value,
                     const gr_shape *shape, const gr_value *x)
{
    gr_add(f, name, value, shape, x->low, x->high);
}

/* The extents as the trace knows them. */
static void dims_of(const gr_value *x, int64_t *dims)
{
    for (int i = 0; i < x->shape.rank; i++)
        dims[i] = tg_value_dim(x->value, i);
}

/* -- Views ----------------------------------------------------------------- */

void gr_make_broadcast(gr_frame *f)
{
    const gr_value x = gr_pick(f);
    gr_shape shape = x.shape;
    int64_t dims[GR_MAX_RANK];
    const int64_t more = 1 + gr_below(f, 4);
    dims_of(&x, dims);
    for (int i = 0; i < shape.rank; i++)
        if (shape.dims[i] == 1 && gr_count(&shape) * more <= GR_MAX_COUNT)
            dims[i] = shape.dims[i] = more;
    if (shape.rank < 3 && gr_count(&shape) * more <= GR_MAX_COUNT / 2) {
        for (int i = shape.rank++; i > 0; i--) {
            dims[i] = dims[i - 1];
            shape.dims[i] = shape.dims[i - 1];
        }
        dims[0] = shape.dims[0] = more;
    }
    add_like(f, "broadcast", tg_broadcast(x.value, shape.rank, dims), &shape,
             &x);
}

/* Merges two axes, splits one, or flattens all. */
void gr_make_reshape(gr_frame *f)
{
    const gr_value x = gr_pick_rank(f, 1);
    gr_shape shape = {.rank = 1, .dims = {gr_count(&x.shape)}};
    int64_t dims[GR_MAX_RANK] = {-1};
    const int64_t n = shape.dims[0];
    const int64_t inner = 2 + gr_below(f, 3);
    if (n % inner == 0 && gr_one_in(f, 2)) {
        shape = (gr_shape){.rank = 2, .dims = {n / inner, inner}};
        dims[1] = inner;
    } else if (x.shape.rank == 2 && gr_one_in(f, 2)) {
        /* Swaps extents by a reshape, not a transpose. */
        dims_of(&x, dims);
        shape = (gr_shape){.rank = 3,
                           .dims = {x.shape.dims[1], 1, x.shape.dims[0]}};
        dims[2] = dims[0];
        dims[0] = dims[1];
        dims[1] = 1;
    }
    add_like(f, "reshape", tg_reshape(x.value, shape.rank, dims), &shape, &x);
}

void gr_make_transpose(gr_frame *f)
{
    const gr_value x = gr_pick_rank(f, 2);
    int perm[GR_MAX_RANK];
    gr_shape shape = {.rank = x.shape.rank};
    for (int i = 0; i < shape.rank; i++) {
        const int k = gr_below(f, i + 1);
        perm[i] = perm[k];
        perm[k] = i;
    }
    for (int i = 0; i < shape.rank; i++)
        shape.dims[i] = x.shape.dims[perm[i]];
    add_like(f, "transpose", tg_transpose(x.value, shape.rank, perm), &shape,
             &x);
}

/* A slice, forwards or backwards. */
void gr_make_slice(gr_frame *f)
{
    const gr_value x = gr_pick_rank(f, 1);
    const int axis = gr_below(f, x.shape.rank);
    const int64_t n = x.shape.dims[axis];
    const int64_t start = gr_below(f, (int)n), step = 1 + gr_below(f, 2);
    gr_shape shape = x.shape;
    tg_value y;
    if (gr_one_in(f, 2)) {
        const int64_t stop = start + 1 + gr_below(f, (int)(n - start));
        shape.dims[axis] = (stop - start + step - 1) / step;
        y = tg_slice(x.value, axis, start,
                     stop == n && gr_one_in(f, 2) ? TG_END : stop, step);
    } else {
        shape.dims[axis] = start / step + 1;
        y = tg_slice(x.value, axis, start, TG_END, -step);
    }
    add_like(f, "slice", y, &shape, &x);
}

/* -- Copies ---------------------------------------------------------------- */

void gr_make_pad(gr_frame *f)
{
    const gr_value x = gr_pick_rank(f, 1);
    const int axis = gr_below(f, x.shape.rank);
    const int64_t low = gr_below(f, 3), high = gr_below(f, 3);
    gr_shape shape = x.shape;
    shape.dims[axis] += low + high;
    if (gr_count(&shape) > GR_MAX_COUNT)
        shape = x.shape;
    const bool pads = !gr_same_shape(&shape, &x.shape);
    const gr_value padding = gr_pick_scalar(f);
    gr_add(
        f, "pad",
        tg_pad(x.value, axis, pads ? low : 0, pads ? high : 0, padding.value),
        &shape, fmin(x.low, padding.low), fmax(x.high, padding.high));
}

void gr_make_concat(gr_frame *f)
{
    gr_value parts[3];
    tg_operand operands[3];
    parts[0] = gr_pick_rank(f, 1);
    const int n = 2 + gr_below(f, 2), axis = gr_below(f, parts[0].shape.rank);
    gr_shape shape = parts[0].shape;
    double low = parts[0].low, high = parts[0].high;
    operands[0] = TG_IN(parts[0].value);
    for (int i = 1; i < n; i++) {
        gr_shape own = parts[0].shape;
        if (gr_one_in(f, 2))
            own.dims[axis] = 1 + gr_below(f, 3);
        if (gr_count(&own) > GR_MAX_COUNT)
            own = parts[0].shape;
        parts[i] =
            gr_one_in(f, 4) ? parts[0] : gr_pick_shaped(f, own.rank, own.dims);
        operands[i] = TG_IN(parts[i].value);
        shape.dims[axis] += parts[i].shape.dims[axis];
        low = fmin(low, parts[i].low);
        high = fmax(high, parts[i].high);
    }
    if (gr_count(&shape) > GR_MAX_COUNT) {
        gr_make_transpose(f);
        return;
    }
    gr_add(f, "concat", tg_concat_at(axis, operands, (size_t)n, TG_HERE),
           &shape, low, high);
}

/* -- By indices ------------------------------------------------------------ */

/* Indices into n elements, some repeated, some computed; with `past`, some out
   of range. All different if requested. */
static tg_value indices(gr_frame *f, const gr_shape *shape, int64_t n,
                        bool past, bool differ)
{
    int64_t data[GR_MAX_COUNT];
    const int64_t count = gr_count(shape);
    const int64_t first = gr_below(f, (int)n);
    for (int64_t i = 0; i < count; i++)
        data[i] = differ ? (first + i) % n : gr_below(f, (int)n);
    if (past && count > 1)
        data[gr_below(f, (int)count)] = n + 1, data[0] = -1;
    tg_value at = tg_constant(TG_I64, shape->rank, shape->dims, data);
    if (gr_one_in(f, 3)) { /* rotated by a run-time amount */
        tg_value moved = tg_rem(tg_add(at, gr_index(f, n)), n);
        at = past ? tg_select(tg_and(tg_ge(at, (int64_t)0), tg_lt(at, n)),
                              moved, at)
                  : moved;
    }
    return gr_one_in(f, 3) ? tg_cast(at, TG_I32) : at;
}

/* The shape of x with one axis replaced. */
static gr_shape replaced(const gr_shape *x, int axis, const gr_shape *by)
{
    gr_shape shape = {0};
    for (int i = 0; i < axis; i++)
        shape.dims[shape.rank++] = x->dims[i];
    for (int i = 0; i < by->rank; i++)
        shape.dims[shape.rank++] = by->dims[i];
    for (int i = axis + 1; i < x->rank; i++)
        shape.dims[shape.rank++] = x->dims[i];
    return shape;
}

static gr_shape some_index_shape(gr_frame *f, int rank, int64_t most)
{
    gr_shape shape = {.rank = gr_below(f, rank < 3 ? 3 : 2)};
    for (int i = 0; i < shape.rank; i++)
        shape.dims[i] = 1 + gr_below(f, (int)(most < 3 ? most : 3));
    if (gr_count(&shape) > most)
        shape.dims[1] = 1;
    return shape;
}

/* Gathers at the argmax along one axis, which is in range. */
static void gather_largest(gr_frame *f, const gr_value *x, int axis)
{
    gr_value narrow = gr_between(f, *x, -0.5, 0.5);
    const tg_value apart = tg_add(narrow.value, gr_steps(f, x, 1.5));
    const tg_value at =
        gr_one_in(f, 2) ? tg_argmax(apart, axis) : tg_argmin(apart, axis);
    const gr_shape none = {0};
    const gr_shape at_shape = replaced(&x->shape, axis, &none);
    const gr_shape shape = replaced(&x->shape, axis, &at_shape);
    add_like(f, "gather the largest", tg_gather(x->value, at, axis), &shape, x);
}

void gr_make_gather(gr_frame *f)
{
    const gr_value x = gr_pick_rank(f, 1);
    const int axis = gr_below(f, x.shape.rank);
    if (x.shape.rank <= 2 && gr_count(&x.shape) <= 30 && gr_one_in(f, 5)) {
        gather_largest(f, &x, axis);
        return;
    }
    const tg_gather_mode mode = (tg_gather_mode)gr_below(f, 3);
    const gr_shape at_shape =
        some_index_shape(f, x.shape.rank, x.shape.dims[axis]);
    const gr_shape shape = replaced(&x.shape, axis, &at_shape);
    const tg_value at = indices(f, &at_shape, x.shape.dims[axis],
                                mode != TG_GATHER_CHECK, false);
    gr_add(f, "gather", tg_gather_with(x.value, at, axis, mode), &shape,
           fmin(x.low, 0), fmax(x.high, 0));
}

void gr_make_scatter(gr_frame *f)
{
    const gr_value x = gr_pick_rank(f, 1);
    const int axis = gr_below(f, x.shape.rank);
    const int64_t n = x.shape.dims[axis];
    const tg_scatter_mode mode = (tg_scatter_mode)gr_below(f, 2);
    const tg_scatter_range range = (tg_scatter_range)gr_below(f, 2);
    const gr_shape at_shape = some_index_shape(f, x.shape.rank, n);
    const gr_shape updates = replaced(&x.shape, axis, &at_shape);
    const gr_value u = gr_pick_shaped(f, updates.rank, updates.dims);
    const tg_value at =
        indices(f, &at_shape, n, range == TG_SCATTER_DROP, gr_one_in(f, 2));
    const double times =
        mode == TG_SCATTER_ADD ? (double)gr_count(&at_shape) : 1;
    const double low = fmin(0, u.low) * times, high = fmax(0, u.high) * times;
    const bool adds = mode == TG_SCATTER_ADD;
    gr_add(f, adds ? "scatter add" : "scatter set",
           tg_scatter_with(x.value, at, u.value, axis, mode, range), &x.shape,
           adds ? x.low + low : fmin(x.low, low),
           adds ? x.high + high : fmax(x.high, high));
}

/* A position, occasionally out of range. */
static tg_value position(gr_frame *f, int64_t n)
{
    const tg_value at = gr_index(f, n);
    return gr_one_in(f, 4) ? tg_sub(tg_mul(at, (int64_t)3), (int64_t)1) : at;
}

void gr_make_dynamic_slice(gr_frame *f)
{
    const gr_value x = gr_pick_rank(f, 1);
    const int axis = gr_below(f, x.shape.rank);
    gr_shape shape = x.shape;
    shape.dims[axis] = 1 + gr_below(f, (int)x.shape.dims[axis]);
    const tg_value at = position(f, x.shape.dims[axis]);
    add_like(f, "dynamic_slice",
             tg_dynamic_slice(x.value, axis, at, shape.dims[axis]), &shape, &x);
}

void gr_make_dynamic_update(gr_frame *f)
{
    const gr_value x = gr_pick_rank(f, 1);
    const int axis = gr_below(f, x.shape.rank);
    gr_shape shape = x.shape;
    shape.dims[axis] = 1 + gr_below(f, (int)x.shape.dims[axis]);
    const gr_value u = gr_pick_shaped(f, shape.rank, shape.dims);
    const tg_value at = position(f, x.shape.dims[axis]);
    gr_add(f, "dynamic_update",
           tg_dynamic_update_slice(x.value, u.value, axis, at), &x.shape,
           fmin(x.low, u.low), fmax(x.high, u.high));
}

/* -- Empty values ---------------------------------------------------------- */

static void step(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    const tg_value y = tg_sin(in[1]);
    tg_return(t, tg_mul(in[0], tg_sum(y, TG_ALL_AXES)), y);
}

/* Empties the first axis, then concatenates, sums or scans it. */
void gr_make_empty(gr_frame *f)
{
    const gr_value x = gr_pick_rank(f, 1);
    const tg_value none = tg_exp(tg_slice(x.value, 0, 0, 0, 1));
    const int which = gr_below(f, 3);
    if (which == 0) {
        add_like(f, "x beside nothing", tg_concat(0, none, x.value), &x.shape,
                 &x);
    } else if (which == 1) {
        add_like(f, "x plus the sum of nothing",
                 tg_add(x.value, tg_sum(none, TG_ALL_AXES)), &x.shape, &x);
    } else {
        const gr_value y = gr_pick_scalar(f);
        const gr_shape scalar = {0};
        tg_value carried, stacked;
        tg_scan(step, NULL, TG_ARGS(y.value), TG_ARGS(none), &carried, 1,
                &stacked, 1);
        add_like(f, "a scan of nothing",
                 tg_add(carried, tg_sum(stacked, TG_ALL_AXES)), &scalar, &y);
    }
}
