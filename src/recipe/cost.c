/* SPDX-License-Identifier: MIT */
/*
 * cost.c - see cost.h. Most primitives are one instruction, so the count of a
 * recipe is that of the code within a few percent (tests/codegen/test_cost.c).
 * The table of weights has the exceptions.
 */
#include "recipe/cost.h"

#include <stdatomic.h>
#include <stdbool.h>

#include "recipe/emit.h"

/* -- Weights --------------------------------------------------------------- */

typedef enum weight_class {
    FREE,
    SIMPLE,
    ROUND,
    UNSIGNED_COMPARE,
    SIGN_MASK,
    MUL_8,
    MUL_64,
    SHIFT_8,
    SHIFT_16,
    UNIFORM_SHIFT_8,
    SHIFT_SIGN_64,
    DIV_F32,
    DIV_F64,
    SQRT_F32,
    SQRT_F64,
    DIV_8,
    DIV_16,
    DIV_I32,
    DIV_U32,
    DIV_64,
    NARROW,
    MASK_TO_BOOL,
    WIDEN_TO_FLOAT,
    NARROW_FROM_FLOAT,
    U32_TO_FLOAT,
    FLOAT_TO_U32,
    I64_TO_FLOAT,
    FLOAT_TO_I64,
    CONVERT_F16,
    NARROW_BF16,
    LOOKUP_8,
    LOOKUP_16,
    LOOKUP_F32,
    LOOKUP_F64,
    RANDOM_U32,
    RANDOM_U64
} weight_class;

/*
 * By width. Divisions and square roots have the reciprocal throughput of Zen 4
 * and Skylake, whose units for them are at most 256 bits wide. Integers of up
 * to 32 bits are divided as floats, those of 64 bits lane by lane.
 */
static const struct weight {
    uint16_t instructions[TGI_COST_WIDTHS], half_cycles[TGI_COST_WIDTHS];
} weights[] = {
    /*                    instructions, half-cycles of 128, 256, 512 bits */
    [FREE] = {{0, 0, 0}, {0, 0, 0}},
    [SIMPLE] = {{1, 1, 1}, {1, 1, 1}},
    [ROUND] = {{1, 1, 1}, {2, 2, 2}},
    [UNSIGNED_COMPARE] = {{2, 2, 1}, {2, 2, 1}},
    [SIGN_MASK] = {{0, 0, 1}, {0, 0, 1}}, /* blends test the sign bit */
    [MUL_8] = {{7, 7, 6}, {7, 7, 6}},
    [MUL_64] = {{8, 8, 1}, {8, 8, 3}},
    [SHIFT_8] = {{12, 12, 12}, {12, 12, 12}},
    [SHIFT_16] = {{10, 10, 1}, {10, 10, 1}},
    [UNIFORM_SHIFT_8] = {{2, 2, 2}, {2, 2, 2}},
    [SHIFT_SIGN_64] = {{3, 3, 1}, {3, 3, 1}},
    [DIV_F32] = {{1, 1, 1}, {6, 10, 20}},
    [DIV_F64] = {{1, 1, 1}, {8, 16, 32}},
    [SQRT_F32] = {{1, 1, 1}, {6, 12, 24}},
    [SQRT_F64] = {{1, 1, 1}, {12, 24, 48}},
    [DIV_8] = {{40, 40, 32}, {60, 76, 107}},
    [DIV_16] = {{16, 16, 14}, {27, 35, 51}},
    [DIV_I32] = {{10, 10, 8}, {24, 40, 70}},
    [DIV_U32] = {{26, 26, 8}, {40, 56, 70}},
    [DIV_64] = {{10, 20, 40}, {40, 80, 160}},
    [NARROW] = {{2, 2, 2}, {2, 2, 2}},
    [MASK_TO_BOOL] = {{2, 2, 0}, {2, 2, 0}},
    [WIDEN_TO_FLOAT] = {{2, 2, 2}, {2, 2, 2}},
    [NARROW_FROM_FLOAT] = {{3, 3, 3}, {3, 3, 3}},
    [U32_TO_FLOAT] = {{4, 4, 1}, {4, 4, 1}},
    [FLOAT_TO_U32] = {{6, 6, 1}, {6, 6, 1}},
    [I64_TO_FLOAT] = {{6, 6, 1}, {6, 6, 1}},
    [FLOAT_TO_I64] = {{9, 9, 1}, {9, 9, 1}},
    [CONVERT_F16] = {{1, 1, 1}, {2, 2, 2}},
    [NARROW_BF16] = {{9, 9, 8}, {9, 9, 8}},
    [LOOKUP_8] = {{1, 1, 3}, {2, 2, 6}},
    [LOOKUP_16] = {{4, 4, 9}, {6, 6, 12}},
    [LOOKUP_F32] = {{7, 14, 28}, {7, 14, 28}}, /* lane by lane */
    [LOOKUP_F64] = {{4, 7, 14}, {4, 7, 14}},
    [RANDOM_U32] = {{160, 320, 320}, {160, 320, 320}},
    [RANDOM_U64] = {{160, 290, 290}, {160, 290, 290}},
};

tgi_cost_width tgi_cost_width_of(unsigned vector_bits)
{
    return vector_bits >= 512   ? TGI_COST_512
           : vector_bits >= 256 ? TGI_COST_256
                                : TGI_COST_128;
}

static tgi_cost weigh(weight_class class, tgi_cost_width width)
{
    return (tgi_cost){weights[class].instructions[width],
                      weights[class].half_cycles[width]};
}

static bool is_float(tg_dtype dtype)
{
    return tgi_dtype_is((int)dtype, TGI_CLASS_FLOAT);
}

static bool is_signed(tg_dtype dtype)
{
    return tgi_dtype_is((int)dtype, TGI_CLASS_SINT);
}

static weight_class classify_division(tg_dtype dtype)
{
    if (is_float(dtype))
        return dtype == TG_F32 ? DIV_F32 : DIV_F64;
    switch (tgi_dtype_bytes((int)dtype)) {
    case 1:
        return DIV_8;
    case 2:
        return DIV_16;
    case 4:
        return is_signed(dtype) ? DIV_I32 : DIV_U32;
    default:
        return DIV_64;
    }
}

static weight_class classify_multiplication(tg_dtype dtype)
{
    const int64_t bytes = tgi_dtype_bytes((int)dtype);
    return bytes == 1 ? MUL_8 : bytes == 8 ? MUL_64 : SIMPLE;
}

static weight_class classify_shift(tg_dtype dtype, bool extends_sign,
                                   bool has_uniform_count)
{
    switch (tgi_dtype_bytes((int)dtype)) {
    case 1:
        return has_uniform_count ? UNIFORM_SHIFT_8 : SHIFT_8;
    case 2:
        return has_uniform_count ? SIMPLE : SHIFT_16;
    case 8:
        return extends_sign ? SHIFT_SIGN_64 : SIMPLE;
    default:
        return SIMPLE;
    }
}

static weight_class classify_float_conversion(tg_dtype from, tg_dtype to)
{
    const tg_dtype integer = is_float(from) ? to : from;
    const bool to_float = is_float(to);
    switch (tgi_dtype_bytes((int)integer)) {
    case 8:
        return to_float ? I64_TO_FLOAT : FLOAT_TO_I64;
    case 4:
        return is_signed(integer) ? SIMPLE
               : to_float         ? U32_TO_FLOAT
                                  : FLOAT_TO_U32;
    default:
        return to_float ? WIDEN_TO_FLOAT : NARROW_FROM_FLOAT;
    }
}

static weight_class classify_conversion(tg_dtype from, tg_dtype to)
{
    if (to == TG_BOOL)
        return MASK_TO_BOOL;
    if (is_float(from) != is_float(to))
        return classify_float_conversion(from, to);
    const int64_t from_bytes = tgi_dtype_bytes((int)from);
    const int64_t to_bytes = tgi_dtype_bytes((int)to);
    if (is_float(from) || from_bytes < to_bytes)
        return SIMPLE;
    return from_bytes == to_bytes ? FREE : NARROW;
}

/* `varying` is the set of operands that vary. */
static weight_class classify(tgi_primitive primitive, tg_dtype dtype,
                             tg_dtype other, unsigned varying)
{
    switch (primitive) {
    case TGI_PRIMITIVE_BITS_OF:
    case TGI_PRIMITIVE_FLOAT_OF:
        return FREE;
    case TGI_PRIMITIVE_SIGN_BIT:
        return SIGN_MASK;
    case TGI_PRIMITIVE_FLOOR:
    case TGI_PRIMITIVE_CEIL:
    case TGI_PRIMITIVE_TRUNC:
    case TGI_PRIMITIVE_ROUND_EVEN:
        return ROUND;
    case TGI_PRIMITIVE_LT:
    case TGI_PRIMITIVE_LE:
        return is_float(dtype) || is_signed(dtype) ? SIMPLE : UNSIGNED_COMPARE;
    case TGI_PRIMITIVE_IULT:
        return UNSIGNED_COMPARE;
    case TGI_PRIMITIVE_MUL:
        return is_float(dtype) ? SIMPLE : classify_multiplication(dtype);
    case TGI_PRIMITIVE_IMUL:
        return classify_multiplication(dtype);
    case TGI_PRIMITIVE_SHL:
    case TGI_PRIMITIVE_ISHL:
    case TGI_PRIMITIVE_ISHR:
        return classify_shift(dtype, false, !(varying & 2));
    case TGI_PRIMITIVE_SHR:
        return classify_shift(dtype, is_signed(dtype), !(varying & 2));
    case TGI_PRIMITIVE_ISAR:
        return classify_shift(dtype, true, !(varying & 2));
    case TGI_PRIMITIVE_DIV:
    case TGI_PRIMITIVE_REM:
        return classify_division(dtype);
    case TGI_PRIMITIVE_SQRT:
        return dtype == TG_F32 ? SQRT_F32 : SQRT_F64;
    case TGI_PRIMITIVE_TO_INT:
        return classify_conversion(dtype, dtype == TG_F64 ? TG_I64 : TG_I32);
    case TGI_PRIMITIVE_TO_FLOAT:
        return classify_conversion(dtype == TG_F64 ? TG_I64 : TG_I32, dtype);
    case TGI_PRIMITIVE_CONVERT:
        return classify_conversion(dtype, other);
    case TGI_PRIMITIVE_NARROW:
        return other == TG_F16 ? CONVERT_F16 : NARROW_BF16;
    case TGI_PRIMITIVE_WIDEN:
        return dtype == TG_F16 ? CONVERT_F16 : WIDEN_TO_FLOAT;
    default:
        return SIMPLE;
    }
}

static weight_class classify_lookup(tg_dtype dtype, size_t n)
{
    if (dtype != TG_F32)
        return LOOKUP_F64;
    return n <= 8 ? LOOKUP_8 : n <= 16 ? LOOKUP_16 : LOOKUP_F32;
}

/* -- The counting emitter -------------------------------------------------- */

typedef struct counter {
    tgi_emitter base;
    tgi_cost_width width;
    tgi_cost cost;
    uintptr_t n_values;
    tgi_emitted scaled_by; /* the sum of the last SCALE */
    tgi_cost common; /* before the code that is being skipped */
} counter;

/* A counted value is no address, but its number and these bits. */
enum {
    VARIES = 1,
    IS_NOT_NAN = 2, /* the mask EQ(x, x) */
    VALUE_STEP = 4
};

static tgi_emitted add_value(counter *c, unsigned bits)
{
    return (tgi_emitted)(++c->n_values * VALUE_STEP + bits);
}

static bool has_bit(tgi_emitted value, unsigned bit)
{
    return ((uintptr_t)value & bit) != 0;
}

static tgi_emitted count(counter *c, tgi_cost cost, unsigned bits)
{
    c->cost = tgi_cost_add(c->cost, cost);
    return add_value(c, VARIES | bits);
}

static tgi_emitted count_constant(tgi_emitter *base, tg_dtype dtype,
                                  uint64_t bits)
{
    (void)dtype;
    (void)bits;
    return add_value((counter *)base, 0);
}

/* Without AVX-512, tgi_emit_scale: a product with each factor, unless x is the
   constant 1, and four operations to make the factors, once for a sum. */
static tgi_cost count_scale(counter *c, tgi_cost simple, bool has_varying_x,
                            tgi_emitted sum)
{
    enum { FACTORS = 4 };
    if (c->width == TGI_COST_512)
        return simple;
    uint32_t n = has_varying_x ? 2 : 1;
    if (c->scaled_by != sum)
        n += FACTORS;
    c->scaled_by = sum;
    return (tgi_cost){n * simple.instructions, n * simple.half_cycles};
}

static tgi_emitted count_primitive(tgi_emitter *base, tgi_primitive primitive,
                                   tg_dtype dtype, tg_dtype other,
                                   const tgi_emitted *operands)
{
    counter *c = (counter *)base;
    unsigned varying = 0;
    for (int i = 0; i < tgi_primitive_table[primitive].n_operands; i++)
        varying |= has_bit(operands[i], VARIES) ? 1u << i : 0;
    if (!varying)
        return add_value(c, 0);
    tgi_cost cost = weigh(classify(primitive, dtype, other, varying), c->width);
    switch (primitive) {
    case TGI_PRIMITIVE_EQ:
        return count(c, cost, operands[0] == operands[1] ? IS_NOT_NAN : 0);
    case TGI_PRIMITIVE_MASK_AND:
    case TGI_PRIMITIVE_MASK_OR:
        if (varying != 3) /* a uniform mask decides alone, or not at all */
            return operands[varying - 1];
        /* Both masks together are one compare. */
        if (has_bit(operands[0], IS_NOT_NAN) &&
            has_bit(operands[1], IS_NOT_NAN)) {
            c->cost.instructions -= cost.instructions;
            c->cost.half_cycles -= cost.half_cycles;
            cost = (tgi_cost){0};
        }
        return count(c, cost, 0);
    case TGI_PRIMITIVE_SELECT:
        return count(c, varying & 1 ? cost : (tgi_cost){0}, 0);
    case TGI_PRIMITIVE_SCALE:
        return count(c, count_scale(c, cost, varying & 1, operands[2]), 0);
    case TGI_PRIMITIVE_REM: /* a - a / b * b */
        cost =
            tgi_cost_add(cost, weigh(classify_multiplication(dtype), c->width));
        return count(c, tgi_cost_add(cost, weigh(SIMPLE, c->width)), 0);
    default:
        return count(c, cost, 0);
    }
}

static tgi_emitted count_lookup(tgi_emitter *base, tg_dtype dtype,
                                const void *table, size_t n, tgi_emitted index)
{
    counter *c = (counter *)base;
    (void)table;
    if (!has_bit(index, VARIES))
        return add_value(c, 0);
    return count(c, weigh(classify_lookup(dtype, n), c->width), 0);
}

/* Rare code has a size, but takes no time. */
static void count_rare_begin(tgi_emitter *base, tgi_emitted mask)
{
    counter *c = (counter *)base;
    if (has_bit(mask, VARIES))
        count(c, weigh(SIMPLE, c->width), 0);
    c->common = c->cost;
}

static void count_rare_end(tgi_emitter *base, tgi_emitted *values,
                           const tgi_emitted *otherwise, int n)
{
    counter *c = (counter *)base;
    for (int i = 0; i < n; i++)
        values[i] = otherwise[i];
    c->cost.half_cycles = c->common.half_cycles;
}

static void init_counter(counter *c, tgi_cost_width width)
{
    *c = (counter){.base = {count_constant, count_primitive, count_lookup,
                            count_rare_begin, count_rare_end},
                   .width = width};
}

static tgi_cost count_recipe(tgi_emit_recipe *recipe, unsigned uniform,
                             tgi_cost_width width)
{
    enum { MAX_OPERANDS = 3 };
    counter c;
    tgi_emitted operands[MAX_OPERANDS];
    init_counter(&c, width);
    for (unsigned i = 0; i < MAX_OPERANDS; i++)
        operands[i] = add_value(&c, uniform >> i & 1 ? 0 : VARIES);
    if (recipe)
        recipe(&c.base, operands);
    return c.cost;
}

/* -- Costs ----------------------------------------------------------------- */

/* Memoised counts: instructions in the lower, half-cycles in the upper half; 0:
   not counted yet, or free. Threads that count the same op store the same. */
static _Atomic uint32_t op_costs[TGI_OPS][TGI_DTYPES][TGI_COST_WIDTHS];

tgi_cost tgi_cost_of_op(int op, tg_dtype dtype, unsigned uniform,
                        tgi_cost_width width)
{
    tgi_emit_recipe *recipe = tgi_emit_recipe_of(op, dtype);
    /* The code generator has shorter code for a constant bound, which nearly
       all uniform ones are: a minimum, and a selection of NaN. */
    enum { BOUND = 3 };
    if (uniform && is_float(dtype) && (op == TGI_OP_MIN || op == TGI_OP_MAX))
        return tgi_cost_of_simple(BOUND);
    /* And for unsigned integers, whose shift of AVX2 needs no test of the
       count. */
    if (op == TGI_OP_SHL && tgi_dtype_is((int)dtype, TGI_CLASS_UINT) &&
        tgi_dtype_bytes((int)dtype) >= 4)
        return tgi_cost_of_simple(1);
    if (!recipe || uniform) /* mostly short recipes */
        return count_recipe(recipe, uniform, width);
    _Atomic uint32_t *memo = &op_costs[op][dtype][width];
    const uint32_t known = atomic_load_explicit(memo, memory_order_relaxed);
    if (known)
        return (tgi_cost){known & UINT16_MAX, known >> 16};
    const tgi_cost cost = count_recipe(recipe, 0, width);
    atomic_store_explicit(memo, cost.instructions | cost.half_cycles << 16,
                          memory_order_relaxed);
    return cost;
}

tgi_cost tgi_cost_of_cast(int op, tg_dtype from, tg_dtype to,
                          tgi_cost_width width)
{
    counter c;
    init_counter(&c, width);
    tgi_emit_cast(&c.base, op, from, to, add_value(&c, VARIES));
    return c.cost;
}

tgi_cost tgi_cost_of_step(int op, tg_dtype dtype, tgi_cost_width width)
{
    return count_recipe(tgi_emit_step_of(op, dtype), 0, width);
}

tgi_cost tgi_cost_of_random(tg_dtype dtype, tgi_cost_width width)
{
    return weigh(dtype == TG_U32 ? RANDOM_U32 : RANDOM_U64, width);
}
