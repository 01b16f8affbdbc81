/* SPDX-License-Identifier: MIT */
/*
 * control.c - collectives in branches and loops, with gradients through them;
 * gradients of the collectives that collectives.c leaves out; halves. All
 * values are exact, so interpreted and compiled calls are held to the same
 * numbers.
 */
#include "mpi/ranks.h"

enum { N = 4 };

/* Element i of rank r: a small integer. */
static float input(int r, int i)
{
    return (float)((r * 5 + i * 3) % 7 - 2);
}

static float sum_of_inputs(const setting *s, int i)
{
    float sum = 0;
    for (int r = 0; r < s->n_ranks; r++)
        sum += input(r, i);
    return sum;
}

static tg_tensor *inputs(const setting *s, int n)
{
    tg_tensor *x = tg_tensor_create(s->ctx, TG_F32, TG_DIMS(n), tg_zeros());
    CHECK(x);
    for (int i = 0; i < n; i++)
        tg_tensor_f32(x)[i] = input(s->rank, i);
    return x;
}

/* Calls a function of x and a number twice; its result is of floats. */
static tg_tensor *call(setting *s, tg_callback *callback, int n, float number)
{
    TG_AUTO(tg_function) f = tg_function_create(s->ctx, callback, s, NULL);
    TG_AUTO(tg_tensor) x = inputs(s, n);
    tg_tensor *y = NULL;
    for (int i = 0; i < 2; i++)
        CHECK(!tg_mpi_report(s->mpi, tg_call(f, TG_ARGS(x, number),
                                             TG_RESULTS(&y))));
    return y;
}

/* sum(weight * y), where the weight of rank r is r + 1. */
static tg_value weighted(const setting *s, tg_value y)
{
    return tg_sum(tg_mul(y, (float)(s->rank + 1)), TG_ALL_AXES);
}

static float sum_of_weights(const setting *s)
{
    return (float)(s->n_ranks * (s->n_ranks + 1) / 2);
}

/* -- Branches -------------------------------------------------------------- */

static void reduced(tg_trace *t, const tg_value *in, void *user)
{
    const setting *s = user;
    tg_return(t, tg_mpi_all_reduce(t, s->mpi, in[0], TG_MPI_SUM));
}

static void shifted_twice(tg_trace *t, const tg_value *in, void *user)
{
    const setting *s = user;
    tg_return(t, tg_mul(tg_mpi_shift(t, s->mpi, in[0], 2), 3));
}

static tg_value branched(const tg_value *in, void *user)
{
    tg_value y;
    tg_cond(tg_gt(in[1], 0), reduced, shifted_twice, user, TG_ARGS(in[0]), &y,
            1);
    return y;
}

static void branch(tg_trace *t, const tg_value *in, void *user)
{
    tg_return(t, branched(in, user));
}

static void branch_gradient(tg_trace *t, const tg_value *in, void *user)
{
    tg_return(t, tg_gradient(weighted(user, branched(in, user)), in[0]));
}

static void check_branches(setting *s)
{
    const int n = s->n_ranks;
    TG_AUTO(tg_tensor) sum = call(s, branch, N, 1);
    TG_AUTO(tg_tensor) shifted = call(s, branch, N, -1);
    TG_AUTO(tg_tensor) of_sum = call(s, branch_gradient, N, 1);
    TG_AUTO(tg_tensor) of_shift = call(s, branch_gradient, N, -1);
    for (int i = 0; i < N; i++) {
        CHECK(tg_tensor_f32(sum)[i] == sum_of_inputs(s, i));
        CHECK(tg_tensor_f32(shifted)[i] ==
              3 * input((s->rank + 2 * n - 2) % n, i));
        CHECK(tg_tensor_f32(of_sum)[i] == sum_of_weights(s));
        CHECK(tg_tensor_f32(of_shift)[i] ==
              (float)(3 * ((s->rank + 2) % n + 1)));
    }
}

/* -- Loops ----------------------------------------------------------------- */

static void halve(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    tg_return(t, tg_mul(in[0], 0.5), tg_add(in[1], 1.0f));
}

/* True on all ranks while any of them has a large element. */
static void is_large(tg_trace *t, const tg_value *in, void *user)
{
    const setting *s = user;
    const tg_value high =
        tg_mpi_all_reduce(t, s->mpi, tg_reduce_max(in[0], TG_ALL_AXES),
                          TG_MPI_MAX);
    tg_return(t, tg_gt(high, 1.0f));
}

/* The number of rank r begins at 2^r. */
static void iterations(tg_trace *t, const tg_value *in, void *user)
{
    const setting *s = user;
    tg_value results[2];
    const tg_value start = tg_add(tg_mul(in[0], 0.0f), (float)(1 << s->rank));
    tg_while(is_large, halve, user, TG_ARGS(start, 0.0f), results, 2);
    tg_return(t, results[1]);
}

static void doubled_mean(tg_trace *t, const tg_value *in, void *user)
{
    const setting *s = user;
    tg_return(t, tg_mul(tg_mpi_all_reduce(t, s->mpi, in[1], TG_MPI_MEAN), 2));
}

static void loop_gradient(tg_trace *t, const tg_value *in, void *user)
{
    tg_value y;
    tg_for(3, doubled_mean, user, TG_ARGS(in[0]), &y, 1);
    tg_return(t, tg_gradient(weighted(user, y), in[0]));
}

static void check_loops(setting *s)
{
    TG_AUTO(tg_tensor) n = call(s, iterations, N, 0);
    CHECK(tg_tensor_f32(n)[0] == (float)(s->n_ranks - 1));
    TG_AUTO(tg_tensor) g = call(s, loop_gradient, N, 0);
    /* 8 / n in three rounds; the rounding of the sums is that of n = 3. */
    const float expected = 8 * sum_of_weights(s) / (float)s->n_ranks;
    for (int i = 0; i < N; i++)
        CHECK(tg_tensor_f32(g)[i] > expected * 0.99999f &&
              tg_tensor_f32(g)[i] < expected * 1.00001f);
}

/* -- Other gradients ------------------------------------------------------- */

static void other_gradients(tg_trace *t, const tg_value *in, void *user)
{
    const setting *s = user;
    const tg_value own = tg_add(in[0], 0);
    const tg_value y[] = {
        tg_mul(tg_mpi_all_reduce(t, s->mpi, own, TG_MPI_MEAN),
               (float)s->n_ranks),
        tg_mpi_all_reduce(t, s->mpi, tg_add(own, (float)(10 * s->rank)),
                          TG_MPI_MIN),
        tg_mpi_all_to_all(t, s->mpi, own),
        tg_mpi_reduce_scatter(t, s->mpi, own, TG_MPI_SUM),
        tg_mpi_reduce_shards(t, s->mpi, tg_stack(0, own, tg_mul(own, 2)),
                             TG_MPI_SUM),
    };
    tg_value g[5];
    for (int i = 0; i < 5; i++)
        g[i] = tg_gradient(weighted(s, y[i]), in[0]);
    tg_return(t, tg_stack(0, g[0], g[1], g[2], g[3], g[4]));
}

static void check_other_gradients(setting *s)
{
    const int n = s->n_ranks, count = N * n;
    TG_AUTO(tg_tensor) g = call(s, other_gradients, count, 0);
    for (int i = 0; i < count; i++) {
        const float *at = tg_tensor_f32(g) + i;
        CHECK(at[0] == sum_of_weights(s));
        /* Inputs are below 10, so rank 0 has the minimum. */
        CHECK(at[count] == (s->rank ? 0 : sum_of_weights(s)));
        CHECK(at[2 * count] == (float)(i / N + 1));
        CHECK(at[3 * count] == (float)(i / N + 1));
        CHECK(at[4 * count] == 3 * sum_of_weights(s));
    }
}

/* -- Halves ---------------------------------------------------------------- */

static void of_halves(tg_trace *t, const tg_value *in, void *user)
{
    const setting *s = user;
    const tg_dtype dtypes[] = {TG_F16, TG_BF16};
    tg_value rows[8];
    for (int i = 0; i < 2; i++) {
        const tg_value x = tg_cast(in[0], dtypes[i]);
        rows[4 * i] = tg_mpi_all_reduce(t, s->mpi, x, TG_MPI_SUM);
        rows[4 * i + 1] = tg_mpi_all_reduce(t, s->mpi, x, TG_MPI_MAX);
        rows[4 * i + 2] = tg_mpi_all_reduce(
            t, s->mpi, tg_mul(x, s->n_ranks), TG_MPI_MEAN);
        rows[4 * i + 3] =
            tg_slice(tg_mpi_all_gather(t, s->mpi, x), 0, -N, TG_END, 1);
    }
    for (int i = 0; i < 8; i++)
        rows[i] = tg_cast(rows[i], TG_F32);
    tg_return(t, tg_stack(0, rows[0], rows[1], rows[2], rows[3], rows[4],
                          rows[5], rows[6], rows[7]));
}

static void check_halves(setting *s)
{
    TG_AUTO(tg_tensor) y = call(s, of_halves, N, 0);
    for (int k = 0; k < 2; k++)
        for (int i = 0; i < N; i++) {
            const float *at = tg_tensor_f32(y) + 4 * k * N + i;
            float high = input(0, i);
            for (int r = 1; r < s->n_ranks; r++)
                high = input(r, i) > high ? input(r, i) : high;
            CHECK(at[0] == sum_of_inputs(s, i));
            CHECK(at[N] == high);
            CHECK(at[2 * N] == sum_of_inputs(s, i));
            CHECK(at[3 * N] == input(s->n_ranks - 1, i));
        }
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    for (int order = TG_REDUCE_IN_ORDER; order <= TG_REDUCE_ANY_ORDER;
         order++) {
        int n_ranks;
        MPI_Comm_size(MPI_COMM_WORLD, &n_ranks);
        tg_mpi_options options = options_of(2 * n_ranks);
        options.order = (tg_mpi_order)order;
        setting s = setting_open(&options);
        check_branches(&s);
        check_loops(&s);
        check_other_gradients(&s);
        check_halves(&s);
        setting_close(&s);
    }
    MPI_Finalize();
    return 0;
}
