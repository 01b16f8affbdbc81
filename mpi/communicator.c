/* SPDX-License-Identifier: MIT */
/*
 * communicator.c - creates and releases a tg_mpi.
 */
#include "mpi/communicator.h"

#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include "mpi/call.h"
#include "mpi/function_list.h"
#include "mpi/simulated_time.h"
#include "mpi/train_step.h"
#include "tgjit/host.h"

#define DEFAULT_TIMEOUT 600.0

/* -- Waiting --------------------------------------------------------------- */

/* Nothing here waits for longer than the timeout for a rank that may be dead.
   What MPI may still use then keeps its memory. */

/* Waits for a request; else an error. */
static bool await(MPI_Request *request, double timeout)
{
    const double begin = MPI_Wtime();
    int error = MPI_SUCCESS, is_complete = 0;
    if (*request == MPI_REQUEST_NULL)
        return true;
    for (uint64_t n = 0; error == MPI_SUCCESS && !is_complete; n++) {
        if (timeout >= 0 && MPI_Wtime() - begin > timeout) {
            tg_host_fail("mpi_create: has waited %g s for the other ranks",
                         timeout);
            return false;
        }
        if (n > 1000)
            sched_yield();
        error = MPI_Test(request, &is_complete, MPI_STATUS_IGNORE);
    }
    if (error != MPI_SUCCESS)
        tg_host_fail("mpi_create: MPI has failed");
    return error == MPI_SUCCESS;
}

/* The minima of n numbers over all ranks. */
static bool find_minima(MPI_Comm comm, double timeout, const int64_t *mine,
                        int64_t *out_least, int n)
{
    const size_t bytes = (size_t)n * sizeof(*mine);
    MPI_Request request = MPI_REQUEST_NULL;
    int64_t *memory = malloc(2 * bytes);
    if (!memory) {
        tg_host_fail("mpi_create: out of memory");
        return false;
    }
    memcpy(memory, mine, bytes);
#ifdef TGJIT_SMPI /* its MPI_Iallreduce is slow, and of one rank never ends */
    const int error = MPI_Allreduce(memory, memory + n, n, MPI_INT64_T,
                                    MPI_MIN, comm);
#else
    const int error = MPI_Iallreduce(memory, memory + n, n, MPI_INT64_T,
                                     MPI_MIN, comm, &request);
#endif
    if (error != MPI_SUCCESS) {
        free(memory);
        tg_host_fail("mpi_create: MPI has failed");
        return false;
    }
    if (!await(&request, timeout))
        return false;
    memcpy(out_least, memory + n, bytes);
    free(memory);
    return true;
}

/* All ranks learn whether all have succeeded so far. */
static bool all_succeed(MPI_Comm comm, double timeout, bool succeeds)
{
    const int64_t mine = succeeds;
    int64_t all = 0;
    if (!find_minima(comm, timeout, &mine, &all, 1))
        return false;
    if (succeeds && !all)
        tg_host_fail("mpi_create: another rank has failed");
    return all;
}

/* -- Bucket size ----------------------------------------------------------- */

enum { ROUNDS = 5, PROBE_BYTES = 1 << 20 };

/* A message to the neighbour and one from it. */
static bool shift(tg_mpi *m, char *memory, int bytes)
{
    const int n = m->ranks.n_ranks, rank = m->ranks.rank;
    MPI_Request receive, send;
    if (MPI_Irecv(memory + bytes, bytes, MPI_BYTE, (rank + n - 1) % n, 0,
                  m->comm, &receive) != MPI_SUCCESS ||
        MPI_Isend(memory, bytes, MPI_BYTE, (rank + 1) % n, 0, m->comm,
                  &send) != MPI_SUCCESS) {
        tg_host_fail("mpi_create: MPI has failed");
        return false;
    }
    return await(&receive, m->timeout) && await(&send, m->timeout);
}

/* The shortest time of that, in nanoseconds; 0: failure. */
static double time_of_shift(tg_mpi *m, char *memory, int bytes)
{
    double shortest = 1e18;
    for (int i = 0; i < ROUNDS; i++) {
        const double begin = MPI_Wtime();
        if (!shift(m, memory, bytes))
            return 0;
        const double time = 1e9 * (MPI_Wtime() - begin) + 1;
        shortest = time < shortest ? time : shortest;
    }
    return shortest;
}

/* The same on all ranks. */
static bool measure_bucket(tg_mpi *m)
{
    enum { SMALLEST = 1 << 16, LARGEST = 1 << 25 };
    char *memory = calloc(2, PROBE_BYTES);
    if (!all_succeed(m->comm, m->timeout, memory != NULL)) {
        free(memory);
        return false;
    }
    const double empty = time_of_shift(m, memory, 0);
    const double full = empty > 0 ? time_of_shift(m, memory, PROBE_BYTES) : 0;
    if (full <= 0)
        return false; /* MPI may use the memory */
    free(memory);
    const int64_t mine[] = {-(int64_t)empty, -(int64_t)full};
    int64_t slowest[2];
    if (!find_minima(m->comm, m->timeout, mine, slowest, 2))
        return false;
    const double per_byte = (double)(slowest[0] - slowest[1]) / PROBE_BYTES;
    const double bytes = per_byte > 0 ? -10 * (double)slowest[0] / per_byte
                                      : (double)LARGEST;
    m->bucket_bytes = bytes < SMALLEST ? SMALLEST
                      : bytes > LARGEST ? LARGEST
                                        : (size_t)bytes;
    return true;
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
    if (!find_minima(m->comm, m->timeout, both, least, 2 * N))
        return false;
    for (int i = 0; i < N; i++)
        if (least[i] != -least[N + i]) {
            tg_host_fail("mpi_create: the options of the ranks differ");
            return false;
        }
    return true;
}

static bool duplicate(tg_mpi *m, MPI_Comm comm)
{
    MPI_Request request = MPI_REQUEST_NULL;
#ifdef TGJIT_SMPI /* has no MPI_Comm_idup */
    const int error = MPI_Comm_dup(comm, &m->comm);
#else
    const int error = MPI_Comm_idup(comm, &m->comm, &request);
#endif
    if (error == MPI_SUCCESS && await(&request, m->timeout) &&
        MPI_Comm_set_errhandler(m->comm, MPI_ERRORS_RETURN) == MPI_SUCCESS)
        return true;
    m->comm = MPI_COMM_NULL;
    return false;
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

static bool is_initialised(void)
{
    int begun = 0, ended = 0;
    MPI_Initialized(&begun);
    MPI_Finalized(&ended);
    if (!begun || ended)
        tg_host_fail("mpi_create: MPI is not initialised; call MPI_Init");
    return begun && !ended;
}

/* True if this thread may call MPI; else an error. A simulated rank is a thread
   of its own, of one process. */
static bool may_call(bool *out_has_one_thread)
{
#ifdef TGJIT_SMPI
    *out_has_one_thread = false;
    return true;
#else
    int level = MPI_THREAD_SINGLE, is_main = 0;
    MPI_Query_thread(&level);
    MPI_Is_thread_main(&is_main);
    *out_has_one_thread = level < MPI_THREAD_SERIALIZED;
    if (*out_has_one_thread && !is_main)
        tg_host_fail("mpi_create: this thread has not initialised MPI; "
                     "initialise it with MPI_THREAD_SERIALIZED");
    return !*out_has_one_thread || is_main;
#endif
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
    bool has_one_thread;
    if (!is_initialised() || !may_call(&has_one_thread))
        return NULL;
    if (!ctx || comm == MPI_COMM_NULL) {
        tg_host_fail("mpi_create: the %s is NULL",
                     ctx ? "communicator" : "context");
        return NULL;
    }
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &n_ranks);
    if (!options)
        options = &defaults;
    const double timeout =
        options->struct_bytes == sizeof(*options) && options->timeout != 0
            ? options->timeout
            : DEFAULT_TIMEOUT;
    tg_mpi *m = create_here(ctx, options, rank, n_ranks);
    if (!all_succeed(comm, timeout, m != NULL)) {
        tg_mpi_release(m);
        return NULL;
    }
    const bool succeeds = duplicate(m, comm) && options_agree(m) &&
                          (m->bucket_bytes || measure_bucket(m));
    m->has_one_thread = has_one_thread;
    m->thread = pthread_self();
    tgi_mpi_leave(&m->left);
    const int64_t mine = succeeds;
    int64_t all = 0;
    /* Without an answer a rank may be dead: the communicator is not freed. */
    m->has_failed = !find_minima(comm, timeout, &mine, &all, 1);
    if (succeeds && all)
        return m;
    if (succeeds && !m->has_failed)
        tg_host_fail("mpi_create: another rank has failed");
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
