/* SPDX-License-Identifier: MIT */
/*
 * scaling.c - a data-parallel training step on many simulated hosts, with
 * SimGrid's SMPI. The messages are those of libtgjit-mpi (mpi/schedule.h); the
 * computation is a number of flops. Weak scaling: every rank has one shard.
 *
 *     smpirun -np N ... scaling BUCKETS BYTES FLOPS
 *
 * A step computes the forward pass, a third of the flops, then the backward
 * pass, in as many parts as there are buckets of gradients. Each bucket is
 * reduced when its part is complete: with overlap it is polled between slices
 * of the following computation, without it it is awaited. Rank 0 prints the
 * ranks and the simulated seconds of a step: computation only, without overlap,
 * with it.
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

#include "mpi/schedule.h"

#ifdef TGJIT_SMPI
#include <smpi/smpi.h>
#else
/* Only the simulator can advance time. */
#define smpi_execute_flops(flops) ((void)(flops))
#endif

/* Seconds between polls; flops per second of a host. */
#define POLL_SECONDS 200e-6
#define HOST_FLOPS 1e11

enum { MAX_BUCKETS = 64 };

typedef struct step {
    int n_buckets;
    double flops;
    tgi_mpi_transfer transfers[MAX_BUCKETS];
} step;

static void stop(const char *text)
{
    fprintf(stderr, "scaling: %s\n", text);
    MPI_Abort(MPI_COMM_WORLD, 1);
}

static int is_active(const step *s, int n_started)
{
    for (int i = 0; i < n_started; i++)
        if (s->transfers[i].is_active)
            return 1;
    return 0;
}

static void poll(step *s, int n_started)
{
    for (int i = 0; i < n_started; i++)
        if (s->transfers[i].is_active &&
            tgi_mpi_transfer_advance(&s->transfers[i]) != MPI_SUCCESS)
            stop("a message has failed");
}

static void compute(step *s, double flops, int n_started)
{
    const double slice = POLL_SECONDS * HOST_FLOPS;
    for (; flops > 0; flops -= slice) {
        smpi_execute_flops(flops < slice ? flops : slice);
        poll(s, n_started);
    }
}

/* The seconds of a step. */
static double run(step *s, int reduces, int overlaps)
{
    MPI_Barrier(MPI_COMM_WORLD);
    const double begin = MPI_Wtime();
    compute(s, s->flops / 3, 0);
    for (int i = 0; i < s->n_buckets; i++) {
        compute(s, s->flops * 2 / 3 / s->n_buckets, reduces ? i : 0);
        if (reduces && tgi_mpi_transfer_start(&s->transfers[i], i) !=
                           MPI_SUCCESS)
            stop("a message has failed");
        while (reduces && !overlaps && is_active(s, i + 1))
            poll(s, i + 1);
    }
    while (reduces && is_active(s, s->n_buckets))
        poll(s, s->n_buckets);
    MPI_Barrier(MPI_COMM_WORLD);
    return MPI_Wtime() - begin;
}

int main(int argc, char **argv)
{
    static const char usage[] = "arguments: BUCKETS BYTES FLOPS";
    int rank, n_ranks;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &n_ranks);
    step *s = calloc(1, sizeof(*s));
    if (!s || argc != 4)
        stop(usage);
    s->n_buckets = atoi(argv[1]);
    s->flops = atof(argv[3]);
    if (s->n_buckets < 1 || s->n_buckets > MAX_BUCKETS)
        stop(usage);
    const int64_t count = atoll(argv[2]) / 4 / s->n_buckets;
    const tgi_shards shards = {n_ranks, rank, n_ranks};
    tgi_mpi_schedule *schedule = tgi_mpi_schedule_reduction(
        &shards, TG_F32, 4, TGI_MPI_SUM, count, TGI_MPI_EVERYTHING);
    float *in = calloc((size_t)count, 4), *out = calloc((size_t)count, 4);
    if (!schedule || !in || !out)
        stop("out of memory");
    for (int i = 0; i < s->n_buckets; i++) {
        if (!tgi_mpi_transfer_init(&s->transfers[i], schedule, MPI_COMM_WORLD))
            stop("out of memory");
        s->transfers[i].in[0] = in;
        s->transfers[i].out = out;
    }
    const double alone = run(s, 0, 0), blocking = run(s, 1, 0);
    const double overlapped = run(s, 1, 1);
    if (rank == 0)
        printf("%d %.6f %.6f %.6f\n", n_ranks, alone, blocking, overlapped);
    for (int i = 0; i < s->n_buckets; i++)
        tgi_mpi_transfer_deinit(&s->transfers[i]);
    tgi_mpi_schedule_free(schedule);
    free(in);
    free(out);
    free(s);
    MPI_Finalize();
    return 0;
}
