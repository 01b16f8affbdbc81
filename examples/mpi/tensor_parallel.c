/* SPDX-License-Identifier: MIT */
/*
 * tensor_parallel.c - a dense layer divided among ranks: each has some columns
 * of the first matrix and the same rows of the second one, so that one
 * all_reduce completes a pair of layers. Its gradient is an all_reduce, too,
 * where the input enters the pair.
 *
 *     mpirun -np 4 tensor_parallel
 */
#include <stdio.h>
#include <stdlib.h>
#include <tgjit.h>
#include <tgjit/mpi.h>

enum { ROWS = 8, INPUTS = 16, HIDDEN = 840, OUTPUTS = 4, STEPS = 60 };

typedef struct program {
    tg_mpi *mpi;
    tg_variable *first, *second; /* [INPUTS, own], [own, OUTPUTS] */
} program;

static void check(bool went_well)
{
    if (went_well)
        return;
    fprintf(stderr, "%s\n", tg_error(NULL));
    MPI_Abort(MPI_COMM_WORLD, 1);
}

/* All ranks have the same rows x and targets y. The loss is computed by all:
   the gradient of the all_reduce is the sum of n equal ones, hence the mean. */
static void step(tg_trace *t, const tg_value *in, void *user)
{
    const program *p = user;
    const tg_value hidden = tg_tanh(tg_matmul(in[0], p->first));
    const tg_value output = tg_mpi_all_reduce(
        t, p->mpi, tg_matmul(hidden, p->second), TG_MPI_SUM);
    const tg_value loss = tg_mean_squared_error(output, in[1]);
    tg_variable *wrt[] = {p->first, p->second};
    tg_value g[2];
    tg_gradients(tg_div(loss, tg_mpi_size(p->mpi)), wrt, 2, g);
    for (int i = 0; i < 2; i++)
        tg_assign_sub(wrt[i], tg_mul(g[i], 0.1));
    tg_return(t, loss);
}

/* Element (i, k) of a matrix, for columns or rows from `first` on. */
static float element(int64_t i, int64_t k)
{
    return (float)((i * 37 + k * 101) % 61 - 30) / 400;
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    TG_AUTO(tg_context) ctx = tg_context_create(NULL);
    check(ctx);
    program p = {.mpi = tg_mpi_create(ctx, MPI_COMM_WORLD, NULL)};
    check(p.mpi);
    const int64_t own = HIDDEN / tg_mpi_size(p.mpi);
    const int64_t from = own * tg_mpi_rank(p.mpi);
    p.first = tg_variable_create(ctx, "first", TG_F32, TG_DIMS(INPUTS, own),
                                 tg_zeros());
    p.second = tg_variable_create(ctx, "second", TG_F32, TG_DIMS(own, OUTPUTS),
                                  tg_zeros());
    check(p.first && p.second);
    float *a = tg_variable_map(p.first, TG_WRITE);
    float *b = tg_variable_map(p.second, TG_WRITE);
    check(a && b);
    for (int64_t k = 0; k < own; k++) {
        for (int64_t i = 0; i < INPUTS; i++)
            a[i * own + k] = element(i, from + k);
        for (int64_t i = 0; i < OUTPUTS; i++)
            b[k * OUTPUTS + i] = element(from + k, i);
    }
    tg_variable_unmap(p.first);
    tg_variable_unmap(p.second);
    float x[ROWS * INPUTS], y[ROWS * OUTPUTS];
    for (int i = 0; i < ROWS * INPUTS; i++)
        x[i] = (float)(i * 29 % 17) / 8 - 1;
    for (int i = 0; i < ROWS * OUTPUTS; i++)
        y[i] = (float)(i % 5) / 4;
    TG_AUTO(tg_tensor) rows =
        tg_tensor_copy(ctx, x, TG_F32, TG_DIMS(ROWS, INPUTS));
    TG_AUTO(tg_tensor) targets =
        tg_tensor_copy(ctx, y, TG_F32, TG_DIMS(ROWS, OUTPUTS));
    TG_AUTO(tg_function) f = tg_function_create(ctx, step, &p, NULL);
    check(rows && targets && f);
    float first_loss = 0, loss = 0;
    for (int i = 0; i < STEPS; i++) {
        check(!tg_mpi_report(p.mpi, tg_call(f, TG_ARGS(rows, targets),
                                            TG_RESULTS(&loss))));
        first_loss = i ? first_loss : loss;
    }
    if (tg_mpi_rank(p.mpi) == 0)
        printf("columns per rank %lld: loss %.3f -> %.3f\n", (long long)own,
               (double)first_loss, (double)loss);
    tg_variable_release(p.first);
    tg_variable_release(p.second);
    MPI_Finalize();
    tg_mpi_release(p.mpi);
    return 0;
}
