/* SPDX-License-Identifier: MIT */
/*
 * test_dynamic.c - slices, updates, gathers and scatters at run-time positions:
 * compiled code has the bits of the interpreter for every number of threads and
 * vector width, without unnecessary stores or copies.
 */
#include "support/fusing.h"
#include "support/modes.h"

/* -- Calling --------------------------------------------------------------- */

static tg_tensor *f32_of(tg_context *ctx, int rank, const int64_t *dims)
{
    tg_tensor *x = tg_tensor_create(ctx, TG_F32, rank, dims, tg_zeros());
    cr_assert_not_null(x, "%s", tg_error(NULL));
    float *data = tg_tensor_data(x);
    for (int64_t i = 0; i < tg_tensor_count(x); i++)
        data[i] = 0.37f * (float)((i * 7919) % 1013) - 150;
    return x;
}

static tg_tensor *i64_scalar(tg_context *ctx, int64_t value)
{
    tg_tensor *x = tg_tensor_copy(ctx, &value, TG_I64, TG_SCALAR);
    cr_assert_not_null(x);
    return x;
}

/* Small enough for registers, odd enough for every kind of tail. */
enum { ROWS = 37, COLUMNS = 53 };

static const int64_t starts[] = {0, 1, 7, 20, 36, 99, -1, INT64_MIN,
                                 INT64_MAX};
enum { N_STARTS = sizeof(starts) / sizeof(*starts) };

/* Records the results of f(x, y, start) for many starts. */
static void call_with_starts(session *s, outcome *out, tg_callback *callback,
                             int n_results)
{
    tg_function *f = tg_function_create(s->ctx, callback, NULL, NULL);
    tg_tensor *x = f32_of(s->ctx, TG_DIMS(ROWS, COLUMNS));
    tg_tensor *y = f32_of(s->ctx, TG_DIMS(5, COLUMNS));
    for (int i = 0; i < N_STARTS; i++) {
        tg_tensor *start = i64_scalar(s->ctx, starts[i]);
        tg_tensor *results[4] = {NULL};
        const tg_result to[4] = {TG_OUT(&results[0]), TG_OUT(&results[1]),
                                 TG_OUT(&results[2]), TG_OUT(&results[3])};
        note_status(out, tg_call(f, TG_ARGS(x, y, start), to,
                                 (size_t)n_results));
        for (int r = 0; r < n_results; r++) {
            cr_assert_not_null(results[r], "%s", tg_error(NULL));
            /* A hash of the results, which are many. */
            uint64_t sum = 0;
            const unsigned char *bytes = tg_tensor_data(results[r]);
            for (size_t b = 0; b < tg_tensor_bytes(results[r]); b++)
                sum = sum * 0x100000001b3 + bytes[b];
            note(out, &sum, sizeof(sum));
            tg_tensor_release(results[r]);
        }
        tg_tensor_release(start);
    }
    tg_tensor_release(x);
    tg_tensor_release(y);
    tg_function_release(f);
}

/* A callback over x, y and start, and the scenario that calls it. */
#define SCENARIO(name, n_results, ...) \
    static void name(tg_trace *t, const tg_value *in, void *user) \
    { \
        const tg_value x = in[0], y = in[1], start = in[2]; \
        (void)x, (void)y, (void)start, (void)user; \
        tg_return(t, __VA_ARGS__); \
    } \
    static void call_##name(session *s, outcome *out) \
    { \
        call_with_starts(s, out, name, n_results); \
    }

/* -- Slices ---------------------------------------------------------------- */

SCENARIO(rows_and_columns, 3, tg_dynamic_slice(x, 0, start, 5),
         tg_exp(tg_dynamic_slice(x, 1, start, 17)),
         tg_dynamic_slice(tg_dynamic_slice(x, 0, start, 9), 1,
                          tg_mul(start, 3), 11))
SCENARIO(of_slices, 3,
         tg_dynamic_slice(tg_dynamic_slice(x, 0, start, 20), 0,
                          tg_sub(start, 2), 6),
         tg_dynamic_slice(tg_slice(x, 1, -1, TG_END, -2), 1, start, 10),
         tg_slice(tg_dynamic_slice(x, 1, start, 30), 1, -1, TG_END, -3))
SCENARIO(through_views, 4,
         tg_add(tg_transpose(tg_dynamic_slice(x, 1, start, 37), TG_PERM(1, 0)),
                tg_dynamic_slice(x, 1, start, 37)),
         tg_dynamic_slice(tg_broadcast(tg_slice(y, 0, 0, 1, 1),
                                       TG_DIMS(4, 5, COLUMNS)),
                          2, start, 12),
         tg_reshape(tg_dynamic_slice(tg_reshape(x, TG_DIMS(-1)), 0,
                                     tg_mul(start, 50), 60),
                    TG_DIMS(5, 12)),
         tg_add(tg_dynamic_slice(x, 0, start, 1), y))
SCENARIO(of_what_is_computed, 3,
         tg_dynamic_slice(tg_tanh(x), 0, start, 6),
         tg_dynamic_slice(tg_iota(TG_I64, TG_DIMS(40, 3), 0), 0, start, 7),
         tg_dynamic_slice(tg_random_bits(TG_U32, tg_scalar(TG_U64, 3),
                                         tg_scalar(TG_U64, 1),
                                         TG_DIMS(9, 40)),
                          1, start, 33))
SCENARIO(reduced, 4,
         tg_sum(tg_dynamic_slice(x, 1, start, 33), TG_AXES(1)),
         tg_sum(tg_dynamic_slice(x, 0, start, 19), TG_AXES(0)),
         tg_softmax(tg_dynamic_slice(x, 1, start, 21), 1),
         tg_matmul_with(tg_dynamic_slice(x, 0, start, 13), y, TG_TRANSPOSE_B))
/* The start is itself gathered from a value computed in the same call. */
SCENARIO(from_a_start_that_is_sliced, 2,
         tg_dynamic_slice(
             x, 0,
             tg_cast(tg_reshape(tg_dynamic_slice(
                                    tg_dynamic_slice(y, 0, start, 1), 1,
                                    tg_add(start, 1), 1),
                                TG_SCALAR),
                     TG_I16),
             4),
         tg_dynamic_slice(x, 1,
                          tg_argmax(tg_reshape(y, TG_DIMS(-1)), 0), 50))
/* The slice has the domain of the reduction that computes its start. */
SCENARIO(from_a_start_that_is_reduced, 2,
         tg_dynamic_slice(
             tg_reshape(x, TG_DIMS(-1)), 0,
             tg_cast(tg_sum(tg_slice(y, 0, 0, 1, 1), TG_ALL_AXES), TG_I32),
             COLUMNS),
         tg_mul(tg_slice(y, 0, 0, 1, 1),
                tg_sum(tg_slice(y, 0, 0, 1, 1), TG_ALL_AXES)))
SCENARIO(gathered, 2,
         tg_gather_with(tg_dynamic_slice(x, 0, start, 11),
                        tg_iota(TG_I32, TG_DIMS(14), 0), 0, TG_GATHER_CLAMP),
         tg_dynamic_slice(tg_gather_with(x, tg_iota(TG_I32, TG_DIMS(45), 0), 0,
                                         TG_GATHER_ZERO),
                          0, start, 12))
/* Straight-line code. */
SCENARIO(of_few_elements, 3,
         tg_dynamic_slice(tg_slice(tg_slice(x, 0, 0, 3, 1), 1, 0, 9, 1), 1,
                          start, 4),
         tg_sum(tg_exp(tg_dynamic_slice(tg_slice(y, 0, 0, 2, 1), 1, start, 3)),
                TG_ALL_AXES),
         tg_dynamic_slice(
             tg_softmax(tg_slice(tg_slice(y, 0, 0, 2, 1), 1, 0, 8, 1), 1), 1,
             start, 5))

Test(dynamic, slices_have_the_bits_of_the_interpreter)
{
    check_modes(call_rows_and_columns);
    check_modes(call_of_slices);
    check_modes(call_through_views);
    check_modes(call_of_what_is_computed);
    check_modes(call_reduced);
    check_modes(call_gathered);
    check_modes(call_of_few_elements);
    check_nothing_is_alive();
}

Test(dynamic, starts_may_be_computed_by_the_call)
{
    check_modes(call_from_a_start_that_is_sliced);
    check_modes(call_from_a_start_that_is_reduced);
    check_nothing_is_alive();
}

/* -- Updates --------------------------------------------------------------- */

/* In place, from a copy, of the same rows, of others, along both axes. */
SCENARIO(updated, 4, tg_dynamic_update_slice(x, y, 0, start),
         tg_sum(tg_dynamic_update_slice(tg_exp(x), tg_neg(y), 0, start),
                TG_AXES(1)),
         tg_dynamic_update_slice(
             tg_softmax(x, 1),
             tg_dynamic_slice(tg_softmax(x, 1), 1, tg_sub(start, 1), 9), 1,
             start),
         tg_dynamic_update_slice(x, tg_mul(x, 2), 0, start))

static tg_value twice(tg_value x, tg_value start)
{
    tg_value part = tg_dynamic_slice(x, 0, start, 5);
    return tg_dynamic_update_slice(x, tg_mul(part, 2), 0, start);
}

/* x[i] += x[i] on a dead value, three times, at overlapping and disjoint
   positions. */
SCENARIO(changed_again, 2,
         twice(twice(twice(tg_softmax(x, 0), start), tg_add(start, 3)),
               tg_scalar(TG_I32, 7)),
         twice(tg_add(tg_sum(x, tg_keep(TG_AXES(0))), x), start))
/* The updated value is also used unchanged, before or after. */
SCENARIO(kept_as_well, 4, tg_softmax(x, 1),
         tg_dynamic_update_slice(tg_softmax(x, 1), y, 0, start),
         tg_dynamic_update_slice(tg_softmax(x, 1), tg_neg(y), 0, 3),
         tg_sum(tg_matmul_with(tg_softmax(x, 1), y, TG_TRANSPOSE_B),
                TG_AXES(1)))
SCENARIO(updated_little, 3,
         tg_dynamic_update_slice(tg_softmax(tg_slice(y, 1, 0, 8, 1), 1),
                                 tg_slice(tg_slice(y, 1, 9, 17, 1), 0, 0, 2,
                                          1),
                                 0, start),
         twice(twice(tg_softmax(tg_slice(tg_slice(x, 1, 0, 6, 1), 0, 0, 9, 1),
                                1),
                     start),
               tg_scalar(TG_U8, 2)),
         tg_reshape(tg_dynamic_slice(
                        tg_dynamic_update_slice(
                            tg_iota(TG_F32, TG_DIMS(11), 0),
                            tg_sum(tg_slice(y, 0, 0, 1, 1), TG_AXES(1)), 0,
                            start),
                        0, tg_sub(start, 1), 3),
                    TG_DIMS(3, 1)))

/* Forwarded values are reloaded after a store at an unknown position. */
SCENARIO(updated_and_read, 2,
         tg_neg(tg_dynamic_update_slice(
             tg_softmax(tg_slice(y, 1, 0, 8, 1), 1),
             tg_slice(tg_slice(y, 1, 9, 17, 1), 0, 0, 2, 1), 0, start)),
         tg_sum(tg_scatter_with(tg_softmax(tg_slice(y, 1, 0, 4, 1), 1), start,
                                tg_slice(tg_sum(y, TG_AXES(0)), 0, 0, 4, 1), 0,
                                TG_SCATTER_SET, TG_SCATTER_DROP),
                TG_AXES(1)))

Test(dynamic, updates_have_the_bits_of_the_interpreter)
{
    check_modes(call_updated_and_read);
    check_modes(call_updated);
    check_modes(call_changed_again);
    check_modes(call_kept_as_well);
    check_modes(call_updated_little);
    check_nothing_is_alive();
}

/* in: v, row, position */
static void append(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    tg_value before = tg_read(in[0]);
    tg_assign(in[0], tg_dynamic_update_slice(before, in[1], 0, in[2]));
    tg_return(t, tg_sum(before, TG_ALL_AXES), tg_sum(in[0], TG_AXES(0)));
}

/* The same, with a check in between, which may fail. */
static void append_checked(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    tg_value after = tg_dynamic_update_slice(in[0], in[1], 0, in[2]);
    tg_print(t, "%v", tg_sum(after, TG_ALL_AXES));
    tg_value picked = tg_gather(after, in[2], 0);
    tg_assign(in[0], after);
    tg_return(t, picked, tg_sum(after, TG_AXES(0)));
}

/* An assigned value stays assigned when another value is derived from it. */
static void assign_and_update(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    tg_value next = tg_exp(tg_neg(tg_abs(in[0])));
    tg_assign(in[0], next);
    tg_value other = tg_dynamic_update_slice(next, in[1], 0, in[2]);
    tg_return(t, tg_sum(other, TG_AXES(0)), tg_sum(other, TG_AXES(1)));
}

static void append_all(session *s, outcome *out, tg_callback *callback)
{
    tg_function *f = tg_function_create(s->ctx, callback, NULL, NULL);
    tg_variable *v = tg_variable_create(s->ctx, "v", TG_F32, TG_DIMS(20, 40),
                                        tg_fill(0.5));
    tg_tensor *row = f32_of(s->ctx, TG_DIMS(1, 40));
    for (int i = 0; i < N_STARTS; i++) {
        tg_tensor *at = i64_scalar(s->ctx, starts[i]), *a = NULL, *b = NULL;
        if (note_status(out, tg_call(f, TG_ARGS(v, row, at),
                                     TG_RESULTS(&a, &b))) == TG_OK) {
            note_tensor(out, a);
            note_tensor(out, b);
        }
        note_variable(out, v);
        tg_tensor_release(a);
        tg_tensor_release(b);
        tg_tensor_release(at);
    }
    tg_tensor_release(row);
    tg_variable_release(v);
    tg_function_release(f);
}

static void call_append(session *s, outcome *out)
{
    append_all(s, out, append);
}

static void call_assign_and_update(session *s, outcome *out)
{
    append_all(s, out, assign_and_update);
}

static void call_append_checked(session *s, outcome *out)
{
    append_all(s, out, append_checked);
}

Test(dynamic, variables_keep_their_contents_if_a_call_fails)
{
    check_modes(call_append);
    check_modes(call_assign_and_update);
    check_modes(call_append_checked);
    check_nothing_is_alive();
}

/* -- Scatters -------------------------------------------------------------- */

/* n indices with duplicates, some of them out of range if the start is. */
static tg_value some_indices(tg_value start, int64_t n)
{
    tg_value counted = tg_iota(TG_I64, TG_DIMS(n), 0);
    return tg_add(tg_rem(tg_mul(counted, 7), 23), tg_clamp(start, -3, 20));
}

/* Rows, where the last update wins or all are added in order; then columns. */
SCENARIO(scattered_rows, 4,
         tg_scatter_with(x, some_indices(start, 5), y, 0, TG_SCATTER_SET,
                         TG_SCATTER_DROP),
         tg_scatter_with(tg_softmax(x, 1), some_indices(start, 5), y, 0,
                         TG_SCATTER_ADD, TG_SCATTER_DROP),
         tg_scatter_with(x, some_indices(start, 40),
                         tg_gather_with(x, tg_iota(TG_I32, TG_DIMS(40), 0), 0,
                                        TG_GATHER_CLAMP),
                         0, TG_SCATTER_ADD, TG_SCATTER_DROP),
         tg_scatter_with(tg_exp(x), some_indices(start, 60),
                         tg_broadcast(0.1f, TG_DIMS(ROWS, 60)), 1,
                         TG_SCATTER_ADD, TG_SCATTER_DROP))
/* One index for all, indices of several axes, one axis, one element. */
SCENARIO(scattered_otherwise, 4,
         tg_scatter_with(x,
                         tg_broadcast(tg_cast(start, TG_I32), TG_DIMS(31)),
                         tg_broadcast(tg_slice(y, 0, 0, 1, 1),
                                      TG_DIMS(31, COLUMNS)),
                         0, TG_SCATTER_ADD, TG_SCATTER_DROP),
         tg_scatter_with(
             x, tg_reshape(some_indices(start, 12), TG_DIMS(3, 4)),
             tg_transpose(tg_broadcast(tg_slice(tg_slice(y, 0, 0, 3, 1), 1, 0,
                                                ROWS, 1),
                                       TG_DIMS(4, 3, ROWS)),
                          TG_PERM(2, 1, 0)),
             1, TG_SCATTER_SET, TG_SCATTER_DROP),
         tg_scatter_with(tg_reshape(x, TG_DIMS(-1)), some_indices(start, 900),
                         tg_slice(tg_reshape(x, TG_DIMS(-1)), 0, 0, 900, 1), 0,
                         TG_SCATTER_ADD, TG_SCATTER_DROP),
         tg_scatter_with(x, start, tg_slice(tg_reshape(y, TG_DIMS(-1)), 0, 0,
                                            COLUMNS, 1),
                         0, TG_SCATTER_ADD, TG_SCATTER_DROP))
SCENARIO(scattered_little, 2,
         tg_scatter_with(tg_softmax(tg_slice(y, 1, 0, 6, 1), 1),
                         some_indices(start, 7),
                         tg_reshape(tg_slice(tg_reshape(x, TG_DIMS(-1)), 0, 0,
                                             42, 1),
                                    TG_DIMS(7, 6)),
                         0, TG_SCATTER_ADD, TG_SCATTER_DROP),
         tg_scatter_with(
             tg_scatter_with(tg_iota(TG_F32, TG_DIMS(9), 0),
                             some_indices(start, 4),
                             tg_slice(tg_sum(y, TG_AXES(0)), 0, 0, 4, 1), 0,
                             TG_SCATTER_SET, TG_SCATTER_DROP),
             some_indices(start, 3), tg_slice(tg_sum(y, TG_AXES(0)), 0, 4, 7,
                                              1),
             0, TG_SCATTER_ADD, TG_SCATTER_DROP))

static tg_value half_updated(tg_value x, tg_value indices)
{
    tg_value rows = tg_gather_with(x, indices, 0, TG_GATHER_ZERO);
    return tg_scatter_with(x, indices, tg_mul(rows, 0.5), 0, TG_SCATTER_ADD,
                           TG_SCATTER_DROP);
}

/* The updates are read from the operand, which dies. */
SCENARIO(scattered_from_itself, 1,
         half_updated(half_updated(tg_softmax(x, 0), some_indices(start, 9)),
                      some_indices(start, 8)))

/* 0, 2, 5, 7 … 27 */
static tg_value computed_indices(void)
{
    const tg_value i = tg_iota(TG_F32, TG_DIMS(12), 0);
    return tg_cast(tg_mul(i, 2.5), TG_I64);
}

/* Indices that a check has found to be in range of one operand are not in range
   of a smaller one. */
SCENARIO(checked_indices, 3, tg_gather(x, computed_indices(), 0),
         tg_gather_with(tg_slice(x, 0, 0, 9, 1), computed_indices(), 0,
                        TG_GATHER_CLAMP),
         tg_gather_with(tg_slice(x, 0, 0, 9, 1), computed_indices(), 0,
                        TG_GATHER_ZERO))
SCENARIO(checked_rows, 3, tg_gather(x, computed_indices(), 0),
         tg_gather_with(x, computed_indices(), 0, TG_GATHER_ZERO),
         tg_scatter_with(tg_slice(x, 0, 0, 9, 1), computed_indices(),
                         tg_slice(x, 0, 0, 12, 1), 0, TG_SCATTER_ADD,
                         TG_SCATTER_DROP))
SCENARIO(checked_vectors, 3,
         tg_gather(tg_reshape(x, TG_DIMS(-1)), computed_indices(), 0),
         tg_scatter_with(tg_slice(tg_reshape(x, TG_DIMS(-1)), 0, 0, 9, 1),
                         computed_indices(),
                         tg_slice(tg_reshape(y, TG_DIMS(-1)), 0, 0, 12, 1), 0,
                         TG_SCATTER_ADD, TG_SCATTER_DROP),
         tg_scatter_with(tg_reshape(x, TG_DIMS(-1)), computed_indices(),
                         tg_slice(tg_reshape(y, TG_DIMS(-1)), 0, 0, 12, 1), 0,
                         TG_SCATTER_ADD, TG_SCATTER_DROP))

Test(dynamic, checked_indices_have_the_bits_of_the_interpreter)
{
    check_modes(call_checked_indices);
    check_modes(call_checked_rows);
    check_modes(call_checked_vectors);
    check_nothing_is_alive();
}

Test(dynamic, scatters_have_the_bits_of_the_interpreter)
{
    check_modes(call_scattered_rows);
    check_modes(call_scattered_otherwise);
    check_modes(call_scattered_little);
    check_modes(call_scattered_from_itself);
    check_nothing_is_alive();
}

/* in: v, row, position. The first invalid index is reported; earlier effects
   remain, and nothing of the scatter happens. */
static void scatter_checked(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    tg_assign_add(in[0], 1);
    tg_value rows = tg_broadcast(in[1], TG_DIMS(3, 40));
    tg_value at = tg_add(tg_iota(TG_I64, TG_DIMS(3), 0), in[2]);
    tg_assign(in[0], tg_scatter(in[0], at, rows, 0, TG_SCATTER_ADD));
    tg_return(t, tg_sum(in[0], TG_ALL_AXES), at);
}

static void call_scatter_checked(session *s, outcome *out)
{
    append_all(s, out, scatter_checked);
}

Test(dynamic, a_bad_index_of_a_scatter_is_named)
{
    check_modes(call_scatter_checked);
    session s;
    session_begin(&s);
    tg_function *f = tg_function_create(s.ctx, scatter_checked, NULL, NULL);
    tg_variable *v = tg_variable_create(s.ctx, "v", TG_F32, TG_DIMS(20, 40),
                                        tg_fill(0));
    tg_tensor *row = f32_of(s.ctx, TG_DIMS(1, 40));
    tg_tensor *at = i64_scalar(s.ctx, 18);
    check_fails(tg_call(f, TG_ARGS(v, row, at), TG_RESULTS()),
                TG_ERROR_INDEX, "test_dynamic.c:",
                "scatter: index 20 at position [2] is out of range for axis 0 "
                "of extent 20");
    tg_tensor_release(at);
    tg_tensor_release(row);
    tg_variable_release(v);
    tg_function_release(f);
    session_end(&s);
}

/* -- Fusion ---------------------------------------------------------------- */

/* in: x, start */
static void minibatch(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    tg_value rows = tg_dynamic_slice(in[0], 0, tg_mul(in[1], 8), 8);
    tg_return(t, tg_mul(tg_exp(rows), 2));
}

static void of_computed(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    tg_value part = tg_dynamic_slice(tg_exp(in[0]), 1, in[1], 200);
    tg_return(t, tg_sum(part, TG_AXES(1)));
}

#define SCALAR_I64 tg_spec_tensor(TG_I64, TG_SCALAR)

/* One kernel, which computes every stored element once. */
Test(dynamic, slices_melt_into_their_users)
{
    fused fu;
    tgi_strbuf text = {0};
    SHOW(&text, &fu, minibatch, NO_SYMBOLS, F32(1000, 100), SCALAR_I64);
    cr_expect_eq(n_kernels(&fu), 1);
    cr_expect_eq(n_places(&fu, TGI_PLACE_TEMP), 0);
    cr_expect_eq(n_insts(&fu, TGI_INST_INDEX), 1);
    fuse_end(&fu);
    SHOW(&text, &fu, of_computed, NO_SYMBOLS, F32(300, 1000), SCALAR_I64);
    cr_expect_eq(n_kernels(&fu), 1);
    cr_expect_eq(n_ops(&fu, TGI_OP_EXP), 1);
    cr_expect_eq(n_places(&fu, TGI_PLACE_TEMP), 0);
    fuse_end(&fu);
    check_shown("loops_dynamic.txt", &text);
}

/* Number of stores of all kernels. */
static int n_stores(const fused *fu)
{
    int n = 0;
    for (size_t k = 0; k < fu->loops->kernels.n; k++)
        n += (int)fu->loops->kernels.data[k]->stores.n;
    return n;
}

/* in: x, row, start */
static void of_a_product(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    tg_value x = tg_matmul(in[0], in[0]);
    tg_value y = tg_dynamic_update_slice(x, in[1], 0, in[2]);
    tg_return(t, tg_dynamic_update_slice(y, in[1], 0, tg_add(in[2], 9)));
}

static void of_a_parameter(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    tg_return(t, tg_dynamic_update_slice(in[0], in[1], 0, in[2]));
}

static void of_what_lives_on(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    tg_value x = tg_matmul(in[0], in[0]);
    tg_value y = tg_dynamic_update_slice(x, in[1], 0, in[2]);
    tg_return(t, tg_matmul(x, y));
}

/* x[i] += x[i]; the old contents are summed before. */
static void read_and_changed(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    tg_value x = tg_matmul(in[0], in[0]);
    tg_return(t, tg_sum(x, TG_AXES(1)), twice(x, in[2]));
}

Test(dynamic, dead_operands_are_updated_in_place)
{
    fused fu;
    tgi_strbuf text = {0};
    /* The packed operand, the product and two rows: nothing is copied. */
    SHOW(&text, &fu, of_a_product, NO_SYMBOLS, F32(300, 300), F32(1, 300),
         SCALAR_I64);
    cr_expect_eq(n_stores(&fu), 4);
    cr_expect_eq(n_places(&fu, TGI_PLACE_TEMP), 1);
    fuse_end(&fu);
    SHOW(&text, &fu, read_and_changed, NO_SYMBOLS, F32(300, 300), F32(1, 300),
         SCALAR_I64);
    cr_expect_eq(n_stores(&fu), 4);
    cr_expect_eq(n_places(&fu, TGI_PLACE_TEMP), 1);
    fuse_end(&fu);
    /* Copied: an argument must not change, and neither must a live value. */
    SHOW(&text, &fu, of_a_parameter, NO_SYMBOLS, F32(300, 300), F32(1, 300),
         SCALAR_I64);
    cr_expect_eq(n_stores(&fu), 2);
    fuse_end(&fu);
    fuse(&fu, of_what_lives_on, NO_SYMBOLS, F32(300, 300), F32(1, 300),
         SCALAR_I64);
    cr_expect_eq(n_places(&fu, TGI_PLACE_TEMP), 4); /* two are packed */
    fuse_end(&fu);
    check_shown("loops_updates.txt", &text);
}

Test(dynamic, variables_are_updated_in_place)
{
    fused fu;
    tgi_strbuf text = {0};
    SHOW(&text, &fu, append, NO_SYMBOLS, V32(1000, 300), F32(1, 300),
         SCALAR_I64);
    cr_expect_eq(n_places(&fu, TGI_PLACE_TEMP), 2); /* sums of blocks */
    fuse_end(&fu);
    /* A check may fail before the variable may change. */
    fuse(&fu, append_checked, NO_SYMBOLS, V32(1000, 300), F32(1, 300),
         SCALAR_I64);
    cr_expect_geq(n_places(&fu, TGI_PLACE_TEMP), 1);
    fuse_end(&fu);
    check_shown("loops_appended.txt", &text);
}

/* in: table, indices, gradients */
static void embedding_step(tg_trace *t, const tg_value *in, void *user)
{
    (void)t, (void)user;
    tg_value steps = tg_mul(in[2], -0.1f);
    tg_assign(in[0], tg_scatter_with(in[0], in[1], steps, 0, TG_SCATTER_ADD,
                                     TG_SCATTER_DROP));
}

static void histogram(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    tg_value ones = tg_broadcast(tg_scalar(TG_I32, 1), TG_DIMS(5000));
    tg_value zeros = tg_broadcast(tg_scalar(TG_I32, 0), TG_DIMS(256));
    tg_return(t, tg_scatter(zeros, in[0], ones, 0, TG_SCATTER_ADD));
}

/* A table is updated in place: only the selected rows are touched. */
Test(dynamic, scatters_go_in_order_and_in_place)
{
    fused fu;
    tgi_strbuf text = {0};
    SHOW(&text, &fu, embedding_step, NO_SYMBOLS, V32(1000, 64), I32(300),
         F32(300, 64));
    cr_expect_eq(n_kernels(&fu), 1);
    cr_expect_eq(n_places(&fu, TGI_PLACE_TEMP), 0);
    fuse_end(&fu);
    SHOW(&text, &fu, histogram, NO_SYMBOLS, I32(5000));
    cr_expect_eq(n_places(&fu, TGI_PLACE_TEMP), 0);
    fuse_end(&fu);
    check_shown("loops_scatters.txt", &text);
}
