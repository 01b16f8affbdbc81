/* SPDX-License-Identifier: MIT */
/*
 * test_empty.c - every family of operations on empty values of every origin:
 * compiled code returns the bits of the interpreter and accesses nothing
 * outside its arguments and results, which end at guard pages.
 *
 * A load that does not depend on the index of an empty loop is outside the
 * loop. Such loads belong to axes of extent 1, so most shapes here have one.
 */
#include "support/guarded.h"
#include "support/modes.h"

/* -- Empty values ---------------------------------------------------------- */

/* The arguments: x; a value like x that is empty along `axis`; a start that
   is clamped to the end of the axis. */
typedef struct given {
    tg_value x, empty, start;
    int axis;
} given;

static tg_value an_argument(const given *g)
{
    return g->empty;
}

static tg_value a_slice(const given *g)
{
    return tg_slice(g->x, g->axis, tg_value_dim(g->x, g->axis), TG_END, 1);
}

static tg_value a_reversed_slice(const given *g)
{
    return tg_slice(tg_slice(g->x, g->axis, -1, TG_END, -1), g->axis, 0, 0, 1);
}

static tg_value a_dynamic_slice(const given *g)
{
    return tg_dynamic_slice(g->x, g->axis, g->start, 0);
}

static tg_value a_dynamic_slice_of_a_sum(const given *g)
{
    return tg_dynamic_slice(tg_add(g->x, 1), g->axis, g->start, 0);
}

static tg_value a_slice_of_a_dynamic_slice(const given *g)
{
    tg_value part = tg_dynamic_slice(g->x, g->axis, g->start, 1);
    return tg_dynamic_slice(part, g->axis, g->start, 0);
}

static tg_value a_gather(const given *g)
{
    return tg_gather(g->x, tg_iota(TG_I32, TG_DIMS(0), 0), g->axis);
}

static tg_value a_broadcast(const given *g)
{
    int64_t dims[] = {tg_value_dim(g->x, 0), tg_value_dim(g->x, 1)};
    dims[g->axis] = 0;
    return tg_broadcast(tg_dynamic_slice(g->x, g->axis, g->start, 1), 2, dims);
}

typedef tg_value make_empty(const given *g);

static make_empty *const origins[] = {
    an_argument,
    a_slice,
    a_reversed_slice,
    a_dynamic_slice,
    a_dynamic_slice_of_a_sum,
    a_slice_of_a_dynamic_slice,
    a_gather,
    a_broadcast,
};
enum { N_ORIGINS = sizeof(origins) / sizeof(*origins) };

/* -- Uses ------------------------------------------------------------------ */

/* Operations on a value that is empty along g->axis. */
typedef tg_value use_empty(const given *g, tg_value empty);

static tg_value mapped(const given *g, tg_value v)
{
    (void)g;
    return tg_mul(tg_add(v, 1), v);
}

static tg_value sum_of_none(const given *g, tg_value v)
{
    return tg_sum(v, TG_AXES(g->axis));
}

static tg_value no_sums(const given *g, tg_value v)
{
    return tg_sum(v, TG_AXES(1 - g->axis));
}

static tg_value sum_of_all(const given *g, tg_value v)
{
    (void)g;
    return tg_sum(v, TG_ALL_AXES);
}

static tg_value product_of_none(const given *g, tg_value v)
{
    return tg_prod(tg_mul(v, 3), TG_AXES(g->axis));
}

static tg_value no_maxima(const given *g, tg_value v)
{
    return tg_reduce_max(v, TG_AXES(1 - g->axis));
}

static tg_value no_positions(const given *g, tg_value v)
{
    return tg_argmax(v, 1 - g->axis);
}

static tg_value sums_of_axes_apart(const given *g, tg_value v)
{
    tg_value more = tg_broadcast(
        v, TG_DIMS(3, tg_value_dim(v, 0), tg_value_dim(v, 1)));
    return tg_sum(more, g->axis ? TG_AXES(0, 2) : TG_AXES(1));
}

static tg_value sum_and_more(const given *g, tg_value v)
{
    return tg_add(tg_sum(v, TG_AXES(g->axis)), tg_sum(g->x, TG_AXES(g->axis)));
}

/* The softmax of an empty value is empty. */
static tg_value normalised(const given *g, tg_value v)
{
    tg_value part = tg_add(v, tg_sum(v, tg_keep(TG_AXES(g->axis))));
    return tg_mul(part, tg_sum(part, tg_keep(TG_AXES(1 - g->axis))));
}

/* A matrix of ones with the dtype of x. */
static tg_value ones(const given *g, int64_t rows, int64_t columns)
{
    return tg_broadcast(tg_scalar(tg_value_dtype(g->x), 1),
                        TG_DIMS(rows, columns));
}

static tg_value matrix_product(const given *g, tg_value v)
{
    return tg_matmul_with(v, ones(g, 0, 40),
                          g->axis ? TG_MATMUL_PLAIN : TG_TRANSPOSE_A);
}

static tg_value vector_product(const given *g, tg_value v)
{
    return tg_matmul_with(v, ones(g, 0, 1),
                          g->axis ? TG_MATMUL_PLAIN : TG_TRANSPOSE_A);
}

static tg_value product_on_the_right(const given *g, tg_value v)
{
    return tg_matmul_with(ones(g, 5, 0), v,
                          g->axis ? TG_TRANSPOSE_B : TG_MATMUL_PLAIN);
}

static tg_value product_and_more(const given *g, tg_value v)
{
    tg_value product = vector_product(g, v);
    return tg_add(product, tg_sum(product, TG_AXES(0)));
}

static tg_value no_products(const given *g, tg_value v)
{
    return tg_matmul_with(v, ones(g, tg_value_dim(v, 1 - g->axis), 3),
                          g->axis ? TG_TRANSPOSE_A : TG_MATMUL_PLAIN);
}

static tg_value concatenated(const given *g, tg_value v)
{
    return tg_concat(g->axis, v, g->x, v);
}

static tg_value padded(const given *g, tg_value v)
{
    return tg_pad(v, g->axis, 2, 1, 7);
}

static tg_value updated(const given *g, tg_value v)
{
    return tg_dynamic_update_slice(g->x, v, g->axis, g->start);
}

static tg_value scattered(const given *g, tg_value v)
{
    return tg_scatter(g->x, tg_iota(TG_I64, TG_DIMS(0), 0), v, g->axis,
                      TG_SCATTER_ADD);
}

static tg_value gathered_zeros(const given *g, tg_value v)
{
    return tg_gather_with(v, tg_iota(TG_I32, TG_DIMS(4), 0), g->axis,
                          TG_GATHER_ZERO);
}

static tg_value sum_of_gathered(const given *g, tg_value v)
{
    tg_value rows = tg_gather_with(v, tg_iota(TG_I32, TG_DIMS(4), 0),
                                   1 - g->axis, TG_GATHER_CLAMP);
    return tg_sum(rows, TG_AXES(g->axis));
}

static tg_value sum_of_transposed(const given *g, tg_value v)
{
    return tg_sum(tg_transpose(tg_add(v, v), TG_PERM(1, 0)),
                  TG_AXES(1 - g->axis));
}

static tg_value sum_of_reshaped(const given *g, tg_value v)
{
    (void)g;
    return tg_sum(tg_reshape(v, TG_DIMS(5, 0, 3)), TG_AXES(1));
}

static tg_value slice_from_a_sum(const given *g, tg_value v)
{
    tg_value start = tg_cast(tg_sum(v, TG_ALL_AXES), TG_I64);
    return tg_dynamic_slice(g->x, g->axis, start, 1);
}

static void add_sum(tg_trace *t, const tg_value *in, void *user)
{
    const given *g = user;
    tg_return(t, tg_add(in[1], tg_sum(tg_dynamic_slice(g->x, g->axis, in[0], 0),
                                      TG_ALL_AXES)));
}

/* As many iterations as there are elements, and three more. */
static tg_value loops(const given *g, tg_value v)
{
    tg_value iterations = tg_cast(tg_sum(v, TG_ALL_AXES), TG_I64), none, some;
    tg_value initial = tg_sum(v, TG_ALL_AXES);
    given copy = *g;
    tg_for(iterations, add_sum, &copy, TG_ARGS(initial), &none, 1);
    tg_for(3, add_sum, &copy, TG_ARGS(none), &some, 1);
    return some;
}

static void double_it(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    tg_return(t, tg_add(in[0], in[0]));
}

static tg_value mapped_rows(const given *g, tg_value v)
{
    tg_value out;
    (void)g;
    tg_map(double_it, NULL, TG_ARGS(v), &out, 1);
    return out;
}

/* -- Calls ----------------------------------------------------------------- */

typedef struct subject {
    use_empty *use;
    int axis;
} subject;

/* in: x, an empty value, a start */
static void use_all(tg_trace *t, const tg_value *in, void *user)
{
    const subject *s = user;
    tg_operand results[1 + 2 * N_ORIGINS];
    size_t n = 0;
    given of_x = {in[0], in[1], in[2], s->axis}, of_sum = of_x;
    of_sum.x = tg_add(in[0], 1);
    results[n++] = tg_in_value(of_sum.x);
    for (int i = 0; i < N_ORIGINS; i++)
        results[n++] = tg_in_value(s->use(&of_x, origins[i](&of_x)));
    for (int i = 1; i < N_ORIGINS; i++)
        results[n++] = tg_in_value(s->use(&of_sum, origins[i](&of_sum)));
    tg_return_at(t, results, n, TG_HERE);
}

enum { N_RESULTS = 2 * N_ORIGINS, N_ARGUMENTS = 3 };

typedef struct shape {
    tg_dtype dtype;
    int64_t dims[2];
} shape;

static const shape shapes[] = {
    {TG_I8, {33, 1}},  {TG_F32, {1, 33}},   {TG_F64, {7, 33}},
    {TG_I32, {1, 1}},  {TG_F32, {1100, 1}}, {TG_F64, {1, 1100}},
};

typedef struct way {
    const char *jit;
    int threads, vector_bits;
    tg_policy policy;
} way;

/* The first mode is the reference. */
static const way ways[] = {
    {"off", 1, 0, TG_EXACT},        {"required", 1, 128, TG_EXACT},
    {"required", 2, 256, TG_EXACT}, {"required", 1, 256, TG_RELAXED},
    {"required", 3, 512, TG_EXACT},
};
enum { N_WAYS = sizeof(ways) / sizeof(*ways) };

static bool can_run(const way *w)
{
    return w->vector_bits < 512 ||
           (__builtin_cpu_supports("avx512f") &&
            __builtin_cpu_supports("avx512vl") &&
            __builtin_cpu_supports("avx512bw") &&
            __builtin_cpu_supports("avx512dq"));
}

/* A tensor in guarded memory, at its end or at its start. */
static tg_tensor *wrap(tg_context *ctx, size_t slot, bool is_at_end,
                       tg_dtype dtype, int rank, const int64_t *dims)
{
    size_t bytes = tg_dtype_bytes(dtype);
    for (int i = 0; i < rank; i++)
        bytes *= (size_t)dims[i];
    void *data =
        guarded_room(slot, bytes, tg_dtype_bytes(dtype), is_at_end ? 2 : 0);
    for (size_t i = 0; i < bytes; i++)
        ((unsigned char *)data)[i] = (unsigned char)(i % 7);
    tg_tensor *x = tg_tensor_wrap(ctx, data, dtype, rank, dims);
    cr_assert_not_null(x, "%s", tg_error(NULL));
    return x;
}

/* Calls f twice. Results are stored in `like` if they have its type, else in
   new tensors. */
static void call_guarded(tg_context *ctx, tg_function *f, const shape *x,
                         int axis, bool is_at_end, tg_tensor **like,
                         tg_tensor **out)
{
    int64_t none[] = {x->dims[0], x->dims[1]};
    none[axis] = 0;
    tg_tensor *args[N_ARGUMENTS] = {
        wrap(ctx, 0, is_at_end, x->dtype, 2, x->dims),
        wrap(ctx, 1, is_at_end, x->dtype, 2, none),
        wrap(ctx, 2, is_at_end, TG_I64, 0, NULL)};
    *(int64_t *)tg_tensor_data(args[2]) = INT64_MAX;
    tg_result results[N_RESULTS];
    for (size_t i = 0; i < N_RESULTS; i++) {
        results[i] = TG_OUT(&out[i]);
        out[i] = like ? wrap(ctx, N_ARGUMENTS + i, is_at_end,
                             tg_tensor_dtype(like[i]), tg_tensor_rank(like[i]),
                             tg_tensor_dims(like[i]))
                      : NULL;
    }
    check_works(tg_call(f, TG_ARGS(args[0], args[1], args[2]), results,
                        N_RESULTS));
    cr_assert(guarded_is_intact(N_ARGUMENTS + (like ? N_RESULTS : 0)));
    for (int i = 0; i < N_ARGUMENTS; i++)
        tg_tensor_release(args[i]);
}

static void release_all(tg_tensor **tensors)
{
    for (int i = 0; i < N_RESULTS; i++)
        tg_tensor_release(tensors[i]);
}

static void check_same(tg_tensor *const *want, tg_tensor *const *is)
{
    for (int i = 0; i < N_RESULTS; i++)
        cr_assert_eq(memcmp(tg_tensor_data(want[i]), tg_tensor_data(is[i]),
                            tg_tensor_bytes(want[i])),
                     0, "result %d differs", i);
}

static void check_shape(subject *of, const shape *x)
{
    tg_tensor *want[N_RESULTS];
    session reference;
    for (int i = 0; i < N_WAYS; i++) {
        session other, *s = i ? &other : &reference;
        const way *w = &ways[i];
        if (!can_run(w))
            continue;
        session_begin_with(s, (tg_context_options){
                                  .jit = w->jit,
                                  .threads = w->threads,
                                  .vector_bits = w->vector_bits});
        tg_function_options options = TG_FUNCTION_OPTIONS_INIT;
        options.policy = w->policy;
        tg_function *f = tg_function_create(s->ctx, use_all, of, &options);
        if (!i)
            call_guarded(s->ctx, f, x, of->axis, true, NULL, want);
        for (int is_at_end = 0; is_at_end < 2; is_at_end++) {
            tg_tensor *is[N_RESULTS];
            call_guarded(s->ctx, f, x, of->axis, is_at_end, want, is);
            check_same(want, is);
            release_all(is);
        }
        tg_function_release(f);
        if (i)
            tg_context_release(s->ctx);
    }
    release_all(want);
    session_end(&reference);
}

static void check_use(use_empty *use)
{
    need_compiler();
    setenv("TGJIT_GRAIN", "0", 1);
    for (int axis = 0; axis < 2; axis++)
        for (size_t i = 0; i < sizeof(shapes) / sizeof(*shapes); i++) {
            subject of = {use, axis};
            check_shape(&of, &shapes[i]);
        }
}

/* One test for each, so that a signal identifies it. */
#define USE(name) \
    Test(empty, name) \
    { \
        check_use(name); \
    }

USE(mapped)
USE(sum_of_none)
USE(no_sums)
USE(sum_of_all)
USE(product_of_none)
USE(no_maxima)
USE(no_positions)
USE(sums_of_axes_apart)
USE(sum_and_more)
USE(normalised)
USE(matrix_product)
USE(vector_product)
USE(product_on_the_right)
USE(product_and_more)
USE(no_products)
USE(concatenated)
USE(padded)
USE(updated)
USE(scattered)
USE(gathered_zeros)
USE(sum_of_gathered)
USE(sum_of_transposed)
USE(sum_of_reshaped)
USE(slice_from_a_sum)
USE(loops)
USE(mapped_rows)
