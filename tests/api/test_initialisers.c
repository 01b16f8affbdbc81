/* SPDX-License-Identifier: MIT */
/*
 * test_initialisers.c - initial values: distributions, seeds, bad input.
 */
#include <math.h>

#include "support/api.h"

enum { ROWS = 200, COLUMNS = 120, COUNT = ROWS * COLUMNS };

static tg_context *create_seeded(uint64_t seed)
{
    tg_context_options options = TG_CONTEXT_OPTIONS_INIT;
    options.seed = seed;
    tg_context *ctx = tg_context_create(&options);
    cr_assert_not_null(ctx, "%s", tg_error(NULL));
    return ctx;
}

static void fill_f64(tg_context *ctx, const char *name, tg_initial initial,
                     double *out_data)
{
    tg_variable *v = tg_variable_create(ctx, name, TG_F64,
                                        TG_DIMS(ROWS, COLUMNS), initial);
    cr_assert_not_null(v, "%s", tg_error(ctx));
    check_works(tg_variable_get(v, out_data, COUNT * sizeof(double)));
    tg_variable_release(v);
}

typedef struct moments {
    double mean, deviation, low, high;
} moments;

static moments moments_of(const double *data)
{
    moments m = {0, 0, HUGE_VAL, -HUGE_VAL};
    for (int i = 0; i < COUNT; i++) {
        m.mean += data[i] / COUNT;
        m.low = fmin(m.low, data[i]);
        m.high = fmax(m.high, data[i]);
    }
    for (int i = 0; i < COUNT; i++)
        m.deviation += (data[i] - m.mean) * (data[i] - m.mean) / COUNT;
    m.deviation = sqrt(m.deviation);
    return m;
}

Test(initialiser, distributions_have_their_moments_and_bounds)
{
    const double glorot = sqrt(2.0 / (ROWS + COLUMNS));
    const double he = sqrt(2.0 / ROWS), lecun = sqrt(1.0 / ROWS);
    const double truncated = 0.87962566;
    const struct {
        const char *name;
        tg_initial initial;
        double mean, deviation, bound; /* of the distance from the mean */
    } cases[] = {
        {"uniform", tg_uniform(-1, 3), 1, 4 / sqrt(12), 2},
        {"normal", tg_normal(2, 3), 2, 3, HUGE_VAL},
        {"truncated", tg_truncated_normal(2, 3), 2, 3 * truncated, 6},
        {"glorot", tg_glorot(), 0, glorot, sqrt(3) * glorot},
        {"glorot_normal", tg_glorot_normal(), 0, glorot,
         2 * glorot / truncated},
        {"he", tg_he(), 0, he, sqrt(3) * he},
        {"he_normal", tg_he_normal(), 0, he, 2 * he / truncated},
        {"lecun", tg_lecun(), 0, lecun, sqrt(3) * lecun},
        {"lecun_normal", tg_lecun_normal(), 0, lecun, 2 * lecun / truncated},
    };
    static double data[COUNT];
    tg_context *ctx = create_seeded(1);
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        fill_f64(ctx, cases[i].name, cases[i].initial, data);
        const moments m = moments_of(data);
        const double slack = 5 * cases[i].deviation / sqrt(COUNT);
        const double bound = cases[i].bound * (1 + 1e-7);
        cr_expect_lt(fabs(m.mean - cases[i].mean), slack, "%s: mean %g",
                     cases[i].name, m.mean);
        cr_expect_lt(fabs(m.deviation - cases[i].deviation), slack,
                     "%s: deviation %g", cases[i].name, m.deviation);
        cr_expect(m.low >= cases[i].mean - bound &&
                      m.high <= cases[i].mean + bound,
                  "%s: %g to %g", cases[i].name, m.low, m.high);
    }
    tg_context_release(ctx);
    check_nothing_is_alive();
}

/* The product of two rows or columns of an orthonormal matrix. */
static void check_orthonormal(const float *data, int n, int length, int next,
                              int step, double gain)
{
    for (int a = 0; a < n; a++)
        for (int b = 0; b <= a; b++) {
            double dot = 0;
            for (int i = 0; i < length; i++)
                dot += (double)data[a * next + i * step] *
                       (double)data[b * next + i * step];
            cr_assert_float_eq(dot, a == b ? gain * gain : 0, 1e-5);
        }
}

Test(initialiser, orthogonal_matrices_are_orthogonal)
{
    static const int64_t dims[][3] = {{40, 1, 7}, {7, 1, 40}, {9, 1, 9},
                                      {3, 5, 4}};
    tg_context *ctx = create_seeded(2);
    for (size_t i = 0; i < sizeof(dims) / sizeof(*dims); i++) {
        const int rows = (int)(dims[i][0] * dims[i][1]);
        const int columns = (int)dims[i][2];
        float data[40 * 40];
        tg_variable *v = tg_variable_create(ctx, "q", TG_F32, 3, dims[i],
                                            tg_orthogonal(2));
        cr_assert_not_null(v, "%s", tg_error(ctx));
        check_works(tg_variable_get(
            v, data, sizeof(float) * (size_t)(rows * columns)));
        if (rows >= columns)
            check_orthonormal(data, columns, rows, 1, columns, 2);
        else
            check_orthonormal(data, rows, columns, columns, 1, 2);
        tg_variable_release(v);
    }
    tg_context_release(ctx);
    check_nothing_is_alive();
}

Test(initialiser, kernels_count_their_receptive_field)
{
    tg_context *ctx = create_seeded(3);
    float data[3 * 3 * 8 * 16];
    tg_variable *v = tg_variable_create(ctx, "k", TG_F32,
                                        TG_DIMS(3, 3, 8, 16), tg_he());
    cr_assert_not_null(v);
    check_works(tg_variable_get(v, data, sizeof(data)));
    const double limit = sqrt(6.0 / (3 * 3 * 8));
    double high = 0;
    for (size_t i = 0; i < sizeof(data) / sizeof(*data); i++)
        high = fmax(high, fabs((double)data[i]));
    cr_assert(high <= limit && high > 0.95 * limit, "%g of %g", high, limit);
    tg_variable_release(v);
    tg_context_release(ctx);
    check_nothing_is_alive();
}

/* -- Seeds ----------------------------------------------------------------- */

Test(initialiser, values_depend_on_names_and_not_on_the_order_of_creation)
{
    static double a[COUNT], b[COUNT], again[COUNT], other[COUNT];
    tg_context *ctx = create_seeded(7);
    fill_f64(ctx, "a", tg_normal(0, 1), a);
    fill_f64(ctx, "b", tg_normal(0, 1), b);
    tg_context_release(ctx);
    cr_assert_neq(memcmp(a, b, sizeof(a)), 0);

    ctx = create_seeded(7);
    fill_f64(ctx, "b", tg_normal(0, 1), again);
    cr_assert_eq(memcmp(again, b, sizeof(b)), 0);
    tg_context_release(ctx);

    ctx = create_seeded(8);
    fill_f64(ctx, "b", tg_normal(0, 1), other);
    cr_assert_neq(memcmp(other, b, sizeof(b)), 0);
    tg_context_release(ctx);
    check_nothing_is_alive();
}

Test(initialiser, scopes_are_part_of_the_name)
{
    float x[2][6];
    tg_context *ctx = create_seeded(7);
    for (int i = 0; i < 2; i++) {
        check_works(tg_scope_push(ctx, i ? "fc2" : "fc1", TG_REUSE_OFF));
        tg_variable *w =
            tg_get_variable(ctx, "w", TG_F32, TG_DIMS(2, 3), tg_glorot());
        check_works(tg_variable_get(w, x[i], sizeof(x[i])));
        check_works(tg_scope_pop(ctx));
    }
    cr_assert_neq(memcmp(x[0], x[1], sizeof(x[0])), 0);
    tg_context_release(ctx);
    check_nothing_is_alive();
}

Test(initialiser, an_explicit_seed_takes_precedence)
{
    static double a[COUNT], b[COUNT];
    tg_context *ctx = create_seeded(7);
    fill_f64(ctx, "a", tg_seeded(tg_uniform(0, 1), 42), a);
    fill_f64(ctx, "b", tg_seeded(tg_uniform(0, 1), 42), b);
    cr_assert_eq(memcmp(a, b, sizeof(a)), 0);
    tg_context_release(ctx);
    check_nothing_is_alive();
}

/* -- Unset elements --------------------------------------------------------- */

Test(initialiser, unset_elements_are_written_in_place)
{
    tg_context *ctx = create_seeded(0);
    static double data[COUNT];
    tg_variable *v = tg_variable_create(ctx, "v", TG_F64,
                                        TG_DIMS(ROWS, COLUMNS), tg_unset());
    tg_tensor *t = tg_tensor_create(ctx, TG_I32, TG_DIMS(COUNT), tg_unset());
    cr_assert(v && t, "%s", tg_error(ctx));
    double *elements = tg_variable_map(v, TG_WRITE);
    cr_assert_not_null(elements);
    for (int i = 0; i < COUNT; i++)
        elements[i] = i;
    check_works(tg_variable_unmap(v));
    check_works(tg_variable_get(v, data, sizeof(data)));
    for (int i = 0; i < COUNT; i++)
        cr_assert_eq(data[i], i);
    tg_tensor_release(t);
    tg_variable_release(v);
    tg_context_release(ctx);
    check_nothing_is_alive();
}

/* -- Bad input ------------------------------------------------------------- */

Test(initialiser, bad_input_is_refused)
{
    tg_context *ctx = create_seeded(0);
    tg_initial unknown = tg_zeros();
    unknown.kind = (tg_initial_kind)99;
    cr_assert_null(
        tg_variable_create(ctx, "v", TG_F32, TG_DIMS(2), unknown));
    check_record(TG_ERROR_INVALID_ARGUMENT, "99");
    cr_assert_null(
        tg_variable_create(ctx, "v", TG_I32, TG_DIMS(2, 2), tg_glorot()));
    check_record(TG_ERROR_DTYPE, "i32", "float");
    cr_assert_null(
        tg_variable_create(ctx, "v", TG_F32, TG_DIMS(4), tg_orthogonal(1)));
    check_record(TG_ERROR_SHAPE, "orthogonal", "rank 2");
    cr_assert_eq(tg_context_variables(ctx, TG_ALL_VARIABLES, NULL, 0), 0);
    tg_variable *empty = tg_variable_create(
        ctx, "v", TG_F32, TG_DIMS(0, 3), tg_orthogonal(1));
    cr_assert_not_null(empty);
    tg_variable_release(empty);
    tg_context_release(ctx);
    check_nothing_is_alive();
}
