/* SPDX-License-Identifier: MIT */
/*
 * simulated_training.c - a data-parallel training step on simulated hosts, with
 * SimGrid's SMPI: traced, compiled and run by every rank, on one thread.
 * Computation takes the CPU time that it takes here (mpi/simulated_time.h).
 * Weak scaling: every rank has one shard of ROWS rows.
 *
 *     smpirun -np N ... simulated_training BUCKET_BYTES
 *
 * BUCKET_BYTES 0: that of tg_mpi_create. A bucket of all gradients has nothing
 * to overlap with. Rank 0 prints the ranks, the seconds of a step, and the CPU
 * seconds of the same step on one rank, without messages.
 */
#include <time.h>

#include "mpi/ranks.h"

enum { ROWS = 512, WIDTH = 512, LAYERS = 4, STEPS = 5 };

TG_DEFINE_BUNDLE(model, (tg_dense_layer, l0), (tg_dense_layer, l1),
                 (tg_dense_layer, l2), (tg_dense_layer, l3))
TG_DEFINE_OPTIMISER(model_optimiser, model)

static void loss(tg_trace *t, const tg_value *in, void *user)
{
    const model *net = user;
    tg_value x = tg_tanh(tg_dense(in[0], &net->l0));
    x = tg_tanh(tg_dense(x, &net->l1));
    x = tg_tanh(tg_dense(x, &net->l2));
    tg_return(t, tg_mean_squared_error(tg_dense(x, &net->l3), in[1]));
}

/* CPU time of this rank, a thread of the simulation. */
static double cpu_time(void)
{
    struct timespec t;
    (clock_gettime)(CLOCK_THREAD_CPUTIME_ID, &t); /* not the macro of smpicc */
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* The seconds of a step, the shortest; simulated if there are other ranks. */
static double time_steps(MPI_Comm comm, size_t bucket_bytes)
{
    tg_context_options in_context = {.struct_bytes = sizeof(in_context),
                                     .threads = 1,
                                     .compile = "eager"};
    TG_AUTO(tg_context) ctx = tg_context_create(&in_context);
    CHECK(ctx);
    tg_mpi_options options = options_of(0);
    options.timeout = -1;
    options.bucket_bytes = bucket_bytes;
    TG_AUTO(tg_mpi) mpi = tg_mpi_create(ctx, comm, &options);
    CHECK(mpi);
    model net;
    model_optimiser state;
    tg_dense_layer *const layers[LAYERS] = {&net.l0, &net.l1, &net.l2, &net.l3};
    for (int i = 0; i < LAYERS; i++)
        CHECK(!tg_dense_create(ctx, "layer", TG_F32, WIDTH, WIDTH, tg_glorot(),
                               layers[i]));
    const tg_update_rule rule = tg_sgd();
    CHECK(!tg_optimiser_create(ctx, "sgd", rule, &model_optimiser_type, &net,
                               &state));
    TG_AUTO(tg_function) step =
        tg_mpi_train_step(mpi, loss, &net, 1e-3, rule, &model_optimiser_type,
                          &net, &state);
    TG_AUTO(tg_tensor) x = tg_tensor_create(ctx, TG_F32, TG_DIMS(ROWS, WIDTH),
                                            tg_uniform(-1, 1));
    CHECK(step && x);
    float value;
    double shortest = 1e9;
    double (*const now)(void) = tg_mpi_size(mpi) > 1 ? MPI_Wtime : cpu_time;
    for (int i = 0; i < STEPS + 1; i++) {
        const double begin = now();
        CHECK(!tg_call(step, TG_ARGS(x, x), TG_RESULTS(&value)));
        const double time = now() - begin;
        /* The first step compiles. */
        shortest = i && time < shortest ? time : shortest;
    }
    tg_bundle_release(&model_optimiser_type, &state);
    tg_bundle_release(&model_type, &net);
    return shortest;
}

int main(int argc, char **argv)
{
    int rank, n_ranks;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &n_ranks);
    const size_t bytes = argc > 1 ? strtoul(argv[1], NULL, 10) : 0;
    const double alone = time_steps(MPI_COMM_SELF, bytes);
    MPI_Barrier(MPI_COMM_WORLD);
    const double together = time_steps(MPI_COMM_WORLD, bytes);
    if (rank == 0)
        printf("%d %.6f %.6f\n", n_ranks, together, alone);
    MPI_Finalize();
    return 0;
}
