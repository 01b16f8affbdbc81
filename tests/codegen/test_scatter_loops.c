/* SPDX-License-Identifier: MIT */
/*
 * test_scatter_loops.c - kernels of scatters: zeros by string instructions,
 * rows outside of columns, unrolled rows of single columns.
 */
#include "base/hash.h"
#include "support/modes.h"

static void table_gradient(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    const tg_value rows = tg_gather(in[0], in[1], 0);
    tg_return(t, tg_gradient(tg_sum(tg_mul(rows, in[2]), TG_ALL_AXES), in[0]));
}

static tg_tensor *row_numbers(tg_context *ctx, int n, int n_rows)
{
    tg_tensor *x = tg_tensor_create(ctx, TG_I32, TG_DIMS(n), tg_zeros());
    cr_assert_not_null(x);
    for (int i = 0; i < n; i++)
        ((int32_t *)tg_tensor_data(x))[i] = (i * 7919 + i / 3) % n_rows;
    return x;
}

/* Tensors are too large for an outcome. */
static void note_hash(outcome *out, const tg_tensor *tensor)
{
    const uint64_t hash =
        tgi_hash(tg_tensor_data(tensor), tg_tensor_bytes(tensor), 0);
    note(out, &hash, sizeof(hash));
}

typedef struct sizes {
    int n_rows, n_columns, n_picks;
} sizes;

static void add_rows(session *s, outcome *out, tg_function *f, sizes z)
{
    tg_tensor *table = tg_tensor_create(
        s->ctx, TG_F32, TG_DIMS(z.n_rows, z.n_columns), tg_zeros());
    tg_tensor *at = row_numbers(s->ctx, z.n_picks, z.n_rows);
    tg_tensor *rows = tg_tensor_create(
        s->ctx, TG_F32, TG_DIMS(z.n_picks, z.n_columns), tg_zeros());
    tg_tensor *y = NULL;
    cr_assert(table && at && rows);
    for (int i = 0; i < z.n_picks * z.n_columns; i++)
        ((float *)tg_tensor_data(rows))[i] = (float)(i % 1009) / 7;
    /* The second call finds the results of the first in the memory of its own. */
    for (int i = 0; i < 2; i++) {
        cr_assert_eq(tg_call(f, TG_ARGS(table, at, rows), TG_RESULTS(&y)),
                     TG_OK, "%s", tg_error(NULL));
        note_hash(out, y);
    }
    tg_tensor_release(y);
    tg_tensor_release(rows);
    tg_tensor_release(at);
    tg_tensor_release(table);
}

/* Columns: one, less than a vector, whole vectors, and with a tail; rows that
   are no multiple of the unrolled ones. The last table exceeds L2. */
static const sizes all_sizes[] = {
    {10, 1, 1},   {100, 1, 1003}, {10, 5, 37},    {9, 64, 12},
    {9, 130, 33}, {40, 256, 65},  {7, 1000, 100}, {3001, 700, 21},
};

static void add_all(session *s, outcome *out)
{
    for (size_t i = 0; i < sizeof(all_sizes) / sizeof(*all_sizes); i++) {
        tg_function *f =
            tg_function_create(s->ctx, table_gradient, NULL, NULL);
        cr_assert_not_null(f);
        add_rows(s, out, f, all_sizes[i]);
        tg_function_release(f);
    }
}

Test(scatter_loops, rows_are_added_in_order)
{
    check_modes(add_all);
    check_nothing_is_alive();
}

static void add_all_of_unknown_sizes(session *s, outcome *out)
{
    tg_function *f = tg_function_create(
        s->ctx, table_gradient, NULL,
        TG_SIGNATURE(TG_SPEC(TG_F32, TG_UNKNOWN, TG_UNKNOWN),
                     TG_SPEC(TG_I32, TG_UNKNOWN),
                     TG_SPEC(TG_F32, TG_UNKNOWN, TG_UNKNOWN)));
    cr_assert_not_null(f);
    for (size_t i = 0; i < sizeof(all_sizes) / sizeof(*all_sizes); i++)
        add_rows(s, out, f, all_sizes[i]);
    tg_function_release(f);
}

Test(scatter_loops, rows_of_unknown_sizes_are_added_in_order)
{
    check_modes(add_all_of_unknown_sizes);
    check_nothing_is_alive();
}

/* A dropped row is selected by a bool that is equal in all its columns. */
static void set_rows(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    tg_return(t, tg_scatter_with(in[0], in[1], tg_mul(in[2], 2), 0,
                                 TG_SCATTER_SET, TG_SCATTER_DROP));
}

static void drop_rows(session *s, outcome *out)
{
    enum { ROWS = 5, COLUMNS = 150, PICKS = 9 };
    tg_function *f = tg_function_create(
        s->ctx, set_rows, NULL,
        TG_SIGNATURE(TG_SPEC(TG_F32, TG_UNKNOWN, TG_UNKNOWN),
                     TG_SPEC(TG_I32, TG_UNKNOWN),
                     TG_SPEC(TG_F32, TG_UNKNOWN, TG_UNKNOWN)));
    tg_tensor *table = tg_tensor_create(s->ctx, TG_F32, TG_DIMS(ROWS, COLUMNS),
                                        tg_zeros());
    tg_tensor *rows = tg_tensor_create(s->ctx, TG_F32,
                                       TG_DIMS(PICKS, COLUMNS), tg_zeros());
    tg_tensor *at = row_numbers(s->ctx, PICKS, ROWS + 3), *y = NULL;
    cr_assert(f && table && rows);
    for (int i = 0; i < PICKS * COLUMNS; i++)
        ((float *)tg_tensor_data(rows))[i] = (float)i;
    cr_assert_eq(tg_call(f, TG_ARGS(table, at, rows), TG_RESULTS(&y)), TG_OK,
                 "%s", tg_error(NULL));
    note_tensor(out, y);
    tg_tensor_release(y);
    tg_tensor_release(at);
    tg_tensor_release(rows);
    tg_tensor_release(table);
    tg_function_release(f);
}

Test(scatter_loops, drops_rows_out_of_range)
{
    check_modes(drop_rows);
    check_nothing_is_alive();
}
