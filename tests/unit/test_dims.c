/* SPDX-License-Identifier: MIT */
/*
 * test_dims.c - symbolic extents. The rules of the normal form are tested one
 * by one and then together: random expressions are compared with a naive
 * evaluator, and with themselves built in another order.
 */
#include "ir/dims.h"

#include <pthread.h>
#include <string.h>

#include "base/error.h"
#include "base/live.h"
#include "support/support.h"

static const tgi_symbol anywhere = {0, 0};

#define check_text(dims, dim, expected) \
    do { \
        tgi_strbuf buf_ = {0}; \
        tgi_dim_print((dims), (dim), &buf_); \
        cr_expect_str_eq(buf_.text, (expected)); \
        tgi_strbuf_deinit(&buf_); \
    } while (0)

#define check_fails(expr, expected_status) \
    do { \
        tg_error_clear(); \
        cr_expect_eq((expr), TGI_DIM_NONE); \
        cr_expect_eq(tg_error_last()->status, (expected_status)); \
    } while (0)

/* -- Numbers --------------------------------------------------------------- */

Test(dims, arithmetic_of_numbers_is_a_number)
{
    tgi_dims *d = tgi_dims_create();
    cr_expect_eq(tgi_dim_add(d, 2, 3), 5);
    cr_expect_eq(tgi_dim_sub(d, 5, 3), 2);
    cr_expect_eq(tgi_dim_mul(d, 5, 3), 15);
    cr_expect_eq(tgi_dim_mul(d, 0, 3), 0);
    cr_expect_eq(tgi_dim_div(d, 7, 2), 3);
    cr_expect_eq(tgi_dim_div(d, 7, 1), 7);
    cr_expect_eq(tgi_dim_div(d, 7, 0), 0);
    cr_expect_eq(tgi_dim_max(d, 7, 2), 7);
    cr_expect_eq(tgi_dim_broadcast(d, 7, 1), 7);
    cr_expect_eq(tgi_dim_broadcast(d, 1, 1), 1);
    cr_expect_eq(tgi_dim_broadcast(d, 1, 0), 0);
    cr_expect_eq(tgi_dims_n_values(d), 0, "numbers need no table");
    tgi_dims_release(d);
    check_nothing_is_alive();
}

Test(dims, invalid_extents_are_refused)
{
    tgi_dims *d = tgi_dims_create();
    tgi_dim n = tgi_dim_symbol(d, anywhere);
    check_fails(tgi_dim_sub(d, 2, 3), TG_ERROR_SHAPE);
    check_fails(tgi_dim_sub(d, n, tgi_dim_add(d, n, 1)), TG_ERROR_SHAPE);
    check_fails(tgi_dim_add(d, INT64_MAX, 1), TG_ERROR_OVERFLOW);
    check_fails(tgi_dim_mul(d, INT64_MAX, 2), TG_ERROR_OVERFLOW);
    check_fails(tgi_dim_mul(d, INT64_MAX, tgi_dim_mul(d, n, 2)),
                TG_ERROR_OVERFLOW);
    check_fails(
        tgi_dim_mul(d, tgi_dim_mul(d, n, INT64_MAX), tgi_dim_mul(d, n, 2)),
        TG_ERROR_OVERFLOW);
    check_fails(tgi_dim_broadcast(d, 2, 3), TG_ERROR_SHAPE);
    tgi_dims_release(d);
    check_nothing_is_alive();
}

Test(dims, failures_propagate_silently)
{
    tgi_dims *d = tgi_dims_create();
    tgi_dim n = tgi_dim_symbol(d, anywhere);
    int64_t difference;
    check_fails(tgi_dim_add(d, TGI_DIM_NONE, n), TG_OK);
    check_fails(tgi_dim_sub(d, n, TGI_DIM_NONE), TG_OK);
    check_fails(tgi_dim_mul(d, TGI_DIM_NONE, 0), TG_OK);
    check_fails(tgi_dim_div(d, 1, TGI_DIM_NONE), TG_OK);
    check_fails(tgi_dim_max(d, TGI_DIM_NONE, TGI_DIM_NONE), TG_OK);
    check_fails(tgi_dim_broadcast(d, 1, TGI_DIM_NONE), TG_OK);
    cr_expect_not(tgi_dim_difference(d, TGI_DIM_NONE, n, &difference));
    cr_expect_eq(tgi_shape_intern(d, 2, (tgi_dim[]){1, TGI_DIM_NONE}), 0);
    cr_expect_eq(tg_error_last()->status, TG_OK);
    check_text(d, TGI_DIM_NONE, "none");
    tgi_dims_release(d);
    check_nothing_is_alive();
}

/* -- Symbols and rules ----------------------------------------------------- */

Test(dims, symbols_are_new_and_have_a_source)
{
    tgi_dims *d = tgi_dims_create();
    tgi_dim n = tgi_dim_symbol(d, (tgi_symbol){3, 1});
    tgi_dim m = tgi_dim_symbol(d, (tgi_symbol){3, 1});
    cr_expect_neq(n, m);
    cr_expect(tgi_dim_is_symbolic(n));
    cr_expect_not(tgi_dim_is_known(n));
    cr_expect_not(tgi_dim_is_symbolic(-1), "a user's -1 is no name");
    cr_expect_not(tgi_dim_is_symbolic(TGI_DIM_NONE));
    cr_expect_eq(tgi_dims_n_symbols(d), 2);
    cr_expect_eq(tgi_dims_symbol(d, 1).param, 3);
    cr_expect_eq(tgi_dims_symbol(d, 1).axis, 1);
    tgi_dims_release(d);
    check_nothing_is_alive();
}

Test(dims, sums_in_any_order_have_one_name)
{
    tgi_dims *d = tgi_dims_create();
    tgi_dim n = tgi_dim_symbol(d, anywhere);
    tgi_dim m = tgi_dim_symbol(d, anywhere);
    tgi_dim a = tgi_dim_add(d, tgi_dim_add(d, n, 1), m);
    tgi_dim b = tgi_dim_add(d, m, tgi_dim_add(d, 1, n));
    cr_expect_eq(a, b);
    cr_expect_eq(tgi_dim_sub(d, a, m), tgi_dim_add(d, n, 1));
    cr_expect_eq(tgi_dim_sub(d, tgi_dim_sub(d, a, m), 1), n);
    cr_expect_eq(tgi_dim_sub(d, a, a), 0);
    cr_expect_eq(tgi_dim_add(d, n, n), tgi_dim_mul(d, 2, n));
    cr_expect_eq(tgi_dim_sub(d, tgi_dim_mul(d, 3, n), n), tgi_dim_mul(d, n, 2));
    tgi_dims_release(d);
    check_nothing_is_alive();
}

Test(dims, products_in_any_order_have_one_name)
{
    tgi_dims *d = tgi_dims_create();
    tgi_dim n = tgi_dim_symbol(d, anywhere);
    tgi_dim m = tgi_dim_symbol(d, anywhere);
    tgi_dim k = tgi_dim_symbol(d, anywhere);
    tgi_dim nm = tgi_dim_mul(d, n, m), mk = tgi_dim_mul(d, m, k);
    cr_expect_eq(tgi_dim_mul(d, nm, k), tgi_dim_mul(d, n, mk));
    cr_expect_eq(tgi_dim_mul(d, tgi_dim_mul(d, n, n), n),
                 tgi_dim_mul(d, n, tgi_dim_mul(d, n, n)));
    cr_expect_eq(tgi_dim_mul(d, tgi_dim_mul(d, 2, n), tgi_dim_mul(d, 3, m)),
                 tgi_dim_mul(d, 6, nm));
    cr_expect_eq(tgi_dim_mul(d, n, 0), 0);
    cr_expect_eq(tgi_dim_mul(d, 1, n), n);
    /* (n + 1) * (m + 2) = n*m + 2*n + m + 2 */
    tgi_dim expanded = tgi_dim_add(d, tgi_dim_add(d, nm, tgi_dim_mul(d, 2, n)),
                                   tgi_dim_add(d, m, 2));
    cr_expect_eq(tgi_dim_mul(d, tgi_dim_add(d, n, 1), tgi_dim_add(d, m, 2)),
                 expanded);
    tgi_dims_release(d);
    check_nothing_is_alive();
}

Test(dims, division_cancels_common_factors)
{
    tgi_dims *d = tgi_dims_create();
    tgi_dim n = tgi_dim_symbol(d, anywhere);
    tgi_dim m = tgi_dim_symbol(d, anywhere);
    tgi_dim n4 = tgi_dim_mul(d, 4, n);
    cr_expect_eq(tgi_dim_div(d, n, 1), n);
    cr_expect_eq(tgi_dim_div(d, n4, 4), n);
    cr_expect_eq(tgi_dim_div(d, n4, 2), tgi_dim_mul(d, 2, n));
    cr_expect_eq(tgi_dim_div(d, tgi_dim_add(d, n4, 8), 4),
                 tgi_dim_add(d, n, 2));
    cr_expect_eq(tgi_dim_div(d, tgi_dim_add(d, n4, 7), 4),
                 tgi_dim_add(d, n, 1));
    cr_expect_eq(tgi_dim_div(d, tgi_dim_div(d, n, 2), 3), tgi_dim_div(d, n, 6));
    cr_expect_eq(tgi_dim_div(d, tgi_dim_mul(d, 2, n), 6), tgi_dim_div(d, n, 3));
    cr_expect_eq(tgi_dim_div(d, 0, n), 0);
    cr_expect_eq(tgi_dim_div(d, n, 0), 0);
    cr_expect_neq(tgi_dim_div(d, n, n), 1, "n may be 0");
    cr_expect_neq(tgi_dim_div(d, tgi_dim_mul(d, n, m), n), m, "n may be 0");
    tgi_dims_release(d);
    check_nothing_is_alive();
}

Test(dims, the_largest_is_found_where_it_is_certain)
{
    tgi_dims *d = tgi_dims_create();
    tgi_dim n = tgi_dim_symbol(d, anywhere);
    tgi_dim m = tgi_dim_symbol(d, anywhere);
    tgi_dim n1 = tgi_dim_add(d, n, 1);
    cr_expect_eq(tgi_dim_max(d, n, n), n);
    cr_expect_eq(tgi_dim_max(d, n, n1), n1);
    cr_expect_eq(tgi_dim_max(d, 0, n), n);
    cr_expect_eq(tgi_dim_max(d, 1, n1), n1);
    cr_expect_eq(tgi_dim_max(d, n, tgi_dim_add(d, n, m)), tgi_dim_add(d, n, m));
    cr_expect_neq(tgi_dim_max(d, 1, n), n);
    cr_expect_neq(tgi_dim_max(d, 0, tgi_dim_sub(d, n, 1)),
                  tgi_dim_sub(d, n, 1));
    tgi_dim below = tgi_dim_div(d, tgi_dim_sub(d, n, 1), m);
    cr_expect_neq(tgi_dim_max(d, 0, below), below, "-1 over m may be below 0");
    tgi_dim above = tgi_dim_div(d, n1, m);
    cr_expect_eq(tgi_dim_max(d, 0, above), above);
    cr_expect_eq(tgi_dim_max(d, n, m), tgi_dim_max(d, m, n));
    cr_expect_eq(tgi_dim_max(d, tgi_dim_max(d, n, m), n), tgi_dim_max(d, n, m));
    tgi_dims_release(d);
    check_nothing_is_alive();
}

Test(dims, broadcasts_of_ones_and_numbers)
{
    tgi_dims *d = tgi_dims_create();
    tgi_dim n = tgi_dim_symbol(d, anywhere);
    tgi_dim m = tgi_dim_symbol(d, anywhere);
    cr_expect_eq(tgi_dim_broadcast(d, n, n), n);
    cr_expect_eq(tgi_dim_broadcast(d, n, 1), n);
    cr_expect_eq(tgi_dim_broadcast(d, 1, n), n);
    cr_expect_eq(tgi_dim_broadcast(d, n, 5), 5);
    cr_expect_eq(tgi_dim_broadcast(d, 0, n), 0);
    cr_expect_eq(tgi_dim_broadcast(d, n, 0), 0);
    tgi_dim nm = tgi_dim_broadcast(d, n, m);
    cr_expect_eq(nm, tgi_dim_broadcast(d, m, n));
    cr_expect_eq(tgi_dim_broadcast(d, nm, n), nm);
    cr_expect_eq(tgi_dim_broadcast(d, nm, 4), 4);
    tgi_dims_release(d);
    check_nothing_is_alive();
}

Test(dims, differences_of_equal_parts_are_numbers)
{
    tgi_dims *d = tgi_dims_create();
    tgi_dim n = tgi_dim_symbol(d, anywhere);
    tgi_dim m = tgi_dim_symbol(d, anywhere);
    int64_t difference = 99;
    cr_expect(tgi_dim_difference(d, 3, 10, &difference));
    cr_expect_eq(difference, -7);
    cr_expect(tgi_dim_difference(d, n, tgi_dim_add(d, n, 4), &difference));
    cr_expect_eq(difference, -4);
    cr_expect(tgi_dim_difference(d, n, n, &difference));
    cr_expect_eq(difference, 0);
    cr_expect_not(tgi_dim_difference(d, n, m, &difference));
    cr_expect_not(tgi_dim_difference(d, n, 0, &difference));
    tgi_dims_release(d);
    check_nothing_is_alive();
}

Test(dims, extents_print_as_one_would_write_them)
{
    tgi_dims *d = tgi_dims_create();
    tgi_dim n = tgi_dim_symbol(d, anywhere);
    tgi_dim m = tgi_dim_symbol(d, anywhere);
    tgi_dim n1 = tgi_dim_add(d, n, 1), half = tgi_dim_div(d, n1, 2);
    check_text(d, 784, "784");
    check_text(d, n, "?0");
    check_text(d, n1, "?0+1");
    check_text(d, tgi_dim_sub(d, n, 1), "?0-1");
    check_text(d, tgi_dim_mul(d, 2, n), "2*?0");
    check_text(d, tgi_dim_sub(d, n, m), "?0-?1");
    check_text(d, tgi_dim_sub(d, 3, n), "-?0+3");
    check_text(d, tgi_dim_mul(d, n, tgi_dim_mul(d, m, n)), "?0^2*?1");
    check_text(d, half, "(?0+1)/2");
    check_text(d, tgi_dim_mul(d, 3, half), "3*((?0+1)/2)");
    check_text(d, tgi_dim_mul(d, m, half), "?1*((?0+1)/2)");
    check_text(d, tgi_dim_div(d, tgi_dim_mul(d, n, m), m), "(?0*?1)/?1");
    check_text(d, tgi_dim_max(d, n, 3), "max(?0,3)");
    check_text(d, tgi_dim_broadcast(d, n1, m), "broadcast(?1,?0+1)");
    tgi_dims_release(d);
    check_nothing_is_alive();
}

/* -- Shapes ---------------------------------------------------------------- */

Test(dims, equal_shapes_have_one_ref)
{
    tgi_dims *d = tgi_dims_create();
    tgi_dim n = tgi_dim_symbol(d, anywhere);
    tgi_shape_ref scalar = tgi_shape_intern(d, 0, NULL);
    tgi_shape_ref a = tgi_shape_intern(d, 2, (tgi_dim[]){n, 10});
    tgi_shape_ref b = tgi_shape_intern(d, 2, (tgi_dim[]){10, n});
    cr_expect_neq(scalar, 0);
    cr_expect_neq(a, b);
    cr_expect_eq(tgi_shape_intern(d, 0, NULL), scalar);
    cr_expect_eq(tgi_shape_intern(d, 2, (tgi_dim[]){n, 10}), a);
    cr_expect_neq(tgi_shape_intern(d, 1, (tgi_dim[]){n}), a);
    for (int64_t i = 0; i < 500; i++) /* refs stay valid as the table grows */
        cr_expect_neq(tgi_shape_intern(d, 1, &i), 0);
    cr_expect_eq(tgi_shape_of(d, a)->rank, 2);
    cr_expect_eq(tgi_shape_of(d, a)->dims[1], 10);
    cr_expect_not(tgi_shape_is_static(tgi_shape_of(d, a)));
    cr_expect(tgi_shape_is_static(tgi_shape_of(d, scalar)));
    tgi_strbuf buf = {0};
    tgi_shape_print(d, tgi_shape_of(d, a), &buf);
    tgi_shape_print(d, tgi_shape_of(d, scalar), &buf);
    cr_expect_str_eq(buf.text, "[?0,10][]");
    tgi_strbuf_deinit(&buf);
    tgi_dims_release(d);
    check_nothing_is_alive();
}

static tgi_dim product_of(tgi_dims *d, int rank, const tgi_dim *extents)
{
    return tgi_dim_product(d,
                           tgi_shape_of(d, tgi_shape_intern(d, rank, extents)));
}

Test(dims, the_product_of_a_shape_does_not_depend_on_its_order)
{
    tgi_dims *d = tgi_dims_create();
    tgi_dim e[TG_MAX_RANK];
    uint64_t seed = 4;
    cr_expect_eq(product_of(d, 0, NULL), 1);
    cr_expect_eq(product_of(d, 3, (tgi_dim[]){2, 3, 4}), 24);
    for (int i = 0; i < TG_MAX_RANK; i++)
        e[i] = tgi_dim_add(d, tgi_dim_symbol(d, anywhere), i + 1);
    e[3] = 12;
    const tgi_dim product = product_of(d, TG_MAX_RANK, e);
    for (int round = 0; round < 50; round++) {
        const int i = random_below(&seed, TG_MAX_RANK);
        const int k = random_below(&seed, TG_MAX_RANK);
        const tgi_dim moved = e[i];
        e[i] = e[k], e[k] = moved;
        cr_assert_eq(product_of(d, TG_MAX_RANK, e), product);
    }
    cr_expect_eq(product_of(d, 2, (tgi_dim[]){0, e[0]}), 0);
    const int64_t big = (int64_t)1 << 40;
    check_fails(product_of(d, 3, (tgi_dim[]){0, big, big}), TG_ERROR_OVERFLOW);
    tgi_dims_release(d);
    check_nothing_is_alive();
}

/* -- Random expressions ---------------------------------------------------- */

enum { SYMBOLS = 3, NODES = 24 };

typedef struct naive {
    char op; /* s: symbol, c: constant, + - * / m: max, b: broadcast */
    int a, b;
    int64_t value;
} naive;

/* Random operations and their handles; a failed one becomes a constant. */
static void grow(tgi_dims *d, const char *ops, uint64_t *seed, naive *nodes,
                 tgi_dim *names)
{
    for (int i = 0; i < NODES; i++) {
        naive *node = &nodes[i];
        if (i < SYMBOLS) {
            *node = (naive){'s', 0, 0, i};
            names[i] = tgi_dim_symbol(d, anywhere);
            continue;
        }
        *node = (naive){ops[random_below(seed, (int)strlen(ops))],
                        random_below(seed, i), random_below(seed, i),
                        random_below(seed, 6)};
        const tgi_dim a = names[node->a], b = names[node->b];
        names[i] = node->op == '+'   ? tgi_dim_add(d, a, b)
                   : node->op == '-' ? tgi_dim_sub(d, a, b)
                   : node->op == '*' ? tgi_dim_mul(d, a, b)
                   : node->op == '/' ? tgi_dim_div(d, a, b)
                   : node->op == 'm' ? tgi_dim_max(d, a, b)
                   : node->op == 'b' ? tgi_dim_broadcast(d, a, b)
                                     : TGI_DIM_NONE;
        if (names[i] == TGI_DIM_NONE) {
            node->op = 'c';
            names[i] = node->value;
        }
    }
}

/* Evaluates in 128 bits; false if the value does not fit 64. */
static bool naive_evaluate(const naive *nodes, const int64_t *symbols,
                           int64_t *out)
{
    for (int i = 0; i < NODES; i++) {
        const naive *node = &nodes[i];
        const __int128 a = out[node->a], b = out[node->b];
        __int128 value = node->value;
        switch (node->op) {
        case 's':
            value = symbols[node->value];
            break;
        case '+':
            value = a + b;
            break;
        case '-':
            value = a - b;
            break;
        case '*':
            value = a * b;
            break;
        case '/':
            value = b <= 0 ? 0 : a / b - (a % b < 0);
            break;
        case 'm':
            value = a > b ? a : b;
            break;
        case 'b':
            value = a == 1 ? b : a;
            break;
        }
        out[i] = (int64_t)value;
        if (out[i] != value)
            return false;
    }
    return true;
}

static void check_random(const char *ops, uint64_t seed, int n_trees,
                         bool has_ones)
{
    static int64_t values[10000];
    int n_compared = 0;
    for (int tree = 0; tree < n_trees; tree++) {
        naive nodes[NODES] = {0};
        tgi_dim names[NODES];
        int64_t wanted[NODES] = {0};
        tgi_dims *d = tgi_dims_create();
        grow(d, ops, &seed, nodes, names);
        cr_assert_lt(tgi_dims_n_values(d), 10000);
        for (int round = 0; round < 10; round++) {
            int64_t symbols[SYMBOLS];
            /* Extents that broadcast: all are 1 or equal. */
            const int common = random_below(&seed, 6);
            for (int i = 0; i < SYMBOLS; i++)
                symbols[i] = !has_ones                ? random_below(&seed, 8)
                             : random_below(&seed, 2) ? 1
                                                      : common;
            /* Subexpressions may overflow where the normal form does not. */
            if (!naive_evaluate(nodes, symbols, wanted) ||
                tgi_dims_evaluate(d, symbols, values) != TG_OK)
                continue;
            for (int i = 0; i < NODES; i++)
                cr_assert_eq(tgi_dim_value(names[i], values), wanted[i],
                             "%s: tree %d, node %d", ops, tree, i);
            n_compared++;
        }
        tgi_dims_release(d);
    }
    cr_assert_gt(n_compared, n_trees * 5);
    check_nothing_is_alive();
}

Test(dims, random_sums_have_their_values)
{
    check_random("++-*c", 1, 1500, false);
}

Test(dims, random_quotients_have_their_values)
{
    check_random("+-///cc", 2, 2000, false);
}

Test(dims, random_expressions_have_their_values)
{
    check_random("+-*/mc", 3, 2000, false);
    check_random("+-mmc", 4, 1000, false);
}

Test(dims, random_broadcasts_have_their_values)
{
    check_random("b", 5, 1000, true);
}

/* Combines leaves in random pairs until one is left. */
static tgi_dim combine_randomly(tgi_dims *d,
                                tgi_dim operation(tgi_dims *, tgi_dim, tgi_dim),
                                const tgi_dim *leaves, int n, uint64_t *seed)
{
    tgi_dim parts[16];
    memcpy(parts, leaves, (size_t)n * sizeof *parts);
    while (n > 1) {
        const int i = random_below(seed, n);
        const tgi_dim a = parts[i];
        parts[i] = parts[--n];
        const int k = random_below(seed, n);
        parts[k] = operation(d, a, parts[k]);
        cr_assert_neq(parts[k], TGI_DIM_NONE, "%s", tg_error(NULL));
    }
    return parts[0];
}

Test(dims, the_order_of_construction_does_not_matter)
{
    tgi_dim (*const operations[])(tgi_dims *, tgi_dim, tgi_dim) = {
        tgi_dim_add, tgi_dim_mul, tgi_dim_max, tgi_dim_broadcast};
    uint64_t seed = 9;
    for (int round = 0; round < 300; round++) {
        tgi_dims *d = tgi_dims_create();
        tgi_dim symbols[4], leaves[8];
        for (int i = 0; i < 4; i++)
            symbols[i] = tgi_dim_symbol(d, anywhere);
        for (int i = 0; i < 8; i++) {
            leaves[i] = symbols[random_below(&seed, 4)];
            if (random_below(&seed, 4) == 0)
                leaves[i] = tgi_dim_div(d, leaves[i], symbols[0]);
            if (random_below(&seed, 4) == 0)
                leaves[i] = tgi_dim_mul(d, leaves[i], 3);
        }
        leaves[0] = 5;
        for (int op = 0; op < 4; op++) {
            const tgi_dim name =
                combine_randomly(d, operations[op], leaves, 8, &seed);
            for (int again = 0; again < 10; again++)
                cr_assert_eq(
                    combine_randomly(d, operations[op], leaves, 8, &seed), name,
                    "operation %d", op);
        }
        tgi_dims_release(d);
    }
    check_nothing_is_alive();
}

/* -- Values ---------------------------------------------------------------- */

Test(dims, values_that_do_not_fit_are_an_error)
{
    tgi_dims *d = tgi_dims_create();
    tgi_dim n = tgi_dim_symbol(d, anywhere);
    tgi_dim m = tgi_dim_symbol(d, anywhere);
    tgi_dim nm = tgi_dim_mul(d, n, m);
    int64_t values[2 + 1];
    const int64_t big = (int64_t)1 << 40;
    cr_assert_eq(tgi_dims_n_values(d), 3);
    cr_assert_eq(tgi_dims_evaluate(d, (int64_t[]){big, 4}, values), TG_OK);
    cr_expect_eq(tgi_dim_value(nm, values), 4 * big);
    cr_expect_eq(tgi_dim_value(17, values), 17);
    cr_expect_eq(tgi_dims_evaluate(d, (int64_t[]){big, big}, values),
                 TG_ERROR_OVERFLOW);
    cr_expect_eq(tg_error_last()->status, TG_ERROR_OVERFLOW);
    tgi_dims_release(d);
    check_nothing_is_alive();
}

Test(dims, intermediate_terms_may_exceed_the_result)
{
    tgi_dims *d = tgi_dims_create();
    tgi_dim n = tgi_dim_symbol(d, anywhere);
    tgi_dim m = tgi_dim_symbol(d, anywhere);
    tgi_dim k = tgi_dim_symbol(d, anywhere);
    tgi_dim whole = tgi_dim_add(d, tgi_dim_sub(d, n, k), m);
    int64_t values[5];
    const int64_t big = (int64_t)1 << 62;
    cr_assert_eq(tgi_dims_n_values(d), 5);
    cr_assert_eq(tgi_dims_evaluate(d, (int64_t[]){big, big, big}, values),
                 TG_OK);
    cr_expect_eq(tgi_dim_value(whole, values), big);
    cr_expect_eq(tgi_dims_evaluate(d, (int64_t[]){big, big, 0}, values),
                 TG_ERROR_OVERFLOW);
    tgi_dims_release(d);
    check_nothing_is_alive();
}

Test(dims, nothing_times_a_large_extent_is_nothing)
{
    tgi_dims *d = tgi_dims_create();
    tgi_dim product = tgi_dim_symbol(d, anywhere);
    for (int i = 0; i < 2; i++)
        product = tgi_dim_mul(d, tgi_dim_symbol(d, anywhere), product);
    int64_t values[5];
    const int64_t big = (int64_t)1 << 40;
    cr_assert_eq(tgi_dims_n_values(d), 5);
    cr_assert_eq(tgi_dims_evaluate(d, (int64_t[]){big, 0, big}, values), TG_OK);
    cr_expect_eq(tgi_dim_value(product, values), 0);
    tgi_dims_release(d);
    check_nothing_is_alive();
}

Test(dims, high_powers_of_one_and_zero_have_values)
{
    tgi_dims *d = tgi_dims_create();
    tgi_dim n = tgi_dim_symbol(d, anywhere);
    tgi_dim power = n;
    for (int i = 1; i < 1000; i++)
        power = tgi_dim_mul(d, power, n);
    static int64_t values[1000];
    cr_assert_eq(tgi_dims_n_values(d), 1000);
    for (int64_t i = 0; i <= 1; i++) {
        cr_assert_eq(tgi_dims_evaluate(d, &i, values), TG_OK);
        cr_expect_eq(tgi_dim_value(power, values), i);
    }
    cr_expect_eq(tgi_dims_evaluate(d, (int64_t[]){2}, values),
                 TG_ERROR_OVERFLOW);
    check_text(d, power, "?0^1000");
    tgi_dims_release(d);
    check_nothing_is_alive();
}

/* -- Between tables -------------------------------------------------------- */

Test(dims, translated_expressions_keep_their_values)
{
    static int64_t from_values[10000], to_values[20000];
    static tgi_dim map[10000];
    uint64_t seed = 11;
    int n_compared = 0;
    for (int round = 0; round < 1500; round++) {
        naive nodes[NODES] = {0};
        tgi_dim names[NODES];
        tgi_dims *from = tgi_dims_create(), *to = tgi_dims_create();
        grow(from, "++--*/mc", &seed, nodes, names);
        const tgi_dim n = tgi_dim_symbol(to, anywhere);
        const tgi_dim m = tgi_dim_symbol(to, anywhere);
        const tgi_dim choices[] = {
            n, m, 0, 1, 2, 3, tgi_dim_add(to, n, 2), tgi_dim_mul(to, n, m)};
        tgi_dim symbols[SYMBOLS];
        int64_t from_symbols[SYMBOLS];
        for (int i = 0; i < SYMBOLS; i++)
            symbols[i] = choices[random_below(&seed, 8)];
        const tg_status status = tgi_dims_translate(to, from, symbols, map);
        cr_assert(status == TG_OK || status == TG_ERROR_OVERFLOW);
        cr_assert_lt(tgi_dims_n_values(to), 20000);
        const int64_t to_symbols[] = {random_below(&seed, 6),
                                      random_below(&seed, 6)};
        if (status == TG_OK &&
            tgi_dims_evaluate(to, to_symbols, to_values) == TG_OK) {
            for (int i = 0; i < SYMBOLS; i++)
                from_symbols[i] = tgi_dim_value(symbols[i], to_values);
            if (tgi_dims_evaluate(from, from_symbols, from_values) == TG_OK) {
                for (int i = 0; i < NODES; i++)
                    cr_assert_eq(
                        tgi_dim_value(tgi_dim_value(names[i], map), to_values),
                        tgi_dim_value(names[i], from_values));
                n_compared++;
            }
        }
        tgi_dims_release(from);
        tgi_dims_release(to);
    }
    cr_assert_gt(n_compared, 700);
    check_nothing_is_alive();
}

Test(dims, translation_preserves_negative_terms)
{
    tgi_dims *from = tgi_dims_create(), *to = tgi_dims_create();
    tgi_dim n = tgi_dim_symbol(from, anywhere);
    tgi_dim rest = tgi_dim_sub(from, n, 5);
    tgi_dim clipped = tgi_dim_max(from, rest, 0);
    tgi_dim map[3];
    cr_assert_eq(tgi_dims_n_values(from), 3);
    cr_assert_eq(tgi_dims_translate(to, from, (tgi_dim[]){3}, map), TG_OK);
    cr_expect_eq(tgi_dim_value(clipped, map), 0);
    tgi_dim below = tgi_dim_value(rest, map);
    cr_expect(tgi_dim_is_symbolic(below));
    check_text(to, below, "-2");
    cr_expect_eq(tgi_dim_add(to, below, 2), 0);
    cr_expect_eq(tgi_dim_max(to, below, 1), 1);
    int64_t difference;
    cr_expect(tgi_dim_difference(to, below, 0, &difference));
    cr_expect_eq(difference, -2);
    check_fails(tgi_dim_add(to, below, 1), TG_ERROR_SHAPE);
    cr_assert_eq(tgi_dims_translate(to, from, (tgi_dim[]){8}, map), TG_OK);
    cr_expect_eq(tgi_dim_value(clipped, map), 3);
    tgi_dims_release(from);
    tgi_dims_release(to);
    check_nothing_is_alive();
}

Test(dims, a_table_translates_into_itself)
{
    tgi_dims *d = tgi_dims_create();
    tgi_dim n = tgi_dim_symbol(d, anywhere);
    tgi_dim m = tgi_dim_symbol(d, anywhere);
    tgi_dim e = n;
    for (int i = 0; i < 100; i++)
        e = tgi_dim_div(d, tgi_dim_add(d, e, m), n);
    static tgi_dim map[1000];
    const size_t n_before = tgi_dims_n_values(d);
    cr_assert_lt(n_before, 1000);
    cr_assert_eq(tgi_dims_translate(d, d, (tgi_dim[]){n, m}, map), TG_OK);
    cr_expect_eq(tgi_dims_n_values(d), n_before);
    cr_expect_eq(tgi_dim_value(e, map), e);
    cr_assert_eq(tgi_dims_translate(d, d, (tgi_dim[]){m, n}, map), TG_OK);
    cr_expect_neq(tgi_dim_value(e, map), e);
    tgi_dims_release(d);
    check_nothing_is_alive();
}

/* -- Size, lifetime, fault injection --------------------------------------- */

/* Deep and shared: as text it would have 2^depth subexpressions. */
static void *build_deep_chain(void *out_ok)
{
    enum { DEPTH = 100000 };
    tgi_dims *d = tgi_dims_create(), *to = tgi_dims_create();
    tgi_dim n = tgi_dim_symbol(d, anywhere);
    tgi_dim m = tgi_dim_symbol(d, anywhere);
    tgi_dim e = n;
    for (int i = 0; i < DEPTH; i++)
        e = tgi_dim_div(d, tgi_dim_add(d, tgi_dim_mul(d, e, n), m),
                        tgi_dim_max(d, e, m));
    const size_t count = tgi_dims_n_values(d);
    int64_t *values = tgi_alloc(count * sizeof *values);
    tgi_dim symbols[] = {tgi_dim_symbol(to, anywhere),
                         tgi_dim_symbol(to, anywhere)};
    tgi_strbuf buf = {0};
    bool ok = count > DEPTH && values && e != TGI_DIM_NONE;
    ok = ok && tgi_dims_evaluate(d, (int64_t[]){3, 5}, values) == TG_OK &&
         tgi_dims_translate(to, d, symbols, values) == TG_OK &&
         tgi_dims_n_values(to) == count;
    tgi_dim_print(d, e, &buf);
    ok = ok && !buf.failed && buf.n < 10000 && strstr(buf.text, "...");
    tgi_strbuf_deinit(&buf);
    tgi_free(values);
    tgi_dims_release(d);
    tgi_dims_release(to);
    *(bool *)out_ok = ok;
    return NULL;
}

Test(dims, deep_chains_need_no_stack)
{
    pthread_attr_t attributes;
    pthread_t thread;
    bool ok = false;
    cr_assert_eq(pthread_attr_init(&attributes), 0);
    cr_assert_eq(pthread_attr_setstacksize(&attributes, 256 * 1024), 0);
    cr_assert_eq(pthread_create(&thread, &attributes, build_deep_chain, &ok),
                 0);
    pthread_join(thread, NULL);
    pthread_attr_destroy(&attributes);
    cr_assert(ok);
    check_nothing_is_alive();
}

Test(dims, live_until_the_last_reference)
{
    tgi_dims *d = tgi_dims_create();
    cr_assert_eq(tgi_live_count(TGI_LIVE_DIMS), 1);
    cr_assert_eq(tgi_dims_retain(d), d);
    tgi_dims_release(d);
    cr_assert_neq(tgi_dim_symbol(d, anywhere), TGI_DIM_NONE);
    cr_assert_gt(tgi_dims_bytes(d), 0);
    cr_assert_leq(tgi_dims_bytes(d), tg_live_bytes());
    tgi_dims_release(d);
    tgi_dims_release(NULL);
    check_nothing_is_alive();
}

/* Creates, translates and prints every kind of expression. */
static bool use_everything(void)
{
    bool ok = false;
    tgi_strbuf buf = {0};
    tgi_dim map[64];
    tgi_dims *d = tgi_dims_create(), *to = tgi_dims_create();
    if (!d || !to)
        goto done;
    tgi_dim s[4], e = 0;
    for (int i = 0; i < 4; i++)
        s[i] = tgi_dim_symbol(d, anywhere);
    for (int i = 0; i < 4; i++) {
        e = tgi_dim_add(d, tgi_dim_mul(d, s[i], 3), e);
        e = tgi_dim_div(d, tgi_dim_add(d, e, 1), 2);
        e = tgi_dim_max(d, e, s[3 - i]);
        e = tgi_dim_mul(d, e, tgi_dim_sub(d, s[i], 7));
    }
    e = tgi_dim_broadcast(d, e, s[0]);
    if (e == TGI_DIM_NONE || tgi_dims_n_values(d) > 64)
        goto done;
    if (tgi_shape_intern(d, 2, (tgi_dim[]){e, 4}) == 0 ||
        tgi_dims_translate(to, d, (tgi_dim[]){4, 3, 2, 1}, map) != TG_OK)
        goto done;
    tgi_dim_print(d, e, &buf);
    ok = !buf.failed;
    if (!ok)
        tgi_error_memory(); /* tgi_strbuf does not record it */
done:
    tgi_strbuf_deinit(&buf);
    tgi_dims_release(d);
    tgi_dims_release(to);
    return ok;
}

Test(dims, survive_every_fault)
{
    check_every_fault(use_everything);
}
