/* SPDX-License-Identifier: MIT */
/*
 * zero1.c - optimiser state divided among ranks (ZeRO, stage 1). A rank gets
 * the mean of the gradients of its part of the parameters, updates this part
 * with its own momentum, and all gather the parameters: the messages of an
 * all_reduce, with 1 / n of the state on each of n ranks.
 *
 *     mpirun -np 4 zero1
 */
#include <stdio.h>
#include <stdlib.h>
#include <tgjit.h>
#include <tgjit/mpi.h>

enum { PARAMETERS = 840, STEPS = 300 }; /* a multiple of 1 ... 8 ranks */

typedef struct program {
    tg_mpi *mpi;
    tg_variable *weights;  /* PARAMETERS, the same on all ranks */
    tg_variable *velocity; /* PARAMETERS / n_ranks */
} program;

static void check(bool went_well)
{
    if (went_well)
        return;
    fprintf(stderr, "%s\n", tg_error(NULL));
    MPI_Abort(MPI_COMM_WORLD, 1);
}

/* Each rank has an example of its own, in[0]; the loss is the distance to
   it. */
static void step(tg_trace *t, const tg_value *in, void *user)
{
    const program *p = user;
    const tg_value w = tg_read(p->weights);
    const tg_value loss = tg_mean_squared_error(w, in[0]);
    const int64_t part = PARAMETERS / tg_mpi_size(p->mpi);
    const int64_t first = part * tg_mpi_rank(p->mpi);
    const tg_value g = tg_mpi_reduce_scatter(
        t, p->mpi, tg_gradient(loss, p->weights), TG_MPI_MEAN);
    const tg_value v = tg_add(tg_mul(p->velocity, 0.9), g);
    const tg_value own =
        tg_sub(tg_slice(w, 0, first, first + part, 1), tg_mul(v, 20.0));
    tg_assign(p->velocity, v);
    tg_assign(p->weights, tg_mpi_all_gather(t, p->mpi, own));
    tg_return(t, tg_mpi_all_reduce(t, p->mpi, loss, TG_MPI_MEAN));
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    TG_AUTO(tg_context) ctx = tg_context_create(NULL);
    check(ctx);
    program p = {.mpi = tg_mpi_create(ctx, MPI_COMM_WORLD, NULL)};
    check(p.mpi);
    const int rank = tg_mpi_rank(p.mpi), n = tg_mpi_size(p.mpi);
    p.weights = tg_variable_create(ctx, "weights", TG_F32, TG_DIMS(PARAMETERS),
                                   tg_zeros());
    p.velocity = tg_variable_create(ctx, "velocity", TG_F32,
                                    TG_DIMS(PARAMETERS / n), tg_zeros());
    /* Examples 1 ... n, which have the mean (n + 1) / 2. */
    TG_AUTO(tg_tensor) x = tg_tensor_create(ctx, TG_F32, TG_DIMS(PARAMETERS),
                                            tg_fill((double)rank + 1));
    TG_AUTO(tg_function) f = tg_function_create(ctx, step, &p, NULL);
    check(p.weights && p.velocity && x && f);
    float loss;
    for (int i = 0; i < STEPS; i++)
        check(!tg_mpi_report(p.mpi,
                             tg_call(f, TG_ARGS(x), TG_RESULTS(&loss))));
    const float *w = tg_variable_map(p.weights, TG_READ);
    check(w);
    if (rank == 0)
        printf("ranks %d: state of %lld of %d elements, weight %.1f\n", n,
               (long long)tg_variable_count(p.velocity), PARAMETERS,
               (double)w[PARAMETERS - 1]);
    tg_variable_unmap(p.weights);
    tg_variable_release(p.weights);
    tg_variable_release(p.velocity);
    MPI_Finalize();
    tg_mpi_release(p.mpi);
    return 0;
}
