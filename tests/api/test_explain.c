/* SPDX-License-Identifier: MIT */
/*
 * test_explain.c - the reason for a trace is given in comparison with the most
 * similar earlier trace.
 */
#include "support/api.h"

static void sums(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    tg_return(t, tg_sum(in[0], TG_ALL_AXES), tg_sum(in[1], TG_ALL_AXES));
}

/* Calls it with zeros: `x` of that dtype and shape, `y` of n floats. */
static void call_with(tg_function *f, tg_context *ctx, tg_dtype dtype,
                      int rank, const int64_t *dims, int64_t n)
{
    tg_tensor *x = tg_tensor_create(ctx, dtype, rank, dims, tg_zeros());
    tg_tensor *y = tg_tensor_create(ctx, TG_F32, TG_DIMS(n), tg_zeros());
    call_only(f, TG_ARGS(x, y));
    tg_tensor_release(x);
    tg_tensor_release(y);
}

static void check_reasons(tg_function *f, const char *wanted)
{
    char *reasons = tg_explain_retrace(f);
    cr_assert_str_eq(reasons, wanted);
    tg_text_free(reasons);
}

Test(explain, another_rank_is_nearer_than_another_dtype)
{
    session s;
    session_begin(&s);
    tg_function *f = tg_function_create(s.ctx, sums, NULL, NULL);
    call_with(f, s.ctx, TG_F32, TG_DIMS(4), 3);
    call_with(f, s.ctx, TG_F64, TG_DIMS(4), 3);
    call_with(f, s.ctx, TG_F32, TG_DIMS(4, 2), 3);
    check_reasons(f, "trace 0: first call\n"
                     "trace 1: arg 0: f32 -> f64\n"
                     "trace 2: arg 0 rank: 1 -> 2\n");
    tg_function_release(f);
    session_end(&s);
}

/* As in logs, dumps, pages and profiles, traces are those of the context. */
Test(explain, traces_of_all_functions_have_one_numbering)
{
    session s;
    session_begin(&s);
    tg_function *f = tg_function_create(s.ctx, sums, NULL, NULL);
    tg_function *g = tg_function_create(s.ctx, sums, NULL, NULL);
    call_with(f, s.ctx, TG_F32, TG_DIMS(4), 3);
    call_with(g, s.ctx, TG_F32, TG_DIMS(4), 3);
    call_with(f, s.ctx, TG_F64, TG_DIMS(4), 3);
    check_reasons(f, "trace 0: first call\n"
                     "trace 2: arg 0: f32 -> f64\n");
    check_reasons(g, "trace 1: first call\n");
    tg_retrace second;
    cr_assert(tg_function_retrace(f, 1, &second));
    cr_assert_eq(second.number, 2);
    tg_function_release(f);
    tg_function_release(g);
    session_end(&s);
}

Test(explain, extents_that_were_equal_and_no_longer_are_is_a_reason)
{
    session s;
    session_begin(&s);
    tg_function *f = tg_function_create(s.ctx, sums, NULL, NULL);
    call_with(f, s.ctx, TG_F32, TG_DIMS(3), 3);
    call_with(f, s.ctx, TG_F32, TG_DIMS(5), 5); /* equal to each other */
    call_with(f, s.ctx, TG_F32, TG_DIMS(6), 7);
    call_with(f, s.ctx, TG_F32, TG_DIMS(8), 9);
    check_reasons(f, "trace 0: first call\n"
                     "trace 1: arg 0 dim 0: 3 -> 5, generalised to ?\n"
                     "trace 2: arg 1 dim 0: 6 -> 7, generalised to ?\n");
    tg_function_release(f);
    session_end(&s);
}
