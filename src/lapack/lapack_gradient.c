/* SPDX-License-Identifier: MIT */
/*
 * lapack_gradient.c - the gradients, composed of operations, so that they have
 * gradients themselves. ḡ is the gradient of g; the letters are those of
 * lapack.h.
 */
#include "lapack_gradient.h"

#include "tgjit/extend.h"
#include "tgjit/lapack.h"
#include "tgjit/ops_shape.h"

/* -- Operations under short names ------------------------------------------ */

static const tg_site no_site = {NULL, 0};

#define V tg_in_value

static tg_value matmul(tg_value a, tg_value b, int flags)
{
    return tg_matmul_with_at(V(a), V(b), flags, no_site);
}

static tg_value add(tg_value a, tg_value b)
{
    return tg_add_at(V(a), V(b), no_site);
}

static tg_value sub(tg_value a, tg_value b)
{
    return tg_sub_at(V(a), V(b), no_site);
}

static tg_value mul(tg_value a, tg_value b)
{
    return tg_mul_at(V(a), V(b), no_site);
}

static tg_value scale(tg_value a, double factor)
{
    return tg_mul_at(V(a), tg_in_f64(factor), no_site);
}

static tg_value transpose(tg_value a)
{
    const int rank = tg_value_rank(a);
    int perm[TG_MAX_RANK] = {0};
    for (int i = 0; i < rank; i++)
        perm[i] = i < rank - 2 ? i : 2 * rank - 3 - i;
    return rank < 2 ? a : tg_transpose_at(V(a), rank, perm, no_site);
}

static tg_value expand(tg_value a, int axis)
{
    return tg_expand_dims_at(V(a), axis, no_site);
}

static tg_value tril(tg_value a, int64_t diagonal)
{
    return tg_tril_at(V(a), diagonal, no_site);
}

static tg_value triangular_solve(tg_value a, tg_value b, unsigned flags)
{
    return tg_triangular_solve_at(V(a), V(b), flags, no_site);
}

/* (a + aᵀ) / 2: the operations see nothing else of their operand. */
static tg_value symmetric(tg_value a)
{
    return scale(add(a, transpose(a)), 0.5);
}

/* 1 / x, and 0 where x is 0. */
static tg_value reciprocal(tg_value x)
{
    const tg_value is_zero = tg_eq_at(V(x), tg_in_f64(0), no_site);
    const tg_value safe =
        tg_select_at(V(is_zero), tg_in_f64(1), V(x), no_site);
    return tg_select_at(V(is_zero), tg_in_f64(0),
                        V(tg_reciprocal_at(V(safe), no_site)), no_site);
}

/* 1 / (x[j] - x[i]) at i, j; 0 where they are equal. */
static tg_value reciprocal_differences(tg_value x)
{
    return reciprocal(sub(expand(x, -2), expand(x, -1)));
}

/* The vectors x as diagonals of matrices. */
static tg_value diagonal(tg_value x)
{
    const int64_t n = tg_value_dim(x, -1);
    const tg_value eye = tg_eye_at(tg_value_dtype(x), n, n, 0, no_site);
    return mul(eye, expand(x, -2));
}

static void finish(tg_trace *t, tg_value a)
{
    tg_return_at(t, (tg_operand[]){V(a)}, 1, no_site);
}

static void finish_2(tg_trace *t, tg_value a, tg_value b)
{
    tg_return_at(t, (tg_operand[]){V(a), V(b)}, 2, no_site);
}

/* -- Symmetric matrices ---------------------------------------------------- */

/* l⁻ᵀ p l⁻¹, where p is the lower triangle of lᵀ l̄ with half its diagonal. */
void tgi_gradient_cholesky(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    const tg_value l = in[1], product = matmul(l, in[2], TG_TRANSPOSE_A);
    const tg_value p = scale(add(tril(product, 0), tril(product, -1)), 0.5);
    const tg_value left = triangular_solve(l, p, TG_TRIANGULAR_TRANSPOSED);
    const tg_value both =
        triangular_solve(l, transpose(left), TG_TRIANGULAR_TRANSPOSED);
    finish(t, symmetric(both));
}

void tgi_gradient_eigh(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    const tg_value values = in[1], v = in[2];
    const tg_value turned = mul(matmul(v, in[4], TG_TRANSPOSE_A),
                                reciprocal_differences(values));
    const tg_value inner = add(diagonal(in[3]), turned);
    finish(t, symmetric(matmul(matmul(v, inner, 0), v, TG_TRANSPOSE_B)));
}

/* -- Systems of equations -------------------------------------------------- */

/* b̄ = op(a)⁻ᵀ x̄; that of op(a) is -b̄ xᵀ. */
void tgi_gradient_triangular_solve(tg_trace *t, const tg_value *in, void *user)
{
    const unsigned flags = (unsigned)(uintptr_t)user;
    const tg_value x = in[2];
    const tg_value b =
        triangular_solve(in[0], in[3], flags ^ TG_TRIANGULAR_TRANSPOSED);
    const bool is_transposed = flags & TG_TRIANGULAR_TRANSPOSED;
    const tg_value a = scale(is_transposed ? matmul(x, b, TG_TRANSPOSE_B)
                                           : matmul(b, x, TG_TRANSPOSE_B),
                             -1);
    const int64_t skip = flags & TG_TRIANGULAR_UNIT ? 1 : 0;
    finish_2(t,
             flags & TG_TRIANGULAR_UPPER ? tg_triu_at(V(a), skip, no_site)
                                         : tril(a, -skip),
             b);
}

void tgi_gradient_solve(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    const tg_value b =
        tg_solve_at(V(transpose(in[0])), V(in[3]), no_site);
    finish_2(t, scale(matmul(b, in[2], TG_TRANSPOSE_B), -1), b);
}

void tgi_gradient_inverse(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    const tg_value y = in[1];
    finish(t, scale(matmul(matmul(y, in[2], TG_TRANSPOSE_A), y,
                           TG_TRANSPOSE_B),
                    -1));
}

/* -- Determinants ---------------------------------------------------------- */

static tg_value as_matrix(tg_value scalar)
{
    return expand(expand(scalar, -1), -1);
}

void tgi_gradient_det(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    finish(t, mul(as_matrix(in[2]), tgi_cofactors(in[0])));
}

/* Those of det(a) a⁻ᵀ. */
void tgi_gradient_cofactors(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    const tg_value inverse = tg_inverse_at(V(in[0]), no_site);
    const tg_operand cofactors = V(mul(
        as_matrix(tg_det_at(V(in[0]), no_site)), transpose(inverse)));
    const tg_operand seed = V(in[2]), source = V(in[0]);
    tg_value gradient;
    tg_gradients_with_at(&cofactors, 1, &seed, TG_UNCONNECTED_ZEROS, &source,
                         1, &gradient, no_site);
    finish(t, gradient);
}

void tgi_gradient_slogdet(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    const tg_value inverse = tg_inverse_at(V(in[0]), no_site);
    finish(t, mul(as_matrix(in[4]), transpose(inverse)));
}

/* -- Orthogonal factors ---------------------------------------------------- */

/* For at least as many rows as columns: (q̄ + q m) r⁻ᵀ, where m is symmetric
   with the lower triangle of r r̄ᵀ - q̄ᵀ q. */
static tg_value gradient_of_tall_qr(tg_value q, tg_value r, tg_value of_q,
                                    tg_value of_r)
{
    const tg_value difference = sub(matmul(r, of_r, TG_TRANSPOSE_B),
                                    matmul(of_q, q, TG_TRANSPOSE_A));
    const tg_value m =
        add(tril(difference, 0), transpose(tril(difference, -1)));
    const tg_value sum = add(of_q, matmul(q, m, 0));
    return transpose(
        triangular_solve(r, transpose(sum), TG_TRIANGULAR_UPPER));
}

/* Columns from … to - 1. */
static tg_value columns(tg_value a, int64_t from, int64_t to)
{
    return tg_slice_at(V(a), -1, from, to, 1, no_site);
}

void tgi_gradient_qr(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    const tg_value q = in[1], r = in[2];
    const int64_t m = tg_value_dim(in[0], -2), n = tg_value_dim(in[0], -1);
    if (m == n || (tg_dim_is_known(m) && tg_dim_is_known(n) && m > n)) {
        finish(t, gradient_of_tall_qr(q, r, in[3], in[4]));
        return;
    }
    if (!tg_dim_is_known(m) || !tg_dim_is_known(n)) {
        finish(t, tg_op_fail(TG_ERROR_SHAPE, no_site,
                             "qr: the gradient needs to know which extent of "
                             "the matrix is larger"));
        return;
    }
    /* a = [x y], r = [u v]: x = q u is square, and v = qᵀ y. */
    const tg_value y = columns(in[0], m, TG_END);
    const tg_value of_v = columns(in[4], m, TG_END);
    const tg_value of_q = add(in[3], matmul(y, of_v, TG_TRANSPOSE_B));
    const tg_value of_x = gradient_of_tall_qr(q, columns(r, 0, m), of_q,
                                              columns(in[4], 0, m));
    const tg_operand parts[] = {V(of_x), V(matmul(q, of_v, 0))};
    finish(t, tg_concat_at(-1, parts, 2, no_site));
}

/* What the rows of x lack: x - x bᵀ b, for b with orthonormal rows. */
static tg_value outside(tg_value x, tg_value b)
{
    return sub(x, matmul(matmul(x, b, TG_TRANSPOSE_B), b, 0));
}

void tgi_gradient_svd(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    const tg_value u = in[1], s = in[2], vt = in[3];
    const tg_value of_u = in[4], of_vt = in[6];
    const tg_value f = reciprocal_differences(mul(s, s));
    const tg_value u_part = matmul(u, of_u, TG_TRANSPOSE_A);
    const tg_value v_part = matmul(vt, of_vt, TG_TRANSPOSE_B);
    const tg_value left = mul(sub(u_part, transpose(u_part)), f);
    const tg_value right = mul(sub(v_part, transpose(v_part)), f);
    tg_value inner = add(mul(left, expand(s, -2)), mul(right, expand(s, -1)));
    inner = add(inner, diagonal(in[5]));
    tg_value a = matmul(matmul(u, inner, 0), vt, 0);
    const tg_value inverse = reciprocal(s);
    const int64_t m = tg_value_dim(in[0], -2), n = tg_value_dim(in[0], -1);
    const int64_t k = tg_value_dim(s, -1);
    if (m != k) {
        const tg_value more = transpose(outside(transpose(of_u),
                                                transpose(u)));
        a = add(a, matmul(mul(more, expand(inverse, -2)), vt, 0));
    }
    if (n != k) {
        const tg_value more = outside(of_vt, vt);
        a = add(a, matmul(u, mul(expand(inverse, -1), more), 0));
    }
    finish(t, a);
}
