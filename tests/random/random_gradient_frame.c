/* SPDX-License-Identifier: MIT */
/*
 * random_gradient_frame.c - the values of a callback being traced: picking one,
 * and converting it to the type that an operation needs.
 */
#include <assert.h>
#include <math.h>
#include <string.h>

#include "random/random_gradient.h"

int64_t gr_count(const gr_shape *shape)
{
    int64_t n = 1;
    for (int i = 0; i < shape->rank; i++)
        n *= shape->dims[i];
    return n;
}

bool gr_same_shape(const gr_shape *a, const gr_shape *b)
{
    return a->rank == b->rank &&
           memcmp(a->dims, b->dims, (size_t)a->rank * sizeof(*a->dims)) == 0;
}

static int64_t dim_from_last(const gr_shape *shape, int axis)
{
    return axis < shape->rank ? shape->dims[shape->rank - 1 - axis] : 1;
}

bool gr_broadcasts(const gr_shape *a, const gr_shape *b)
{
    for (int i = 0; i < GR_MAX_RANK; i++) {
        const int64_t x = dim_from_last(a, i), y = dim_from_last(b, i);
        if (x != y && x != 1 && y != 1)
            return false;
    }
    return true;
}

gr_shape gr_common(const gr_shape *a, const gr_shape *b)
{
    gr_shape common = {.rank = a->rank > b->rank ? a->rank : b->rank};
    for (int i = 0; i < common.rank; i++) {
        const int64_t x = dim_from_last(a, i), y = dim_from_last(b, i);
        common.dims[common.rank - 1 - i] = x > y ? x : y;
    }
    return common;
}

double gr_uniform(gr_frame *f, double low, double high)
{
    const double unit = (double)(random_next(&f->random) >> 11) * 0x1p-53;
    return low + (high - low) * unit;
}

/* -- Adding ---------------------------------------------------------------- */

static void log_value(gr_frame *f, const char *name, const gr_value *x)
{
    FILE *log = f->root->log;
    if (!log)
        return;
    fprintf(log, "%*sv%d = %s(", 2 * f->depth + 2, "", x->id, name);
    for (int i = 0; i < f->n_picked; i++)
        fprintf(log, "%sv%d", i ? ", " : "", f->picked[i]);
    fprintf(log, ")  [");
    for (int i = 0; i < x->shape.rank; i++)
        fprintf(log, "%s%lld%s", i ? "," : "", (long long)x->shape.dims[i],
                tg_value_dim(x->value, i) < 0 ? "?" : "");
    fprintf(log, "] %.3g … %.3g\n", x->low, x->high);
}

void gr_log_return(gr_frame *f, int n_like)
{
    FILE *log = f->root->log;
    if (log)
        fprintf(log, "%*sreturn", 2 * f->depth + 2, "");
    for (int i = 0; log && i < f->n_picked; i++)
        fprintf(log, " %sv%d", i < n_like ? "~" : "", f->picked[i]);
    if (log)
        fprintf(log, "\n");
    f->n_picked = 0;
}

static gr_value store(gr_frame *f, const char *name, gr_value x)
{
    gr_trace *root = f->root;
    if (gr_count(&x.shape) > GR_MAX_COUNT) {
        x.value = tg_mean(x.value, TG_ALL_AXES);
        x.shape.rank = 0;
    }
    x.id = root->next_id++;
    if (!tg_is_valid(x.value) && !root->failure[0])
        snprintf(root->failure, sizeof(root->failure), "%s", name);
    log_value(f, name, &x);
    f->n_picked = 0;
    if (f->n_values < GR_MAX_VALUES)
        f->values[f->n_values++] = x;
    return x;
}

/* The largest magnitude. */
static double bound_of(double low, double high)
{
    return fmax(fabs(low), fabs(high));
}

gr_value gr_add(gr_frame *f, const char *name, tg_value value,
                const gr_shape *shape, double low, double high)
{
    gr_value x = {value, *shape, low, high, 0, false};
    const double bound = bound_of(low, high);
    if (!(bound <= GR_LARGEST)) {
        const double factor = 2 / bound;
        const tg_value small = tg_mul(value, factor);
        const int which = gr_below(f, 4);
        x.value = which == 0   ? tg_tanh(small)
                  : which == 1 ? tg_sin(small)
                  : which == 2 ? tg_atan(small)
                               : small;
        x.low = low * factor;
        x.high = high * factor;
        if (which == 1) /* its maximum is at pi/2 */
            x.low = -1, x.high = 1;
    }
    return store(f, name, x);
}

gr_value gr_take(gr_frame *f, const char *name, tg_value value,
                 const gr_shape *shape)
{
    gr_value x = {value, *shape, -GR_LARGEST, GR_LARGEST, 0, false};
    return store(f, name, x);
}

/* -- Picking --------------------------------------------------------------- */

/* Prefers recent values; sometimes one of an outer callback. */
static gr_value *pick_from(gr_frame *f)
{
    gr_frame *of = f;
    while (of->outer && (of->n_values == 0 || gr_one_in(f, 4)))
        of = of->outer;
    const int n = of->n_values;
    const int newest = n < 6 || gr_one_in(f, 3) ? n : 6;
    return &of->values[n - 1 - gr_below(f, newest)];
}

static gr_value picked(gr_frame *f, gr_value *x)
{
    x->is_used = true;
    if (f->n_picked < (int)(sizeof(f->picked) / sizeof(*f->picked)))
        f->picked[f->n_picked++] = x->id;
    return *x;
}

gr_value gr_pick(gr_frame *f)
{
    return picked(f, pick_from(f));
}

/* The value with leading axes of extent 1. */
static gr_value prepend_axes(gr_value x, int rank)
{
    int64_t dims[GR_MAX_RANK];
    gr_shape shape = {.rank = rank};
    const int more = rank - x.shape.rank;
    for (int i = 0; i < rank; i++) {
        shape.dims[i] = i < more ? 1 : x.shape.dims[i - more];
        dims[i] = i < more ? 1 : tg_value_dim(x.value, i - more);
    }
    x.value = tg_reshape(x.value, rank, dims);
    x.shape = shape;
    return x;
}

gr_value gr_pick_rank(gr_frame *f, int rank)
{
    gr_value *x = pick_from(f);
    for (int i = 0; i < 6 && x->shape.rank < rank; i++)
        x = pick_from(f);
    const gr_value found = picked(f, x);
    return found.shape.rank < rank ? prepend_axes(found, rank) : found;
}

static bool fits_beside(const gr_value *x, const gr_shape *shape)
{
    if (!gr_broadcasts(&x->shape, shape))
        return false;
    const gr_shape common = gr_common(&x->shape, shape);
    return gr_count(&common) <= GR_MAX_COUNT;
}

gr_value gr_pick_scalar(gr_frame *f)
{
    gr_value x = gr_pick(f);
    if (x.shape.rank) {
        x.value = tg_mean(x.value, TG_ALL_AXES);
        x.shape.rank = 0;
    }
    return x;
}

gr_value gr_pick_beside(gr_frame *f, const gr_shape *shape)
{
    for (int i = 0; i < 8; i++) {
        gr_value *x = pick_from(f);
        if (fits_beside(x, shape))
            return picked(f, x);
    }
    return gr_pick_scalar(f);
}

/* Gathers elements of x in some order, as many as needed. */
static gr_value gather_elements(gr_frame *f, gr_value x, int rank,
                                const int64_t *dims)
{
    int64_t indices[GR_MAX_COUNT];
    gr_shape shape = {.rank = rank};
    const int64_t n = gr_count(&x.shape);
    if (rank)
        memcpy(shape.dims, dims, (size_t)rank * sizeof(*dims));
    const int64_t count = gr_count(&shape), stride = 1 + 2 * gr_below(f, 3);
    assert(count <= GR_MAX_COUNT);
    for (int64_t i = 0; i < count; i++)
        indices[i] = i * stride % n;
    const tg_value flat = tg_reshape(x.value, TG_DIMS(-1));
    const tg_value at = tg_constant(TG_I64, rank, dims, indices);
    x.value = tg_gather(flat, at, 0);
    x.shape = shape;
    return x;
}

gr_value gr_pick_shaped(gr_frame *f, int rank, const int64_t *dims)
{
    gr_shape shape = {.rank = rank};
    if (rank)
        memcpy(shape.dims, dims, (size_t)rank * sizeof(*dims));
    gr_value *x = NULL;
    for (int i = 0; i < 8; i++) {
        x = pick_from(f);
        if (gr_same_shape(&x->shape, &shape))
            return picked(f, x);
    }
    gr_value found = picked(f, x);
    if (gr_count(&x->shape) == gr_count(&shape) && gr_one_in(f, 2)) {
        found.value = tg_reshape(found.value, rank, dims);
        found.shape = shape;
        return found;
    }
    return gather_elements(f, found, rank, dims);
}

/* -- Conversion ------------------------------------------------------------ */

gr_value gr_between(gr_frame *f, gr_value x, double low, double high)
{
    if (x.low >= low && x.high <= high)
        return x;
    const double width = x.high - x.low;
    if (width <= high - low && gr_one_in(f, 2)) {
        const double shift = gr_uniform(f, low - x.low, high - x.high);
        x.value = tg_add(x.value, shift);
        x.low += shift;
        x.high += shift;
        return x;
    }
    /* First to a part of 0 … 1, then to the requested interval. */
    const int which = gr_below(f, 3);
    const double middle = (x.low + x.high) / 2;
    const double unit = width > 0 ? 1 / width : 1;
    x.value = which == 0   ? tg_sigmoid(x.value)
              : which == 1 ? tg_add(tg_mul(tg_sin(x.value), 0.5), 0.5)
                           : tg_add(tg_mul(tg_sub(x.value, middle), unit), 0.5);
    x.value = tg_add(tg_mul(x.value, high - low), low);
    x.low = low;
    x.high = high;
    return x;
}

static bool same_type(tg_value a, tg_value b)
{
    const int rank = tg_value_rank(a);
    bool same = rank == tg_value_rank(b);
    for (int i = 0; same && i < rank; i++)
        same = tg_value_dim(a, i) == tg_value_dim(b, i);
    return same;
}

tg_value gr_fitted(gr_frame *f, gr_value x, const gr_value *like)
{
    if (same_type(x.value, like->value))
        return x.value;
    const int rank = like->shape.rank;
    int64_t dims[GR_MAX_RANK];
    for (int i = 0; i < rank; i++)
        dims[i] = tg_value_dim(like->value, i);
    if (gr_same_shape(&x.shape, &like->shape))
        return gr_one_in(f, 2) ? tg_broadcast(x.value, rank, dims)
                               : tg_reshape(x.value, rank, dims);
    const tg_value mean = tg_mean(x.value, TG_ALL_AXES);
    if (gr_one_in(f, 3))
        return tg_broadcast(mean, rank, dims);
    /* Both are at most GR_LARGEST, and so is their mean. */
    return tg_add(tg_mul(like->value, 0.5), tg_mul(mean, 0.5));
}

/* A number in 0 … 1 that depends on arguments. An index computed from it rarely
   changes under finite differences. */
static tg_value random_unit(gr_frame *f)
{
    const gr_value x = gr_pick_scalar(f);
    return tg_sigmoid(tg_mul(x.value, gr_uniform(f, -2, 2)));
}

bool gr_sees_arguments(const gr_frame *f)
{
    while (f->outer)
        f = f->outer;
    return f->depth == 0;
}

tg_value gr_iterations(gr_frame *f)
{
    if (gr_sees_arguments(f) && !gr_one_in(f, 3))
        return f->root->in[f->root->program->n_inputs];
    return tg_cast(tg_mul(random_unit(f), 4.999), TG_I64);
}

tg_value gr_index(gr_frame *f, int64_t n)
{
    return gr_one_in(f, 3) ? tg_scalar(TG_I64, (int64_t)gr_below(f, (int)n))
                           : tg_rem(gr_iterations(f), n);
}

tg_value gr_predicate(gr_frame *f)
{
    if (gr_one_in(f, 3))
        return tg_gt(gr_index(f, 4), (int64_t)gr_below(f, 4));
    return tg_gt(random_unit(f), gr_uniform(f, 0.2, 0.8));
}
