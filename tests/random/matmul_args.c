/* SPDX-License-Identifier: MIT */
/*
 * matmul_args.c - the arguments of a form: their dtypes, and the extents of
 * their axes.
 */
#include "random/matmul.h"

/* Axes under construction. */
typedef struct axes {
    int rank;
    int8_t extent[TG_MAX_RANK];
} axes;

static void add(axes *x, int extent)
{
    x->extent[x->rank++] = (int8_t)extent;
}

/* Batch axes of operand 0 (a) or 1 (b), or of the product (2). */
static axes batch_of(const product_form *form, int side)
{
    static const int8_t none = -1;
    static const int8_t table[][3][2] = {
        [PRODUCT_SINGLE] = {{none, none}, {none, none}, {none, none}},
        [PRODUCT_BOTH] = {{PRODUCT_B1, none},
                          {PRODUCT_B1, none},
                          {PRODUCT_B1, none}},
        [PRODUCT_OF_A] = {{PRODUCT_B1, none}, {none, none}, {PRODUCT_B1, none}},
        [PRODUCT_OF_B] = {{none, none}, {PRODUCT_B1, none}, {PRODUCT_B1, none}},
        [PRODUCT_CROSS] = {{PRODUCT_B1, PRODUCT_ONE},
                           {PRODUCT_ONE, PRODUCT_B2},
                           {PRODUCT_B1, PRODUCT_B2}}};
    axes x = {0};
    for (int i = 0; i < 2; i++) {
        const int8_t extent = table[form->field[PRODUCT_FIELD_BATCH]][side][i];
        if (extent != none)
            add(&x, extent);
    }
    return x;
}

/* The extent that side 0 (a) or 1 (b) shares with the product. */
static int extent_of_side(const product_form *form, int side)
{
    return side && form->field[PRODUCT_FIELD_B] != PRODUCT_SAME ? PRODUCT_N
                                                                : PRODUCT_M;
}

static bool is_vector(const product_form *form, int side)
{
    return form->field[PRODUCT_FIELD_A + side] == PRODUCT_VECTOR;
}

/* The axes of the argument for side 0 (a) or 1 (b). */
static axes axes_of_side(const product_form *form, int side)
{
    const int operand = form->field[PRODUCT_FIELD_A + side];
    const int flip = form->field[PRODUCT_FIELD_FLIP] >> side & 1;
    int outer = extent_of_side(form, side), inner = PRODUCT_K;
    axes x = batch_of(form, side);
    if (operand == PRODUCT_VECTOR) {
        add(&x, PRODUCT_K);
        return x;
    }
    if (operand == PRODUCT_SPREAD)
        outer = PRODUCT_ONE;
    if (operand == PRODUCT_SPREAD_K)
        inner = PRODUCT_ONE;
    /* a is [m, k], b is [k, n]. */
    const bool is_inner_first =
        (side == 1) ^ flip ^ (operand == PRODUCT_TRANSPOSED);
    add(&x, is_inner_first ? inner : outer);
    add(&x, is_inner_first ? outer : inner);
    return x;
}

static axes axes_of_product(const product_form *form)
{
    axes x = batch_of(form, 2);
    for (int side = 0; side < 2; side++)
        if (!is_vector(form, side))
            add(&x, extent_of_side(form, side));
    return x;
}

/* Axes of the last argument; false if there is none. */
static bool find_last(const product_form *form, axes *out)
{
    const axes product = axes_of_product(form);
    const int last = product.rank ? product.extent[product.rank - 1] : 0;
    *out = (axes){0};
    switch (form->field[PRODUCT_FIELD_END]) {
    case PRODUCT_END_BIAS_RELU:
        add(out, last);
        return true;
    case PRODUCT_END_ROW_SCALE:
        if (product.rank > 1) {
            add(out, product.extent[product.rank - 2]);
            add(out, PRODUCT_ONE);
        } else {
            add(out, last);
        }
        return true;
    case PRODUCT_END_RESIDUAL:
    case PRODUCT_END_IN_PLACE:
        *out = product;
        return true;
    case PRODUCT_END_PRODUCT:
        add(out, last);
        add(out, PRODUCT_FEW);
        return true;
    default:
        return false;
    }
}

static tg_dtype cast_from(tg_dtype dtype)
{
    switch (dtype) {
    case TG_F64:
        return TG_F32;
    case TG_F32:
    case TG_I32:
    case TG_I16:
        return TG_I8;
    case TG_U32:
    case TG_U16:
        return TG_U8;
    case TG_U64:
        return TG_U32;
    default:
        return TG_I32;
    }
}

static int64_t value_of(const product_sizes *sizes, int extent, int operand)
{
    static const int64_t others[] = {[PRODUCT_ONE - PRODUCT_EXTENTS] = 1,
                                     [PRODUCT_FEW - PRODUCT_EXTENTS] =
                                         PRODUCT_FEW_COLUMNS,
                                     [PRODUCT_ZERO - PRODUCT_EXTENTS] = 0};
    if (extent > PRODUCT_EXTENTS)
        return others[extent - PRODUCT_EXTENTS];
    const int64_t value = sizes->extent[extent];
    const bool is_inside = extent <= PRODUCT_K;
    return is_inside && operand == PRODUCT_INSIDE  ? value + 2
           : is_inside && operand == PRODUCT_STEPS ? 2 * value
                                                   : value;
}

static void set_axes(product_arg *arg, const product_sizes *sizes,
                     const axes *x, int operand)
{
    arg->type.rank = (int8_t)x->rank;
    for (int i = 0; i < x->rank; i++) {
        arg->extent[i] = x->extent[i];
        arg->type.dims[i] = value_of(sizes, x->extent[i], operand);
    }
    arg->is_changed = operand == PRODUCT_INSIDE || operand == PRODUCT_STEPS;
}

int product_args(const product_form *form, const product_sizes *sizes,
                 product_arg args[PRODUCT_ROLES])
{
    const tg_dtype dtype = product_dtype(form);
    const uint8_t *field = form->field;
    bool wants_extents = false;
    int n = 0;
    for (int side = 0; side < 2; side++) {
        const int operand = field[PRODUCT_FIELD_A + side];
        const axes x = axes_of_side(form, side);
        product_arg arg = {.role = side ? PRODUCT_ARG_B : PRODUCT_ARG_A,
                           .is_variable = operand == PRODUCT_VARIABLE};
        arg.type.dtype =
            (uint8_t)(operand == PRODUCT_CAST ? cast_from(dtype) : dtype);
        wants_extents |=
            operand == PRODUCT_SPREAD || operand == PRODUCT_SPREAD_K;
        if (operand == PRODUCT_SAME)
            continue;
        set_axes(&arg, sizes, &x, operand);
        args[n++] = arg;
        arg.role++;
        if (operand == PRODUCT_ADDED)
            args[n++] = arg;
    }
    axes x;
    if (find_last(form, &x)) {
        product_arg last = {.role = PRODUCT_ARG_LAST,
                            .is_variable = field[PRODUCT_FIELD_END] ==
                                           PRODUCT_END_IN_PLACE};
        last.type.dtype = (uint8_t)dtype;
        set_axes(&last, sizes, &x, PRODUCT_PLAIN);
        args[n++] = last;
    }
    if (wants_extents) {
        product_arg like = {.role = PRODUCT_ARG_LIKE};
        like.type.dtype = TG_I8;
        x = (axes){4, {PRODUCT_ZERO, PRODUCT_M, 0, PRODUCT_K}};
        x.extent[2] = (int8_t)extent_of_side(form, 1);
        set_axes(&like, sizes, &x, PRODUCT_PLAIN);
        args[n++] = like;
    }
    return n;
}

tg_spec product_spec(const product_form *form, const product_arg *arg)
{
    rg_type type = arg->type;
    for (int i = 0; i < type.rank; i++)
        if (product_is_open(form, arg->extent[i]))
            type.dims[i] = arg->is_changed && arg->extent[i] <= PRODUCT_K
                               ? TG_UNKNOWN
                               : TG_SAME(1 + arg->extent[i]);
    return arg->is_variable
               ? tg_spec_variable((tg_dtype)type.dtype, type.rank, type.dims)
               : tg_spec_tensor((tg_dtype)type.dtype, type.rank, type.dims);
}
