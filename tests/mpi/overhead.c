/* SPDX-License-Identifier: MIT */
/*
 * overhead.c - the time of a collective in a compiled function over that of the
 * MPI calls it makes: an all_reduce of 4 bytes between two ranks is one message
 * each way. Prints nanoseconds; fails if the difference exceeds MAX.
 *
 *     mpirun -np 2 overhead [MAX]
 */
#include <math.h>

#include "mpi/ranks.h"

enum { CALLS = 2000, IN_A_CALL = 16, ROUNDS = 15 };

static void many(tg_trace *t, const tg_value *in, void *user)
{
    const setting *s = user;
    tg_value x = in[0];
    for (int i = 0; i < IN_A_CALL; i++)
        x = tg_mpi_all_reduce(t, s->mpi, x, TG_MPI_MAX);
    tg_return(t, x);
}

static void exchange(const setting *s, float *mine, float *theirs)
{
    MPI_Request requests[2];
    MPI_Status statuses[2]; /* gcc warns of MPI_STATUSES_IGNORE */
    MPI_Irecv(theirs, 4, MPI_BYTE, 1 - s->rank, 0, MPI_COMM_WORLD, requests);
    MPI_Isend(mine, 4, MPI_BYTE, 1 - s->rank, 0, MPI_COMM_WORLD, requests + 1);
    MPI_Waitall(2, requests, statuses);
    *mine = fmaxf(*mine, *theirs);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    const tg_mpi_options options = options_of(0);
    setting s = setting_open(&options);
    CHECK(s.n_ranks == 2);
    TG_AUTO(tg_function) f = tg_function_create(s.ctx, many, &s, NULL);
    TG_AUTO(tg_tensor) x =
        tg_tensor_create(s.ctx, TG_F32, TG_SCALAR, tg_ones());
    TG_AUTO(tg_tensor) y =
        tg_tensor_create(s.ctx, TG_F32, TG_SCALAR, tg_ones());
    TG_AUTO(tg_bound) b = tg_bind(f, TG_ARGS(x), TG_RESULTS(&y));
    CHECK(b && !tg_compile_wait(s.ctx));
    double ours = INFINITY, plain = INFINITY, mpis = INFINITY;
    for (int round = 0; round < ROUNDS; round++) {
        float mine = 1, theirs;
        double begin = MPI_Wtime();
        for (int i = 0; i < CALLS; i++)
            CHECK(!tg_run(b));
        ours = fmin(ours, MPI_Wtime() - begin);
        begin = MPI_Wtime();
        for (int i = 0; i < CALLS * IN_A_CALL; i++)
            exchange(&s, &mine, &theirs);
        plain = fmin(plain, MPI_Wtime() - begin);
        begin = MPI_Wtime();
        for (int i = 0; i < CALLS * IN_A_CALL; i++)
            MPI_Allreduce(&mine, &theirs, 1, MPI_FLOAT, MPI_MAX,
                          MPI_COMM_WORLD);
        mpis = fmin(mpis, MPI_Wtime() - begin);
    }
    const double over = (ours - plain) * 1e9 / CALLS / IN_A_CALL;
    const bool is_good = argc < 2 || over <= atof(argv[1]);
    if (s.rank == 0)
        printf("all_reduce %.0f ns, its messages alone %.0f, MPI_Allreduce "
               "%.0f\n",
               ours * 1e9 / CALLS / IN_A_CALL,
               plain * 1e9 / CALLS / IN_A_CALL,
               mpis * 1e9 / CALLS / IN_A_CALL);
    tg_bound_release(b);
    tg_tensor_release(x);
    tg_tensor_release(y);
    tg_function_release(f);
    b = NULL;
    x = y = NULL;
    f = NULL;
    setting_close(&s);
    MPI_Finalize();
    return !is_good;
}
