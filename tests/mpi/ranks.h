/* SPDX-License-Identifier: MIT */
/*
 * ranks.h - programs that several ranks run: checks, and the setting of each
 * test. A failed check ends all ranks.
 */
#ifndef RANKS_H
#define RANKS_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <tgjit.h>
#include <tgjit/mpi.h>

#define CHECK(condition) \
    do { \
        if (!(condition)) \
            fail_check(__FILE__, __LINE__, #condition); \
    } while (0)

static inline void fail_check(const char *file, int line, const char *text)
{
    int rank, n_ranks;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &n_ranks);
    fprintf(stderr, "%s:%d: rank %d of %d: %s\n  last error: %s\n", file, line,
            rank, n_ranks, text, tg_error(NULL));
    MPI_Abort(MPI_COMM_WORLD, 1);
}

/* A context and a tg_mpi. */
typedef struct setting {
    tg_context *ctx;
    tg_mpi *mpi;
    int rank, n_ranks;
} setting;

static inline setting setting_open(const tg_mpi_options *options)
{
    setting s = {.ctx = tg_context_create(NULL)};
    CHECK(s.ctx);
    s.mpi = tg_mpi_create(s.ctx, MPI_COMM_WORLD, options);
    CHECK(s.mpi);
    s.rank = tg_mpi_rank(s.mpi);
    s.n_ranks = tg_mpi_size(s.mpi);
    return s;
}

static inline void setting_close(setting *s)
{
    CHECK(!tg_compile_wait(s->ctx));
    tg_mpi_release(s->mpi);
    tg_context_release(s->ctx);
#ifndef TGJIT_SMPI /* all ranks are in one process */
    CHECK(tg_live_objects() == 0);
#endif
}

static inline tg_mpi_options options_of(int64_t n_shards)
{
    tg_mpi_options options = TG_MPI_OPTIONS_INIT;
    options.n_shards = n_shards;
    options.timeout = 60;
    return options;
}

#endif /* RANKS_H */
