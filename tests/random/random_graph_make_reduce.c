/* SPDX-License-Identifier: MIT */
/*
 * random_graph_make_reduce.c - reductions and operations built on them,
 * matmuls, random numbers.
 */
#include "random/random_graph.h"
#include "tgjit/ops_reduce.h"

/* -- Axes ------------------------------------------------------------------ */

/*
 * A set of axes, some counted from the end, and the remaining type. Empty axes
 * are excluded if the reduction is undefined for them.
 */
static tg_axes take_axes(rg_maker *m, const rg_type *in, bool has_identity,
                         rg_type *out_type)
{
    unsigned choice = rg_take(&m->bytes);
    bool keep = choice & 1, from_end = choice & 2, all = choice % 64 < 8;
    int axes[TG_MAX_RANK], n = 0;
    rg_type type = *in;
    type.is_weak = false;
    type.rank = 0;
    for (int i = 0; i < in->rank; i++) {
        bool is_reduced = all || (choice >> (2 + i % 6) & 1);
        if (!has_identity && in->dims[i] == 0)
            is_reduced = all = false;
        if (is_reduced)
            axes[n++] = from_end ? i - in->rank : i;
        if (!is_reduced || keep)
            type.dims[type.rank++] = is_reduced ? 1 : in->dims[i];
    }
    *out_type = type;
    tg_axes result = all ? TG_ALL_AXES : tg_axes_of((size_t)n, axes);
    return keep ? tg_keep(result) : result;
}

/* -- Reductions ------------------------------------------------------------ */

typedef tg_value reduction(tg_operand x, tg_axes axes, tg_site site);
typedef tg_value arg_reduction(tg_operand x, int axis, tg_site site);

static void reduce_it(rg_maker *m, rg_operand x, tgi_op op, bool has_identity,
                      reduction *function)
{
    x = rg_fit_classes(m, x, tgi_op_table[op].types);
    rg_type type;
    tg_axes axes = take_axes(m, &x.type, has_identity, &type);
    rg_keep(m, type, RG_DO(m, function(x.operand, axes, TG_HERE)));
}

static void reduce(rg_maker *m, tgi_op op, bool has_identity,
                   reduction *function)
{
    reduce_it(m, rg_pick(m), op, has_identity, function);
}

static void arg_reduce(rg_maker *m, arg_reduction *function)
{
    rg_operand x = rg_pick_ranked(m);
    x = rg_fit_classes(m, x, TGI_CLASS_ANY);
    int axis = rg_below(&m->bytes, x.type.rank);
    if (x.type.dims[axis] == 0)
        return;
    rg_type type = x.type;
    type.dtype = TG_I64;
    type.rank--;
    for (int i = axis; i < type.rank; i++)
        type.dims[i] = type.dims[i + 1];
    rg_keep(m, type, RG_DO(m, function(x.operand, axis, TG_HERE)));
}

void rg_make_sum(rg_maker *m, tgi_op op)
{
    reduce(m, op, true, tg_sum_at);
}

/*
 * Differences of all elements with each of a row of numbers, along a new last
 * axis, if they are neither few nor many: a reduction over several axes is then
 * done row by row if its order does not matter.
 */
static rg_operand make_differences(rg_maker *m, rg_operand x)
{
    enum { LEAST = 8, MOST = 48, ROW = 260 };
    x = rg_fit_classes(m, x, TGI_CLASS_NUM);
    const int64_t n = rg_count(&x.type);
    if (n < LEAST || n > MOST || x.type.rank == TG_MAX_RANK)
        return x;
    rg_type type = x.type;
    type.is_weak = false;
    type.dims[type.rank++] = ROW;
    return rg_value(
        type, RG_DO(m, tg_sub(tg_expand_dims(x.operand, -1),
                              tg_cast(tg_iota(TG_I32, TG_DIMS(ROW), 0),
                                      (tg_dtype)type.dtype))));
}

void rg_make_prod(rg_maker *m, tgi_op op)
{
    reduce_it(m, make_differences(m, rg_pick(m)), op, true, tg_prod_at);
}

/* Of floats without elements: logsumexp, whose maximum may be one of nothing. */
void rg_make_reduce_max(rg_maker *m, tgi_op op)
{
    const rg_operand x = rg_pick(m);
    bool is_empty = false;
    for (int i = 0; i < x.type.rank; i++)
        is_empty |= x.type.dims[i] == 0;
    if (is_empty && tgi_dtype_is((int)x.type.dtype, TGI_CLASS_FLOAT))
        reduce_it(m, x, TGI_OP_EXP, true, tg_logsumexp_at);
    else
        reduce_it(m, x, op, false, tg_reduce_max_at);
}

void rg_make_reduce_min(rg_maker *m, tgi_op op)
{
    reduce_it(m, make_differences(m, rg_pick(m)), op, false, tg_reduce_min_at);
}

void rg_make_argmax(rg_maker *m, tgi_op op)
{
    (void)op;
    arg_reduce(m, tg_argmax_at);
}

void rg_make_argmin(rg_maker *m, tgi_op op)
{
    (void)op;
    arg_reduce(m, tg_argmin_at);
}

/* A reduction of a view or of moved elements, or both. */
void rg_make_reduced_view(rg_maker *m, tgi_op op)
{
    static rg_instruction *const views[] = {
        rg_make_transpose, rg_make_reverse, rg_make_slice,  rg_make_broadcast,
        rg_make_reshape,   rg_make_pad,     rg_make_concat, rg_make_gather,
        rg_make_transpose, rg_make_flat};
    static const struct {
        tgi_op op;
        bool has_identity;
        reduction *function;
    } reductions[] = {{TGI_OP_SUM, true, tg_sum_at},
                      {TGI_OP_PROD, true, tg_prod_at},
                      {TGI_OP_REDUCE_MAX, false, tg_reduce_max_at},
                      {TGI_OP_SUM, true, tg_sum_at}};
    unsigned choice = rg_take(&m->bytes);
    for (unsigned n = 1 + choice / 4 % 2; n > 0; n--)
        views[rg_below(&m->bytes, 10)](m, op);
    rg_operand x = m->n_values ? m->values[m->n_values - 1] : rg_pick_value(m);
    reduce_it(m, x, reductions[choice % 4].op,
              reductions[choice % 4].has_identity,
              reductions[choice % 4].function);
}

/* -- Built on reductions --------------------------------------------------- */

void rg_make_mean(rg_maker *m, tgi_op op)
{
    (void)op;
    rg_operand x = rg_fit_classes(m, rg_pick(m), TGI_CLASS_FLOAT);
    rg_type type;
    tg_axes axes = take_axes(m, &x.type, true, &type);
    rg_keep(m, type, RG_DO(m, tg_mean(x.operand, axes)));
}

void rg_make_quantifier(rg_maker *m, tgi_op op)
{
    (void)op;
    rg_operand x = rg_fit_classes(m, rg_pick(m), TGI_CLASS_BOOL);
    rg_type type;
    tg_axes axes = take_axes(m, &x.type, true, &type);
    bool is_all = rg_below(&m->bytes, 2);
    rg_keep(
        m, type,
        RG_DO(m, is_all ? tg_all(x.operand, axes) : tg_any(x.operand, axes)));
}

void rg_make_softmax(rg_maker *m, tgi_op op)
{
    (void)op;
    rg_operand x = rg_fit_classes(m, rg_pick_ranked(m), TGI_CLASS_FLOAT);
    int axis = rg_below(&m->bytes, x.type.rank);
    bool is_log = rg_below(&m->bytes, 2);
    if (x.type.dims[axis] == 0)
        return;
    rg_keep(m, x.type,
            RG_DO(m, is_log ? tg_log_softmax(x.operand, axis)
                            : tg_softmax(x.operand, axis)));
}

void rg_make_layer_norm(rg_maker *m, tgi_op op)
{
    (void)op;
    rg_operand x = rg_fit_classes(m, rg_pick_ranked(m), TGI_CLASS_FLOAT);
    rg_operand scale = rg_match(m, &x.type, (tg_dtype)x.type.dtype);
    rg_type type = x.type;
    rg_broadcast(m, &type, &scale.type, &type);
    rg_operand shift = rg_match(m, &type, (tg_dtype)x.type.dtype);
    rg_broadcast(m, &type, &shift.type, &type);
    rg_keep(
        m, type,
        RG_DO(m, tg_layer_norm(x.operand, scale.operand, shift.operand, 1e-5)));
}

static tg_value softened(tg_value x, tg_axes axes, bool is_log)
{
    tg_value shifted = tg_sub(x, tg_reduce_max(x, axes));
    tg_value powers = tg_exp(shifted);
    tg_value sum = tg_sum(powers, axes);
    return is_log ? tg_sub(shifted, tg_log(sum)) : tg_div(powers, sum);
}

static tg_value standardised(tg_value x, tg_axes axes, bool is_root)
{
    tg_value centred = tg_sub(x, tg_mean(x, axes));
    tg_value spread = tg_add(tg_mean(tg_square(centred), axes), 1e-5);
    return is_root ? tg_mul(centred, tg_rsqrt(spread))
                   : tg_div(centred, tg_sqrt(spread));
}

/* Softmax and layer norm over any axes. */
void rg_make_normalised(rg_maker *m, tgi_op op)
{
    (void)op;
    rg_operand x = rg_fit_classes(m, rg_pick_ranked(m), TGI_CLASS_FLOAT);
    rg_type type;
    tg_axes axes = tg_keep(take_axes(m, &x.type, false, &type));
    unsigned choice = rg_take(&m->bytes);
    type = x.type;
    type.is_weak = false;
    rg_keep(m, type,
            RG_DO(m, choice & 1
                         ? softened(x.operand.as.value, axes, choice & 2)
                         : standardised(x.operand.as.value, axes, choice & 2)));
}

/* -- Products -------------------------------------------------------------- */

/* The type of a matmul; false if the operands do not fit. */
static bool product_type(const rg_maker *m, const rg_type *a, const rg_type *b,
                         int flags, rg_type *out_type)
{
    if (a->rank == 0 || b->rank == 0 || a->rank > 6 || b->rank > 6)
        return false;
    bool a_flipped = a->rank > 1 && flags & TG_TRANSPOSE_A;
    bool b_flipped = b->rank > 1 && flags & TG_TRANSPOSE_B;
    int64_t k = a->dims[a->rank - 1 - a_flipped];
    int64_t k2 = b->dims[b->rank > 1 ? b->rank - 2 + b_flipped : 0];
    if (k != k2)
        return false;
    rg_type a_batch = *a, b_batch = *b, type;
    a_batch.rank = (int8_t)(a->rank > 1 ? a->rank - 2 : 0);
    b_batch.rank = (int8_t)(b->rank > 1 ? b->rank - 2 : 0);
    if (!rg_broadcast(m, &a_batch, &b_batch, &type))
        return false;
    if (a->rank > 1)
        type.dims[type.rank++] = a->dims[a->rank - 2 + a_flipped];
    if (b->rank > 1)
        type.dims[type.rank++] = b->dims[b->rank - 1 - b_flipped];
    type.dtype = a->dtype;
    type.is_weak = false;
    *out_type = type;
    return rg_is_small(m, &type);
}

/* x summed over all axes but one: a vector that fits x. */
static rg_operand sum_to_axis(rg_maker *m, const rg_operand *x, int axis)
{
    int axes[TG_MAX_RANK], n = 0;
    for (int i = 0; i < x->type.rank; i++)
        if (i != axis)
            axes[n++] = i;
    rg_type type = {
        .dtype = x->type.dtype, .rank = 1, .dims = {x->type.dims[axis]}};
    return rg_value(type,
                    RG_DO(m, tg_sum(x->operand, tg_axes_of((size_t)n, axes))));
}

void rg_make_matmul(rg_maker *m, tgi_op op)
{
    rg_operand a = rg_fit_classes(m, rg_pick_ranked(m), tgi_op_table[op].types);
    unsigned choice = rg_take(&m->bytes);
    int flags = (int)(choice % 4);
    rg_operand b = a;
    rg_type type;
    bool fits = false;
    for (int i = 0; i < m->n_values && !fits; i++) {
        b = m->values[(choice / 4 + (unsigned)i) % (unsigned)m->n_values];
        fits = product_type(m, &a.type, &b.type, flags, &type);
    }
    if (fits && choice / 4 % 4) {
        b = rg_fit_dtype(m, b, (tg_dtype)a.type.dtype);
    } else if (choice / 16 % 4 == 0 && a.type.rank > 1) {
        /* vector-matrix or matrix-vector */
        b = a;
        a = sum_to_axis(m, &b, b.type.rank - 2);
        flags &= TG_TRANSPOSE_A; /* irrelevant for a vector */
    } else if (choice / 16 % 4 == 1 && a.type.rank > 1) {
        b = sum_to_axis(m, &a, a.type.rank - 1);
        flags &= TG_TRANSPOSE_B;
    } else { /* times its transpose */
        b = a;
        flags = choice / 16 % 2 ? TG_TRANSPOSE_A : TG_TRANSPOSE_B;
    }
    if (!product_type(m, &a.type, &b.type, flags, &type))
        return;
    if (type.dtype == TG_I32 && choice / 64 % 2)
        flags |= TG_MATMUL_BYTES;
    rg_keep(m, type, RG_DO(m, tg_matmul_with(a.operand, b.operand, flags)));
}

/* -- Random numbers -------------------------------------------------------- */

/* Extents of a value, or random ones. */
static rg_type random_shape(rg_maker *m, tg_dtype dtype, int64_t *out_dims)
{
    rg_operand like = rg_pick_value(m);
    bool is_like = rg_below(&m->bytes, 2);
    rg_type type = is_like ? like.type : rg_take_shape(m, dtype, 0);
    type.dtype = (uint8_t)dtype;
    type.is_weak = false;
    for (int i = 0; i < type.rank; i++)
        out_dims[i] = is_like ? rg_dim(m, &like, i) : type.dims[i];
    return type;
}

void rg_make_random_bits(rg_maker *m, tgi_op op)
{
    (void)op;
    tg_dtype dtype = rg_below(&m->bytes, 2) ? TG_U32 : TG_U64;
    int64_t dims[TG_MAX_RANK];
    rg_type type = random_shape(m, dtype, dims);
    rg_operand key = rg_scalar(m, TG_U64), offset = rg_scalar(m, TG_U64);
    rg_keep(m, type,
            RG_DO(m, tg_random_bits(dtype, key.operand, offset.operand,
                                    type.rank, dims)));
}

void rg_make_random_numbers(rg_maker *m, tgi_op op)
{
    (void)op;
    unsigned choice = rg_take(&m->bytes);
    static const tg_dtype dtypes[] = {TG_F32, TG_F64, TG_F16, TG_BF16};
    const tg_dtype dtype = dtypes[choice / 64];
    bool is_normal = choice & 2;
    int64_t dims[TG_MAX_RANK];
    rg_type type = random_shape(m, dtype, dims);
    rg_operand source = rg_scalar(m, TG_U64);
    for (int i = 0; i < m->n_variables && choice & 12; i++) {
        const rg_type *state = &m->variables[i].type;
        if (state->dtype == TG_U64 && state->rank == 1 && state->dims[0] == 2)
            source = m->variables[i];
    }
    rg_keep(m, type,
            RG_DO(m, is_normal ? tg_random_normal(source.operand, dtype,
                                                  type.rank, dims)
                               : tg_random_uniform(source.operand, dtype,
                                                   type.rank, dims)));
}
