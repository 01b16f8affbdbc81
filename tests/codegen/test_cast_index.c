/* SPDX-License-Identifier: MIT */
/*
 * test_cast_index.c - floats that are cast to indices where they are used
 * (llvm_cast_index.h): the bits and errors of the interpreter.
 */
#include <math.h>

#include "support/modes.h"

enum { TABLE = 50, PICKS = 333 };

static void pick_and_add(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    const tg_value picked = tg_gather(in[0], tg_cast(in[1], TG_I64), 0);
    const tg_value at = tg_cast(in[1], TG_I64);
    tg_return(t, picked, tg_scatter(in[0], at, picked, 0, TG_SCATTER_ADD));
}

/* Casts to 0 … 49; NaN is 0. */
static double good_index(int i)
{
    const double nan = (double)NAN;
    const double special[] = {nan,     -0.75, -0.0,  0.99,   1e-310,
                              49,      49.9999, -nan, 1e-40, 5e-324};
    const int n = sizeof(special) / sizeof(*special);
    return i % 7 == 3 ? special[i / 7 % n] : i * 11 % (TABLE * 2) / 2.0;
}

static tg_tensor *indices(tg_context *ctx, tg_dtype dtype, int at, double bad)
{
    tg_tensor *x = tg_tensor_create(ctx, dtype, TG_DIMS(PICKS), tg_zeros());
    cr_assert_not_null(x);
    for (int i = 0; i < PICKS; i++) {
        const double index = i == at ? bad : good_index(i);
        if (dtype == TG_F64)
            ((double *)tg_tensor_data(x))[i] = index;
        else
            ((float *)tg_tensor_data(x))[i] = (float)index;
    }
    return x;
}

/* One bad index at a time; the first one is good. */
static void pick(session *s, outcome *out)
{
    static const double bad[] = {1, TABLE, -1, HUGE_VAL, -HUGE_VAL,
                                 1e30, 4294967808.0};
    tg_tensor *table = f32_range(s->ctx, TABLE);
    for (int dtype = TG_F32; dtype <= TG_F64; dtype++)
        for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
            tg_function *f =
                tg_function_create(s->ctx, pick_and_add, NULL, NULL);
            tg_tensor *x = indices(s->ctx, (tg_dtype)dtype, 200, bad[i]);
            tg_tensor *a = NULL, *b = NULL;
            const tg_status status =
                tg_call(f, TG_ARGS(table, x), TG_RESULTS(&a, &b));
            cr_assert_eq(status == TG_OK, i == 0, "%g: %s", bad[i],
                         tg_error(NULL));
            note_status(out, status);
            if (status == TG_OK) {
                note_tensor(out, a);
                note_tensor(out, b);
            }
            tg_tensor_release(a);
            tg_tensor_release(b);
            tg_tensor_release(x);
            tg_function_release(f);
        }
    tg_tensor_release(table);
}

Test(cast_index, floats_are_indices_as_in_the_interpreter)
{
    check_modes(pick);
    check_nothing_is_alive();
}

/* -- Tables larger than the integers of a float ---------------------------- */

enum { LARGE = (1 << 24) + 1 };

static void pick_one(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    tg_return(t, tg_gather(in[0], tg_cast(in[1], TG_I64), 0));
}

/* 2^24 is the last index; the next float is beyond. */
static void pick_last(session *s, outcome *out)
{
    static const float at[] = {0x1p24f, 0x1.000002p24f};
    tg_tensor *table =
        tg_tensor_create(s->ctx, TG_U8, TG_DIMS(LARGE), tg_zeros());
    tg_function *f = tg_function_create(s->ctx, pick_one, NULL, NULL);
    cr_assert(table && f);
    ((uint8_t *)tg_tensor_data(table))[LARGE - 1] = 77;
    for (int i = 0; i < 2; i++) {
        tg_tensor *x = indices(s->ctx, TG_F32, 100, (double)at[i]);
        tg_tensor *y = NULL;
        const tg_status status = tg_call(f, TG_ARGS(table, x), TG_RESULTS(&y));
        cr_assert_eq(status == TG_OK, i == 0, "%s", tg_error(NULL));
        note_status(out, status);
        if (status == TG_OK)
            note_tensor(out, y);
        tg_tensor_release(y);
        tg_tensor_release(x);
    }
    tg_function_release(f);
    tg_tensor_release(table);
}

Test(cast_index, bounds_that_are_no_floats_are_exact)
{
    check_modes(pick_last);
    check_nothing_is_alive();
}
