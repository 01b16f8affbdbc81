/* SPDX-License-Identifier: MIT */
/*
 * random_graph_make_rows.c - chains of matrix products and operations on rows,
 * such as attention, layers, and a product with the gradient of its weights:
 * kernels that can run by row blocks.
 */
#include "random/random_graph.h"

enum {
    MANY = 700,       /* elements, so that kernels are not straight-line code */
    SQUARE_ROWS = 40, /* rows of a product of all rows with all rows */
    SPLIT_ROWS = 1030 /* rows of a reduction that is split into blocks */
};

/* Rows that differ: x repeated along a new first axis, plus a number for each
   index of that axis. */
static rg_operand make_rows(rg_maker *m, const rg_operand *x, int64_t n)
{
    rg_type type = x->type, offsets = x->type;
    int64_t dims[TG_MAX_RANK];
    type.is_weak = offsets.is_weak = false;
    dims[0] = type.dims[0] = offsets.dims[0] = n;
    for (int i = 0; i < x->type.rank; i++) {
        dims[i + 1] = rg_dim(m, x, i);
        type.dims[i + 1] = x->type.dims[i];
        offsets.dims[i + 1] = 1;
    }
    type.rank++;
    offsets.rank++;
    const rg_operand each = rg_constant(m, offsets);
    return rg_value(
        type, RG_DO(m, tg_add(tg_broadcast(x->operand, type.rank, dims),
                              each.operand)));
}

/* An operation on each row, or each element. */
static tg_value change_rows(tg_value x, int choice)
{
    switch (choice) {
    case 0:
        return tg_softmax(x, -1);
    case 1:
        return tg_mul(tg_tanh(x), tg_sum(x, tg_keep(TG_AXES(-1))));
    case 2:
        return tg_sub(tg_sigmoid(x), tg_reduce_max(x, tg_keep(TG_AXES(-1))));
    default:
        return tg_gelu(tg_mul(x, 0.125));
    }
}

static void keep_sum(rg_maker *m, rg_type type, tg_value value)
{
    for (int i = 1; i < type.rank; i++)
        type.dims[i - 1] = type.dims[i];
    type.rank--;
    rg_keep(m, type, RG_DO(m, tg_sum(value, TG_AXES(0))));
}

/* Scores of all rows of a matrix against each other, weights, their product
   with the rows. */
static void make_attention(rg_maker *m, const rg_operand *y, int choice)
{
    const tg_value scores =
        RG_DO(m, tg_matmul_with(y->operand, y->operand, TG_TRANSPOSE_B));
    const tg_value weights = RG_DO(m, change_rows(scores, choice));
    keep_sum(m, y->type, RG_DO(m, tg_matmul(weights, y->operand)));
}

/* Two layers with the same square weights. */
static void make_layers(rg_maker *m, const rg_operand *y, int choice)
{
    const tg_value weights =
        RG_DO(m, tg_matmul_with(y->operand, y->operand, TG_TRANSPOSE_A));
    const tg_value first =
        RG_DO(m, change_rows(tg_matmul(y->operand, weights), choice));
    const tg_value second =
        RG_DO(m, change_rows(tg_matmul(first, weights), 3 - choice));
    keep_sum(m, y->type, second);
}

/* A product with a vector, means of functions of it, and a product of one of
   these with the rows: sums down the rows, of which those of the means stand
   between the two products. */
static void make_step(rg_maker *m, const rg_operand *x, int choice)
{
    const int last = x->type.rank - 1;
    int axes[TG_MAX_RANK];
    for (int i = 0; i < last; i++)
        axes[i] = i;
    rg_type type = {
        .dtype = x->type.dtype, .rank = 1, .dims = {x->type.dims[last]}};
    const rg_operand w = rg_value(
        type,
        RG_DO(m, tg_sum(x->operand, tg_axes_of((size_t)last, axes))));
    const rg_operand y = make_rows(m, &w, SPLIT_ROWS + 9 * choice);
    const tg_value z = RG_DO(m, tg_matmul(y.operand, w.operand));
    const tg_value p = RG_DO(m, tg_sub(tg_sigmoid(z), z));
    const tg_value mean =
        RG_DO(m, tg_add(tg_mean(tg_softplus(z), TG_ALL_AXES),
                        tg_mean(p, TG_ALL_AXES)));
    rg_keep(m, type, RG_DO(m, tg_add(tg_matmul(p, y.operand), mean)));
}

void rg_make_row_chain(rg_maker *m, tgi_op op)
{
    (void)op;
    const rg_operand x =
        rg_fit_classes(m, rg_pick_ranked(m), TGI_CLASS_FLOAT);
    const int form = rg_below(&m->bytes, 3), choice = rg_below(&m->bytes, 4);
    const int64_t n = rg_count(&x.type);
    if (n == 0 || n > MANY || x.type.rank > 3)
        return;
    if (form == 2) {
        make_step(m, &x, choice);
        return;
    }
    const rg_operand y = make_rows(
        m, &x, x.type.rank == 1 ? SQUARE_ROWS + choice : MANY / n + 2);
    if (form == 0)
        make_attention(m, &y, choice);
    else
        make_layers(m, &y, choice);
}
