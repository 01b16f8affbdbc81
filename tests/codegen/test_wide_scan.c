/* SPDX-License-Identifier: MIT */
/*
 * test_wide_scan.c - scans down columns, row by row: strips of columns, tails,
 * both directions, several carried values, sizes that are unknown.
 */
#include "base/hash.h"
#include "support/modes.h"

static void scans(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    tg_return(t, tg_cumsum(in[0], 0),
              tg_cumprod_with(in[0], 0, TG_CUMULATIVE_REVERSE),
              tg_cumsum_with(in[0], 0, TG_CUMULATIVE_EXCLUSIVE),
              tg_linear_scan(in[0], tg_add(in[0], 1), 0, true),
              tg_cumsum(tg_cast(in[0], TG_I32), 0));
}

typedef struct sizes {
    int n_rows, n_columns;
} sizes;

/* Columns: one, less than a vector, with a tail, several strips of the stack.
   Rows: none, too few for row order, more. */
static const sizes all_sizes[] = {
    {0, 70},   {1, 70},   {7, 200},   {8, 64},   {33, 1},
    {40, 65},  {9, 1000}, {300, 130}, {12, 9001}, {10, 20000},
};

/* Results are too large for an outcome. */
static void note_hash(outcome *out, const tg_tensor *tensor)
{
    const uint64_t hash =
        tgi_hash(tg_tensor_data(tensor), tg_tensor_bytes(tensor), 0);
    note(out, &hash, sizeof(hash));
}

static void scan(session *s, outcome *out, tg_function *f, sizes z)
{
    enum { RESULTS = 5 };
    tg_tensor *x = tg_tensor_create(
        s->ctx, TG_F64, TG_DIMS(z.n_rows, z.n_columns), tg_zeros());
    tg_tensor *y[RESULTS] = {NULL};
    cr_assert_not_null(x);
    for (int i = 0; i < z.n_rows * z.n_columns; i++)
        ((double *)tg_tensor_data(x))[i] = 0.8 + (double)(i % 1009) / 2500;
    cr_assert_eq(tg_call(f, TG_ARGS(x),
                         TG_RESULTS(&y[0], &y[1], &y[2], &y[3], &y[4])),
                 TG_OK, "%s", tg_error(NULL));
    for (int i = 0; i < RESULTS; i++) {
        note_hash(out, y[i]);
        tg_tensor_release(y[i]);
    }
    tg_tensor_release(x);
}

static void scan_all(session *s, outcome *out)
{
    for (size_t i = 0; i < sizeof(all_sizes) / sizeof(*all_sizes); i++) {
        tg_function *f = tg_function_create(s->ctx, scans, NULL, NULL);
        cr_assert_not_null(f);
        scan(s, out, f, all_sizes[i]);
        tg_function_release(f);
    }
}

Test(wide_scan, columns_go_down_their_rows_in_order)
{
    check_modes(scan_all);
    check_nothing_is_alive();
}

static void scan_all_of_unknown_sizes(session *s, outcome *out)
{
    tg_function *f = tg_function_create(
        s->ctx, scans, NULL,
        TG_SIGNATURE(TG_SPEC(TG_F64, TG_UNKNOWN, TG_UNKNOWN)));
    cr_assert_not_null(f);
    for (size_t i = 0; i < sizeof(all_sizes) / sizeof(*all_sizes); i++)
        scan(s, out, f, all_sizes[i]);
    tg_function_release(f);
}

Test(wide_scan, columns_of_unknown_sizes_do_so)
{
    check_modes(scan_all_of_unknown_sizes);
    check_nothing_is_alive();
}
