/* SPDX-License-Identifier: MIT */
/*
 * test_gradient_ops.c - the gradient rule of every SMOOTH or KINKED row of
 * op.def: against central differences in f64, also of second order; f32 against
 * f64; forward against backward mode; with extents known and unknown,
 * interpreted and compiled, bit for bit. A row without a case fails.
 *
 * L is the weighted sum of all elements of the result, with a different weight
 * for each, and S that of all elements of its gradients. The tests check dL and
 * dS.
 */
#include <math.h>

#include "ir/op.h"
#include "support/modes.h"

enum { MAX_IN = 3, MAX_ELEMENTS = 320 };

typedef struct gradient_case {
    int op;
    const char *name;
    int n_in;
    struct {
        int rank;
        int64_t dims[TG_MAX_RANK];
    } in[MAX_IN];
    tg_value (*apply)(const tg_value *in);
    double low, high; /* both 0: the domain of the row */
    double ulps;      /* maximum error of f32; 0: the default */
} gradient_case;

/* -- Elementwise operations ------------------------------------------------ */

#define X1(op) \
    static tg_value apply_##op(const tg_value *in) \
    { \
        return tg_##op(in[0]); \
    }
#define X2(op) \
    static tg_value apply_##op(const tg_value *in) \
    { \
        return tg_##op(in[0], in[1]); \
    }
#define X3(op) \
    static tg_value apply_##op(const tg_value *in) \
    { \
        return tg_##op(in[0], in[1], in[2]); \
    }
TG_ELEMENTWISE_OPS(X1, X2, X3)
#undef X1
#undef X2
#undef X3

static const struct {
    const char *name;
    tg_value (*apply)(const tg_value *in);
} elementwise_ops[] = {
#define X(op) {#op, apply_##op},
    TG_ELEMENTWISE_OPS(X, X, X)
#undef X
};

/* -- All others ------------------------------------------------------------ */

#define APPLY(name, ...) \
    static tg_value name(const tg_value *in) \
    { \
        const tg_value x = in[0], y = in[1], z = in[2]; \
        (void)x, (void)y, (void)z; \
        return __VA_ARGS__; \
    }

static tg_value indices(int64_t a, int64_t b, int64_t c, int64_t d)
{
    const int64_t data[] = {a, b, c, d};
    return tg_constant(TG_I64, TG_DIMS(4), data);
}

static tg_value other_type(tg_value x)
{
    const tg_dtype own = tg_value_dtype(x);
    return tg_cast(tg_cast(x, own == TG_F32 ? TG_F64 : TG_F32), own);
}

APPLY(by_type, other_type(x))
APPLY(by_choice, tg_select(tg_lt(tg_iota(TG_I32, TG_DIMS(7), 0), 3), x, y))
APPLY(of_itself, tg_mul(x, tg_mul(x, x)))
APPLY(broadcast_rows, tg_exp(tg_broadcast(x, TG_DIMS(2, 5, 4, 3))))
APPLY(broadcast_by_others, tg_mul(tg_mul(x, y), tg_exp(z)))
APPLY(reshaped, tg_exp(tg_reshape(x, TG_DIMS(4, -1))))
APPLY(transposed, tg_exp(tg_transpose(x, TG_PERM(2, 0, 1))))
APPLY(sliced, tg_exp(tg_slice(x, 1, 1, 6, 2)))
APPLY(sliced_backwards, tg_exp(tg_slice(x, 1, -2, 0, -2)))
APPLY(sliced_to_nothing, tg_add(tg_sum(tg_slice(x, 1, 3, 3, 2), TG_AXES(1)),
                                tg_sum(tg_exp(x), TG_AXES(1))))
APPLY(padded, tg_exp(tg_pad(x, 1, 2, 1, tg_reshape(y, TG_SCALAR))))
APPLY(joined, tg_exp(tg_concat(1, x, y, x)))
APPLY(gathered, tg_exp(tg_gather(x, indices(2, 0, 2, 4), 1)))
APPLY(gathered_clamped, tg_exp(tg_gather_with(x, indices(-7, 1, 9, 4), 1,
                                              TG_GATHER_CLAMP)))
APPLY(gathered_or_zero, tg_exp(tg_gather_with(x, indices(-1, 1, 5, 1), 1,
                                              TG_GATHER_ZERO)))
APPLY(gathered_clamped_unsigned,
      tg_exp(tg_gather_with(x, tg_cast(indices(-7, 1, 9, 4), TG_U64), 1,
                            TG_GATHER_CLAMP)))
APPLY(gathered_by_bytes,
      tg_exp(tg_gather_with(x, tg_cast(indices(-7, 1, 9, 4), TG_I8), 1,
                            TG_GATHER_CLAMP)))
APPLY(dynamically_sliced,
      tg_mul(tg_exp(tg_dynamic_slice(x, 1, tg_scalar(TG_I64, 2), 2)),
             tg_dynamic_slice(x, 1, tg_scalar(TG_I32, 99), 2)))
APPLY(dynamically_updated,
      tg_exp(tg_dynamic_update_slice(x, y, 1, tg_scalar(TG_I64, 1))))
APPLY(scattered,
      tg_exp(tg_scatter(x, indices(2, 0, 2, 4), y, 1, TG_SCATTER_SET)))
APPLY(scattered_or_dropped,
      tg_exp(tg_scatter_with(x, indices(-1, 1, 5, 1), y, 1, TG_SCATTER_SET,
                             TG_SCATTER_DROP)))
APPLY(scattered_to_add,
      tg_exp(tg_scatter_with(x, indices(2, 0, 2, 9), y, 1, TG_SCATTER_ADD,
                             TG_SCATTER_DROP)))
APPLY(summed, tg_exp(tg_sum(x, TG_AXES(0, 2))))
APPLY(summed_and_kept, tg_mul(x, tg_sum(tg_exp(x), tg_keep(TG_AXES(1)))))
APPLY(multiplied, tg_prod(x, TG_AXES(0, 2)))
APPLY(multiplied_rows, tg_prod(x, TG_AXES(1)))
APPLY(multiplied_all, tg_prod(x, TG_ALL_AXES))
APPLY(largest, tg_exp(tg_reduce_max(x, TG_AXES(0, 2))))
APPLY(smallest, tg_exp(tg_reduce_min(x, TG_AXES(1))))
APPLY(product, tg_matmul(x, y))
APPLY(product_ta, tg_matmul_with(x, y, TG_TRANSPOSE_A))
APPLY(product_tb, tg_matmul_with(x, y, TG_TRANSPOSE_B))
APPLY(product_tt, tg_matmul_with(x, y, TG_TRANSPOSE_A | TG_TRANSPOSE_B))
APPLY(windows, tg_square(tg_windows(x, 1, (const int[]){0},
                                    (const int64_t[]){2},
                                    (const int64_t[]){1}, NULL)))
APPLY(convolution, tg_conv(x, y, .stride = {2}, .dilation = {2}))
APPLY(recurrence, tg_linear_scan(x, y, 0, false))
APPLY(recurrence_from_one, tg_linear_scan(x, y, 1, true))
APPLY(cubic, tg_matmul(tg_matmul(x, y), tg_matmul_with(y, x, TG_MATMUL_PLAIN)))

#define SHAPE(...) \
    { \
        (int)(sizeof((int64_t[]){__VA_ARGS__}) / sizeof(int64_t)), \
        { \
            __VA_ARGS__ \
        } \
    }
#define CASE(op, n, apply, ...) \
    {TGI_OP_##op, #apply, n, {__VA_ARGS__}, apply, 0, 0, 0}
/* A product of many factors near 1. */
#define MANY(apply, ulps, ...) \
    {TGI_OP_PROD, #apply, 1, {__VA_ARGS__}, apply, 0.75, 1.25, ulps}

static const gradient_case other_cases[] = {
    CASE(CAST, 1, by_type, SHAPE(7)),
    CASE(SELECT, 2, by_choice, SHAPE(7), SHAPE(7)),
    CASE(MUL, 1, of_itself, SHAPE(7)),
    CASE(BROADCAST, 1, broadcast_rows, SHAPE(5, 1, 3)),
    CASE(BROADCAST, 3, broadcast_by_others, SHAPE(3, 1), SHAPE(2, 1, 4),
         SHAPE(1)),
    CASE(RESHAPE, 1, reshaped, SHAPE(2, 2, 3)),
    CASE(TRANSPOSE, 1, transposed, SHAPE(2, 3, 2)),
    CASE(SLICE, 1, sliced, SHAPE(2, 7)),
    CASE(SLICE, 1, sliced_backwards, SHAPE(2, 7)),
    CASE(SLICE, 1, sliced_to_nothing, SHAPE(2, 7)),
    CASE(PAD, 2, padded, SHAPE(2, 3), SHAPE(1)),
    CASE(CONCAT, 2, joined, SHAPE(2, 3), SHAPE(2, 2)),
    CASE(GATHER, 1, gathered, SHAPE(2, 5, 2)),
    CASE(GATHER, 1, gathered_clamped, SHAPE(2, 5, 2)),
    CASE(GATHER, 1, gathered_or_zero, SHAPE(2, 5, 2)),
    CASE(GATHER, 1, gathered_clamped_unsigned, SHAPE(2, 5)),
    CASE(GATHER, 1, gathered_by_bytes, SHAPE(2, 150)),
    CASE(DYNAMIC_SLICE, 1, dynamically_sliced, SHAPE(2, 5)),
    CASE(DYNAMIC_UPDATE, 2, dynamically_updated, SHAPE(2, 5), SHAPE(2, 3)),
    CASE(SCATTER, 2, scattered, SHAPE(2, 5, 2), SHAPE(2, 4, 2)),
    CASE(SCATTER, 2, scattered_or_dropped, SHAPE(2, 5), SHAPE(2, 4)),
    CASE(SCATTER, 2, scattered_to_add, SHAPE(2, 5, 2), SHAPE(2, 4, 2)),
    CASE(SUM, 1, summed, SHAPE(2, 3, 2)),
    CASE(SUM, 1, summed_and_kept, SHAPE(2, 5)),
    CASE(PROD, 1, multiplied, SHAPE(2, 3, 2)),
    CASE(PROD, 1, multiplied_rows, SHAPE(3, 4)),
    CASE(PROD, 1, multiplied_rows, SHAPE(2, 1, 3)),
    MANY(multiplied_rows, 400, SHAPE(2, 20)),
    MANY(multiplied_all, 2000, SHAPE(3, 100)),
    CASE(REDUCE_MAX, 1, largest, SHAPE(3, 2, 3)),
    CASE(REDUCE_MIN, 1, smallest, SHAPE(3, 4)),
    CASE(MATMUL, 2, product, SHAPE(2, 3), SHAPE(3, 4)),
    CASE(MATMUL, 2, product_ta, SHAPE(3, 2), SHAPE(3, 4)),
    CASE(MATMUL, 2, product_tb, SHAPE(2, 3), SHAPE(4, 3)),
    CASE(MATMUL, 2, product_tt, SHAPE(3, 2), SHAPE(4, 3)),
    CASE(MATMUL, 2, product, SHAPE(3), SHAPE(3, 2)),
    CASE(MATMUL, 2, product, SHAPE(2, 3), SHAPE(3)),
    CASE(MATMUL, 2, product, SHAPE(3), SHAPE(3)),
    CASE(MATMUL, 2, product, SHAPE(2, 2, 3), SHAPE(3, 2)),
    CASE(MATMUL, 2, product_tb, SHAPE(2, 2, 3), SHAPE(2, 3)),
    CASE(MATMUL, 2, product_ta, SHAPE(2, 3, 2), SHAPE(3, 2)),
    CASE(MATMUL, 2, product_tt, SHAPE(2, 3, 2), SHAPE(2, 3)),
    CASE(MATMUL, 2, product, SHAPE(2, 3), SHAPE(2, 3, 2)),
    CASE(MATMUL, 2, product, SHAPE(2, 1, 2, 3), SHAPE(3, 3, 1)),
    CASE(MATMUL, 2, cubic, SHAPE(2, 2), SHAPE(2, 2)),
    CASE(WINDOW, 1, windows, SHAPE(4, 2)),
    CASE(CONV, 2, convolution, SHAPE(2, 6, 2), SHAPE(2, 2, 3)),
    CASE(LINEAR_SCAN, 2, recurrence, SHAPE(4, 2), SHAPE(4, 2)),
    CASE(LINEAR_SCAN, 2, recurrence_from_one, SHAPE(2, 3), SHAPE(2, 3)),
};
enum { N_OTHER = sizeof(other_cases) / sizeof(*other_cases) };

/* -- Functions ------------------------------------------------------------- */

/* Different numbers near 1 with the dtype and shape of `like`. */
static tg_value weights(tg_value like)
{
    const tg_dtype dtype = tg_value_dtype(like);
    const int rank = tg_value_rank(like);
    int64_t dims[TG_MAX_RANK];
    for (int i = 0; i < rank; i++)
        dims[i] = tg_value_dim(like, i);
    tg_value angle = tg_scalar(dtype, 1.25);
    for (int i = 0; i < rank; i++)
        angle = tg_add(angle, tg_mul(tg_iota(dtype, rank, dims, i), 3 * i + 2));
    return tg_add(tg_mul(tg_sin(angle), 0.5), 1);
}

static tg_value weigh(tg_value x)
{
    return tg_sum(tg_mul(x, weights(x)), TG_ALL_AXES);
}

/* L. */
static void forward(tg_trace *t, const tg_value *in, void *user)
{
    const gradient_case *c = user;
    tg_return(t, weigh(c->apply(in)));
}

/* S and the gradient of each input. */
static tg_value add_gradients(const gradient_case *c, const tg_value *in,
                              tg_value *out)
{
    const tg_value y = weigh(c->apply(in));
    tg_operand sources[MAX_IN];
    for (int i = 0; i < c->n_in; i++)
        sources[i] = TG_IN(in[i]);
    tg_gradients_with(TG_ARGS(y), NULL, TG_UNCONNECTED_NONE, sources,
                      (size_t)c->n_in, out + 1);
    out[0] = weigh(out[1]);
    for (int i = 1; i < c->n_in; i++)
        out[0] = tg_add(out[0], weigh(out[i + 1]));
    return y;
}

static void return_all(tg_trace *t, const tg_value *values, int n)
{
    tg_operand results[1 + 3 * MAX_IN];
    for (int i = 0; i < n; i++)
        results[i] = TG_IN(values[i]);
    tg_return_at(t, results, (size_t)n, TG_HERE);
}

static void backward(tg_trace *t, const tg_value *in, void *user)
{
    const gradient_case *c = user;
    tg_value out[1 + MAX_IN];
    add_gradients(c, in, out);
    return_all(t, out, 1 + c->n_in);
}

/* Also the gradients of S, and the change of L along each input's weights. */
static void further(tg_trace *t, const tg_value *in, void *user)
{
    const gradient_case *c = user;
    tg_value out[1 + 3 * MAX_IN];
    const tg_value y = add_gradients(c, in, out);
    tg_operand sources[MAX_IN];
    for (int i = 0; i < c->n_in; i++)
        sources[i] = TG_IN(in[i]);
    const int second = 1 + c->n_in, change = 1 + 2 * c->n_in;
    tg_gradients_with(TG_ARGS(out[0]), NULL, TG_UNCONNECTED_ZEROS, sources,
                      (size_t)c->n_in, out + second);
    for (int i = 0; i < c->n_in; i++)
        out[change + i] = tg_jvp(y, in[i], weights(in[i]));
    return_all(t, out, 1 + 3 * c->n_in);
}

/* -- Running --------------------------------------------------------------- */

typedef struct numbers {
    int64_t n[MAX_IN];
    double x[MAX_IN][MAX_ELEMENTS];
} numbers;

typedef struct results {
    int n;
    struct {
        int64_t n;
        double data[MAX_ELEMENTS];
    } of[1 + 3 * MAX_IN];
} results;

static const double ranges[][2] = {
    [TGI_DOMAIN_REAL] = {-3, 3},     [TGI_DOMAIN_POSITIVE] = {0.25, 3},
    [TGI_DOMAIN_UNIT] = {-0.8, 0.8}, [TGI_DOMAIN_SMALL] = {-3, 3},
    [TGI_DOMAIN_ABOVE_1] = {1.25, 4},
};

/* Multiples of 2^-12, so that steps of differences are exact in f32 too. */
static void draw(const gradient_case *c, numbers *out)
{
    const double *range = ranges[tgi_op_table[c->op].domain];
    const double low = c->high > c->low ? c->low : range[0];
    const double high = c->high > c->low ? c->high : range[1];
    uint64_t state = (uint64_t)c->op * 1000 + 3; /* no element near a kink */
    for (int i = 0; i < c->n_in; i++) {
        out->n[i] = 1;
        for (int k = 0; k < c->in[i].rank; k++)
            out->n[i] *= c->in[i].dims[k];
        cr_assert_leq(out->n[i], MAX_ELEMENTS);
        for (int64_t k = 0; k < out->n[i]; k++) {
            const double unit = ldexp((double)(random_next(&state) >> 11), -53);
            out->x[i][k] = floor((low + (high - low) * unit) * 4096) / 4096;
        }
    }
}

static double element(const tg_tensor *x, int64_t i)
{
    const void *data = tg_tensor_data(x);
    return tg_tensor_dtype(x) == TG_F32 ? (double)((const float *)data)[i]
                                        : ((const double *)data)[i];
}

static void run(tg_context *ctx, tg_function *f, const gradient_case *c,
                tg_dtype dtype, const numbers *in, int n_results, results *out)
{
    tg_tensor *tensors[MAX_IN], *got[1 + 3 * MAX_IN] = {NULL};
    tg_result to[1 + 3 * MAX_IN];
    tg_operand args[MAX_IN];
    for (int i = 0; i < c->n_in; i++) {
        tensors[i] = tg_tensor_create(ctx, dtype, c->in[i].rank, c->in[i].dims,
                                      tg_zeros());
        cr_assert_not_null(tensors[i]);
        void *data = tg_tensor_data(tensors[i]);
        for (int64_t k = 0; k < in->n[i]; k++)
            if (dtype == TG_F32)
                ((float *)data)[k] = (float)in->x[i][k];
            else
                ((double *)data)[k] = in->x[i][k];
        args[i] = TG_IN(tensors[i]);
    }
    for (int i = 0; i < n_results; i++)
        to[i] = TG_OUT(&got[i]);
    const tg_status status = tg_call_at(f, args, (size_t)c->n_in, to,
                                        (size_t)n_results, TG_HERE);
    cr_assert_eq(status, TG_OK, "%s of %s: %s", c->name,
                 tgi_op_table[c->op].name, tg_error(NULL));
    out->n = n_results;
    for (int i = 0; i < n_results; i++) {
        out->of[i].n = tg_tensor_count(got[i]);
        cr_assert_leq(out->of[i].n, MAX_ELEMENTS);
        for (int64_t k = 0; k < out->of[i].n; k++)
            out->of[i].data[k] = element(got[i], k);
        tg_tensor_release(got[i]);
    }
    for (int i = 0; i < c->n_in; i++)
        tg_tensor_release(tensors[i]);
}

static tg_function *function_of(tg_context *ctx, tg_callback *callback,
                                const gradient_case *c, tg_policy policy)
{
    tg_function_options options = TG_FUNCTION_OPTIONS_INIT;
    options.policy = policy;
    union {
        const gradient_case *from;
        void *to;
    } user = {c};
    tg_function *f = tg_function_create_named(ctx, c->name, callback, user.to,
                                              &options);
    cr_assert_not_null(f);
    return f;
}

/* -- Against differences --------------------------------------------------- */

/* The derivative of the first result of f with respect to an element; error
   O(h^4). */
static double difference(tg_context *ctx, tg_function *f,
                         const gradient_case *c, const numbers *at, int i,
                         int64_t k)
{
    static const double factors[] = {1, -8, 0, 8, -1};
    const double h = 0x1p-10;
    double sum = 0;
    for (int s = 0; s < 5; s++) {
        if (s == 2)
            continue;
        static numbers moved;
        static results out;
        moved = *at;
        moved.x[i][k] += (s - 2) * h;
        run(ctx, f, c, TG_F64, &moved, 1, &out);
        sum += factors[s] * out.of[0].data[0];
    }
    return sum / (12 * h);
}

static double largest_of(const results *r, int i)
{
    double most = 0;
    for (int64_t k = 0; k < r->of[i].n; k++)
        most = fmax(most, fabs(r->of[i].data[k]));
    return most;
}

/* Compares result first + i of `is`, for each input i, with differences of
   f. */
static void check_differences(tg_context *ctx, tg_function *f,
                              const gradient_case *c, const numbers *at,
                              const results *is, int first, const char *what)
{
    for (int i = 0; i < c->n_in; i++) {
        cr_assert_eq(is->of[first + i].n, at->n[i], "%s: shape", c->name);
        const double scale = 1 + largest_of(is, first + i);
        /* A sample if there are many. */
        const int64_t step = at->n[i] > 24 ? at->n[i] / 7 : 1;
        for (int64_t k = 0; k < at->n[i]; k += step) {
            const double want = difference(ctx, f, c, at, i, k);
            const double got = is->of[first + i].data[k];
            cr_expect(fabs(got - want) <= 1e-7 * scale,
                      "%s of %s: %s: input %d, element %lld: %.12g, "
                      "differences %.12g",
                      c->name, tgi_op_table[c->op].name, what, i, (long long)k,
                      got, want);
        }
    }
}

/* Reverse mode in S, forward mode in the last results. */
static void check_forward_mode(const gradient_case *c, const results *is)
{
    double sum = 0, scale = 1;
    for (int i = 0; i < c->n_in; i++) {
        const double part = is->of[1 + 2 * c->n_in + i].data[0];
        sum += part;
        scale += fabs(part);
    }
    cr_expect(fabs(sum - is->of[0].data[0]) <= 1e-12 * scale,
              "%s of %s: backwards %.15g, forwards %.15g", c->name,
              tgi_op_table[c->op].name, is->of[0].data[0], sum);
}

static void check_f32_near(const gradient_case *c, const results *is,
                           const results *want)
{
    const double ulps = c->ulps > 0 ? c->ulps : 24;
    for (int i = 1; i <= c->n_in; i++)
        for (int64_t k = 0; k < want->of[i].n; k++)
            cr_expect(fabs(is->of[i].data[k] - want->of[i].data[k]) <=
                          ulps * 0x1p-24 * largest_of(want, i),
                      "%s of %s: f32: input %d, element %lld: %.9g, not %.9g",
                      c->name, tgi_op_table[c->op].name, i - 1, (long long)k,
                      is->of[i].data[k], want->of[i].data[k]);
}

static void check_case(const gradient_case *c, tg_context *ctx)
{
    static numbers at;
    static results wide, narrow;
    draw(c, &at);
    tg_function *l = function_of(ctx, forward, c, TG_EXACT);
    tg_function *s = function_of(ctx, backward, c, TG_EXACT);
    tg_function *all = function_of(ctx, further, c, TG_EXACT);
    run(ctx, all, c, TG_F64, &at, 1 + 3 * c->n_in, &wide);
    check_differences(ctx, l, c, &at, &wide, 1, "gradient");
    check_differences(ctx, s, c, &at, &wide, 1 + c->n_in, "second order");
    check_forward_mode(c, &wide);
    run(ctx, s, c, TG_F32, &at, 1 + c->n_in, &narrow);
    check_f32_near(c, &narrow, &wide);
    tg_function_release(l);
    tg_function_release(s);
    tg_function_release(all);
}

/* -- Cases ----------------------------------------------------------------- */

static bool has_rule(int op)
{
    return tgi_op_table[op].gradient == TGI_GRADIENT_SMOOTH ||
           tgi_op_table[op].gradient == TGI_GRADIENT_KINKED;
}

/* The case of an elementwise row; false if there is none. */
static bool elementwise_case(int op, gradient_case *out)
{
    const size_t n = sizeof(elementwise_ops) / sizeof(*elementwise_ops);
    const tgi_op_info *info = &tgi_op_table[op];
    if (!tgi_op_is_elementwise(op) || tgi_op_table[op].cls == TGI_OPCLASS_CAST ||
        op == TGI_OP_SELECT)
        return false;
    *out = (gradient_case){.op = op, .name = "rule", .n_in = info->arity};
    for (int i = 0; i < info->arity; i++) {
        out->in[i].rank = 1;
        out->in[i].dims[0] = 7;
    }
    for (size_t i = 0; i < n; i++)
        if (strcmp(elementwise_ops[i].name, info->name) == 0)
            out->apply = elementwise_ops[i].apply;
    return out->apply != NULL;
}

typedef enum selection { ALL_CASES, OTHER_CASES } selection;

/* Calls `check` with every case, or with those that are not elementwise. */
static void for_cases(selection which,
                      void (*check)(const gradient_case *c, void *user),
                      void *user)
{
    bool is_there[TGI_OPS] = {false};
    for (int op = 1; op < TGI_OPS; op++) {
        gradient_case c;
        if (!has_rule(op) || !elementwise_case(op, &c))
            continue;
        is_there[op] = true;
        if (which == ALL_CASES)
            check(&c, user);
    }
    for (int i = 0; i < N_OTHER; i++) {
        is_there[other_cases[i].op] = true;
        check(&other_cases[i], user);
    }
    for (int op = 1; op < TGI_OPS; op++)
        cr_expect(!has_rule(op) || is_there[op], "%s has no case",
                  tgi_op_table[op].name);
}

static void check_one(const gradient_case *c, void *user)
{
    check_case(c, user);
}

Test(gradient_ops, are_the_limits_of_differences)
{
    session s;
    session_begin_with(&s, (tg_context_options){.jit = "off"});
    for_cases(ALL_CASES, check_one, s.ctx);
    session_end(&s);
}

/* -- Bits ------------------------------------------------------------------ */

/* Interpreted with known extents, and in another mode. */
typedef struct two_ways {
    tg_context *first, *second;
    bool second_jits;
    tg_policy policy;
    const char *name;
} two_ways;

static void compare(const gradient_case *c, void *user)
{
    const two_ways *ways = user;
    static numbers at;
    static results want, is;
    draw(c, &at);
    /* Cases with long compile times are compiled once. */
    const bool is_long = ways->second_jits && ways->policy == TG_RELAXED;
    for (int k = 0; k < (is_long ? 1 : 2); k++) {
        const tg_dtype dtype = k ? TG_F64 : TG_F32;
        tg_function *a = function_of(ways->first, further, c, TG_EXACT);
        tg_function *b = function_of(ways->second, further, c, ways->policy);
        run(ways->first, a, c, dtype, &at, 1 + 3 * c->n_in, &want);
        run(ways->second, b, c, dtype, &at, 1 + 3 * c->n_in, &is);
        for (int i = 0; i < want.n; i++) {
            cr_assert_eq(is.of[i].n, want.of[i].n);
            cr_expect_arr_eq(is.of[i].data, want.of[i].data,
                             (size_t)want.of[i].n * sizeof(double),
                             "%s of %s, %s, %s: result %d", c->name,
                             tgi_op_table[c->op].name, tg_dtype_name(dtype),
                             ways->name, i);
        }
        tg_function_release(a);
        tg_function_release(b);
    }
}

static void compare_ways(selection which, const mode *m, tg_policy policy,
                         const char *name)
{
    session first, second;
    session_begin_mode(&first, &all_modes[0]);
    session_begin_mode(&second, m);
    for_cases(which, compare,
              &(two_ways){first.ctx, second.ctx, m != all_modes, policy,
                          name});
    tg_context_release(first.ctx);
    session_end(&second);
}

Test(gradient_ops, do_not_depend_on_known_extents)
{
    compare_ways(ALL_CASES, &all_modes[0], TG_RELAXED, "unknown extents");
}

Test(gradient_ops, have_the_same_bits_compiled)
{
    need_compiler();
    compare_ways(ALL_CASES, &all_modes[2], TG_EXACT, "compiled");
}

Test(gradient_ops, have_the_same_bits_compiled_for_unknown_extents)
{
    need_compiler();
    compare_ways(OTHER_CASES, &all_modes[3], TG_RELAXED,
                 "compiled, unknown extents");
}
