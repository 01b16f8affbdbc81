/* SPDX-License-Identifier: MIT */
/*
 * matmul_trace.c - the callback of a form. It never inspects extents, so that a
 * trace with unknown ones records the same operations.
 */
#include "random/matmul.h"

/* A trace in progress. */
typedef struct tracing {
    const product_form *form;
    tg_value arg[PRODUCT_ROLES]; /* by role, if the form has it */
} tracing;

static int choice(const tracing *t, product_field field)
{
    return t->form->field[field];
}

static bool is_float(const tracing *t)
{
    return tgi_dtype_is(product_dtype(t->form), TGI_CLASS_FLOAT);
}

/* The last two axes exchanged. */
static tg_value transposed(tg_value x)
{
    const int rank = tg_value_rank(x);
    int order[TG_MAX_RANK];
    if (rank < 2)
        return x;
    for (int i = 0; i < rank; i++)
        order[i] = i < rank - 2 ? i : 2 * rank - 3 - i;
    return tg_transpose(x, rank, order);
}

/* A slice of the last two axes. */
static tg_value part(tg_value x, int64_t start, int64_t stop, int64_t step)
{
    return tg_slice(tg_slice(x, -2, start, stop, step), -1, start, stop, step);
}

/* -- Operands -------------------------------------------------------------- */

/* Broadcasts an axis of extent 1. */
static tg_value spread(tg_value x, int axis, int64_t extent)
{
    int64_t dims[TG_MAX_RANK];
    const int rank = tg_value_rank(x);
    for (int i = 0; i < rank; i++)
        dims[i] = i == rank + axis ? extent : tg_value_dim(x, i);
    return tg_broadcast(x, rank, dims);
}

/* Gathers all rows in reverse. */
static tg_value gathered(tg_value x)
{
    const int64_t rows[] = {tg_value_dim(x, -2)};
    tg_value numbers = tg_iota(TG_I64, 1, rows, 0);
    numbers = tg_sub(tg_sub(tg_extent(x, -2), 1), numbers);
    return tg_gather_with(x, numbers, -2, TG_GATHER_CLAMP);
}

/* Operand 0 (a) or 1 (b) of the matmul. */
static tg_value make_side(const tracing *t, int side)
{
    const int operand = choice(t, PRODUCT_FIELD_A + side);
    const bool is_flipped = choice(t, PRODUCT_FIELD_FLIP) >> side & 1;
    const tg_value x = t->arg[side ? PRODUCT_ARG_B : PRODUCT_ARG_A];
    const tg_value like = t->arg[PRODUCT_ARG_LIKE];
    /* Axes of a: m, k; of b: k, n. */
    const int inner = (side == 1) ^ is_flipped ? -2 : -1;
    switch (operand) {
    case PRODUCT_TRANSPOSED:
        return transposed(x);
    case PRODUCT_INSIDE:
        return part(x, 1, -1, 1);
    case PRODUCT_STEPS:
        return part(x, 0, TG_END, 2);
    case PRODUCT_BACK:
        return part(x, -1, TG_END, -1);
    case PRODUCT_SPREAD:
        return spread(x, -3 - inner, tg_value_dim(like, side ? 2 : 1));
    case PRODUCT_SPREAD_K:
        return spread(x, inner, tg_value_dim(like, 3));
    case PRODUCT_SCALED:
        return tg_mul(x, 3);
    case PRODUCT_CAST:
        return tg_cast(x, product_dtype(t->form));
    case PRODUCT_EXP:
        return is_float(t) ? tg_exp(x) : tg_abs(x);
    case PRODUCT_ADDED:
        return tg_add(x,
                      t->arg[side ? PRODUCT_ARG_MORE_B : PRODUCT_ARG_MORE_A]);
    case PRODUCT_GATHERED:
        return gathered(x);
    case PRODUCT_SAME:
        return make_side(t, 0);
    default:
        return x;
    }
}

/* -- Uses of the product --------------------------------------------------- */

/* A costly elementwise function, also for integers. */
static tg_value long_way(const tracing *t, tg_value x)
{
    if (is_float(t))
        return tg_gelu(x);
    for (int i = 0; i < 4; i++)
        x = tg_xor(tg_mul(x, 5), tg_max(x, i));
    return x;
}

static tg_value normalised(const tracing *t, tg_value x)
{
    return is_float(t) ? tg_softmax(x, -1)
                       : tg_sub(x, tg_reduce_max(x, tg_keep(TG_AXES(-1))));
}

/* The row axis of a product, if it has one. */
static int row_axis(tg_value c)
{
    return tg_value_rank(c) > 1 ? -2 : -1;
}

/* Reductions of rows: mostly a single one, so that the product need not be
   stored. */
static void end_rows(tg_trace *trace, const tracing *t, tg_value c)
{
    const tg_value sums = tg_sum(c, TG_AXES(-1));
    const tg_value products = tg_prod(tg_sub(1, c), TG_AXES(-1));
    const tg_value squares =
        tg_sum(tg_cast(tg_mul(c, c), TG_F64), TG_AXES(-1));
    switch (t->form->seed % 4) {
    case 0:
        tg_return(trace, sums, products, squares);
        break;
    case 1:
        tg_return(trace, products);
        break;
    case 2:
        tg_return(trace, squares);
        break;
    default:
        tg_return(trace, sums);
    }
}

static tg_dtype other_type(const tracing *t)
{
    switch (product_dtype(t->form)) {
    case TG_F32:
        return TG_I16;
    case TG_I32:
        return TG_F64;
    default:
        return TG_F32;
    }
}

static void end(tg_trace *trace, const tracing *t, tg_value a, tg_value b,
                tg_value c)
{
    const tg_value last = t->arg[PRODUCT_ARG_LAST];
    const int flags = choice(t, PRODUCT_FIELD_FLIP);
    switch (choice(t, PRODUCT_FIELD_END)) {
    case PRODUCT_END_BIAS_RELU:
        tg_return(trace, tg_max(tg_add(c, last), 0));
        break;
    case PRODUCT_END_SCALE:
        tg_return(trace, tg_mul(c, 3));
        break;
    case PRODUCT_END_ROW_SCALE:
        tg_return(trace, tg_mul(c, last));
        break;
    case PRODUCT_END_RESIDUAL:
        tg_return(trace, tg_add(last, c));
        break;
    case PRODUCT_END_IN_PLACE:
        tg_assign(last, tg_add(last, c));
        break;
    case PRODUCT_END_OVER_A:
        tg_assign(t->arg[PRODUCT_ARG_A], c);
        break;
    case PRODUCT_END_GELU:
        tg_return(trace, long_way(t, c));
        break;
    case PRODUCT_END_OTHER_TYPE:
        tg_return(trace, tg_cast(c, other_type(t)));
        break;
    case PRODUCT_END_ROW_SUM:
        end_rows(trace, t, c);
        break;
    case PRODUCT_END_COLUMN_SUM:
        tg_return(trace, c, tg_sum(c, TG_AXES(row_axis(c))),
                  tg_prod(tg_sub(1, c), TG_AXES(row_axis(c))));
        break;
    case PRODUCT_END_SOFTMAX:
        tg_return(trace, normalised(t, c),
                  tg_reduce_min(c, TG_AXES(row_axis(c))),
                  tg_reduce_max(tg_mul(c, 3), TG_AXES(row_axis(c))),
                  tg_reduce_min(c, TG_AXES(-1)));
        break;
    case PRODUCT_END_SEVERAL:
        tg_return(trace, c, tg_max(c, 0), tg_add(transposed(c), 1),
                  tg_cast(c, TG_I32));
        break;
    case PRODUCT_END_ACROSS:
        tg_return(trace, transposed(c));
        break;
    case PRODUCT_END_HALF:
        tg_return(trace, tg_slice(c, -1, 0, TG_END, 2));
        break;
    case PRODUCT_END_PRODUCT:
        tg_return(trace, tg_matmul(c, last));
        break;
    case PRODUCT_END_TWICE:
        tg_return(trace, tg_add(c, tg_matmul_with(a, tg_mul(b, 3), flags)));
        break;
    default:
        tg_return(trace, c);
    }
}

void product_callback(tg_trace *trace, const tg_value *in, void *user)
{
    tracing t = {.form = user};
    const product_sizes any = {{0}};
    product_arg args[PRODUCT_ROLES];
    const int n = product_args(t.form, &any, args);
    for (int i = 0; i < n; i++)
        t.arg[args[i].role] = in[i];
    tg_value a = make_side(&t, 0), b = make_side(&t, 1);
    end(trace, &t, a, b, tg_matmul_with(a, b, choice(&t, PRODUCT_FIELD_FLIP)));
}
