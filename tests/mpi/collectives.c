/* SPDX-License-Identifier: MIT */
/*
 * collectives.c - collectives of any number of ranks: results, gradients,
 * branches and loops, and sums in the order of the tree over shards.
 */
#include <math.h>

#include "mpi/ranks.h"

enum { N = 6 };

/* Element i of what rank r passes. */
static float input(int r, int64_t i)
{
    return (float)((r * 31 + (int)i * 7) % 13) - 4.25f;
}

static tg_tensor *tensor_of(const setting *s, int64_t n)
{
    float *x = malloc((size_t)n * sizeof(*x));
    CHECK(x);
    for (int64_t i = 0; i < n; i++)
        x[i] = input(s->rank, i);
    tg_tensor *t = tg_tensor_copy(s->ctx, x, TG_F32, TG_DIMS(n));
    CHECK(t);
    free(x);
    return t;
}

/* Calls `callback`, with the setting as `user`, on n elements. */
static tg_tensor *call(setting *s, tg_callback *callback, int64_t n)
{
    TG_AUTO(tg_function) f = tg_function_create(s->ctx, callback, s, NULL);
    TG_AUTO(tg_tensor) x = tensor_of(s, n);
    tg_tensor *y = NULL;
    CHECK(tg_call(f, TG_ARGS(x), TG_RESULTS(&y)) == TG_OK);
    /* Also when nothing is prepared any more. */
    CHECK(tg_call(f, TG_ARGS(x), TG_RESULTS(&y)) == TG_OK);
    return y;
}

/* -- Reductions ------------------------------------------------------------ */

static void reduce_all(tg_trace *t, const tg_value *in, void *user)
{
    const setting *s = user;
    tg_return(t, tg_mpi_all_reduce(t, s->mpi, in[0], TG_MPI_SUM),
              tg_mpi_all_reduce(t, s->mpi, in[0], TG_MPI_MEAN),
              tg_mpi_all_reduce(t, s->mpi, in[0], TG_MPI_MAX),
              tg_mpi_all_reduce(t, s->mpi, in[0], TG_MPI_MIN),
              tg_mpi_all_reduce(t, s->mpi, tg_cast(in[0], TG_I8), TG_MPI_SUM));
}

/* The value of the tree over leaves first ... first + 2^level - 1. */
static float tree(int n, int level, int first, int64_t i)
{
    const int half = first + (1 << level) / 2;
    if (level == 0)
        return input(first, i);
    const float left = tree(n, level - 1, first, i);
    return half < n ? left + tree(n, level - 1, half, i) : left;
}

static void check_reductions(setting *s, int64_t n)
{
    TG_AUTO(tg_function) f = tg_function_create(s->ctx, reduce_all, s, NULL);
    TG_AUTO(tg_tensor) x = tensor_of(s, n);
    tg_tensor *y[5] = {NULL};
    for (int repeats = 0; repeats < 3; repeats++)
        CHECK(!tg_call(f, TG_ARGS(x),
                       TG_RESULTS(&y[0], &y[1], &y[2], &y[3], &y[4])));
    int level = 0;
    while ((1 << level) < s->n_ranks)
        level++;
    for (int64_t i = 0; i < n; i++) {
        float high = -INFINITY, low = INFINITY;
        int total = 0;
        for (int r = 0; r < s->n_ranks; r++) {
            high = fmaxf(high, input(r, i));
            low = fminf(low, input(r, i));
            total += (int)input(r, i);
        }
        const float sum = tree(s->n_ranks, level, 0, i);
        CHECK(tg_tensor_f32(y[0])[i] == sum);
        CHECK(tg_tensor_f32(y[1])[i] == sum / (float)s->n_ranks);
        CHECK(tg_tensor_f32(y[2])[i] == high);
        CHECK(tg_tensor_f32(y[3])[i] == low);
        CHECK(tg_tensor_i8(y[4])[i] == total);
    }
    for (int i = 0; i < 5; i++)
        tg_tensor_release(y[i]);
}

/* -- The others ------------------------------------------------------------ */

static void gather(tg_trace *t, const tg_value *in, void *user)
{
    const setting *s = user;
    tg_return(t, tg_mpi_all_gather(t, s->mpi, in[0]));
}

static void scatter(tg_trace *t, const tg_value *in, void *user)
{
    const setting *s = user;
    tg_return(t, tg_mpi_reduce_scatter(t, s->mpi, in[0], TG_MPI_SUM));
}

static void from_last(tg_trace *t, const tg_value *in, void *user)
{
    const setting *s = user;
    tg_mpi_barrier(t, s->mpi);
    tg_return(t, tg_mpi_broadcast(t, s->mpi, in[0], s->n_ranks - 1));
}

static void transposed(tg_trace *t, const tg_value *in, void *user)
{
    const setting *s = user;
    tg_return(t, tg_mpi_all_to_all(t, s->mpi, in[0]));
}

static void shifted(tg_trace *t, const tg_value *in, void *user)
{
    const setting *s = user;
    tg_return(t, tg_mpi_shift(t, s->mpi, in[0], 1));
}

static void check_movements(setting *s)
{
    const int n = s->n_ranks, previous = (s->rank + n - 1) % n;
    TG_AUTO(tg_tensor) gathered = call(s, gather, N);
    CHECK(tg_tensor_dims(gathered)[0] == N * n);
    for (int64_t i = 0; i < N * n; i++)
        CHECK(tg_tensor_f32(gathered)[i] == input((int)i / N, i % N));
    TG_AUTO(tg_tensor) part = call(s, scatter, N * n);
    CHECK(tg_tensor_dims(part)[0] == N);
    int level = 0;
    while ((1 << level) < n)
        level++;
    for (int64_t i = 0; i < N; i++)
        CHECK(tg_tensor_f32(part)[i] == tree(n, level, 0, s->rank * N + i));
    TG_AUTO(tg_tensor) last = call(s, from_last, N);
    TG_AUTO(tg_tensor) columns = call(s, transposed, N * n);
    TG_AUTO(tg_tensor) neighbour = call(s, shifted, N);
    for (int64_t i = 0; i < N; i++) {
        CHECK(tg_tensor_f32(last)[i] == input(n - 1, i));
        CHECK(tg_tensor_f32(neighbour)[i] == input(previous, i));
    }
    for (int64_t i = 0; i < N * n; i++)
        CHECK(tg_tensor_f32(columns)[i] ==
              input((int)(i / N), s->rank * N + i % N));
}

/* -- Gradients ------------------------------------------------------------- */

/* The gradient of sum(weight * collective(x)), where the weight is rank + 1;
   of the sum over all ranks, as each rank adds what it has. */
static tg_value weighted(const setting *s, tg_value y)
{
    return tg_sum(tg_mul(y, (float)(s->rank + 1)), TG_ALL_AXES);
}

static void gradients(tg_trace *t, const tg_value *in, void *user)
{
    const setting *s = user;
    tg_value g[6];
    const tg_value y[] = {
        tg_mpi_all_reduce(t, s->mpi, in[0], TG_MPI_SUM),
        tg_mpi_all_gather(t, s->mpi, in[0]),
        tg_mpi_reduce_scatter(t, s->mpi, in[0], TG_MPI_MEAN),
        tg_mpi_broadcast(t, s->mpi, in[0], 0),
        tg_mpi_shift(t, s->mpi, in[0], 1),
        tg_mpi_all_reduce(t, s->mpi, in[0], TG_MPI_MAX),
    };
    for (int i = 0; i < 6; i++)
        g[i] = tg_gradient(weighted(s, y[i]), in[0]);
    tg_return(t, g[0], g[1], g[2], g[3], g[4], g[5]);
}

static void check_gradients(setting *s)
{
    const int n = s->n_ranks;
    const float all = (float)(n * (n + 1) / 2);
    TG_AUTO(tg_function) f = tg_function_create(s->ctx, gradients, s, NULL);
    TG_AUTO(tg_tensor) x = tensor_of(s, N * n);
    tg_tensor *g[6] = {NULL};
    CHECK(!tg_call(f, TG_ARGS(x), TG_RESULTS(&g[0], &g[1], &g[2], &g[3], &g[4],
                                             &g[5])));
    for (int64_t i = 0; i < N * n; i++) {
        float high = -INFINITY;
        int n_high = 0;
        for (int r = 0; r < n; r++)
            high = fmaxf(high, input(r, i));
        for (int r = 0; r < n; r++)
            n_high += input(r, i) == high;
        CHECK(tg_tensor_f32(g[0])[i] == all);
        CHECK(tg_tensor_f32(g[1])[i] == all);
        CHECK(tg_tensor_f32(g[2])[i] == (float)(i / N + 1) / (float)n);
        CHECK(tg_tensor_f32(g[3])[i] == (s->rank ? 0 : all));
        CHECK(tg_tensor_f32(g[4])[i] == (float)((s->rank + 1) % n + 1));
        CHECK(tg_tensor_f32(g[5])[i] ==
              (input(s->rank, i) == high ? all / (float)n_high : 0));
    }
    for (int i = 0; i < 6; i++)
        tg_tensor_release(g[i]);
}

/* -- Branches and loops ---------------------------------------------------- */

static void add_all(tg_trace *t, const tg_value *in, void *user)
{
    const setting *s = user;
    tg_return(t, tg_add(in[1], tg_mpi_all_reduce(t, s->mpi, 1.0f, TG_MPI_SUM)));
}

static void add_in_loop(tg_trace *t, const tg_value *in, void *user)
{
    const setting *s = user;
    tg_value sum = tg_mul(tg_slice(in[0], 0, 0, 1, 1), 0.0f), result;
    tg_for(5, add_all, user, TG_ARGS(sum), &result, 1);
    (void)s;
    tg_return(t, result);
}

static void check_loop(setting *s)
{
    TG_AUTO(tg_tensor) sum = call(s, add_in_loop, N);
    CHECK(tg_tensor_f32(sum)[0] == (float)(5 * s->n_ranks));
}

/* -- Shards ---------------------------------------------------------------- */

static void reduce_shards(tg_trace *t, const tg_value *in, void *user)
{
    const setting *s = user;
    tg_return(t, tg_mpi_reduce_shards(t, s->mpi, in[0], TG_MPI_SUM),
              tg_mpi_reduce_shards(t, s->mpi, in[0], TG_MPI_MAX));
}

/* The sum of shards whose elements depend on the shard only is the same tree
   for every number of ranks. */
static void check_shards(int64_t n_shards, int64_t n)
{
    const tg_mpi_options options = options_of(n_shards);
    setting s = setting_open(&options);
    const int64_t first = tg_mpi_first_shard(s.mpi);
    const int64_t n_own = tg_mpi_own_shards(s.mpi);
    TG_AUTO(tg_tensor) x =
        tg_tensor_create(s.ctx, TG_F32, TG_DIMS(n_own, n), tg_zeros());
    CHECK(x);
    for (int64_t i = 0; i < n_own * n; i++)
        tg_tensor_f32(x)[i] = input((int)(first + i / n), i % n);
    TG_AUTO(tg_function) f =
        tg_function_create(s.ctx, reduce_shards, &s, NULL);
    TG_AUTO(tg_tensor) sum = NULL;
    TG_AUTO(tg_tensor) high = NULL;
    CHECK(!tg_call(f, TG_ARGS(x), TG_RESULTS(&sum, &high)));
    int level = 0;
    while ((1 << level) < n_shards)
        level++;
    for (int64_t i = 0; i < n; i++) {
        CHECK(tg_tensor_f32(sum)[i] == tree((int)n_shards, level, 0, i));
        for (int shard = 0; shard < n_shards; shard++)
            CHECK(tg_tensor_f32(high)[i] >= input(shard, i));
    }
    tg_tensor_release(x);
    tg_tensor_release(sum);
    tg_tensor_release(high);
    tg_function_release(f);
    x = sum = high = NULL;
    f = NULL;
    setting_close(&s);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    const tg_mpi_options options = options_of(0);
    setting s = setting_open(&options);
    /* Short arrays and long ones are moved in different ways. */
    const int64_t sizes[] = {1, 5, N, 4097, 30001, 65536};
    for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++)
        check_reductions(&s, sizes[i]);
    check_movements(&s);
    check_gradients(&s);
    check_loop(&s);
    setting_close(&s);
    const int64_t shards[] = {4, 5, 8, 12, 13};
    for (size_t i = 0; i < sizeof(shards) / sizeof(*shards); i++) {
        check_shards(shards[i], 7);
        check_shards(shards[i], 20011);
    }
    MPI_Finalize();
    return 0;
}
