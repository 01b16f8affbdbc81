/* SPDX-License-Identifier: MIT */
/*
 * power_iteration.c - the largest eigenvalue of a matrix. The loop stops when
 * its estimate has converged, and fails beyond a limit of iterations. The
 * matrix is captured, not carried.
 */
#include <stdio.h>
#include <stdlib.h>
#include <tgjit.h>

enum { SIZE = 64, MAX_ITERATIONS = 1000 };

static void check(bool went_well)
{
    if (went_well)
        return;
    fprintf(stderr, "%s\n", tg_error(NULL));
    exit(1);
}

/* Shared by the callbacks of the loop. */
typedef struct search {
    tg_value matrix; /* a value of the enclosing callback */
} search;

/* The loop values: a unit vector, the estimate, its last change, iterations. */
static void is_changing(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    tg_return(t, tg_gt(in[2], tg_mul(in[1], 1e-12)));
}

static void improve(tg_trace *t, const tg_value *in, void *user)
{
    const search *s = user;
    const tg_value v = in[0];
    const tg_value next = tg_matmul(s->matrix, v);
    const tg_value estimate = tg_sum(tg_mul(v, next), TG_ALL_AXES);
    const tg_value length =
        tg_sqrt(tg_sum(tg_square(next), TG_ALL_AXES));
    tg_return(t, tg_div(next, length), estimate,
              tg_abs(tg_sub(estimate, in[1])), tg_add(in[3], 1));
}

static void largest(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    search s = {in[0]};
    const tg_value start =
        tg_broadcast(tg_scalar(TG_F64, 0.125), TG_DIMS(SIZE, 1));
    tg_value end[4];
    tg_while_limit(MAX_ITERATIONS, is_changing, improve, &s,
                   TG_ARGS(start, 0.0, 1.0, (int64_t)0), end, 4);
    tg_return(t, end[1], end[3]);
}

/* 1 / (1 + |i - j|), plus `weight` at the first element. */
static void fill(double *matrix, double weight)
{
    for (int i = 0; i < SIZE; i++)
        for (int j = 0; j < SIZE; j++)
            matrix[i * SIZE + j] =
                1.0 / (1 + abs(i - j)) + (i == 0 && j == 0 ? weight : 0);
}

/* Swaps elements in pairs and doubles one of them: the estimate never
   converges. */
static void fill_restless(double *matrix)
{
    for (int i = 0; i < SIZE; i++)
        for (int j = 0; j < SIZE; j++)
            matrix[i * SIZE + j] = j == (i ^ 1) ? 1 + i % 2 : 0;
}

int main(void)
{
    tg_context *ctx = tg_context_create(NULL);
    check(ctx);
    tg_function *f = tg_function_create(ctx, largest, NULL, NULL);
    static double data[SIZE * SIZE];
    tg_tensor *matrix =
        tg_tensor_wrap(ctx, data, TG_F64, TG_DIMS(SIZE, SIZE));
    check(f && matrix);

    static const double weights[] = {0, 8, 64};
    for (size_t i = 0; i < sizeof(weights) / sizeof(*weights); i++) {
        fill(data, weights[i]);
        tg_tensor *value = NULL, *iterations = NULL;
        check(!tg_call(f, TG_ARGS(matrix), TG_RESULTS(&value, &iterations)));
        printf("weight %2g: eigenvalue %.6f after %lld iterations\n",
               weights[i], *(const double *)tg_tensor_data(value),
               (long long)*(const int64_t *)tg_tensor_data(iterations));
        tg_tensor_release(iterations);
        tg_tensor_release(value);
    }

    fill_restless(data);
    if (tg_call(f, TG_ARGS(matrix), TG_RESULTS()) == TG_ERROR_LIMIT)
        printf("no convergence: %s\n", tg_error(ctx));

    tg_tensor_release(matrix);
    tg_function_release(f);
    tg_context_release(ctx);
    return 0;
}
