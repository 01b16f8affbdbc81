/* SPDX-License-Identifier: MIT */
/*
 * gradient_formulas_sums.c - reductions and matrix products. See
 * gradient_formulas.h.
 */
#include "api/gradient_formulas.h"

/* -- Reductions ------------------------------------------------------------ */

static tg_value standard_score(const tg_value *in)
{
    const tg_value x = in[0];
    const tg_value mean = tg_mean(x, tg_keep(TG_AXES(1)));
    const tg_value variance =
        tg_mean(tg_square(tg_sub(x, mean)), tg_keep(TG_AXES(1)));
    return cube(tg_div(tg_sub(x, mean), tg_sqrt(tg_add(variance, 0.125))));
}

static tg_value products(const tg_value *in)
{
    return tg_prod(in[0], TG_AXES(1));
}

static tg_value product_with_a_zero(const tg_value *in)
{
    return tg_prod(in[0], TG_ALL_AXES);
}

static tg_value product_with_zeros(const tg_value *in)
{
    return tg_prod(in[0], TG_ALL_AXES);
}

static tg_value product_of_axes(const tg_value *in)
{
    return tg_mul(tg_prod(in[0], TG_AXES(0, 2)), in[1]);
}

static tg_value extremes(const tg_value *in)
{
    const tg_value x = in[0], y = in[1];
    const tg_value least = tg_reduce_min(x, tg_keep(TG_AXES(0)));
    return tg_sub(tg_mul(tg_reduce_max(x, TG_AXES(1)), y),
                  tg_mul(tg_sum(least, TG_ALL_AXES), y));
}

static tg_value log_sum_exp(const tg_value *in)
{
    const tg_value x = in[0];
    const tg_value most = tg_stop_gradient(tg_reduce_max(x, TG_ALL_AXES));
    const tg_value sum = tg_sum(tg_exp(tg_sub(x, most)), TG_ALL_AXES);
    return tg_add(tg_log(sum), most);
}

static tg_value norm(tg_value x)
{
    return tg_sqrt(tg_sum(tg_square(x), TG_AXES(1)));
}

static tg_value cosine(const tg_value *in)
{
    const tg_value x = in[0], y = in[1];
    return tg_div(tg_sum(tg_mul(x, y), TG_AXES(1)),
                  tg_mul(norm(x), norm(y)));
}

/* Receives the sum so far and the next element. */
static void add_one(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    const tg_value sum = tg_add(in[0], in[1]);
    tg_return(t, sum, sum);
}

static tg_value running_sums(const tg_value *in)
{
    const tg_value x = in[0], y = in[1];
    const tg_value zero = tg_scalar(tg_value_dtype(x), 0);
    tg_value sums;
    tg_scan(add_one, NULL, TG_ARGS(zero), TG_ARGS(tg_mul(x, y)), NULL, 0,
            &sums, 1);
    return tg_mul(sums, y);
}

/* Receives the product so far and the next element. */
static void multiply_one(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    const tg_value product = tg_mul(in[0], in[1]);
    tg_return(t, product, product);
}

static tg_value running_products(const tg_value *in)
{
    const tg_value one = tg_scalar(tg_value_dtype(in[0]), 1);
    tg_value products;
    tg_scan(multiply_one, NULL, TG_ARGS(one), TG_ARGS(in[0]), NULL, 0,
            &products, 1);
    return tg_square(products);
}

const formula reductions_formulas[] = {
    FORMULA(standard_score),
    FORMULA(products),
    FORMULA(product_with_a_zero),
    FORMULA(product_with_zeros),
    FORMULA(product_of_axes),
    FORMULA(extremes),
    FORMULA(log_sum_exp),
    FORMULA(cosine),
    FORMULA(running_sums),
    FORMULA(running_products),
    FORMULAS_END,
};

/* -- Products of matrices -------------------------------------------------- */

static tg_value product(const tg_value *in)
{
    return tg_square(tg_matmul(in[0], in[1]));
}

static tg_value product_of_batches(const tg_value *in)
{
    return tg_tanh(tg_matmul(in[0], in[1]));
}

static tg_value product_transposed(const tg_value *in)
{
    const tg_value a = in[0], b = in[1], c = in[2];
    const tg_value both =
        tg_matmul_with(a, b, TG_TRANSPOSE_A | TG_TRANSPOSE_B);
    const tg_value back = tg_transpose(tg_matmul(b, a), TG_PERM(1, 0));
    return tg_add(tg_square(both),
                  tg_mul(back, tg_transpose(c, TG_PERM(1, 0))));
}

static tg_value quadratic_form(const tg_value *in)
{
    const tg_value x = in[0], a = in[1];
    return tg_matmul(x, tg_matmul(a, x));
}

static tg_value matrix_and_vectors(const tg_value *in)
{
    const tg_value a = in[0], x = in[1], y = in[2];
    return tg_add(tg_mul(tg_sin(tg_matmul(a, x)), y),
                  tg_matmul(tg_matmul(y, a), x));
}

static tg_value einsum_of_three(const tg_value *in)
{
    const tg_value x = in[0], y = in[1], z = in[2];
    return tg_square(tg_einsum("bij,bjk,k->bi", x, y, z));
}

static tg_value einsum_of_diagonals(const tg_value *in)
{
    const tg_value x = in[0], y = in[1];
    return tg_mul(tg_einsum("ii,i->i", x, y), tg_einsum("ii", x));
}

static tg_value contraction(const tg_value *in)
{
    const tg_dot_axes axes = {.contract_a = TG_AXES(0, 2),
                              .contract_b = TG_AXES(1, 0)};
    return tg_square(tg_dot_general(in[0], in[1], axes));
}

const formula products_formulas[] = {
    FORMULA(product),
    FORMULA(product_of_batches),
    FORMULA(product_transposed),
    FORMULA(quadratic_form),
    FORMULA(matrix_and_vectors),
    FORMULA(einsum_of_three),
    FORMULA(einsum_of_diagonals),
    FORMULA(contraction),
    FORMULAS_END,
};
