/* SPDX-License-Identifier: MIT */
/*
 * random_graph_make_elementwise.c - elementwise ops, one for each row of
 * op.def, and API operations composed of them.
 */
#include "random/random_graph.h"

/* -- The functions of the API, by op --------------------------------------- */

typedef tg_value unary(tg_operand x, tg_site site);
typedef tg_value binary(tg_operand a, tg_operand b, tg_site site);
typedef tg_value ternary(tg_operand a, tg_operand b, tg_operand c,
                         tg_site site);

static const union function {
    unary *unary;
    binary *binary;
    ternary *ternary;
} functions[TGI_OPS] = {
#define ROW_UNARY(ID, name) [TGI_OP_##ID] = {.unary = tg_##name##_at},
#define ROW_BINARY(ID, name) [TGI_OP_##ID] = {.binary = tg_##name##_at},
#define ROW_TERNARY(ID, name) [TGI_OP_##ID] = {.ternary = tg_##name##_at},
#define ROW_CAST(ID, name)
#define ROW_LEAF(ID, name)
#define ROW_VIEW(ID, name)
#define ROW_INDEX(ID, name)
#define ROW_REDUCE(ID, name)
#define ROW_MATMUL(ID, name)
#define ROW_CONV(ID, name)
#define ROW_SCAN(ID, name)
#define ROW_RANDOM(ID, name)
#define ROW_STATE(ID, name)
#define ROW_EFFECT(ID, name)
#define ROW_REGION(ID, name)
#define OP(ID, name, cls, ...) ROW_##cls(ID, name)
#include "ir/op.def"
#undef OP
};

/* The result type of an op for operands of type `in`. */
static rg_type result_type(tgi_op op, rg_type in)
{
    if (tgi_op_table[op].result == TGI_RESULT_BOOL) {
        in.dtype = TG_BOOL;
        in.is_weak = false;
    }
    return in;
}

/* -- One operand ----------------------------------------------------------- */

void rg_make_unary(rg_maker *m, tgi_op op)
{
    rg_operand x = rg_fit_classes(m, rg_pick(m), tgi_op_table[op].types);
    rg_keep(m, result_type(op, x.type),
            RG_DO(m, functions[op].unary(x.operand, TG_HERE)));
}

void rg_make_cast(rg_maker *m, tgi_op op)
{
    (void)op;
    rg_operand x = rg_pick(m);
    rg_type type = x.type;
    type.dtype = (uint8_t)rg_take_dtype(&m->bytes, TGI_CLASS_ANY);
    type.is_weak = false;
    rg_keep(m, type, RG_DO(m, tg_cast(x.operand, (tg_dtype)type.dtype)));
}

/* The bits as one of the other dtypes of the same size. */
void rg_make_bitcast(rg_maker *m, tgi_op op)
{
    static const tg_dtype types[4][4] = {{TG_I8, TG_U8, TG_I8, TG_U8},
                                         {TG_I16, TG_U16, TG_F16, TG_BF16},
                                         {TG_I32, TG_U32, TG_F32, TG_F32},
                                         {TG_I64, TG_U64, TG_F64, TG_F64}};
    rg_operand x = rg_fit_classes(m, rg_pick(m), tgi_op_table[op].types);
    rg_type type = x.type;
    const int size = __builtin_ctz((unsigned)tgi_dtype_bytes(type.dtype));
    if (type.rank == 0) /* a plain number has no bits */
        x.operand = tg_in_value(
            RG_DO(m, tg_cast(x.operand, (tg_dtype)type.dtype)));
    type.dtype = (uint8_t)types[size][rg_below(&m->bytes, 4)];
    type.is_weak = false;
    rg_keep(m, type, RG_DO(m, tg_bitcast(x.operand, (tg_dtype)type.dtype)));
}

void rg_make_square(rg_maker *m, tgi_op op)
{
    (void)op;
    rg_operand x = rg_fit_classes(m, rg_pick(m), TGI_CLASS_NUM);
    rg_keep(m, x.type, RG_DO(m, tg_square(x.operand)));
}

/* -- Two operands ---------------------------------------------------------- */

/*
 * Operands of one dtype of these classes, and the type of the result; either
 * all are numbers, or the first is not one.
 */
static rg_type take_operands(rg_maker *m, unsigned classes, rg_operand *in,
                             int n)
{
    in[0] = rg_fit_classes(m, rg_pick(m), classes);
    rg_type common = in[0].type;
    tg_dtype dtype = (tg_dtype)common.dtype;
    bool stay_weak = common.is_weak && rg_below(&m->bytes, 2);
    if (common.is_weak && !stay_weak) {
        /* Cast now, because otherwise this operand alone would determine the
           dtype. */
        in[0].operand = tg_in_value(RG_DO(m, tg_cast(in[0].operand, dtype)));
        in[0].type.is_weak = false;
        common = in[0].type;
    }
    for (int i = 1; i < n; i++) {
        in[i] = stay_weak ? rg_immediate_exact(m, dtype)
                          : rg_match(m, &common, dtype);
        rg_broadcast(m, &common, &in[i].type, &common);
    }
    return common;
}

/* The operand that is not a number need not come first. */
static void shuffle_operands(rg_maker *m, rg_operand *in, int n)
{
    int other = rg_below(&m->bytes, n);
    rg_operand first = in[0];
    in[0] = in[other];
    in[other] = first;
}

void rg_make_binary(rg_maker *m, tgi_op op)
{
    rg_operand in[2];
    rg_type common = take_operands(m, tgi_op_table[op].types, in, 2);
    shuffle_operands(m, in, 2);
    rg_keep(
        m, result_type(op, common),
        RG_DO(m, functions[op].binary(in[0].operand, in[1].operand, TG_HERE)));
}

/* a > b and a >= b, recorded as b < a and b <= a. */
void rg_make_swapped(rg_maker *m, tgi_op op)
{
    rg_operand in[2];
    rg_type common = take_operands(m, TGI_CLASS_ANY, in, 2);
    shuffle_operands(m, in, 2);
    bool is_strict = rg_below(&m->bytes, 2);
    rg_keep(m, result_type(op, common),
            RG_DO(m, is_strict ? tg_gt(in[0].operand, in[1].operand)
                               : tg_ge(in[0].operand, in[1].operand)));
}

/* An op of this class that accepts the dtype. */
static tgi_op take_op(rg_maker *m, int cls, int dtype)
{
    uint8_t fitting[TGI_OPS];
    int n = 0;
    for (int op = TGI_OP_NONE + 1; op < TGI_OPS; op++)
        if (tgi_op_table[op].cls == cls &&
            tgi_dtype_is(dtype, rg_classes(tgi_op_table[op].types)))
            fitting[n++] = (uint8_t)op;
    return n ? (tgi_op)fitting[rg_below(&m->bytes, n)] : TGI_OP_NONE;
}

/* 0, -0, 1, -1 or all bits set, where the dtype has them. */
static rg_operand take_neutral(rg_maker *m, tg_dtype dtype)
{
    static const double numbers[] = {0.0, -0.0, 1.0, -1.0};
    unsigned choice = rg_take(&m->bytes) % 4;
    uint64_t element = ~UINT64_C(0);
    const tgi_number number = {TGI_NUMBER_FLOAT, {.f = numbers[choice]}};
    if (!tgi_dtype_store(dtype, number, &element) && dtype == TG_BOOL)
        element = 1;
    return (rg_operand){{.dtype = (uint8_t)rg_number_dtype(dtype),
                         .is_weak = true},
                        rg_number(dtype, &element),
                        false};
}

/* x combined with a neutral element, or with itself. */
void rg_make_neutral(rg_maker *m, tgi_op op)
{
    rg_operand in[2];
    in[0] = rg_fit_classes(m, rg_pick_value(m), TGI_CLASS_ANY);
    rg_type type = in[0].type;
    op = take_op(m, TGI_OPCLASS_BINARY, type.dtype);
    in[1] =
        rg_below(&m->bytes, 4) ? take_neutral(m, (tg_dtype)type.dtype) : in[0];
    shuffle_operands(m, in, 2);
    rg_keep(
        m, result_type(op, type),
        RG_DO(m, functions[op].binary(in[0].operand, in[1].operand, TG_HERE)));
}

/*
 * An op applied directly to the newest value: a cast between them would hide
 * patterns.
 */
void rg_make_upon(rg_maker *m, tgi_op op)
{
    if (m->n_values == 0)
        return;
    rg_operand in[2] = {m->values[m->n_values - 1]};
    rg_type type = in[0].type;
    bool is_binary = rg_below(&m->bytes, 4) == 0;
    op = take_op(m, is_binary ? TGI_OPCLASS_BINARY : TGI_OPCLASS_UNARY,
                 type.dtype);
    tg_value value = {0, 0};
    if (is_binary && !type.is_weak) {
        in[1] = rg_match(m, &type, (tg_dtype)type.dtype);
        rg_broadcast(m, &type, &in[1].type, &type);
        shuffle_operands(m, in, 2);
        value = RG_DO(
            m, functions[op].binary(in[0].operand, in[1].operand, TG_HERE));
    } else if (!is_binary && op != TGI_OP_NONE) {
        value = RG_DO(m, functions[op].unary(in[0].operand, TG_HERE));
    } else {
        return;
    }
    rg_keep(m, result_type(op, type), value);
}

/* -- Three operands -------------------------------------------------------- */

/* A bool that broadcasts with `like`, or the negation of one. */
static rg_operand take_condition(rg_maker *m, const rg_type *like)
{
    unsigned choice = rg_take(&m->bytes);
    rg_operand condition = choice % 4 ? rg_match(m, like, TG_BOOL)
                                      : rg_immediate_exact(m, TG_BOOL);
    if (condition.type.dtype != TG_BOOL)
        condition = rg_immediate_exact(m, TG_BOOL);
    if (choice / 4 % 4 == 0)
        condition.operand = tg_in_value(RG_DO(m, tg_not(condition.operand)));
    return condition;
}

void rg_make_ternary(rg_maker *m, tgi_op op)
{
    rg_operand in[3];
    rg_type common;
    if (op == TGI_OP_SELECT) {
        common = take_operands(m, TGI_CLASS_ANY, in + 1, 2);
        shuffle_operands(m, in + 1, 2);
        in[0] = take_condition(m, &common);
        common.is_weak &= in[0].type.is_weak;
        rg_broadcast(m, &common, &in[0].type, &common);
    } else {
        common = take_operands(m, tgi_op_table[op].types, in, 3);
        shuffle_operands(m, in, 3);
    }
    rg_keep(m, common,
            RG_DO(m, functions[op].ternary(in[0].operand, in[1].operand,
                                           in[2].operand, TG_HERE)));
}

void rg_make_clamp(rg_maker *m, tgi_op op)
{
    (void)op;
    rg_operand in[3];
    rg_type common = take_operands(m, TGI_CLASS_ANY, in, 3);
    rg_keep(m, common,
            RG_DO(m, tg_clamp(in[0].operand, in[1].operand, in[2].operand)));
}

/* Reshapes the product to its own shape by numbers: a trace with unknown
   extents cannot see that this is a no-op. */
static tg_value reshape_by_numbers(rg_maker *m, const rg_type *type,
                                   tg_value product)
{
    switch (rg_below(&m->bytes, 8)) {
    case 0:
        return RG_DO(m, tg_broadcast(product, type->rank, type->dims));
    case 1:
        return RG_DO(m, tg_reshape(product, type->rank, type->dims));
    default:
        return product;
    }
}

/* A product used by a sum or difference, possibly through a view. */
void rg_make_contraction(rg_maker *m, tgi_op op)
{
    (void)op;
    rg_operand in[3];
    rg_type common = take_operands(m, TGI_CLASS_FLOAT, in, 2);
    shuffle_operands(m, in, 2);
    tg_value product = RG_DO(m, tg_mul(in[0].operand, in[1].operand));
    if (rg_below(&m->bytes, 2))
        rg_keep(m, common, product);
    if (!m->is_plain && !common.is_weak)
        product = reshape_by_numbers(m, &common, product);
    in[2] = common.is_weak ? rg_immediate_exact(m, (tg_dtype)common.dtype)
                           : rg_match(m, &common, (tg_dtype)common.dtype);
    rg_broadcast(m, &common, &in[2].type, &common);
    tg_value result = {0, 0};
    switch (rg_below(&m->bytes, 4)) {
    case 0:
        result = RG_DO(m, tg_add(product, in[2].operand));
        break;
    case 1:
        result = RG_DO(m, tg_sub(product, in[2].operand));
        break;
    case 2:
        result = RG_DO(m, tg_add(in[2].operand, product));
        break;
    default:
        result = RG_DO(m, tg_sub(in[2].operand, product));
        break;
    }
    rg_keep(m, common, result);
}

/* -- Activations ----------------------------------------------------------- */

void rg_make_activation(rg_maker *m, tgi_op op)
{
    (void)op;
    rg_operand x = rg_fit_classes(m, rg_pick(m), TGI_CLASS_NUM);
    rg_type type = x.type;
    type.is_weak = false;
    rg_keep(m, type, RG_DO(m, tg_relu(x.operand)));
}
