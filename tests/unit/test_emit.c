/* SPDX-License-Identifier: MIT */
/*
 * test_emit.c - recipes over an emitter compute what kernels compute, bit for
 * bit (except NaN payloads), for every elementwise op, cast and dtype.
 */
#include <criterion/criterion.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "interp/kernel.h"
#include "support/emit_eval.h"
#include "support/emit_inputs.h"
#include "support/support.h"

/* -- Emitter against kernel ------------------------------------------------ */

/* Compares a recording with the kernel. types[0] is that of the result. */
static void check_same(recording *r, tgi_kernel *kernel, int n_operands,
                       const int *types, const char *what)
{
    static uint64_t bits[3][INPUTS];
    static _Alignas(8) char elements[4][INPUTS * 8];
    const int64_t n = INPUTS;
    tgi_view in[3];
    tgi_kernel_args args = {.in = in};
    for (int k = 0; k < n_operands; k++) {
        fill(types[1 + k], k, bits[k]);
        pack(types[1 + k], bits[k], elements[1 + k]);
        tgi_view_init(&in[k], elements[1 + k], (tg_dtype)types[1 + k], 1, &n);
    }
    tgi_view_init(&args.out, elements[0], (tg_dtype)types[0], 1, &n);
    cr_assert_eq(kernel(&args), TG_OK);

    const size_t bytes = (size_t)tgi_dtype_bytes(types[0]);
    for (int i = 0; i < INPUTS; i++) {
        const uint64_t operands[3] = {bits[0][i], bits[1][i], bits[2][i]};
        uint64_t expected = 0, given;
        memcpy(&expected, elements[0] + (size_t)i * bytes, bytes);
        cr_assert(recording_evaluate(r, operands, &given),
                  "%s of %#" PRIx64 " %#" PRIx64 " %#" PRIx64 ": %s", what,
                  operands[0], operands[1], operands[2], r->fault);
        cr_assert(given == expected ||
                      (is_nan(types[0], given) && is_nan(types[0], expected)),
                  "%s of %#" PRIx64 " %#" PRIx64 " %#" PRIx64 ": %#" PRIx64
                  ", but the kernel returns %#" PRIx64,
                  what, operands[0], operands[1], operands[2], given, expected);
    }
}

static recording r;

Test(emit, every_recipe_computes_the_bits_of_its_kernel)
{
    int n = 0;
    for (int op = 1; op < TGI_OPS; op++)
        for (int dtype = 1; dtype < TGI_DTYPES; dtype++) {
            const tgi_op_info *info = &tgi_op_table[op];
            if (!tgi_dtype_is_valid(dtype) ||
                !tgi_emit_recipe_of(op, (tg_dtype)dtype))
                continue;
            const int first = op == TGI_OP_SELECT ? TG_BOOL : dtype;
            const int out = info->result == TGI_RESULT_BOOL ? TG_BOOL : dtype;
            char what[64];
            snprintf(what, sizeof(what), "%s %s", info->name,
                     tg_dtype_name((tg_dtype)dtype));
            cr_assert(recording_of_op(&r, op, (tg_dtype)dtype), "%s: %s",
                      what, r.fault);
            check_same(&r, tgi_kernel_elementwise(op, first, out),
                       info->arity, (const int[]){out, first, dtype, dtype},
                       what);
            n++;
        }
    cr_expect_gt(n, 200);
}

static void check_casts(int op, bool (*exists)(int from, int to))
{
    for (int from = 1; from < TGI_DTYPES; from++)
        for (int to = 1; to < TGI_DTYPES; to++) {
            if (!tgi_dtype_is_valid(from) || !tgi_dtype_is_valid(to) ||
                !exists(from, to))
                continue;
            char what[64];
            snprintf(what, sizeof(what), "%s %s to %s", tgi_op_table[op].name,
                     tg_dtype_name((tg_dtype)from),
                     tg_dtype_name((tg_dtype)to));
            cr_assert(recording_of_cast(&r, op, (tg_dtype)from, (tg_dtype)to),
                      "%s: %s", what, r.fault);
            check_same(&r, tgi_kernel_cast(op, from, to), 1,
                       (const int[]){to, from}, what);
        }
}

static bool is_one_cast(int from, int to)
{
    return tgi_dtype_casts_to(from, to);
}

Test(emit, every_cast_computes_the_bits_of_its_kernel)
{
    check_casts(TGI_OP_CAST, is_one_cast);
}

static bool has_size_of(int from, int to)
{
    return from != TG_BOOL && to != TG_BOOL &&
           tgi_dtype_bytes(from) == tgi_dtype_bytes(to);
}

Test(emit, every_bitcast_computes_the_bits_of_its_kernel)
{
    check_casts(TGI_OP_BITCAST, has_size_of);
}

Test(emit, recipes_exist_where_kernels_do_and_nowhere_else)
{
    for (int op = 0; op < TGI_OPS; op++)
        for (int dtype = 0; dtype < TGI_DTYPES; dtype++) {
            const tgi_op_info *info = &tgi_op_table[op];
            const bool has_kernel =
                tgi_dtype_is_valid(dtype) && info->cls != TGI_OPCLASS_CAST &&
                tgi_op_is_elementwise(op) && tgi_dtype_is(dtype, info->types);
            cr_expect_eq(tgi_emit_recipe_of(op, (tg_dtype)dtype) != NULL,
                         has_kernel, "%s %d", info->name, dtype);
        }
}

Test(emit, a_recipe_emits_the_same_primitives_every_time)
{
    static recording again;
    cr_assert(recording_of_op(&r, TGI_OP_SIN, TG_F32));
    cr_assert(recording_of_op(&again, TGI_OP_SIN, TG_F32));
    cr_expect_eq(r.n, again.n);
    cr_expect_eq(memcmp(r.values, again.values,
                        (size_t)r.n * sizeof(r.values[0])), 0);
    cr_expect_gt(recording_primitives(&r), 10);
}

Test(emit, every_primitive_has_a_name_and_operands)
{
    for (int primitive = 0; primitive < TGI_PRIMITIVES; primitive++) {
        cr_assert_not_null(tgi_primitive_table[primitive].name);
        cr_expect_geq(tgi_primitive_table[primitive].n_operands, 1);
        cr_expect_leq(tgi_primitive_table[primitive].n_operands, 3);
    }
}

/* -- SCALE ----------------------------------------------------------------- */

/* x 2^n by the C library, which rounds once. */
static uint64_t scaled(int dtype, uint64_t x, int n)
{
    uint64_t bits = 0;
    if (dtype == TG_F32) {
        float single;
        memcpy(&single, &x, sizeof(single));
        single = ldexpf(single, n);
        memcpy(&bits, &single, sizeof(single));
    } else {
        double element;
        memcpy(&element, &x, sizeof(element));
        element = ldexp(element, n);
        memcpy(&bits, &element, sizeof(element));
    }
    return bits;
}

static uint64_t bits_of(int dtype, double x)
{
    const float single = (float)x;
    uint64_t bits = 0;
    if (dtype == TG_F32)
        memcpy(&bits, &single, sizeof(single));
    else
        memcpy(&bits, &x, sizeof(x));
    return bits;
}

Test(emit, scaling_by_a_power_of_2_rounds_once)
{
    static const double edges[] = {
        0,       -0.0,      1,        -1,        1.5,        0x1.fffffep0,
        0x1p-24, -0x1.8p23, HUGE_VAL, -HUGE_VAL, (double)NAN};
    enum { EDGES = sizeof(edges) / sizeof(*edges), RANDOM = 200 };
    uint64_t state = 1;
    for (int dtype = TG_F32; dtype <= TG_F64; dtype++) {
        const int limit = dtype == TG_F32 ? 200 : 1600;
        const double rounder =
            dtype == TG_F32 ? 0x1.8p23 + 254 : 0x1.8p52 + 2046;
        recording_begin(&r);
        const tgi_emitted in[] = {recording_operand(&r, dtype),
                                  recording_operand(&r, dtype),
                                  recording_operand(&r, dtype)};
        cr_assert(recording_end(
            &r,
            r.emitter.primitive(&r.emitter, TGI_PRIMITIVE_SCALE,
                                (tg_dtype)dtype, TG_DTYPE_NONE, in),
            dtype));
        for (int n = -limit; n <= limit; n++)
            for (int i = 0; i < EDGES + RANDOM; i++) {
                /* Random elements are between 2^-10 and 2^11. */
                uint64_t x = i < EDGES ? bits_of(dtype, edges[i]) : 0;
                while (i >= EDGES && (x == 0 || is_nan(dtype, x)))
                    x = dtype == TG_F32
                            ? (random_next(&state) & 0x807fffff) |
                                  (117 + random_below(&state, 21)) << 23
                            : (random_next(&state) & 0x800fffffffffffff) |
                                  (uint64_t)(1013 + random_below(&state, 21))
                                      << 52;
                const uint64_t operands[] = {x, bits_of(dtype, n),
                                             bits_of(dtype, n + rounder)};
                uint64_t given, expected = scaled(dtype, x, n);
                cr_assert(recording_evaluate(&r, operands, &given),
                          "%#" PRIx64 " and 2^%d: %s", x, n, r.fault);
                cr_assert(given == expected ||
                              (is_nan(dtype, given) && is_nan(dtype, expected)),
                          "%#" PRIx64 " by 2^%d is %#" PRIx64 ", not %#" PRIx64,
                          x, n, given, expected);
            }
    }
}

/* -- The test emitter detects errors --------------------------------------- */

static tgi_emitted emit(tgi_primitive primitive, tg_dtype dtype, tgi_emitted a,
                        tgi_emitted b, tgi_emitted c)
{
    return r.emitter.primitive(&r.emitter, primitive, dtype, TG_DTYPE_NONE,
                               (tgi_emitted[]){a, b, c});
}

Test(emit, an_operand_of_another_type_is_a_fault)
{
    recording_begin(&r);
    tgi_emitted x = recording_operand(&r, TG_F32);
    tgi_emitted y = recording_operand(&r, TG_F64);
    cr_expect(!recording_end(&r, emit(TGI_PRIMITIVE_ADD, TG_F32, x, y, NULL),
                             TG_F32));
    recording_begin(&r);
    x = recording_operand(&r, TG_F32);
    cr_expect(!recording_end(&r, emit(TGI_PRIMITIVE_SELECT, TG_F32, x, x, x),
                             TG_F32));
    recording_begin(&r);
    x = recording_operand(&r, TG_F32);
    cr_expect(!recording_end(&r, emit(TGI_PRIMITIVE_LT, TG_F32, x, x, NULL),
                             TG_F32));
}

Test(emit, undefined_results_must_be_discarded_by_a_select)
{
    const uint64_t operands[] = {40};
    uint64_t bits;
    recording_begin(&r);
    tgi_emitted x = recording_operand(&r, TG_U32);
    tgi_emitted one = r.emitter.constant(&r.emitter, TG_U32, 1);
    tgi_emitted width = r.emitter.constant(&r.emitter, TG_U32, 32);
    tgi_emitted shifted = emit(TGI_PRIMITIVE_SHL, TG_U32, one, x, NULL);
    tgi_emitted fits = emit(TGI_PRIMITIVE_LT, TG_U32, x, width, NULL);
    tgi_emitted chosen = emit(TGI_PRIMITIVE_SELECT, TG_U32, fits, shifted, x);
    cr_assert(recording_end(&r, chosen, TG_U32));
    cr_assert(recording_evaluate(&r, operands, &bits));
    cr_expect_eq(bits, 40);
    cr_assert(recording_end(&r, shifted, TG_U32));
    cr_expect(!recording_evaluate(&r, operands, &bits));
}
