/* SPDX-License-Identifier: MIT */
/*
 * case_calls.c - a few elements, so that the call dominates: with 0 to 8
 * variables, which are locked, and with a profile.
 */
#include "cases.h"

/* -- 2 x + the sum of the variables ---------------------------------------- */

static void return_sum(tg_trace *t, const tg_value *in, int n_variables)
{
    tg_value sum = tg_mul(in[0], 2);
    for (int i = 1; i <= n_variables; i++)
        sum = tg_add(sum, in[i]);
    tg_return(t, sum);
}

#define VECTOR INPUT(TG_F32, SHAPE_WHOLE, -1, 1)
#define VARIABLE INPUT_VARIABLE(TG_F32, SHAPE_WHOLE, -1, 1)

#define SUM_CASE(prefix, n, called, ...) \
    const tensor_case prefix##_variables_##n##_case = { \
        .callback = trace_sum_##n, \
        .kernels = {[BACKEND_C] = plain_variables_##n}, \
        .inputs = {VECTOR, ##__VA_ARGS__}, \
        .results = {{TG_F32, SHAPE_WHOLE}}, \
        .absolute = 1e-5, \
        .is_called = called, \
    }
#define SUM_CASES(n, ...) \
    static void trace_sum_##n(tg_trace *t, const tg_value *in, void *user) \
    { \
        (void)user; \
        return_sum(t, in, n); \
    } \
    SUM_CASE(run, n, false, ##__VA_ARGS__); \
    SUM_CASE(call, n, true, ##__VA_ARGS__)

SUM_CASES(0);
SUM_CASES(1, VARIABLE);
SUM_CASES(2, VARIABLE, VARIABLE);
SUM_CASES(4, VARIABLE, VARIABLE, VARIABLE, VARIABLE);
SUM_CASES(8, VARIABLE, VARIABLE, VARIABLE, VARIABLE, VARIABLE, VARIABLE,
          VARIABLE, VARIABLE);

/* The label is the number of variables. */
#define VARIABLE_SIZES(n, use) \
    const case_size variables_##n##_sizes[] = { \
        {#n, 0, 16, 0, 0, use}, \
        SIZE_CHECKED(#n "x3", 0, 3), \
        SIZES_END, \
    }
VARIABLE_SIZES(0, SIZE_BY_DEFAULT);
VARIABLE_SIZES(1, SIZE_ON_REQUEST);
VARIABLE_SIZES(2, SIZE_ON_REQUEST);
VARIABLE_SIZES(4, SIZE_ON_REQUEST);
VARIABLE_SIZES(8, SIZE_BY_DEFAULT);

/* -- Profiles -------------------------------------------------------------- */

static void trace_add(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    tg_return(t, tg_add(in[0], in[1]));
}

const tensor_case profile_run_case = {
    .callback = trace_add,
    .inputs = {VECTOR, VECTOR},
    .results = {{TG_F32, SHAPE_WHOLE}},
    .is_profiled = true,
};

const tensor_case profile_chain_case = {
    .callback = trace_chain,
    .inputs = {INPUT(TG_F32, SHAPE_WHOLE, -4, 4), INPUT_SCALAR(TG_F32, 1.25),
               INPUT_SCALAR(TG_F32, 0.1), INPUT_SCALAR(TG_F32, -0.75)},
    .results = {{TG_F32, SHAPE_WHOLE}},
    .is_profiled = true,
};

const case_size profile_run_sizes[] = {
    SIZE_TIMED("add_16", 0, 16),
    SIZES_END,
};

const case_size profile_chain_sizes[] = {
    SIZE_TIMED("chain_1e4", 0, 10000),
    SIZES_END,
};
