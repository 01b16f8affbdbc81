/* SPDX-License-Identifier: MIT */
/*
 * communicator.c - creates and releases a tg_mpi.
 */
#include "mpi/communicator.h"

#include <stdlib.h>
#include <string.h>

#include "mpi/call.h"
#include "mpi/function_list.h"
#include "mpi/train_step.h"
#include "tgjit/host.h"

#define DEFAULT_TIMEOUT 600.0

/* -- Bucket size ----------------------------------------------------------- */

enum { ROUNDS = 5, PROBE_BYTES = 1 << 20 };

/* The shortest time of a message to the neighbour and one from it, in
   seconds. */
static double time_of_shift(tg_mpi *m, char *memory, int bytes)
{
    const int n = m->ranks.n_ranks, rank = m->ranks.rank;
    double shortest = 1e9;
    for (int i = 0; i < ROUNDS; i++) {
        const double begin = MPI_Wtime();
        MPI_Sendrecv(memory, bytes, MPI_BYTE, (rank + 1) % n, 0,
                     memory + bytes, bytes, MPI_BYTE, (rank + n - 1) % n, 0,
                     m->comm, MPI_STATUS_IGNORE);
        const double time = MPI_Wtime() - begin;
        shortest = time < shortest ? time : shortest;
    }
    return shortest;
}

/* The same on all ranks. Returns an MPI error code. */
static int measure_bucket(tg_mpi *m)
{
    enum { SMALLEST = 1 << 16, LARGEST = 1 << 25 };
    char *memory = calloc(2, PROBE_BYTES);
    int has_memory = memory != NULL, all_have = 0;
    int error = MPI_Allreduce(&has_memory, &all_have, 1, MPI_INT, MPI_MIN,
                              m->comm);
    double times[2] = {0, 0}, slowest[2];
    if (error == MPI_SUCCESS && all_have) {
        times[0] = time_of_shift(m, memory, 0);
        times[1] = time_of_shift(m, memory, PROBE_BYTES);
    }
    free(memory);
    if (error == MPI_SUCCESS)
        error = MPI_Allreduce(times, slowest, 2, MPI_DOUBLE, MPI_MAX, m->comm);
    if (error != MPI_SUCCESS)
        return error;
    const double per_byte = (slowest[1] - slowest[0]) / PROBE_BYTES;
    const double bytes =
        per_byte > 0 ? 10 * slowest[0] / per_byte : (double)LARGEST;
    m->bucket_bytes = bytes < SMALLEST ? SMALLEST
                      : bytes > LARGEST ? LARGEST
                                        : (size_t)bytes;
    return MPI_SUCCESS;
}

/* -- Creation -------------------------------------------------------------- */

/* True if all ranks have the same options; else an error. */
static bool options_agree(tg_mpi *m)
{
    const int64_t mine[] = {m->shards.n_shards, m->order,
                            (int64_t)m->bucket_bytes};
    enum { N = sizeof(mine) / sizeof(*mine) };
    int64_t both[2 * N], least[2 * N];
    for (int i = 0; i < N; i++) {
        both[i] = mine[i];
        both[N + i] = -mine[i];
    }
    if (MPI_Allreduce(both, least, 2 * N, MPI_INT64_T, MPI_MIN, m->comm) !=
        MPI_SUCCESS) {
        tg_host_fail("mpi_create: MPI_Allreduce has failed");
        return false;
    }
    for (int i = 0; i < N; i++)
        if (least[i] != -least[N + i]) {
            tg_host_fail("mpi_create: the options of the ranks differ");
            return false;
        }
    return true;
}

static int64_t shards_of(const tg_mpi_options *options, int n_ranks)
{
    const char *text = getenv("TGJIT_MPI_SHARDS");
    if (options->n_shards)
        return options->n_shards;
    return text && *text ? strtoll(text, NULL, 10) : n_ranks;
}

static bool options_are_valid(const tg_mpi_options *options, int n_ranks,
                              int64_t n_shards)
{
    if (options->struct_bytes != sizeof(*options))
        tg_host_fail("mpi_create: struct_bytes is %zu, not %zu; use "
                     "TG_MPI_OPTIONS_INIT",
                     options->struct_bytes, sizeof(*options));
    else if (n_shards < n_ranks || n_shards > INT32_MAX)
        tg_host_fail("mpi_create: %lld shards are too %s for %d ranks",
                     (long long)n_shards, n_shards < n_ranks ? "few" : "many",
                     n_ranks);
    else if (options->order != TG_REDUCE_IN_ORDER &&
             options->order != TG_REDUCE_ANY_ORDER)
        tg_host_fail("mpi_create: %d is not a tg_mpi_order",
                     (int)options->order);
    else
        return true;
    return false;
}

/* All ranks learn whether all have succeeded so far. */
static bool all_succeed(MPI_Comm comm, bool succeeds)
{
    int mine = succeeds, all = 0;
    if (MPI_Allreduce(&mine, &all, 1, MPI_INT, MPI_MIN, comm) != MPI_SUCCESS)
        return false;
    if (succeeds && !all)
        tg_host_fail("mpi_create: another rank has failed");
    return all;
}

static bool is_initialised(void)
{
    int begun = 0, ended = 0;
    MPI_Initialized(&begun);
    MPI_Finalized(&ended);
    if (!begun || ended)
        tg_host_fail("mpi_create: MPI is not initialised; call MPI_Init");
    return begun && !ended;
}

/* The memory of a tg_mpi; NULL and an error on failure. */
static tg_mpi *create_here(tg_context *ctx, const tg_mpi_options *options,
                           int rank, int n_ranks)
{
    const int64_t n_shards = shards_of(options, n_ranks);
    if (!options_are_valid(options, n_ranks, n_shards))
        return NULL;
    tg_mpi *m = calloc(1, sizeof(*m));
    tgi_mpi_announcement *announced =
        calloc((size_t)n_ranks, sizeof(*announced));
    if (!m || !announced) {
        free(m);
        free(announced);
        tg_host_fail("mpi_create: out of memory");
        return NULL;
    }
    m->comm = MPI_COMM_NULL;
    m->fails_at = -1;
    m->poll_error = MPI_SUCCESS;
    m->announced = announced;
    m->ranks = (tgi_shards){n_ranks, rank, n_ranks};
    m->shards = (tgi_shards){n_ranks, rank, n_shards};
    m->order = options->order;
    m->timeout = options->timeout != 0 ? options->timeout : DEFAULT_TIMEOUT;
    m->bucket_bytes = options->bucket_bytes;
    m->ctx = tg_context_retain(ctx);
    return m;
}

tg_mpi *tg_mpi_create(tg_context *ctx, MPI_Comm comm,
                      const tg_mpi_options *options)
{
    const tg_mpi_options defaults = TG_MPI_OPTIONS_INIT;
    int rank = 0, n_ranks = 1;
    if (!is_initialised())
        return NULL;
    if (!ctx || comm == MPI_COMM_NULL) {
        tg_host_fail("mpi_create: the %s is NULL",
                     ctx ? "communicator" : "context");
        return NULL;
    }
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &n_ranks);
    tg_mpi *m = create_here(ctx, options ? options : &defaults, rank, n_ranks);
    if (!all_succeed(comm, m != NULL)) {
        tg_mpi_release(m);
        return NULL;
    }
    int error = MPI_Comm_dup(comm, &m->comm);
    if (error == MPI_SUCCESS)
        error = MPI_Comm_set_errhandler(m->comm, MPI_ERRORS_RETURN);
    if (error != MPI_SUCCESS)
        tg_host_fail("mpi_create: MPI_Comm_dup has failed");
    bool succeeds = error == MPI_SUCCESS && options_agree(m);
    if (succeeds && !m->bucket_bytes) {
        succeeds = measure_bucket(m) == MPI_SUCCESS;
        if (!succeeds)
            tg_host_fail("mpi_create: measuring the network has failed");
    }
    if (all_succeed(comm, succeeds))
        return m;
    tg_mpi_release(m);
    return NULL;
}

void tg_mpi_release(tg_mpi *m)
{
    if (!m)
        return;
    int is_finalised = 0;
    MPI_Finalized(&is_finalised);
    tgi_mpi_calls_free(m);
    tgi_mpi_functions_free(m);
    tgi_mpi_train_steps_free(m);
    tgi_mpi_free_sent_notes(m, is_finalised);
    /* After a failure messages may be on their way. MPI must not give the
       number of this communicator to another one, which would get them. */
    if (m->comm != MPI_COMM_NULL && !m->has_failed && !is_finalised)
        MPI_Comm_free(&m->comm);
    tg_context_release(m->ctx);
    free(m->announced);
    free(m);
}

/* -- Properties ------------------------------------------------------------ */

int tg_mpi_rank(const tg_mpi *m)
{
    return m->ranks.rank;
}

int tg_mpi_size(const tg_mpi *m)
{
    return m->ranks.n_ranks;
}

int64_t tg_mpi_shards(const tg_mpi *m)
{
    return m->shards.n_shards;
}

int64_t tg_mpi_first_shard(const tg_mpi *m)
{
    return tgi_shards_begin(&m->shards, m->shards.rank);
}

int64_t tg_mpi_own_shards(const tg_mpi *m)
{
    return tgi_shards_begin(&m->shards, m->shards.rank + 1) -
           tg_mpi_first_shard(m);
}

size_t tg_mpi_bucket_bytes(const tg_mpi *m)
{
    return m->bucket_bytes;
}
