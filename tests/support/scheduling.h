/* SPDX-License-Identifier: MIT */
/*
 * scheduling.h - for tests of schedules: graphs whose kernels have all kinds of
 * them, and the schedules for a target.
 */
#ifndef TGI_TEST_SCHEDULING_H
#define TGI_TEST_SCHEDULING_H

#include "schedule/choose.h"
#include "support/fusing.h"

/* Chooses the schedules of fused loops for a target (target.h), and verifies
   them. */
static inline void schedule_for(fused *fu, const char *target_name)
{
    tgi_target target;
    cr_assert(tgi_target_by_name(target_name, &target));
    cr_assert_eq(tgi_schedule_choose(fu->loops, &target), TG_OK, "%s",
                 tg_error(NULL));
    cr_assert_eq(tgi_schedule_verify_all(fu->loops), TG_OK, "%s",
                 tg_error(NULL));
}

static inline tgi_schedule *schedule_of(const fused *fu, size_t kernel)
{
    return fu->loops->kernels.data[kernel]->schedule;
}

/* -- Callbacks ------------------------------------------------------------- */

/* Nine taps along rows, which are short. */
static inline void stencil(tg_trace *t, const tg_value *in, void *user)
{
    tg_value sum = tg_slice(in[0], 1, 0, 120, 1);
    (void)user;
    for (int tap = 1; tap < 9; tap++)
        sum = tg_add(sum, tg_mul(tg_slice(in[0], 1, tap, 120 + tap, 1), tap));
    tg_return(t, sum);
}

static inline void layer_norm(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    tg_return(t, tg_layer_norm(in[0], in[1], in[2], 1e-5));
}

static inline void chain(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    tg_return(t, tg_relu(tg_add(tg_mul(in[0], in[1]), in[2])));
}

static inline void times(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    tg_return(t, tg_matmul(in[0], in[1]));
}

static inline void bias_relu(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    tg_return(t, tg_relu(tg_add(tg_matmul(in[0], in[1]), in[2])));
}

static inline void row_sums(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    const tg_value layer = tg_relu(tg_add(tg_matmul(in[0], in[1]), in[2]));
    tg_return(t, tg_sum(layer, TG_AXES(-1)));
}

static inline void transpose_add(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    tg_return(t, tg_add(tg_transpose(in[0], TG_PERM(1, 0)), in[1]));
}

static inline void sum_rows(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    tg_return(t, tg_sum(in[0], TG_AXES(1)));
}

static inline void sum_columns(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    tg_return(t, tg_sum(in[0], TG_AXES(0)));
}

static inline void max_columns(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    tg_return(t, tg_reduce_max(in[0], TG_AXES(1)));
}

static inline void scale(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    tg_return(t, tg_mul(in[1], in[0]));
}

/* Each channel has filters of its own; no padding. */
static inline void depthwise(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    tg_return(t, tg_conv2d(in[0], in[1], .groups = tg_value_dim(in[0], -1)));
}

static inline void padded_conv(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    tg_return(t, tg_conv2d(in[0], in[1], .padding = TG_PADDING_SAME));
}

/* The gradient of a table of which rows are selected. */
static inline void table_gradient(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    const tg_value rows = tg_gather(in[0], in[1], 0);
    tg_return(t, tg_gradient(tg_sum(tg_mul(rows, in[2]), TG_ALL_AXES), in[0]));
}

static inline void running_sums(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    tg_return(t, tg_cumsum(in[0], 0));
}

static inline tg_value normal_cdf(tg_value x)
{
    return tg_add(tg_mul(0.5, tg_erf(tg_mul(x, 0x1.6a09e667f3bcdp-1))), 0.5);
}

static inline void black_scholes(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    const tg_value spot = in[0], strike = in[1], years = in[2];
    const tg_value rate = in[3], volatility = in[4];
    const tg_value drift =
        tg_add(tg_mul(tg_mul(volatility, 0.5), volatility), rate);
    const tg_value spread = tg_mul(volatility, tg_sqrt(years));
    const tg_value d1 =
        tg_div(tg_add(tg_mul(drift, years), tg_log(tg_div(spot, strike))),
               spread);
    const tg_value d2 = tg_sub(d1, spread);
    const tg_value owed = tg_mul(strike, tg_exp(tg_mul(tg_neg(rate), years)));
    const tg_value n1 = normal_cdf(d1), n2 = normal_cdf(d2);
    tg_return(t, tg_sub(tg_mul(spot, n1), tg_mul(owed, n2)),
              tg_sub(tg_mul(owed, tg_sub(1, n2)),
                     tg_mul(spot, tg_sub(1, n1))));
}

/* -- Cases ----------------------------------------------------------------- */

#define F64(...) tg_spec_tensor(TG_F64, TG_DIMS(__VA_ARGS__))
#define SCALAR_F64 tg_spec_tensor(TG_F64, TG_SCALAR)

typedef struct schedule_case {
    const char *name; /* of its golden */
    tg_callback *callback;
    const int64_t *symbols;
    size_t n_specs;
    tg_spec specs[5];
} schedule_case;

enum { MANY_ELEMENTS = 16 << 20 }; /* f32: 64 MiB */

#define SCHEDULE_CASE(file, callback, symbols, ...) \
    {file, callback, symbols, \
     sizeof((const tg_spec[]){__VA_ARGS__}) / sizeof(tg_spec), {__VA_ARGS__}}

static inline const schedule_case *schedule_cases(size_t *out_n)
{
    static const int64_t symbols[] = {64, 1000};
    static schedule_case cases[24];
    const schedule_case all[] = {
        SCHEDULE_CASE("softmax", softmax, NO_SYMBOLS, F32(64, 1000)),
        SCHEDULE_CASE("layer_norm", layer_norm, NO_SYMBOLS, F32(64, 1024),
                      F32(1024), F32(1024)),
        SCHEDULE_CASE("chain", chain, NO_SYMBOLS, F32(1000003), F32(1000003),
                      F32(1000003)),
        SCHEDULE_CASE("matmul", times, NO_SYMBOLS, F32(256, 256),
                      F32(256, 256)),
        SCHEDULE_CASE("bias_relu", bias_relu, NO_SYMBOLS, F32(512, 1024),
                      F32(1024, 500), F32(500)),
        SCHEDULE_CASE("row_epilogue", row_sums, NO_SYMBOLS, F32(7, 60, 40),
                      F32(7, 40, 70), F32(70)),
        SCHEDULE_CASE("transpose_add", transpose_add, NO_SYMBOLS,
                      F32(1000, 600), F32(600, 1000)),
        SCHEDULE_CASE("stencil", stencil, NO_SYMBOLS, F32(60, 128)),
        SCHEDULE_CASE("sum_rows", sum_rows, NO_SYMBOLS, F32(100, 10000)),
        SCHEDULE_CASE("sum_columns", sum_columns, NO_SYMBOLS, F32(200, 40000)),
        SCHEDULE_CASE("max_columns", max_columns, NO_SYMBOLS, F32(50, 4, 100)),
        SCHEDULE_CASE("straightline", chain, NO_SYMBOLS, F32(3, 7), F32(3, 7),
                      F32(7)),
        SCHEDULE_CASE("unknown_extents", softmax, symbols,
                      F32(TG_UNKNOWN, TG_UNKNOWN)),
        SCHEDULE_CASE("non_temporal", scale, NO_SYMBOLS, F32(MANY_ELEMENTS),
                      SCALAR_F32),
        SCHEDULE_CASE("black_scholes", black_scholes, NO_SYMBOLS, F64(1000000),
                      F64(1000000), F64(1000000), SCALAR_F64, SCALAR_F64),
        SCHEDULE_CASE("depthwise", depthwise, NO_SYMBOLS, F32(2, 30, 72, 40),
                      F32(3, 3, 1, 40)),
        SCHEDULE_CASE("few_filters", padded_conv, NO_SYMBOLS,
                      F32(2, 30, 72, 40), F32(3, 3, 40, 3)),
        SCHEDULE_CASE("scatter_rows", table_gradient, NO_SYMBOLS,
                      F32(4000, 100), I32(500), F32(500, 100)),
        SCHEDULE_CASE("scatter_elements", table_gradient, NO_SYMBOLS,
                      F32(4000), I32(500), F32(500)),
        SCHEDULE_CASE("scan_rows", running_sums, NO_SYMBOLS, F32(300, 1000)),
        SCHEDULE_CASE("few_pixels", padded_conv, NO_SYMBOLS,
                      F32(1, 7, 7, 256), F32(3, 3, 256, 256)),
        SCHEDULE_CASE("many_pixels", padded_conv, NO_SYMBOLS,
                      F32(1, 28, 28, 64), F32(3, 3, 64, 64)),
    };
    *out_n = sizeof(all) / sizeof(all[0]);
    memcpy(cases, all, sizeof(all));
    return cases;
}

static inline void fuse_case(fused *fu, const schedule_case *c)
{
    fuse_at(__LINE__, fu, c->name, c->callback, c->symbols, c->specs,
            c->n_specs);
}

#endif /* TGI_TEST_SCHEDULING_H */
