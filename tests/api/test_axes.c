/* SPDX-License-Identifier: MIT */
/*
 * test_axes.c - slices, padding and updates along several axes in one call:
 * equal, bit for bit and with their gradients, to the operations on one axis.
 */
#include "support/modes.h"

/* -- Equality with the operations on one axis ------------------------------ */

/* Gradient of a weighted sum of y: the weights make every element count. */
static tg_value gradient_of(tg_value y, tg_value x)
{
    const int rank = tg_value_rank(y);
    int64_t dims[TG_MAX_RANK];
    for (int i = 0; i < rank; i++)
        dims[i] = tg_value_dim(y, i);
    tg_value weights = tg_iota(TG_F32, rank, dims, rank - 1);
    tg_value loss = tg_sum(tg_mul(tg_square(y), tg_add(weights, 1)),
                           TG_ALL_AXES);
    return tg_gradient(loss, x);
}

static void return_both(tg_trace *t, tg_value x, tg_value is, tg_value want)
{
    tg_return(t, is, want, gradient_of(is, x), gradient_of(want, x));
}

static void slice_two(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    return_both(t, in[0],
                tg_slice_axes(in[0], TG_DIMS(1, -3), TG_DIMS(4, TG_END)),
                tg_slice(tg_slice(in[0], 0, 1, 4, 1), 1, -3, TG_END, 1));
}

static void slice_steps(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    return_both(t, in[0],
                tg_slice_axes_step(in[0], TG_DIMS(0, -1),
                                   TG_DIMS(TG_END, TG_END), TG_DIMS(2, -1)),
                tg_slice(tg_slice(in[0], 0, 0, TG_END, 2), 1, -1, TG_END, -1));
}

static void slice_first(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    return_both(t, in[0], tg_slice_axes(in[0], TG_DIMS(2), TG_DIMS(3)),
                tg_slice(in[0], 0, 2, 3, 1));
}

static void slice_nothing(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    return_both(t, in[0], tg_slice_axes(in[0], TG_DIMS(), TG_DIMS()), in[0]);
}

static void pad_two(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    return_both(t, in[0],
                tg_pad_axes(in[0], TG_DIMS(1, 0), TG_DIMS(2, 3), 0.5),
                tg_pad(tg_pad(in[0], 0, 1, 2, 0.5), 1, 0, 3, 0.5));
}

static void dynamic_slice_two(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    return_both(
        t, in[0],
        tg_dynamic_slice_axes(in[0], TG_ARGS(in[1], in[2]), TG_DIMS(2, 3)),
        tg_dynamic_slice(tg_dynamic_slice(in[0], 0, in[1], 2), 1, in[2], 3));
}

/* Updates the columns of some rows, then these rows. */
static void dynamic_update_two(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    tg_value part = tg_mul(tg_slice_axes(in[0], TG_DIMS(0, 0), TG_DIMS(2, 3)),
                           10);
    tg_value rows = tg_dynamic_slice(in[0], 0, in[1], 2);
    rows = tg_dynamic_update_slice(rows, part, 1, in[2]);
    return_both(t, in[0],
                tg_dynamic_update_slice_axes(in[0], part,
                                             TG_ARGS(in[1], in[2])),
                tg_dynamic_update_slice(in[0], rows, 0, in[1]));
}

static void check_equal(const tg_tensor *is, const tg_tensor *want)
{
    cr_assert_eq(tg_tensor_rank(is), tg_tensor_rank(want));
    for (int i = 0; i < tg_tensor_rank(is); i++)
        cr_assert_eq(tg_tensor_dims(is)[i], tg_tensor_dims(want)[i]);
    cr_assert_eq(memcmp(tg_tensor_data(is), tg_tensor_data(want),
                        tg_tensor_bytes(want)),
                 0);
}

/* 5 x 4 elements; run-time positions, also out of range. */
static void check_callback(session *s, tg_callback *callback)
{
    static const int64_t starts[][2] = {{0, 0}, {1, 1}, {3, 1}, {9, -4}};
    tg_tensor *x =
        tg_tensor_create(s->ctx, TG_F32, TG_DIMS(5, 4), tg_uniform(-1, 1));
    tg_function *f = tg_function_create(s->ctx, callback, NULL, NULL);
    for (size_t i = 0; i < 4; i++) {
        tg_tensor *r[4] = {NULL};
        check_works(tg_call(f, TG_ARGS(x, starts[i][0], starts[i][1]),
                            TG_RESULTS(&r[0], &r[1], &r[2], &r[3])));
        check_equal(r[0], r[1]);
        check_equal(r[2], r[3]);
        for (int k = 0; k < 4; k++)
            tg_tensor_release(r[k]);
    }
    tg_function_release(f);
    tg_tensor_release(x);
}

static void check_all(session *s)
{
    check_callback(s, slice_two);
    check_callback(s, slice_steps);
    check_callback(s, slice_first);
    check_callback(s, slice_nothing);
    check_callback(s, pad_two);
    check_callback(s, dynamic_slice_two);
    check_callback(s, dynamic_update_two);
}

Test(axes, several_at_once_equal_one_after_the_other)
{
    in_modes(check_all);
}

/* -- Values ---------------------------------------------------------------- */

static void border(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    tg_value inner = tg_slice_axes(in[0], TG_DIMS(1, 1), TG_DIMS(-1, -1));
    tg_return(t, inner, tg_pad_axes(inner, TG_DIMS(1, 1), TG_DIMS(0, 1), 9),
              tg_dynamic_update_slice_axes(in[0], tg_mul(inner, 0),
                                           TG_ARGS(in[1], 0)));
}

static void check_values(session *s)
{
    tg_function *f = tg_function_create(s->ctx, border, NULL, NULL);
    float data[] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12};
    tg_tensor *x = tg_tensor_wrap(s->ctx, data, TG_F32, TG_DIMS(3, 4));
    tg_tensor *a = NULL, *b = NULL, *c = NULL;
    check_works(tg_call(f, TG_ARGS(x, 2), TG_RESULTS(&a, &b, &c)));
    check_f32(a, 6, 7);
    check_f32(b, 9, 9, 9, 9, 9, 6, 7, 9);
    check_f32(c, 1, 2, 3, 4, 5, 6, 7, 8, 0, 0, 11, 12);
    tg_tensor_release(x);
    tg_function_release(f);
}

Test(axes, borders_are_cut_padded_and_replaced)
{
    in_modes(check_values);
}

/* Extents that are unknown until the call. */
static void check_unknown(session *s)
{
    tg_function *f = tg_function_create(
        s->ctx, slice_two, NULL,
        TG_SIGNATURE(TG_SPEC(TG_F32, TG_UNKNOWN, TG_UNKNOWN)));
    for (int64_t n = 4; n < 7; n++) {
        tg_tensor *x = tg_tensor_create(s->ctx, TG_F32, TG_DIMS(n, n),
                                        tg_uniform(0, 1));
        tg_tensor *r[4] = {NULL};
        check_works(tg_call(f, TG_ARGS(x),
                            TG_RESULTS(&r[0], &r[1], &r[2], &r[3])));
        check_equal(r[0], r[1]);
        check_equal(r[2], r[3]);
        for (int k = 0; k < 4; k++)
            tg_tensor_release(r[k]);
        tg_tensor_release(x);
    }
    tg_tensor *x =
        tg_tensor_create(s->ctx, TG_F32, TG_DIMS(3, 3), tg_zeros());
    check_fails(tg_call(f, TG_ARGS(x), TG_RESULTS()), TG_ERROR_SHAPE, "slice");
    tg_tensor_release(x);
    tg_function_release(f);
}

Test(axes, extents_may_be_unknown)
{
    in_modes(check_unknown);
}

/* One node of the graph, however many axes. */
Test(axes, a_slice_of_two_axes_is_one_node)
{
    session s;
    session_begin(&s);
    tg_function *f = tg_function_create(s.ctx, border, NULL, NULL);
    tg_tensor *x =
        tg_tensor_create(s.ctx, TG_F32, TG_DIMS(3, 4), tg_zeros());
    call_only(f, TG_ARGS(x, 1));
    char *text = tg_function_text(f, TG_TEXT_GRAPH);
    cr_assert_not_null(text);
    const char *slice = strstr(text, "= slice");
    cr_assert_not_null(slice, "%s", text);
    cr_assert_null(strstr(slice + 1, "= slice"), "%s", text);
    const char *pad = strstr(text, "= pad");
    cr_assert_not_null(pad, "%s", text);
    cr_assert_null(strstr(pad + 1, "= pad"), "%s", text);
    tg_text_free(text);
    tg_tensor_release(x);
    tg_function_release(f);
    session_end(&s);
}

/* -- Wrong use ------------------------------------------------------------- */

static void misuse(tg_trace *t, const tg_value *in, void *user)
{
    const int64_t numbers[9] = {0};
    switch (*(const int *)user) {
    case 0:
        tg_slice_axes(in[0], TG_DIMS(0, 0), TG_DIMS(1));
        break;
    case 1:
        tg_slice_axes(in[0], TG_DIMS(0, 0, 0), TG_DIMS(1, 1, 1));
        break;
    case 2:
        tg_slice_axes(in[0], TG_DIMS(0, 3), TG_DIMS(1, 2));
        break;
    case 3:
        tg_slice_axes_step(in[0], TG_DIMS(0, 0), TG_DIMS(1, 1), TG_DIMS(1));
        break;
    case 4:
        tg_slice_axes(in[0], 2, NULL, TG_DIMS(1, 1));
        break;
    case 5:
        tg_slice_axes(in[0], -1, numbers, -1, numbers);
        break;
    case 6:
        tg_pad_axes(in[0], TG_DIMS(1), TG_DIMS(1, 2), 0);
        break;
    case 7:
        tg_pad_axes(in[0], TG_DIMS(0, -1), TG_DIMS(0, 0), 0);
        break;
    case 8:
        tg_dynamic_slice_axes(in[0], TG_ARGS(0, 0), TG_DIMS(1));
        break;
    case 9:
        tg_dynamic_slice_axes(in[0], TG_ARGS(), TG_DIMS());
        break;
    case 10:
        tg_dynamic_slice_axes(in[0], TG_ARGS(0, 0.5), TG_DIMS(1, 1));
        break;
    case 11:
        tg_dynamic_slice_axes(in[0], TG_ARGS(0, 0), TG_DIMS(1, 5));
        break;
    case 12:
        tg_dynamic_update_slice_axes(in[0], 1, TG_ARGS(0, 0));
        break;
    case 13:
        tg_dynamic_update_slice_axes(in[0], in[0], TG_ARGS(0, 0, 0));
        break;
    case 14:
        tg_slice_axes(in[0], 9, numbers, 9, numbers);
        break;
    }
    tg_return(t);
}

Test(axes, wrong_lists_are_errors_that_say_so)
{
    static const struct {
        tg_status status;
        const char *message;
    } wanted[] = {
        {TG_ERROR_SHAPE, "slice_axes: 2 starts and 1 stops"},
        {TG_ERROR_SHAPE, "3 axes are given for rank 2"},
        {TG_ERROR_SHAPE, "out of range for axis 1"},
        {TG_ERROR_SHAPE, "2 starts and 1 steps"},
        {TG_ERROR_INVALID_ARGUMENT, "the starts are NULL"},
        {TG_ERROR_SHAPE, "-1 axes are given"},
        {TG_ERROR_SHAPE, "pad_axes: 1 lows and 2 highs"},
        {TG_ERROR_SHAPE, "padding of -1 and 0 is negative"},
        {TG_ERROR_SHAPE, "dynamic_slice_axes: 2 starts and 1 sizes"},
        {TG_ERROR_INVALID_ARGUMENT, "0 starts are given"},
        {TG_ERROR_DTYPE, "the start needs an integer type"},
        {TG_ERROR_SHAPE, "axis 1 has fewer than 5 elements"},
        {TG_ERROR_SHAPE, "ranks differ"},
        {TG_ERROR_SHAPE, "3 axes are given for rank 2"},
        {TG_ERROR_SHAPE, "9 axes are given for rank 2"},
    };
    session s;
    session_begin(&s);
    tg_tensor *x = tg_tensor_create(s.ctx, TG_F32, TG_DIMS(3, 4), tg_zeros());
    for (int i = 0; i < (int)(sizeof wanted / sizeof *wanted); i++) {
        tg_function *f = tg_function_create(s.ctx, misuse, &i, NULL);
        check_fails(tg_call(f, TG_ARGS(x), TG_RESULTS()), wanted[i].status,
                    wanted[i].message, "test_axes.c:");
        tg_function_release(f);
    }
    tg_tensor_release(x);
    session_end(&s);
}

/* -- Random schedules ------------------------------------------------------ */

static void transposes(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    tg_return(t, tg_add(tg_transpose(in[0], TG_PERM(1, 0)), in[1]),
              tg_transpose(tg_mul(in[1], in[1]), TG_PERM(1, 0)));
}

static void note_transposes(session *s, int64_t m, int64_t n, outcome *out)
{
    tg_function *f = tg_function_create(s->ctx, transposes, NULL, NULL);
    tg_tensor *flat = f32_range(s->ctx, m * n), *r = NULL, *u = NULL;
    const float *data = tg_tensor_data(flat);
    tg_tensor *a = tg_tensor_copy(s->ctx, data, TG_F32, TG_DIMS(m, n));
    tg_tensor *b = tg_tensor_copy(s->ctx, data, TG_F32, TG_DIMS(n, m));
    check_works(tg_call(f, TG_ARGS(a, b), TG_RESULTS(&r, &u)));
    note_tensor(out, r);
    note_tensor(out, u);
    tg_tensor_release(r);
    tg_tensor_release(u);
    tg_tensor_release(a);
    tg_tensor_release(b);
    tg_tensor_release(flat);
    tg_function_release(f);
}

/* Random schedules put transposes of any size into tiles; random graphs have
   few that are not straight-line code. */
Test(axes, random_schedules_transpose_narrow_matrices)
{
    static outcome want, is;
    static const int64_t sizes[][2] = {{5, 900}, {900, 5}, {33, 70}};
    need_compiler();
    for (int i = 0; i < 3; i++) {
        session s;
        want.n = 0;
        session_begin_mode(&s, &all_modes[0]);
        note_transposes(&s, sizes[i][0], sizes[i][1], &want);
        session_end(&s);
        for (int seed = 1; seed <= 12; seed++) {
            char text[16];
            snprintf(text, sizeof(text), "%d", seed);
            setenv("TGJIT_SCHEDULE_SEED", text, 1);
            is.n = 0;
            session_begin_mode(&s, &all_modes[1 + seed % 5]);
            note_transposes(&s, sizes[i][0], sizes[i][1], &is);
            session_end(&s);
            unsetenv("TGJIT_SCHEDULE_SEED");
            cr_assert_eq(want.n, is.n);
            cr_assert_arr_eq(want.bytes, is.bytes, want.n,
                             "size %d, seed %d", i, seed);
        }
    }
    check_nothing_is_alive();
}
