/* SPDX-License-Identifier: MIT */
/*
 * test_lapack.c - linear algebra: the equations that define the results, in
 * batches, interpreted and compiled, with known and unknown extents; gradients
 * against differences; failures.
 */
#include "tgjit/lapack.h"

#include "support/finite_differences.h"

/* Well-conditioned matrices without symmetry. */
static const double elements[] = {
    3.1,  0.4,  -0.7, 0.2, 0.9,  2.6, 0.3,  -0.5, -0.8, 0.6, 4.2, 0.1,
    0.35, -0.9, 0.15, 1.7, -2.4, 0.3, 0.8,  0.7,  0.2,  1.9, -0.6, 0.4,
    0.75, 0.1,  -3.3, 0.2, 0.5,  0.9, -0.1, 2.8};

static tg_tensor *make(session *s, tg_dtype dtype, int rank,
                       const int64_t *dims)
{
    float singles[32];
    for (int i = 0; i < 32; i++)
        singles[i] = (float)elements[i];
    return tg_tensor_copy(s->ctx,
                          dtype == TG_F32 ? (const void *)singles : elements,
                          dtype, rank, dims);
}

/* Calls a callback that returns what must be 0, and checks it. */
static void check_zero_at(int line, session *s, tg_callback *callback,
                          void *user, tg_policy policy, tg_dtype dtype,
                          int rank, const int64_t *dims)
{
    tg_function_options options = TG_FUNCTION_OPTIONS_INIT;
    options.policy = policy;
    tg_function *f = tg_function_create(s->ctx, callback, user, &options);
    tg_tensor *x = make(s, dtype, rank, dims);
    tg_tensor *y = call_one(f, TG_ARGS(x));
    cr_assert(tg_tensor_count(y) > 0 || tg_tensor_count(x) == 0);
    for (int64_t i = 0; i < tg_tensor_count(y); i++) {
        const double e = dtype == TG_F32
                             ? (double)((const float *)tg_tensor_data(y))[i]
                             : ((const double *)tg_tensor_data(y))[i];
        cr_assert_lt(fabs(e), dtype == TG_F32 ? 2e-5 : 1e-13,
                     "line %d: element %lld is off by %g", line, (long long)i,
                     e);
    }
    tg_tensor_release(y);
    tg_tensor_release(x);
    tg_function_release(f);
}

#define check_zero(s, callback, policy, dtype, ...) \
    check_zero_at(__LINE__, s, callback, NULL, policy, dtype, __VA_ARGS__)

/* The shapes of matrices: single, in batches, empty. */
static void check_squares(session *s, tg_callback *callback)
{
    EACH_POLICY(policy)
    for (tg_dtype dtype = TG_F32;; dtype = TG_F64) {
        check_zero(s, callback, policy, dtype, TG_DIMS(4, 4));
        check_zero(s, callback, policy, dtype, TG_DIMS(1, 1));
        check_zero(s, callback, policy, dtype, TG_DIMS(2, 4, 4));
        check_zero(s, callback, policy, dtype, TG_DIMS(2, 1, 4, 4));
        check_zero(s, callback, policy, dtype, TG_DIMS(0, 4, 4));
        check_zero(s, callback, policy, dtype, TG_DIMS(2, 0, 0));
        if (dtype == TG_F64)
            break;
    }
}

static void check_rectangles(session *s, tg_callback *callback)
{
    EACH_POLICY(policy)
    for (tg_dtype dtype = TG_F32;; dtype = TG_F64) {
        check_zero(s, callback, policy, dtype, TG_DIMS(4, 4));
        check_zero(s, callback, policy, dtype, TG_DIMS(2, 4, 2));
        check_zero(s, callback, policy, dtype, TG_DIMS(2, 1, 3, 5));
        check_zero(s, callback, policy, dtype, TG_DIMS(2, 0, 3));
        if (dtype == TG_F64)
            break;
    }
}

/* -- Parts of the checks --------------------------------------------------- */

static tg_value transposed(tg_value a)
{
    const int rank = tg_value_rank(a);
    int perm[TG_MAX_RANK];
    for (int i = 0; i < rank; i++)
        perm[i] = i < rank - 2 ? i : 2 * rank - 3 - i;
    return tg_transpose(a, rank, perm);
}

/* a aᵀ + 1: symmetric, positive definite. */
static tg_value definite(tg_value a)
{
    const tg_value product = tg_matmul(a, transposed(a));
    const int64_t n = tg_value_dim(a, -2);
    return tg_add(product, tg_eye(tg_value_dtype(a), n, n, 0));
}

static tg_value identity_like(tg_value a)
{
    const int64_t n = tg_value_dim(a, -1);
    return tg_eye(tg_value_dtype(a), n, n, 0);
}

static void return_error(tg_trace *t, tg_value is, tg_value wanted)
{
    tg_return(t, tg_sub(is, wanted));
}

/* -- Definitions ----------------------------------------------------------- */

static void cholesky_error(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    const tg_value a = definite(in[0]), l = tg_cholesky(a);
    const tg_value upper = tg_triu(l, 1);
    return_error(t, tg_add(tg_matmul(l, transposed(l)), upper), a);
}

static void inverse_error(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    return_error(t, tg_matmul(in[0], tg_inverse(in[0])),
                 identity_like(in[0]));
}

static void solve_error(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    const tg_value b = tg_slice(tg_cos(in[0]), -1, 0,
                                tg_dim_min(tg_value_dim(in[0], -1), 3), 1);
    return_error(t, tg_matmul(in[0], tg_solve(in[0], b)), b);
}

static void triangular_error(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    const tg_value a = in[0], b = tg_cos(a);
    tg_value sum = tg_sub(a, a);
    for (unsigned flags = 0; flags < 8; flags++) {
        tg_value m = flags & TG_TRIANGULAR_UPPER ? tg_triu(a, 0) : tg_tril(a, 0);
        if (flags & TG_TRIANGULAR_UNIT)
            m = tg_add(tg_sub(m, tg_mul(m, identity_like(a))),
                       identity_like(a));
        if (flags & TG_TRIANGULAR_TRANSPOSED)
            m = transposed(m);
        const tg_value x = tg_triangular_solve(a, b, flags);
        sum = tg_add(sum, tg_abs(tg_sub(tg_matmul(m, x), b)));
    }
    tg_return(t, sum);
}

static void det_error(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    const tg_slogdet_results r = tg_slogdet(in[0]);
    const tg_value det = tg_det(in[0]);
    const tg_value product = tg_mul(r.sign, tg_exp(r.log_abs));
    return_error(t, tg_div(product, det), tg_div(det, det));
}

static void qr_error(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    const tg_qr_results r = tg_qr(in[0]);
    const tg_value qq = tg_matmul(transposed(r.q), r.q);
    const tg_value off = tg_abs(tg_sub(qq, identity_like(qq)));
    const tg_value below = tg_abs(tg_tril(r.r, -1));
    const tg_value more = tg_add(tg_sum(off, tg_keep(TG_AXES(-1, -2))),
                                 tg_sum(below, tg_keep(TG_AXES(-1, -2))));
    tg_return(t, tg_add(tg_sub(tg_matmul(r.q, r.r), in[0]), more));
}

static void svd_error(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    const tg_svd_results r = tg_svd(in[0]);
    const tg_value uu = tg_matmul(transposed(r.u), r.u);
    const tg_value vv = tg_matmul(r.vt, transposed(r.vt));
    const tg_value off = tg_add(tg_abs(tg_sub(uu, identity_like(uu))),
                                tg_abs(tg_sub(vv, identity_like(vv))));
    const tg_value a =
        tg_matmul(tg_mul(r.u, tg_expand_dims(r.s, -2)), r.vt);
    tg_return(t, tg_add(tg_sub(a, in[0]),
                        tg_sum(off, tg_keep(TG_AXES(-1, -2)))));
}

static void eigh_error(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    const tg_value a = tg_add(in[0], transposed(in[0]));
    const tg_eigh_results r = tg_eigh(a);
    const tg_value left = tg_matmul(a, r.vectors);
    return_error(t, left, tg_mul(r.vectors, tg_expand_dims(r.values, -2)));
}

static void check_definitions(session *s)
{
    check_squares(s, cholesky_error);
    check_squares(s, inverse_error);
    check_squares(s, triangular_error);
    check_squares(s, eigh_error);
    check_zero(s, solve_error, TG_EXACT, TG_F64, TG_DIMS(2, 4, 4));
    check_zero(s, solve_error, TG_RELAXED, TG_F32, TG_DIMS(4, 4));
    check_zero(s, det_error, TG_EXACT, TG_F32, TG_DIMS(2, 4, 4));
    check_zero(s, det_error, TG_RELAXED, TG_F64, TG_DIMS(3, 3));
    check_zero(s, det_error, TG_EXACT, TG_F64, TG_DIMS(2, 0, 0));
    check_rectangles(s, qr_error);
    check_rectangles(s, svd_error);
}

Test(lapack, results_satisfy_their_definitions)
{
    in_both(check_definitions);
}

static void order_of_values(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    const tg_value s = tg_svd(in[0]).s;
    const tg_value w = tg_eigh(tg_matmul(transposed(in[0]), in[0])).values;
    tg_return(t, tg_all(tg_ge(tg_slice(s, -1, 0, 3, 1),
                              tg_slice(s, -1, 1, 4, 1)), TG_ALL_AXES),
              tg_all(tg_le(tg_slice(w, -1, 0, 3, 1), tg_slice(w, -1, 1, 4, 1)),
                     TG_ALL_AXES));
}

Test(lapack, singular_values_descend_and_eigenvalues_ascend)
{
    session s;
    session_begin(&s);
    tg_function *f = tg_function_create(s.ctx, order_of_values, NULL, NULL);
    tg_tensor *x = make(&s, TG_F64, TG_DIMS(2, 4, 4)), *y[2] = {0};
    check_works(tg_call(f, TG_ARGS(x), TG_RESULTS(&y[0], &y[1])));
    for (int i = 0; i < 2; i++) {
        cr_assert(*(const bool *)tg_tensor_data(y[i]));
        tg_tensor_release(y[i]);
    }
    tg_tensor_release(x);
    tg_function_release(f);
    session_end(&s);
}

/* -- Right-hand sides ------------------------------------------------------ */

static void solve_vector(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    const tg_value x = tg_solve(in[0], in[1]);
    tg_return(t, tg_matmul(in[0], x), x);
}

Test(lapack, solves_for_vectors_and_broadcasts_batches)
{
    session s;
    session_begin(&s);
    const float a[] = {2, 0, 0, 4}, b[] = {6, 8, 2, 4};
    tg_tensor *m = tg_tensor_copy(s.ctx, a, TG_F32, TG_DIMS(2, 2));
    tg_tensor *v = tg_tensor_copy(s.ctx, b, TG_F32, TG_DIMS(2));
    tg_tensor *many = tg_tensor_copy(s.ctx, b, TG_F32, TG_DIMS(2, 2, 1));
    tg_tensor *y[2] = {0};
    EACH_POLICY(policy) {
        tg_function_options options = TG_FUNCTION_OPTIONS_INIT;
        options.policy = policy;
        tg_function *f =
            tg_function_create(s.ctx, solve_vector, NULL, &options);
        check_works(tg_call(f, TG_ARGS(m, v), TG_RESULTS(&y[0], &y[1])));
        cr_assert_eq(tg_tensor_rank(y[1]), 1);
        check_f32(y[0], 6, 8);
        check_f32(y[1], 3, 2);
        y[0] = y[1] = NULL;
        check_works(tg_call(f, TG_ARGS(m, many), TG_RESULTS(&y[0], &y[1])));
        cr_assert_eq(tg_tensor_rank(y[1]), 3);
        check_f32(y[0], 6, 8, 2, 4);
        check_f32(y[1], 3, 2, 1, 1);
        y[0] = y[1] = NULL;
        tg_function_release(f);
    }
    tg_tensor_release(m);
    tg_tensor_release(v);
    tg_tensor_release(many);
    session_end(&s);
}

/* -- Gradients ------------------------------------------------------------- */

static size_t differentiate_cholesky(tg_value x, tg_value *out)
{
    out[0] = tg_cholesky(tg_add(x, tg_mul(identity_like(x), 6)));
    return 1;
}

static size_t differentiate_inverse(tg_value x, tg_value *out)
{
    out[0] = tg_inverse(x);
    return 1;
}

static size_t differentiate_solve(tg_value x, tg_value *out)
{
    out[0] = tg_solve(x, tg_sin(tg_slice(x, -1, 1, TG_END, 1)));
    return 1;
}

static size_t differentiate_triangular(tg_value x, tg_value *out)
{
    const tg_value b = tg_sin(tg_mul(x, 2));
    out[0] = tg_triangular_solve(x, b, TG_TRIANGULAR_LOWER);
    out[1] = tg_triangular_solve(x, b, TG_TRIANGULAR_UPPER);
    out[2] = tg_triangular_solve(
        x, b, TG_TRIANGULAR_UPPER | TG_TRIANGULAR_TRANSPOSED);
    out[3] = tg_triangular_solve(
        x, b, TG_TRIANGULAR_TRANSPOSED | TG_TRIANGULAR_UNIT);
    return 4;
}

static size_t differentiate_det(tg_value x, tg_value *out)
{
    out[0] = tg_det(x);
    out[1] = tg_slogdet(x).log_abs;
    return 2;
}

static size_t differentiate_eigh(tg_value x, tg_value *out)
{
    const tg_eigh_results r = tg_eigh(x);
    out[0] = r.values;
    out[1] = r.vectors;
    return 2;
}

static size_t differentiate_qr(tg_value x, tg_value *out)
{
    const tg_qr_results r = tg_qr(x);
    out[0] = r.q;
    out[1] = r.r;
    return 2;
}

static size_t differentiate_svd(tg_value x, tg_value *out)
{
    const tg_svd_results r = tg_svd(x);
    out[0] = r.u;
    out[1] = r.s;
    out[2] = r.vt;
    return 3;
}

static void check_gradients(session *s)
{
    static size_t (*const functions[])(tg_value, tg_value *) = {
        differentiate_cholesky, differentiate_inverse,
        differentiate_solve,    differentiate_triangular,
        differentiate_det,      differentiate_eigh,
        differentiate_qr,       differentiate_svd};
    for (size_t i = 0; i < sizeof(functions) / sizeof(*functions); i++) {
        check_gradient(s->ctx, functions[i], 1, TG_EXACT, elements,
                       TG_DIMS(2, 4, 4));
        check_gradient(s->ctx, functions[i], 2, TG_EXACT, elements,
                       TG_DIMS(4, 4));
        if (functions[i] != differentiate_qr)
            check_gradient(s->ctx, functions[i], 1, TG_RELAXED, elements,
                           TG_DIMS(4, 4));
    }
    check_gradient(s->ctx, differentiate_qr, 1, TG_EXACT, elements,
                   TG_DIMS(2, 5, 3));
    check_gradient(s->ctx, differentiate_qr, 1, TG_EXACT, elements,
                   TG_DIMS(2, 3, 5));
    check_gradient(s->ctx, differentiate_svd, 1, TG_EXACT, elements,
                   TG_DIMS(2, 5, 3));
    check_gradient(s->ctx, differentiate_svd, 1, TG_RELAXED, elements,
                   TG_DIMS(2, 3, 5));
    check_gradient(s->ctx, differentiate_svd, 2, TG_EXACT, elements,
                   TG_DIMS(3, 5));
}

Test(lapack, gradients_equal_differences)
{
    in_both(check_gradients);
}

static size_t differentiate_det_alone(tg_value x, tg_value *out)
{
    out[0] = tg_det(x);
    return 1;
}

Test(lapack, a_singular_matrix_has_a_gradient_of_its_determinant)
{
    static const double data[] = {1, 2, 3, 2, 4, 6, 1, 0, 2};
    session s;
    session_begin(&s);
    check_gradient(s.ctx, differentiate_det_alone, 1, TG_EXACT, data,
                   TG_DIMS(3, 3));
    session_end(&s);
}

/* -- Batches by vmap ------------------------------------------------------- */

static void factor_one(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    const tg_value a = definite(in[0]);
    const tg_value x = tg_solve(a, in[1]);
    tg_return(t, tg_cholesky(a), x,
              tg_gradient(tg_sum(x, TG_ALL_AXES), in[0]));
}

static void vmap_and_batch(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    const tg_value b = tg_cos(tg_slice(in[0], 0, 0, 1, 1));
    const tg_value right = tg_stop_gradient(tg_reshape(b, TG_DIMS(4, 4)));
    tg_value r[3];
    tg_vmap_axes(factor_one, NULL, ((int[]){0, TG_UNBATCHED}), NULL,
                 TG_ARGS(in[0], right), r, 3);
    const tg_value a = definite(in[0]);
    const tg_value x = tg_solve(a, right);
    const tg_value g = tg_gradient(tg_sum(x, TG_ALL_AXES), in[0]);
    tg_return(t, tg_concat(0, tg_sub(r[0], tg_cholesky(a)), tg_sub(r[1], x),
                           tg_sub(r[2], g)));
}

static void check_vmap(session *s)
{
    check_zero(s, vmap_and_batch, TG_EXACT, TG_F64, TG_DIMS(2, 4, 4));
    check_zero(s, vmap_and_batch, TG_EXACT, TG_F32, TG_DIMS(2, 4, 4));
}

Test(lapack, a_vmap_is_a_batch)
{
    in_both(check_vmap);
}

/* -- Failures -------------------------------------------------------------- */

typedef struct operation {
    int number;
} operation;

static void apply_number(tg_trace *t, const tg_value *in, void *user)
{
    switch (((const operation *)user)->number) {
    case 0:
        tg_return(t, tg_cholesky(in[0]));
        break;
    case 1:
        tg_return(t, tg_inverse(in[0]));
        break;
    case 2:
        tg_return(t, tg_solve(in[0], in[0]));
        break;
    case 3:
        tg_return(t, tg_triangular_solve(in[0], in[0], 0));
        break;
    case 4:
        tg_return(t, tg_svd(in[0]).s);
        break;
    case 5:
        tg_return(t, tg_eigh(in[0]).values);
        break;
    case 6:
        tg_return(t, tg_triangular_solve(in[0], in[0], 8));
        break;
    case 7:
        tg_return(t, tg_solve(in[0], tg_slice(in[0], -2, 1, TG_END, 1)));
        break;
    default:
        tg_return(t, tg_gradient(tg_slogdet(in[0]).log_abs, in[0]));
        break;
    }
}

static tg_status apply_to(session *s, int number, tg_tensor *x)
{
    operation o = {number};
    tg_tensor *y = NULL;
    tg_function *f = tg_function_create(s->ctx, apply_number, &o, NULL);
    const tg_status status = tg_call(f, TG_ARGS(x), TG_RESULTS(&y));
    tg_tensor_release(y);
    tg_function_release(f);
    return status;
}

static void check_failures(session *s)
{
    /* Position [1, 0] of the batch is singular, and not definite. */
    const float data[] = {2, 0, 0, 3, 0, 0, 0, 1};
    tg_tensor *x = tg_tensor_copy(s->ctx, data, TG_F32, TG_DIMS(2, 1, 2, 2));
    static const char *const names[] = {("cholesky: matrix [1, 0] of the batch "
                                         "is not positive definite"),
                                        "inverse: matrix [1, 0]",
                                        "solve: matrix [1, 0]",
                                        "triangular_solve: matrix [1, 0]"};
    for (int i = 0; i < 4; i++)
        check_fails(apply_to(s, i, x), TG_ERROR_CALLBACK, names[i],
                    "test_lapack.c:");
    check_fails(apply_to(s, 8, x), TG_ERROR_CALLBACK, "is singular",
                "test_lapack.c:");
    ((float *)tg_tensor_data(x))[6] = NAN;
    check_fails(apply_to(s, 4, x), TG_ERROR_CALLBACK, "svd: matrix [1, 0]",
                "NaN");
    check_fails(apply_to(s, 5, x), TG_ERROR_CALLBACK, "eigh: matrix [1, 0]",
                "NaN");
    tg_tensor_release(x);
}

Test(lapack, failures_name_the_operation_and_the_matrix)
{
    in_both(check_failures);
}

Test(lapack, operands_of_other_types_fail_the_trace)
{
    session s;
    session_begin(&s);
    tg_tensor *x = tg_tensor_create(s.ctx, TG_F32, TG_DIMS(2, 3), tg_zeros());
    tg_tensor *v = tg_tensor_create(s.ctx, TG_F32, TG_DIMS(2), tg_zeros());
    tg_tensor *n = tg_tensor_create(s.ctx, TG_I32, TG_DIMS(2, 2), tg_zeros());
    tg_tensor *m = tg_tensor_create(s.ctx, TG_F32, TG_DIMS(2, 2), tg_zeros());
    check_fails(apply_to(&s, 0, x), TG_ERROR_SHAPE, "cholesky: axis 1",
                "test_lapack.c:");
    check_fails(apply_to(&s, 0, v), TG_ERROR_SHAPE, "at least 2 axes");
    check_fails(apply_to(&s, 4, n), TG_ERROR_DTYPE, "svd:", "i32");
    check_fails(apply_to(&s, 6, m), TG_ERROR_INVALID_ARGUMENT,
                "triangular_solve: 8");
    check_fails(apply_to(&s, 7, m), TG_ERROR_SHAPE, "solve:", "extent");
    tg_tensor_release(x);
    tg_tensor_release(v);
    tg_tensor_release(n);
    tg_tensor_release(m);
    session_end(&s);
}
