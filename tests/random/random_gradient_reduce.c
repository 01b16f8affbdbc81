/* SPDX-License-Identifier: MIT */
/*
 * random_gradient_reduce.c - reductions, matmuls and neural-network operations
 * of random programs.
 */
#include <math.h>
#include <string.h>

#include "random/random_gradient.h"

/* -- Reductions ------------------------------------------------------------ */

typedef struct reduced {
    tg_axes axes;
    gr_shape shape;
    int64_t n; /* elements per result */
} reduced;

static reduced some_axes(gr_frame *f, const gr_shape *x)
{
    reduced r = {.axes = TG_ALL_AXES, .n = gr_count(x)};
    if (x->rank == 0 || gr_one_in(f, 4))
        return r;
    int axes[GR_MAX_RANK], n_axes = 0;
    const bool keep = gr_one_in(f, 2);
    const int always = gr_below(f, x->rank);
    r.n = 1;
    for (int i = 0; i < x->rank; i++) {
        const bool goes = i == always || gr_one_in(f, 3);
        if (goes) {
            axes[n_axes++] = gr_one_in(f, 2) ? i : i - x->rank;
            r.n *= x->dims[i];
        }
        if (!goes || keep)
            r.shape.dims[r.shape.rank++] = goes ? 1 : x->dims[i];
    }
    r.axes = tg_axes_of((size_t)n_axes, axes);
    if (keep)
        r.axes = tg_keep(r.axes);
    return r;
}

void gr_make_sum(gr_frame *f)
{
    const gr_value x = gr_pick_rank(f, 1);
    const reduced r = some_axes(f, &x.shape);
    if (gr_one_in(f, 2))
        gr_add(f, "mean", tg_mean(x.value, r.axes), &r.shape, x.low, x.high);
    else
        gr_add(f, "sum", tg_sum(x.value, r.axes), &r.shape, x.low * (double)r.n,
               x.high * (double)r.n);
}

void gr_make_prod(gr_frame *f)
{
    gr_value x = gr_pick_rank(f, 1);
    const reduced r = some_axes(f, &x.shape);
    if (r.n > 16) {
        gr_make_sum(f);
        return;
    }
    x = gr_between(f, x, -1.2, 1.2);
    if (gr_one_in(f, 3)) { /* some elements are and stay zero */
        const tg_value stays = tg_gt(gr_signs(f, &x, 1), 0.0);
        x.value = tg_mul(x.value, tg_cast(stays, f->root->dtype));
    }
    const double bound = pow(1.2, (double)r.n);
    gr_add(f, "prod", tg_prod(x.value, r.axes), &r.shape, -bound, bound);
}

/* Elements are kept apart, so that the largest one does not change. */
void gr_make_largest(gr_frame *f)
{
    const gr_value x = gr_between(f, gr_pick_rank(f, 1), -0.5, 0.5);
    const reduced r = some_axes(f, &x.shape);
    const tg_value steps = gr_steps(f, &x, 1.5);
    const tg_value apart = tg_add(x.value, steps);
    if (gr_one_in(f, 2))
        gr_add(
            f, "reduce_max",
            tg_sub(tg_reduce_max(apart, r.axes), tg_reduce_max(steps, r.axes)),
            &r.shape, -0.5, 0.5);
    else
        gr_add(
            f, "reduce_min",
            tg_sub(tg_reduce_min(apart, r.axes), tg_reduce_min(steps, r.axes)),
            &r.shape, -0.5, 0.5);
}

/* -- Products -------------------------------------------------------------- */

static double bound_of(const gr_value *x)
{
    return fmax(fabs(x->low), fabs(x->high));
}

/* [batch] m k, the last two in either order. */
static gr_shape matrix(const int64_t *batch, int n_batch, int64_t rows,
                       int64_t columns, bool transposed)
{
    gr_shape shape = {.rank = n_batch + 2};
    for (int i = 0; i < n_batch; i++)
        shape.dims[i] = batch[i];
    shape.dims[n_batch] = transposed ? columns : rows;
    shape.dims[n_batch + 1] = transposed ? rows : columns;
    return shape;
}

/* A vector as one operand or both. */
static void make_vector_product(gr_frame *f, const gr_value *a)
{
    const int64_t k = a->shape.dims[a->shape.rank - 1];
    const gr_value v = gr_pick_shaped(f, 1, &k);
    gr_shape shape = a->shape;
    shape.rank--;
    const double bound = bound_of(a) * bound_of(&v) * (double)k;
    if (gr_one_in(f, 2)) {
        gr_add(f, "matrix by vector", tg_matmul(a->value, v.value), &shape,
               -bound, bound);
        return;
    }
    const bool is_matrix = a->shape.rank > 1;
    gr_add(f, "vector by matrix",
           tg_matmul_with(v.value, a->value,
                          is_matrix ? TG_TRANSPOSE_B : TG_MATMUL_PLAIN),
           &shape, -bound, bound);
}

void gr_make_matmul(gr_frame *f)
{
    gr_value a = gr_pick_rank(f, gr_one_in(f, 4) ? 1 : 2);
    if (a.shape.rank < 2 || gr_one_in(f, 4)) {
        make_vector_product(f, &a);
        return;
    }
    const int flags = gr_below(f, 4);
    const int n_batch = a.shape.rank - 2;
    const bool transposed = flags & TG_TRANSPOSE_A;
    const int64_t m = a.shape.dims[n_batch + transposed];
    const int64_t k = a.shape.dims[n_batch + !transposed];
    const int64_t n = gr_one_in(f, 12) ? 9 : 1 + gr_below(f, 5);
    int64_t batch[GR_MAX_RANK] = {1 + gr_below(f, 3)};
    int n_batch_b = gr_below(f, 2);
    int64_t broadcast[GR_MAX_RANK];
    for (int i = 0; i < n_batch; i++) {
        broadcast[i] = a.shape.dims[i];
        batch[i] = gr_one_in(f, 3) ? 1 : a.shape.dims[i];
        n_batch_b = gr_one_in(f, 2) ? n_batch : 0;
    }
    if (n_batch == 0 && n_batch_b)
        broadcast[0] = batch[0];
    const int n_common = n_batch > n_batch_b ? n_batch : n_batch_b;
    const gr_shape shape = matrix(broadcast, n_common, m, n, false);
    const gr_shape own = matrix(batch, n_batch_b, k, n, flags & TG_TRANSPOSE_B);
    if (gr_count(&shape) > GR_MAX_COUNT || gr_count(&own) > GR_MAX_COUNT) {
        gr_make_sum(f);
        return;
    }
    const gr_value b = gr_pick_shaped(f, own.rank, own.dims);
    const double bound = bound_of(&a) * bound_of(&b) * (double)k;
    gr_add(f, "matmul", tg_matmul_with(a.value, b.value, flags), &shape, -bound,
           bound);
}

/* The shape of labels a … e with these extents. */
static gr_shape labelled(const char *labels, size_t n, const int64_t *extents)
{
    gr_shape shape = {.rank = (int)n};
    for (size_t i = 0; i < n; i++)
        shape.dims[i] = extents[labels[i] - 'a'];
    return shape;
}

void gr_make_einsum(gr_frame *f)
{
    static const char *const all[] = {
        "ab,bc->ac",    "ab,cb->ca",  "abc,acd->abd", "ab,ab->a",  "ab,ab->",
        "a,b->ab",      "aa->a",      "aab->b",       "ab->ba",    "abc->b",
        "ab,bc,cd->ad", "abc,cb->ab", "ab,a->b",      "aba,bc->c", "a,a,a->a",
    };
    const char *text = all[gr_below(f, (int)(sizeof(all) / sizeof(*all)))];
    tg_operand operands[3];
    int64_t extents[5];
    double bound = 1;
    size_t n = 0;
    for (int i = 0; i < 5; i++) {
        extents[i] = 1 + gr_below(f, 3);
        bound *= (double)extents[i]; /* an upper bound on the terms of a sum */
    }
    const char *at = text;
    for (; *at != '-' && n < 3; at += *at == ',') {
        const size_t length = strcspn(at, ",-");
        const gr_shape own = labelled(at, length, extents);
        const gr_value x = gr_pick_shaped(f, own.rank, own.dims);
        operands[n++] = TG_IN(x.value);
        bound *= bound_of(&x);
        at += length;
    }
    const gr_shape shape = labelled(at + 2, strlen(at + 2), extents);
    gr_add(f, text, tg_einsum_at(text, operands, n, TG_HERE), &shape, -bound,
           bound);
}

/* -- Networks -------------------------------------------------------------- */

static void make_softmax(gr_frame *f, const gr_value *x)
{
    const int axis = gr_below(f, x->shape.rank);
    if (gr_one_in(f, 2))
        gr_add(f, "softmax", tg_softmax(x->value, axis), &x->shape, 0, 1);
    else
        gr_add(f, "log_softmax", tg_log_softmax(x->value, axis), &x->shape,
               -2 * GR_LARGEST - log((double)x->shape.dims[axis]), 0);
}

static void make_layer_norm(gr_frame *f, const gr_value *x)
{
    const int64_t n = x->shape.dims[x->shape.rank - 1];
    const gr_value scale = gr_pick_shaped(f, 1, &n);
    const gr_value shift = gr_pick_shaped(f, 1, &n);
    /* A variance near 0 would make it steep. */
    const tg_value spread = tg_add(tg_mul(x->value, 0.2), gr_steps(f, x, 0.3));
    const double bound = sqrt((double)n) * GR_LARGEST + GR_LARGEST;
    gr_add(f, "layer_norm",
           tg_layer_norm(spread, scale.value, shift.value, 0.1), &x->shape,
           -bound, bound);
}

static void make_cross_entropy(gr_frame *f, const gr_value *x)
{
    gr_shape shape = x->shape;
    const int64_t n = shape.dims[--shape.rank];
    const double bound = 2 * GR_LARGEST + log((double)n);
    int64_t classes[GR_MAX_COUNT];
    if (gr_one_in(f, 2)) {
        const tg_value labels = tg_softmax(gr_weights(f, x, -1, 1), -1);
        gr_add(f, "cross entropy of weights",
               tg_softmax_cross_entropy(x->value, labels), &shape, 0, bound);
        return;
    }
    for (int64_t i = 0; i < gr_count(&shape); i++)
        classes[i] = gr_below(f, (int)n + 1) - 1; /* -1: no class */
    const tg_value labels =
        tg_constant(TG_I64, shape.rank, shape.dims, classes);
    gr_add(f, "cross entropy of classes",
           tg_softmax_cross_entropy(x->value, labels), &shape, 0, bound);
}

void gr_make_network(gr_frame *f)
{
    static void (*const makes[])(gr_frame *, const gr_value *) = {
        make_softmax, make_layer_norm, make_cross_entropy};
    const gr_value x = gr_pick_rank(f, 1);
    makes[gr_below(f, 3)](f, &x);
}
