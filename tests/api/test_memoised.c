/* SPDX-License-Identifier: MIT */
/*
 * test_memoised.c - packed operands that compiled calls memoise between calls:
 * they always reflect the current contents of the variable.
 */
#include "support/modes.h"

enum { ROWS = 6, COLUMNS = 40, INNER = 24, TIMES = 3 };

/* The columns are strided, so the variable is packed and the packed panels
   are memoised. */
static void apply(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    tg_return(t, tg_matmul_with(in[0], in[1], TG_TRANSPOSE_B));
}

static tg_variable *weights(session *s, const char *name, float scale)
{
    float data[COLUMNS * INNER];
    for (int i = 0; i < COLUMNS * INNER; i++)
        data[i] = scale * (float)(i % 37 - 18);
    tg_variable *w = tg_variable_create(s->ctx, name, TG_F32,
                                        TG_DIMS(COLUMNS, INNER),
                                        tg_from_data(data));
    cr_assert_not_null(w);
    return w;
}

static tg_tensor *inputs(session *s)
{
    tg_tensor *x =
        tg_tensor_create(s->ctx, TG_F32, TG_DIMS(ROWS, INNER), tg_zeros());
    cr_assert_not_null(x);
    float *data = tg_tensor_data(x);
    for (int i = 0; i < ROWS * INNER; i++)
        data[i] = 0.5f * (float)(i % 13) - 2;
    return x;
}

static void change(tg_variable *w, int number)
{
    float *data = tg_variable_map(w, TG_WRITE);
    cr_assert_not_null(data);
    data[number] += 1;
    check_works(tg_variable_unmap(w));
}

/* -- Changes --------------------------------------------------------------- */

static void halve(tg_trace *t, const tg_value *in, void *user)
{
    (void)t, (void)user;
    tg_assign(in[0], tg_mul(in[0], 0.5));
}

static void changes(session *s, outcome *out)
{
    tg_function *f = tg_function_create(s->ctx, apply, NULL, NULL);
    tg_function *g = tg_function_create(s->ctx, halve, NULL, NULL);
    tg_variable *w = weights(s, "w", 1);
    tg_tensor *x = inputs(s), *y = NULL;
    tg_bound *bound = tg_bind(f, TG_ARGS(x, w), TG_RESULTS(&y));
    cr_assert_not_null(bound);
    for (int i = 0; i < TIMES; i++) {
        check_works(tg_run(bound));
        note_tensor(out, y);
        check_works(tg_run(bound));
        note_tensor(out, y);
        change(w, i);
        check_works(tg_run(bound));
        note_tensor(out, y);
        check_works(tg_call(g, TG_ARGS(w), TG_RESULTS()));
        check_works(tg_run(bound));
        note_tensor(out, y);
    }
    tg_bound_release(bound);
    tg_tensor_release(y);
    tg_tensor_release(x);
    tg_variable_release(w);
    tg_function_release(g);
    tg_function_release(f);
}

Test(memoised, a_variable_that_changes_is_seen)
{
    check_modes(changes);
}

/* -- Other variables ------------------------------------------------------- */

static void call(session *s, outcome *out, tg_function *f, tg_tensor *x,
                 tg_variable *w)
{
    tg_tensor *y = NULL;
    (void)s;
    check_works(tg_call(f, TG_ARGS(x, w), TG_RESULTS(&y)));
    note_tensor(out, y);
    tg_tensor_release(y);
}

/* One function serves all of them; a new variable may have the address and
   the version of an old one. */
static void others(session *s, outcome *out)
{
    tg_function *f = tg_function_create(s->ctx, apply, NULL, NULL);
    tg_tensor *x = inputs(s);
    tg_variable *first = weights(s, "first", 1);
    tg_variable *second = weights(s, "second", 2);
    for (int i = 0; i < TIMES; i++) {
        call(s, out, f, x, first);
        call(s, out, f, x, second);
        call(s, out, f, x, second);
    }
    for (int i = 0; i < TIMES; i++) {
        tg_variable *w = weights(s, "new", (float)(3 + i));
        call(s, out, f, x, w);
        tg_variable_release(w);
    }
    tg_variable_release(second);
    tg_variable_release(first);
    tg_tensor_release(x);
    tg_function_release(f);
}

Test(memoised, each_variable_has_its_own_memo)
{
    check_modes(others);
}

/* -- Writing calls --------------------------------------------------------- */

static void train(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    tg_value y = tg_matmul_with(in[0], in[1], TG_TRANSPOSE_B);
    tg_assign(in[1], tg_sub(in[1], tg_mul(0.125, tg_matmul_with(
                                                     y, in[0],
                                                     TG_TRANSPOSE_A))));
    tg_return(t, y, tg_matmul_with(in[0], in[1], TG_TRANSPOSE_B));
}

static void trains(session *s, outcome *out)
{
    tg_function *f = tg_function_create(s->ctx, train, NULL, NULL);
    tg_variable *w = weights(s, "w", 0.01f);
    tg_tensor *x = inputs(s), *before = NULL, *after = NULL;
    tg_bound *bound = tg_bind(f, TG_ARGS(x, w), TG_RESULTS(&before, &after));
    cr_assert_not_null(bound);
    for (int i = 0; i < TIMES; i++) {
        check_works(tg_run(bound));
        note_tensor(out, before);
        note_tensor(out, after);
    }
    tg_bound_release(bound);
    tg_tensor_release(after);
    tg_tensor_release(before);
    tg_tensor_release(x);
    tg_variable_release(w);
    tg_function_release(f);
}

Test(memoised, a_call_that_writes_reads_its_own_writes)
{
    check_modes(trains);
}

/* -- Failures -------------------------------------------------------------- */

static void pick(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    tg_value rows = tg_gather(in[0], in[2], 0);
    tg_return(t, tg_matmul_with(rows, in[1], TG_TRANSPOSE_B));
}

/* A call that fails may end before anything is packed. */
static void failures(session *s, outcome *out)
{
    tg_function *f = tg_function_create(s->ctx, pick, NULL, NULL);
    tg_variable *w = weights(s, "w", 1);
    tg_tensor *x = inputs(s), *y = NULL;
    tg_tensor *index = tg_tensor_create(s->ctx, TG_I32, TG_DIMS(5), tg_zeros());
    int32_t *at = tg_tensor_data(index);
    tg_bound *bound = tg_bind(f, TG_ARGS(x, w, index), TG_RESULTS(&y));
    cr_assert_not_null(bound);
    for (int i = 0; i < TIMES; i++) {
        at[3] = ROWS;
        note_status(out, tg_run(bound));
        at[3] = i;
        check_works(tg_run(bound));
        note_tensor(out, y);
        change(w, i);
        at[3] = -1;
        note_status(out, tg_run(bound));
        at[3] = 1;
        check_works(tg_run(bound));
        note_tensor(out, y);
    }
    tg_bound_release(bound);
    tg_tensor_release(index);
    tg_tensor_release(y);
    tg_tensor_release(x);
    tg_variable_release(w);
    tg_function_release(f);
}

Test(memoised, a_call_that_failed_keeps_nothing)
{
    check_modes(failures);
}

/* -- Filters --------------------------------------------------------------- */

enum { SIDE = 6, CHANNELS = 8, FILTERS = 64 };

/* Filters with channels first are copied into another order, and packed; both
   convolutions read the same copy. */
static void convolve(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    const tg_value y = tg_conv(in[0], in[1], .layout = TG_CHANNELS_FIRST);
    const tg_value z =
        tg_conv(tg_exp(in[0]), in[1], .layout = TG_CHANNELS_FIRST);
    tg_return(t, tg_sum(tg_add(y, z), TG_AXES(2, 3)),
              tg_sum(tg_transpose(in[1], TG_PERM(2, 3, 1, 0)),
                     TG_AXES(0, 1, 2)));
}

/* The filters of a depthwise convolution have one channel each, and images have
   channels last. */
static void convolve_each(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    const tg_value x = tg_transpose(in[0], TG_PERM(0, 2, 3, 1));
    const tg_value w = tg_transpose(in[1], TG_PERM(2, 3, 1, 0));
    const tg_value y = tg_conv(x, w, .groups = CHANNELS);
    tg_return(t, y, tg_neg(y));
}

/* Two results of a function of images and filters, whose elements change. */
static void run_filters(session *s, outcome *out, tg_callback *callback,
                        int64_t n_filters, int64_t n_channels)
{
    static float data[FILTERS * CHANNELS * 9];
    tg_function *f = tg_function_create(s->ctx, callback, NULL, NULL);
    tg_function *g = tg_function_create(s->ctx, halve, NULL, NULL);
    for (int i = 0; i < FILTERS * CHANNELS * 9; i++)
        data[i] = (float)(i % 41 - 20);
    tg_variable *w =
        tg_variable_create(s->ctx, "w", TG_F32,
                           TG_DIMS(n_filters, n_channels, 3, 3),
                           tg_from_data(data));
    tg_tensor *x = tg_tensor_create(s->ctx, TG_F32,
                                    TG_DIMS(1, CHANNELS, SIDE, SIDE),
                                    tg_seeded(tg_uniform(-1, 1), 7));
    tg_tensor *y = NULL, *z = NULL;
    cr_assert(w && x);
    tg_bound *bound = tg_bind(f, TG_ARGS(x, w), TG_RESULTS(&y, &z));
    cr_assert_not_null(bound, "%s", tg_error(NULL));
    for (int i = 0; i < TIMES; i++) {
        check_works(tg_run(bound));
        note_tensor(out, y);
        change(w, 17 * i);
        check_works(tg_run(bound));
        note_tensor(out, y);
        note_tensor(out, z);
        check_works(tg_call(g, TG_ARGS(w), TG_RESULTS()));
        check_works(tg_run(bound));
        note_tensor(out, y);
    }
    tg_bound_release(bound);
    tg_tensor_release(z);
    tg_tensor_release(y);
    tg_tensor_release(x);
    tg_variable_release(w);
    tg_function_release(g);
    tg_function_release(f);
}

static void filters(session *s, outcome *out)
{
    run_filters(s, out, convolve, FILTERS, CHANNELS);
}

static void depthwise_filters(session *s, outcome *out)
{
    run_filters(s, out, convolve_each, CHANNELS, 1);
}

Test(memoised, filters_in_another_order_follow_their_variable)
{
    check_modes(filters);
    check_modes(depthwise_filters);
}

/* The copy, too, is made again only if the variable has changed. */
static void convolve_once(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    tg_return(t, tg_conv(in[0], in[1], .layout = TG_CHANNELS_FIRST));
}

static void convolve_each_once(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    tg_return(t, tg_conv(tg_transpose(in[0], TG_PERM(0, 2, 3, 1)),
                         tg_transpose(in[1], TG_PERM(2, 3, 1, 0)),
                         .groups = CHANNELS));
}

static void check_copied_once(tg_callback *callback, int64_t n_filters,
                              int64_t n_channels)
{
    session s;
    need_compiler();
    session_begin_mode(&s, &all_modes[1]);
    tg_function *f = tg_function_create(s.ctx, callback, NULL, NULL);
    tg_variable *w = tg_variable_create(s.ctx, "w", TG_F32,
                                        TG_DIMS(n_filters, n_channels, 3, 3),
                                        tg_fill(2));
    tg_tensor *x = tg_tensor_create(s.ctx, TG_F32,
                                    TG_DIMS(1, CHANNELS, SIDE, SIDE),
                                    tg_ones());
    tg_tensor *y = NULL;
    tg_bound *bound = tg_bind(f, TG_ARGS(x, w), TG_RESULTS(&y));
    cr_assert_not_null(bound, "%s", tg_error(NULL));
    check_works(tg_run(bound));
    const float first = ((float *)tg_tensor_data(y))[0];
    cr_expect_float_eq(first, (float)(2 * 9 * n_channels), 0);
    float *data = tg_variable_map(w, TG_READ);
    cr_assert_not_null(data);
    data[0] += 1; /* without the library's knowledge */
    check_works(tg_variable_unmap(w));
    check_works(tg_run(bound));
    cr_expect_float_eq(((float *)tg_tensor_data(y))[0], first, 0);
    change(w, 1);
    check_works(tg_run(bound));
    cr_expect_float_eq(((float *)tg_tensor_data(y))[0], first + 2, 0);
    tg_bound_release(bound);
    tg_tensor_release(y);
    tg_tensor_release(x);
    tg_variable_release(w);
    tg_function_release(f);
    session_end(&s);
}

Test(memoised, filters_in_another_order_are_memoised)
{
    check_copied_once(convolve_once, FILTERS, CHANNELS);
    check_copied_once(convolve_each_once, CHANNELS, 1);
}

/* -- Memoisation ----------------------------------------------------------- */

/* Memory that is changed without the library's knowledge is not packed
   again. */
Test(memoised, packed_operands_are_memoised)
{
    session s;
    float first[ROWS * COLUMNS];
    need_compiler();
    session_begin_mode(&s, &all_modes[1]);
    tg_function *f = tg_function_create(s.ctx, apply, NULL, NULL);
    tg_variable *w = weights(&s, "w", 1);
    tg_tensor *x = inputs(&s), *y = NULL;
    tg_bound *bound = tg_bind(f, TG_ARGS(x, w), TG_RESULTS(&y));
    cr_assert_not_null(bound);
    check_works(tg_run(bound));
    memcpy(first, tg_tensor_data(y), sizeof(first));
    float *data = tg_variable_map(w, TG_READ);
    cr_assert_not_null(data);
    data[0] += 1;
    check_works(tg_variable_unmap(w));
    check_works(tg_run(bound));
    cr_expect_arr_eq(first, tg_tensor_data(y), sizeof(first));
    change(w, 1);
    check_works(tg_run(bound));
    cr_expect_neq(memcmp(first, tg_tensor_data(y), sizeof(first)), 0);
    tg_bound_release(bound);
    tg_tensor_release(y);
    tg_tensor_release(x);
    tg_variable_release(w);
    tg_function_release(f);
    session_end(&s);
}
