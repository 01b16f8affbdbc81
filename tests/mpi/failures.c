/* SPDX-License-Identifier: MIT */
/*
 * failures.c - what goes wrong on one rank is a status on all of them: other
 * shapes, other collectives, a rank that fails in a trace or in a kernel, a
 * rank that calls nothing, a thread that must not call MPI. None of these may
 * hang.
 */
#include <pthread.h>

#include "mpi/ranks.h"

static void sum(tg_trace *t, const tg_value *in, void *user)
{
    const setting *s = user;
    tg_return(t, tg_mpi_all_reduce(t, s->mpi, in[0], TG_MPI_SUM));
}

static void sum_or_gather(tg_trace *t, const tg_value *in, void *user)
{
    const setting *s = user;
    tg_return(t, s->rank ? tg_mpi_all_gather(t, s->mpi, in[0])
                         : tg_mpi_all_reduce(t, s->mpi, in[0], TG_MPI_SUM));
}

/* Fails while tracing on the last rank. */
static void fail_in_trace(tg_trace *t, const tg_value *in, void *user)
{
    const setting *s = user;
    if (s->rank == s->n_ranks - 1)
        tg_fail(t, "the last rank gives up");
    sum(t, in, user);
}

/* Fails in a run on the last rank, between two collectives. */
static void fail_in_run(tg_trace *t, const tg_value *in, void *user)
{
    const setting *s = user;
    const tg_value y = tg_mpi_all_reduce(t, s->mpi, in[0], TG_MPI_SUM);
    tg_assert(t, tg_lt(in[0], 1e6f), "an element is %v", in[0]);
    tg_return(t, tg_mpi_all_reduce(t, s->mpi, y, TG_MPI_SUM));
}

static tg_tensor *filled(const setting *s, int64_t n, float value)
{
    tg_tensor *x = tg_tensor_create(s->ctx, TG_F32, TG_DIMS(n), tg_zeros());
    CHECK(x);
    for (int64_t i = 0; i < n; i++)
        tg_tensor_f32(x)[i] = value;
    return x;
}

/* Calls a function; returns its status after the report. */
static tg_status call(setting *s, tg_callback *callback, int64_t n, float value)
{
    TG_AUTO(tg_function) f = tg_function_create(s->ctx, callback, s, NULL);
    TG_AUTO(tg_tensor) x = filled(s, n, value);
    TG_AUTO(tg_tensor) y = NULL;
    return tg_mpi_report(s->mpi, tg_call(f, TG_ARGS(x), TG_RESULTS(&y)));
}

static bool says(const char *text)
{
    return strstr(tg_error(NULL), text) != NULL;
}

/* What follows a failure fails at once; a new tg_mpi works. */
static void check_lost(setting *s)
{
    CHECK(call(s, sum, 2, 1) != TG_OK);
    CHECK(!tg_compile_wait(s->ctx));
    tg_mpi_release(s->mpi);
    const tg_mpi_options options = options_of(0);
    s->mpi = tg_mpi_create(s->ctx, MPI_COMM_WORLD, &options);
    CHECK(s->mpi);
    CHECK(call(s, sum, 2, 1) == TG_OK);
}

static void check_mismatches(setting *s)
{
    CHECK(call(s, sum, 2 + s->rank, 1) == TG_ERROR_CALLBACK);
    CHECK(says("collectives do not match") && says("all_reduce sum f32[2]"));
    check_lost(s);
    CHECK(call(s, sum_or_gather, 3, 1) == TG_ERROR_CALLBACK);
    CHECK(says("all_gather f32[3]"));
    check_lost(s);
    /* One rank calls what it has called before, the others something new. */
    TG_AUTO(tg_function) f = tg_function_create(s->ctx, sum, s, NULL);
    TG_AUTO(tg_tensor) x = filled(s, 4, 1);
    TG_AUTO(tg_tensor) y = NULL;
    CHECK(!tg_call(f, TG_ARGS(x), TG_RESULTS(&y)));
    const tg_status status =
        s->rank ? call(s, sum, 5, 1)
                : tg_mpi_report(s->mpi,
                                tg_call(f, TG_ARGS(x), TG_RESULTS(&y)));
    CHECK(status == TG_ERROR_CALLBACK && says("collectives do not match"));
    tg_function_release(f);
    f = NULL;
    check_lost(s);
}

static void check_failing_rank(setting *s)
{
    CHECK(call(s, fail_in_trace, 2, 1) == TG_ERROR_CALLBACK);
    CHECK(says("the last rank gives up"));
    check_lost(s);
    const bool is_last = s->rank == s->n_ranks - 1;
    CHECK(call(s, fail_in_run, 70000, is_last ? 2e6f : 1) ==
          (is_last ? TG_ERROR_ASSERT : TG_ERROR_CALLBACK));
    CHECK(says("an element is"));
    check_lost(s);
}

/* The last rank calls nothing for longer than the others wait. */
static void check_timeout(setting *s)
{
    tg_mpi_release(s->mpi);
    tg_mpi_options options = options_of(0);
    options.timeout = 0.2;
    s->mpi = tg_mpi_create(s->ctx, MPI_COMM_WORLD, &options);
    CHECK(s->mpi);
    if (s->rank != s->n_ranks - 1) {
        CHECK(call(s, sum, 2, 1) == TG_ERROR_CALLBACK);
        CHECK(says("for the other ranks"));
    }
    MPI_Barrier(MPI_COMM_WORLD);
    check_lost(s);
}

/* A thread that must not call MPI, as MPI_Init was called on another one. */
static void *misuse(void *user)
{
    setting *s = user;
    TG_AUTO(tg_function) f = tg_function_create(s->ctx, sum, s, NULL);
    TG_AUTO(tg_tensor) x = filled(s, 2, 1);
    TG_AUTO(tg_tensor) y = NULL;
    CHECK(!tg_mpi_create(s->ctx, MPI_COMM_WORLD, NULL));
    CHECK(says("MPI_THREAD_SERIALIZED"));
    CHECK(tg_mpi_report(s->mpi, tg_call(f, TG_ARGS(x), TG_RESULTS(&y))) ==
          TG_ERROR_CALLBACK);
    CHECK(says("MPI_THREAD_SERIALIZED"));
    return NULL;
}

static void check_threads(setting *s)
{
    pthread_t thread;
    CHECK(!pthread_create(&thread, NULL, misuse, s));
    CHECK(!pthread_join(thread, NULL));
    CHECK(call(s, sum, 2, 1) == TG_OK); /* nobody has been told */
}

static void check_options(setting *s)
{
    tg_mpi_options options = options_of(0);
    options.n_shards = s->n_ranks - 1;
    if (options.n_shards) {
        CHECK(!tg_mpi_create(s->ctx, MPI_COMM_WORLD, &options));
        CHECK(says("too few"));
    }
    options.n_shards = s->n_ranks + s->rank;
    CHECK(!tg_mpi_create(s->ctx, MPI_COMM_WORLD, &options));
    CHECK(says("options of the ranks differ"));
    options = options_of(0);
    options.struct_bytes = s->rank ? sizeof(options) : 1;
    CHECK(!tg_mpi_create(s->ctx, MPI_COMM_WORLD, &options));
    CHECK(says(s->rank ? "another rank" : "struct_bytes"));
    CHECK(!tg_mpi_create(NULL, MPI_COMM_WORLD, NULL));
    CHECK(!tg_mpi_create(s->ctx, MPI_COMM_NULL, NULL));
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    const tg_mpi_options options = options_of(0);
    setting s = setting_open(&options);
    if (s.n_ranks > 1) {
        check_options(&s);
        check_mismatches(&s);
        check_failing_rank(&s);
        check_timeout(&s);
        check_threads(&s);
    }
    setting_close(&s);
    MPI_Finalize();
    return 0;
}
