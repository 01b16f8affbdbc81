/* SPDX-License-Identifier: MIT */
/*
 * overhead.c - the time of a collective in a compiled function over that of the
 * MPI calls it makes: an all_reduce of 4 bytes between two ranks is one message
 * each way. Prints nanoseconds; fails if the difference exceeds MAX. With
 * `serve`, measures what tgjit-bench asks for (bench/mpi_case.c).
 *
 *     mpirun -np 2 overhead [MAX|serve]
 */
#include <math.h>

#include "mpi/ranks.h"

enum { CALLS = 2000, IN_A_CALL = 16, ROUNDS = 15 };

/* Each rank's x is its rank, so the maximum is 1. */
typedef struct pair {
    setting s;
    tg_function *f;
    tg_tensor *x, *y;
    tg_bound *bound;
    float mine, theirs;
} pair;

static void many(tg_trace *t, const tg_value *in, void *user)
{
    const setting *s = user;
    tg_value x = in[0];
    for (int i = 0; i < IN_A_CALL; i++)
        x = tg_mpi_all_reduce(t, s->mpi, x, TG_MPI_MAX);
    tg_return(t, x);
}

static void pair_open(pair *p)
{
    const tg_mpi_options options = options_of(0);
    memset(p, 0, sizeof(*p));
    p->s = setting_open(&options);
    CHECK(p->s.n_ranks == 2);
    p->mine = (float)p->s.rank;
    p->f = tg_function_create(p->s.ctx, many, &p->s, NULL);
    p->x = tg_tensor_copy(p->s.ctx, &p->mine, TG_F32, TG_SCALAR);
    p->y = tg_tensor_create(p->s.ctx, TG_F32, TG_SCALAR, tg_ones());
    p->bound = tg_bind(p->f, TG_ARGS(p->x), TG_RESULTS(&p->y));
    CHECK(p->bound && !tg_compile_wait(p->s.ctx));
}

static void pair_close(pair *p)
{
    tg_bound_release(p->bound);
    tg_tensor_release(p->x);
    tg_tensor_release(p->y);
    tg_function_release(p->f);
    setting_close(&p->s);
}

static void exchange(pair *p)
{
    MPI_Request requests[2];
    MPI_Status statuses[2]; /* gcc warns of MPI_STATUSES_IGNORE */
    const int other = 1 - p->s.rank;
    MPI_Irecv(&p->theirs, 4, MPI_BYTE, other, 0, MPI_COMM_WORLD, requests);
    MPI_Isend(&p->mine, 4, MPI_BYTE, other, 0, MPI_COMM_WORLD, requests + 1);
    MPI_Waitall(2, requests, statuses);
    p->mine = fmaxf(p->mine, p->theirs);
}

/* -- Seconds of n reductions ----------------------------------------------- */

static double time_ours(pair *p, int64_t n)
{
    const int64_t n_calls = (n + IN_A_CALL - 1) / IN_A_CALL;
    const double begin = MPI_Wtime();
    for (int64_t i = 0; i < n_calls; i++)
        CHECK(!tg_run(p->bound));
    const double seconds = MPI_Wtime() - begin;
    return seconds * (double)n / (double)(n_calls * IN_A_CALL);
}

static double time_messages(pair *p, int64_t n)
{
    const double begin = MPI_Wtime();
    for (int64_t i = 0; i < n; i++)
        exchange(p);
    return MPI_Wtime() - begin;
}

static double time_mpi(pair *p, int64_t n)
{
    const double begin = MPI_Wtime();
    for (int64_t i = 0; i < n; i++)
        MPI_Allreduce(&p->mine, &p->theirs, 1, MPI_FLOAT, MPI_MAX,
                      MPI_COMM_WORLD);
    return MPI_Wtime() - begin;
}

/* -- Requests -------------------------------------------------------------- */

static bool is_right(pair *p)
{
    const float expected = 1;
    CHECK(!tg_run(p->bound));
    p->mine = (float)p->s.rank;
    exchange(p);
    return memcmp(tg_tensor_data(p->y), &expected, sizeof(expected)) == 0 &&
           p->mine == expected;
}

/* Rank 0 reads a word and perhaps a number per line, up to the end of its
   input, and answers with a line. */
static void serve(pair *p)
{
    for (;;) {
        struct {
            char word[16];
            int64_t n;
        } request = {"", 0};
        char line[64];
        if (p->s.rank == 0 && fgets(line, sizeof(line), stdin)) {
            char *end = strpbrk(line, " \n");
            if (end && end - line < (int)sizeof(request.word)) {
                memcpy(request.word, line, (size_t)(end - line));
                request.n = atoll(end);
            }
        }
        MPI_Bcast(&request, (int)sizeof(request), MPI_BYTE, 0, MPI_COMM_WORLD);
        if (!*request.word)
            return;
        MPI_Barrier(MPI_COMM_WORLD);
        char answer[32] = "?";
        if (strcmp(request.word, "jit") == 0) {
            snprintf(answer, sizeof(answer), "%.9g", time_ours(p, request.n));
        } else if (strcmp(request.word, "c") == 0) {
            snprintf(answer, sizeof(answer), "%.9g",
                     time_messages(p, request.n));
        } else if (strcmp(request.word, "verify") == 0) {
            snprintf(answer, sizeof(answer), is_right(p) ? "right" : "wrong");
        }
        if (p->s.rank == 0) {
            puts(answer);
            fflush(stdout);
        }
    }
}

/* False if the library takes more than `max` nanoseconds. */
static bool report(pair *p, double max)
{
    const int64_t n = (int64_t)CALLS * IN_A_CALL;
    double ours = HUGE_VAL, messages = HUGE_VAL, mpi = HUGE_VAL;
    for (int round = 0; round < ROUNDS; round++) {
        ours = fmin(ours, time_ours(p, n));
        messages = fmin(messages, time_messages(p, n));
        mpi = fmin(mpi, time_mpi(p, n));
    }
    const double scale = 1e9 / (double)n;
    if (p->s.rank == 0)
        printf("all_reduce %.0f ns, its messages alone %.0f, MPI_Allreduce "
               "%.0f\n",
               ours * scale, messages * scale, mpi * scale);
    return (ours - messages) * scale <= max;
}

int main(int argc, char **argv)
{
    pair p;
    bool is_good = true;
    MPI_Init(&argc, &argv);
    pair_open(&p);
    if (argc == 2 && strcmp(argv[1], "serve") == 0)
        serve(&p);
    else
        is_good = report(&p, argc == 2 ? atof(argv[1]) : HUGE_VAL);
    pair_close(&p);
    MPI_Finalize();
    return !is_good;
}
