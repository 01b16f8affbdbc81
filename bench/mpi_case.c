/* SPDX-License-Identifier: MIT */
/*
 * mpi_case.c - see mpi_case.h. The ranks live as long as the experiment, so
 * starting them is not measured. Rank 0 reads a line and answers with a line:
 * `verify`, or `jit N` and `c N` for the seconds of N reductions.
 */
#include "mpi_case.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "peers/python.h"

struct experiment {
    python *ranks;
};

struct runner {
    const experiment *e;
    backend which;
};

static bool has_backend(const bench_case *c, const case_size *size,
                        backend which)
{
    (void)c, (void)size;
    const char *command = getenv("TGJIT_BENCH_MPI");
    return command && *command &&
           (which == BACKEND_JIT || which == BACKEND_C);
}

static experiment *begin(const bench_case *c, const case_size *size,
                         input_kind inputs, reason *out_why)
{
    static const char *const command[] = {
        "sh", "-c", "TGJIT_THREADS=1 eval \"exec $TGJIT_BENCH_MPI serve\"",
        NULL};
    (void)c, (void)size, (void)inputs;
    experiment *e = calloc(1, sizeof(*e));
    if (e && (e->ranks = python_start_program(command, out_why)))
        return e;
    if (!e)
        reason_set(out_why, "out of memory");
    free(e);
    return NULL;
}

static void end(experiment *e)
{
    if (e)
        python_stop(e->ranks);
    free(e);
}

static runner *start(experiment *e, backend which, int threads,
                     reason *out_why)
{
    (void)threads;
    runner *r = calloc(1, sizeof(*r));
    if (r)
        *r = (runner){e, which};
    else
        reason_set(out_why, "out of memory");
    return r;
}

static void stop(runner *r)
{
    free(r);
}

static bool verify(runner *r, reason *out_why)
{
    char answer[64];
    if (!python_ask(r->e->ranks, "verify", answer, sizeof(answer), out_why))
        return false;
    if (strcmp(answer, "right") == 0)
        return true;
    reason_set(out_why, "the ranks answer '%s'", answer);
    return false;
}

static bool run(runner *r, int64_t iterations, double *out_seconds,
                reason *out_why)
{
    char request[48];
    snprintf(request, sizeof(request), "%s %" PRId64, backend_name(r->which),
             iterations);
    return python_time(r->e->ranks, request, out_seconds, out_why);
}

const case_family mpi_family = {
    .has_backend = has_backend,
    .begin = begin,
    .end = end,
    .start = start,
    .stop = stop,
    .verify = verify,
    .run = run,
};
