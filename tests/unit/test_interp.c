/* SPDX-License-Identifier: MIT */
/*
 * test_interp.c - the interpreter on hand-built graphs: values, order of
 * effects, snapshots, calls, memory.
 */
#include <criterion/criterion.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "interp/interp.h"
#include "support/support.h"
#include "tgjit/ops.h"

/* -- Building graphs ------------------------------------------------------- */

#define DIMS(...) (const int64_t[]){__VA_ARGS__}
#define REFS(...) (const tgi_ref[]){__VA_ARGS__}

static tgi_shape_ref shape(tgi_graph *g, int rank, const int64_t *dims)
{
    return tgi_shape_intern(g->dims, rank, dims);
}

/* An i32 node, as most are here. */
static tgi_ref add(tgi_graph *g, tgi_op op, tgi_shape_ref type,
                   uint32_t n_inputs, const tgi_ref *inputs, const void *attr,
                   size_t attr_bytes)
{
    tgi_node node = {.op = (uint8_t)op,
                     .dtype = TG_I32,
                     .shape = type,
                     .n_inputs = n_inputs,
                     .inputs = inputs,
                     .attr = attr,
                     .attr_bytes = (uint32_t)attr_bytes,
                     .site = &(tgi_site_chain){.file = "user.c", .line = 9}};
    tgi_ref ref = tgi_graph_add(g, &node);
    cr_assert_neq(ref, 0);
    return ref;
}

static tgi_shape_ref shape_of(tgi_graph *g, tgi_ref ref)
{
    return tgi_graph_node(g, ref)->shape;
}

static tgi_ref param(tgi_graph *g, int rank, const int64_t *dims)
{
    return tgi_graph_add_param(g, TGI_OP_PARAM, TG_I32, shape(g, rank, dims),
                               0);
}

static tgi_ref variable(tgi_graph *g, int rank, const int64_t *dims)
{
    return tgi_graph_add_param(g, TGI_OP_VARIABLE, TG_I32,
                               shape(g, rank, dims), 0);
}

static tgi_ref number(tgi_graph *g, int32_t x)
{
    return tgi_graph_add_constant(g, TG_I32, shape(g, 0, NULL), &x, sizeof(x),
                                  0, TGI_NO_SITE);
}

static tgi_ref spread(tgi_graph *g, tgi_ref x, tgi_shape_ref type)
{
    return add(g, TGI_OP_BROADCAST, type, 1, &x, NULL, 0);
}

static tgi_ref binary(tgi_graph *g, tgi_op op, tgi_ref a, tgi_ref b)
{
    return add(g, op, shape_of(g, a), 2, REFS(a, b), NULL, 0);
}

/* x + n for each element. */
static tgi_ref plus(tgi_graph *g, tgi_ref x, int32_t n)
{
    return binary(g, TGI_OP_ADD, x,
                  spread(g, number(g, n), shape_of(g, x)));
}

/* Reads v after `write` (0: the initial contents). */
static tgi_ref read_after(tgi_graph *g, tgi_ref v, tgi_ref write)
{
    return add(g, TGI_OP_READ, shape_of(g, v), write ? 2 : 1, REFS(v, write),
               NULL, 0);
}

static tgi_ref assign(tgi_graph *g, tgi_ref v, tgi_ref value)
{
    return add(g, TGI_OP_ASSIGN, shape_of(g, v), 2, REFS(v, value), NULL, 0);
}

static tgi_ref transpose(tgi_graph *g, tgi_ref x)
{
    const tgi_shape *from = tgi_graph_shape(g, x);
    tgi_attr_perm perm = {{1, 0}};
    return add(g, TGI_OP_TRANSPOSE,
               shape(g, 2, DIMS(from->dims[1], from->dims[0])), 1, &x, &perm,
               sizeof(perm));
}

static tgi_ref print(tgi_graph *g, const char *format, uint32_t n,
                     const tgi_ref *values)
{
    return add(g, TGI_OP_PRINT, 0, n, values, format, strlen(format) + 1);
}

static tgi_ref call(tgi_graph *g, tgi_graph *callee, uint32_t n,
                    const tgi_ref *args)
{
    tgi_attr_call attr = {.callee = callee};
    return add(g, TGI_OP_CALL, 0, n, args, &attr, sizeof(attr));
}

static tgi_ref result(tgi_graph *g, tgi_ref of, int64_t i, tgi_shape_ref type)
{
    tgi_attr_index attr = {i};
    return add(g, TGI_OP_RESULT, type, 1, &of, &attr, sizeof(attr));
}

static void returns(tgi_graph *g, tgi_ref ref)
{
    cr_assert(tgi_graph_add_result(g, ref));
}

/* -- Running them ---------------------------------------------------------- */

/* The printed text, one message per line. */
static char printed[1000];

static void keep_text(const char *text, void *user)
{
    cr_expect_eq(user, printed);
    strcat(printed, text);
    strcat(printed, "\n");
}

static const tgi_host host = {.print = keep_text, .user = printed};

static tgi_interp *prepare(const tgi_graph *g, const int64_t *symbols)
{
    tgi_interp *interp;
    cr_assert_eq(tgi_interp_create(g, symbols, &host, 0, &interp), TG_OK, "%s",
                 tg_error(NULL));
    return interp;
}

/* Runs a graph once and releases it. */
static tg_status run_once(tgi_graph *g, const int64_t *symbols,
                          void *const *params, void *const *results)
{
    tgi_interp *interp = prepare(g, symbols);
    tg_status status = tgi_interp_run(interp, params, results);
    tgi_interp_destroy(interp);
    tgi_graph_release(g);
    check_nothing_is_alive();
    return status;
}

#define BUFFERS(...) (void *const[]){__VA_ARGS__}

/* -- Values ---------------------------------------------------------------- */

Test(interp, computes_from_parameters_and_constants)
{
    tgi_graph *g = tgi_graph_create("f", NULL);
    tgi_ref x = param(g, 1, DIMS(3)), y = param(g, 1, DIMS(3));
    returns(g, plus(g, binary(g, TGI_OP_MUL, x, y), 100));
    int32_t a[] = {1, 2, 3}, b[] = {4, 5, 6}, out[3];
    cr_assert_eq(run_once(g, NULL, BUFFERS(a, b), BUFFERS(out)), TG_OK);
    cr_expect_arr_eq(out, ((int32_t[]){104, 110, 118}), sizeof(out));
}

Test(interp, runs_again_with_other_buffers)
{
    tgi_graph *g = tgi_graph_create("f", NULL);
    tgi_ref x = param(g, 2, DIMS(2, 2));
    returns(g, plus(g, transpose(g, x), 1));
    tgi_interp *interp = prepare(g, NULL);
    int32_t a[] = {1, 2, 3, 4}, b[] = {5, 6, 7, 8}, out[4];
    cr_assert_eq(tgi_interp_run(interp, BUFFERS(a), BUFFERS(out)), TG_OK);
    cr_expect_arr_eq(out, ((int32_t[]){2, 4, 3, 5}), sizeof(out));
    cr_assert_eq(tgi_interp_run(interp, BUFFERS(b), BUFFERS(out)), TG_OK);
    cr_expect_arr_eq(out, ((int32_t[]){6, 8, 7, 9}), sizeof(out));
    cr_expect_eq(tgi_interp_result_dims(interp, 0)[1], 2);
    cr_expect_eq(tgi_interp_result_bytes(interp, 0), 16);
    tgi_interp_destroy(interp);
    tgi_graph_release(g);
    check_nothing_is_alive();
}

Test(interp, copies_for_a_reshape_that_no_view_can_show)
{
    tgi_graph *g = tgi_graph_create("f", NULL);
    tgi_ref x = transpose(g, param(g, 2, DIMS(2, 3)));
    returns(g, add(g, TGI_OP_RESHAPE, shape(g, 1, DIMS(6)), 1, &x, NULL, 0));
    int32_t a[] = {1, 2, 3, 4, 5, 6}, out[6];
    cr_assert_eq(run_once(g, NULL, BUFFERS(a), BUFFERS(out)), TG_OK);
    cr_expect_arr_eq(out, ((int32_t[]){1, 4, 2, 5, 3, 6}), sizeof(out));
}

Test(interp, gives_results_that_are_parameters_and_the_same_twice)
{
    tgi_graph *g = tgi_graph_create("f", NULL);
    tgi_ref x = param(g, 1, DIMS(2)), y = plus(g, x, 1);
    returns(g, y);
    returns(g, x);
    returns(g, y);
    returns(g, number(g, 7));
    returns(g, y);
    int32_t a[] = {1, 2}, out[7];
    cr_assert_eq(run_once(g, NULL, BUFFERS(a),
                          BUFFERS(out, out + 2, out + 4, out + 6, NULL)),
                 TG_OK);
    cr_expect_arr_eq(out, ((int32_t[]){2, 3, 1, 2, 2, 3, 7}), sizeof(out));
}

Test(interp, may_write_results_over_parameters)
{
    /* Two swapped, one transposed in place. */
    tgi_graph *g = tgi_graph_create("swap", NULL);
    tgi_ref x = param(g, 2, DIMS(2, 2)), y = param(g, 2, DIMS(2, 2));
    tgi_ref z = param(g, 2, DIMS(2, 2));
    returns(g, y);
    returns(g, x);
    returns(g, transpose(g, z));
    int32_t a[] = {1, 1, 1, 1}, b[] = {2, 2, 2, 2}, c[] = {1, 2, 3, 4};
    cr_assert_eq(run_once(g, NULL, BUFFERS(a, b, c), BUFFERS(a, b, c)), TG_OK);
    cr_expect_eq(a[3], 2);
    cr_expect_eq(b[3], 1);
    cr_expect_arr_eq(c, ((int32_t[]){1, 3, 2, 4}), sizeof(c));
}

Test(interp, works_on_nothing)
{
    tgi_graph *g = tgi_graph_create("f", NULL);
    tgi_ref x = param(g, 2, DIMS(0, 3));
    tgi_ref y = plus(g, transpose(g, x), 1);
    tgi_attr_axes axes = {2};
    returns(g, y);
    returns(g, add(g, TGI_OP_SUM, shape(g, 1, DIMS(3)), 1, &y, &axes,
                   sizeof(axes)));
    int32_t out[3] = {9, 9, 9};
    cr_assert_eq(run_once(g, NULL, BUFFERS(NULL), BUFFERS(NULL, out)), TG_OK);
    cr_expect_arr_eq(out, ((int32_t[]){0, 0, 0}), sizeof(out));

    g = tgi_graph_create("empty", NULL);
    cr_assert_eq(run_once(g, NULL, NULL, NULL), TG_OK);
}

/* -- Variables ------------------------------------------------------------- */

Test(interp, reads_before_a_write_keep_the_old_contents)
{
    tgi_graph *g = tgi_graph_create("f", NULL);
    tgi_ref v = variable(g, 1, DIMS(2));
    tgi_ref old = read_after(g, v, 0);
    tgi_ref write = assign(g, v, plus(g, old, 10));
    tgi_ref new = read_after(g, v, write);
    returns(g, binary(g, TGI_OP_MUL, old, new));
    returns(g, old);
    returns(g, new);
    int32_t a[] = {1, 2}, out[6];
    cr_assert_eq(run_once(g, NULL, BUFFERS(a),
                          BUFFERS(out, out + 2, out + 4)),
                 TG_OK);
    cr_expect_arr_eq(out, ((int32_t[]){11, 24, 1, 2, 11, 12}), sizeof(out));
    cr_expect_arr_eq(a, ((int32_t[]){11, 12}), sizeof(a));
}

Test(interp, reads_used_only_before_the_write_are_not_copied)
{
    tgi_graph *g = tgi_graph_create("f", NULL);
    tgi_ref v = variable(g, 1, DIMS(1000));
    assign(g, v, plus(g, read_after(g, v, 0), 1));
    tgi_interp *interp = prepare(g, NULL);
    cr_expect(tgi_interp_bytes(interp) < 2 * 4000);
    tgi_interp_destroy(interp);
    tgi_graph_release(g);
    check_nothing_is_alive();
}

Test(interp, views_of_a_read_keep_the_old_contents_too)
{
    tgi_graph *g = tgi_graph_create("f", NULL);
    tgi_ref v = variable(g, 2, DIMS(2, 2));
    tgi_ref old = read_after(g, v, 0);
    assign(g, v, spread(g, number(g, 0), shape_of(g, v)));
    returns(g, transpose(g, old));
    int32_t a[] = {1, 2, 3, 4}, out[4];
    cr_assert_eq(run_once(g, NULL, BUFFERS(a), BUFFERS(out)), TG_OK);
    cr_expect_arr_eq(out, ((int32_t[]){1, 3, 2, 4}), sizeof(out));
    cr_expect_arr_eq(a, ((int32_t[]){0, 0, 0, 0}), sizeof(a));
}

Test(interp, assigns_a_view_of_the_variable_to_itself)
{
    tgi_graph *g = tgi_graph_create("f", NULL);
    tgi_ref v = variable(g, 2, DIMS(3, 3));
    assign(g, v, transpose(g, read_after(g, v, 0)));
    int32_t a[] = {1, 2, 3, 4, 5, 6, 7, 8, 9};
    cr_assert_eq(run_once(g, NULL, BUFFERS(a), NULL), TG_OK);
    cr_expect_arr_eq(a, ((int32_t[]){1, 4, 7, 2, 5, 8, 3, 6, 9}), sizeof(a));
}

Test(interp, the_value_of_an_assignment_outlives_the_next_one)
{
    tgi_graph *g = tgi_graph_create("f", NULL);
    tgi_ref v = variable(g, 1, DIMS(2)), w = variable(g, 1, DIMS(2));
    tgi_ref first = assign(g, v, read_after(g, w, 0));
    tgi_ref second = assign(g, v, plus(g, first, 1));
    tgi_ref third = assign(g, w, plus(g, second, 1));
    returns(g, first);
    returns(g, second);
    returns(g, third);
    int32_t a[] = {0, 0}, b[] = {5, 6}, out[6];
    cr_assert_eq(run_once(g, NULL, BUFFERS(a, b),
                          BUFFERS(out, out + 2, out + 4)),
                 TG_OK);
    cr_expect_arr_eq(out, ((int32_t[]){5, 6, 6, 7, 7, 8}), sizeof(out));
    cr_expect_arr_eq(a, ((int32_t[]){6, 7}), sizeof(a));
    cr_expect_arr_eq(b, ((int32_t[]){7, 8}), sizeof(b));
}

Test(interp, variables_can_be_swapped)
{
    tgi_graph *g = tgi_graph_create("f", NULL);
    tgi_ref v = variable(g, 0, NULL), w = variable(g, 0, NULL);
    tgi_ref x = read_after(g, v, 0), y = read_after(g, w, 0);
    assign(g, v, y);
    assign(g, w, x);
    int32_t a = 1, b = 2;
    cr_assert_eq(run_once(g, NULL, BUFFERS(&a, &b), NULL), TG_OK);
    cr_expect(a == 2 && b == 1);
}

/* -- Print ----------------------------------------------------------------- */

Test(interp, prints_at_its_place_in_the_order)
{
    tgi_graph *g = tgi_graph_create("f", NULL);
    tgi_ref v = variable(g, 0, NULL);
    tgi_ref old = read_after(g, v, 0);
    print(g, "before %v", 1, &old);
    tgi_ref write = assign(g, v, plus(g, old, 1));
    tgi_ref new = read_after(g, v, write);
    print(g, "%v then %v, 100%%", 2, REFS(old, new));
    print(g, "", 0, NULL);
    int32_t a = 1;
    cr_assert_eq(run_once(g, NULL, BUFFERS(&a), NULL), TG_OK);
    cr_expect_str_eq(printed, "before 1\n1 then 2, 100%\n\n");
}

/* -- Calls ----------------------------------------------------------------- */

/* v += x, returning the old v and x * x; x has an unknown extent. */
static tgi_graph *add_to(void)
{
    tgi_graph *g = tgi_graph_create("add_to", NULL);
    tgi_dim n = tgi_dim_symbol(g->dims, (tgi_symbol){1, 0});
    tgi_ref v = variable(g, 1, &n), x = param(g, 1, &n);
    tgi_ref old = read_after(g, v, 0);
    assign(g, v, binary(g, TGI_OP_ADD, old, x));
    returns(g, old);
    returns(g, binary(g, TGI_OP_MUL, x, x));
    return g;
}

Test(interp, calls_have_their_effects_in_order)
{
    tgi_graph *f = add_to();
    tgi_graph *g = tgi_graph_create("g", NULL);
    tgi_ref v = variable(g, 1, DIMS(2)), x = param(g, 1, DIMS(2));
    tgi_ref old = read_after(g, v, 0);
    tgi_ref first = call(g, f, 2, REFS(v, x));
    tgi_ref between = read_after(g, v, first);
    tgi_ref square = result(g, first, 1, shape_of(g, v));
    tgi_ref second = call(g, f, 2, REFS(v, square));
    returns(g, old);
    returns(g, between);
    returns(g, result(g, second, 0, shape_of(g, v)));
    returns(g, read_after(g, v, second));
    tgi_graph_release(f);
    int32_t a[] = {100, 200}, b[] = {3, 4}, out[8];
    cr_assert_eq(run_once(g, NULL, BUFFERS(a, b),
                          BUFFERS(out, out + 2, out + 4, out + 6)),
                 TG_OK);
    cr_expect_arr_eq(
        out, ((int32_t[]){100, 200, 103, 204, 103, 204, 112, 220}),
        sizeof(out));
    cr_expect_arr_eq(a, ((int32_t[]){112, 220}), sizeof(a));
}

Test(interp, a_read_passed_to_the_call_that_writes_it_is_a_snapshot)
{
    /* v += v; the second result must be the square of the old contents. */
    tgi_graph *f = add_to();
    tgi_graph *g = tgi_graph_create("g", NULL);
    tgi_ref v = variable(g, 1, DIMS(2));
    tgi_ref of = call(g, f, 2, REFS(v, read_after(g, v, 0)));
    returns(g, result(g, of, 1, shape_of(g, v)));
    tgi_graph_release(f);
    int32_t a[] = {3, 5}, out[2];
    cr_assert_eq(run_once(g, NULL, BUFFERS(a), BUFFERS(out)), TG_OK);
    cr_expect_arr_eq(a, ((int32_t[]){6, 10}), sizeof(a));
    cr_expect_arr_eq(out, ((int32_t[]){9, 25}), sizeof(out));
}

/* Row sums of a matrix with unknown extents. */
static tgi_graph *row_sums(void)
{
    tgi_graph *g = tgi_graph_create("row_sums", NULL);
    tgi_dim m = tgi_dim_symbol(g->dims, (tgi_symbol){0, 0});
    tgi_dim n = tgi_dim_symbol(g->dims, (tgi_symbol){0, 1});
    tgi_ref x = param(g, 2, DIMS(m, n));
    tgi_attr_axes axes = {2};
    returns(g, add(g, TGI_OP_SUM, shape(g, 1, &m), 1, &x, &axes,
                   sizeof(axes)));
    return g;
}

Test(interp, calls_take_views_and_extents_of_their_arguments)
{
    tgi_graph *f = row_sums();
    tgi_graph *g = tgi_graph_create("g", NULL);
    tgi_ref x = param(g, 2, DIMS(2, 3));
    tgi_ref rows = call(g, f, 1, &x);
    tgi_ref columns = call(g, f, 1, REFS(transpose(g, x)));
    returns(g, result(g, rows, 0, shape(g, 1, DIMS(2))));
    returns(g, result(g, columns, 0, shape(g, 1, DIMS(3))));
    tgi_graph_release(f);
    int32_t a[] = {1, 2, 3, 4, 5, 6}, out[5];
    cr_assert_eq(run_once(g, NULL, BUFFERS(a), BUFFERS(out, out + 2)), TG_OK);
    cr_expect_arr_eq(out, ((int32_t[]){6, 15, 5, 7, 9}), sizeof(out));
}

Test(interp, checks_of_callees_are_run_before_anything_is)
{
    tgi_graph *f = row_sums();
    cr_assert(tgi_graph_add_check(
        f, (tgi_check){.kind = TGI_CHECK_EQUAL,
                       .op = "sum",
                       .file = "callee.c",
                       .line = 3,
                       .what = "extents",
                       .a = tgi_graph_shape(f, 1)->dims[0],
                       .b = tgi_graph_shape(f, 1)->dims[1]}));
    tgi_graph *g = tgi_graph_create("g", NULL);
    call(g, f, 1, REFS(param(g, 2, DIMS(2, 3))));
    tgi_interp *interp;
    cr_expect_eq(tgi_interp_create(g, NULL, &host, 0, &interp),
                 TG_ERROR_SHAPE);
    cr_expect_null(interp);
    cr_expect_not_null(strstr(tg_error(NULL), "callee.c:3: sum: extents"));
    tgi_graph_release(f);
    tgi_graph_release(g);
    check_nothing_is_alive();
}

Test(interp, errors_of_callees_end_the_call_and_keep_earlier_effects)
{
    tgi_graph *f = tgi_graph_create("f", NULL);
    tgi_ref x = param(f, 1, DIMS(2)), index = param(f, 0, NULL);
    tgi_attr_gather attr = {0, TG_GATHER_CHECK};
    returns(f, add(f, TGI_OP_GATHER, shape(f, 0, NULL), 2, REFS(x, index),
                   &attr, sizeof(attr)));
    tgi_graph *g = tgi_graph_create("g", NULL);
    tgi_ref v = variable(g, 1, DIMS(2)), at = param(g, 0, NULL);
    tgi_ref write = assign(g, v, plus(g, read_after(g, v, 0), 1));
    tgi_ref of = call(g, f, 2, REFS(read_after(g, v, write), at));
    tgi_ref value = result(g, of, 0, shape(g, 0, NULL));
    tgi_ref wide = spread(g, value, shape_of(g, v));
    assign(g, v, wide);
    returns(g, value);
    tgi_graph_release(f);

    tgi_interp *interp = prepare(g, NULL);
    int32_t a[] = {5, 6}, bad = 2, good = 1, out = -1;
    cr_expect_eq(tgi_interp_run(interp, BUFFERS(a, &bad), BUFFERS(&out)),
                 TG_ERROR_INDEX);
    cr_expect_str_eq(tg_error(NULL),
                     "user.c:9: gather: index 2 at position [] is out of "
                     "range for axis 0 of extent 2");
    cr_expect_arr_eq(a, ((int32_t[]){6, 7}), sizeof(a));
    cr_expect_eq(out, -1);
    /* The instance remains usable. */
    cr_expect_eq(tgi_interp_run(interp, BUFFERS(a, &good), BUFFERS(&out)),
                 TG_OK);
    cr_expect_arr_eq(a, ((int32_t[]){8, 8}), sizeof(a));
    cr_expect_eq(out, 8);
    tgi_interp_destroy(interp);
    tgi_graph_release(g);
    check_nothing_is_alive();
}

/* f0(x) = x + 1; each further function calls the previous one n times. */
static tgi_graph *tower(int depth, int n)
{
    tgi_graph *callee = NULL;
    for (int level = 0; level <= depth; level++) {
        tgi_graph *g = tgi_graph_create("tower", NULL);
        tgi_ref x = param(g, 0, NULL);
        if (!callee)
            x = plus(g, x, 1);
        for (int i = 0; callee && i < n; i++)
            x = result(g, call(g, callee, 1, &x), 0, shape(g, 0, NULL));
        returns(g, x);
        tgi_graph_release(callee);
        callee = g;
    }
    return callee;
}

Test(interp, calls_of_one_function_share_an_instance)
{
    /* 2^40 calls if each were prepared separately. */
    tgi_graph *g = tower(40, 2);
    tgi_interp_destroy(prepare(g, NULL));
    tgi_graph_release(g);
    int32_t x = 0, out;
    cr_assert_eq(run_once(tower(8, 2), NULL, BUFFERS(&x), BUFFERS(&out)),
                 TG_OK);
    cr_expect_eq(out, 256);
}

/* -- Random programs ------------------------------------------------------- */

enum { VARIABLES = 3, ACTIONS = 40, N = 4 };

/* A program of reads, writes, calls and arithmetic on [2,2], compared with a
   naive simulation that copies every value. */
typedef struct program {
    tgi_graph *graph;
    tgi_graph *callee;
    tgi_ref variables[VARIABLES];
    tgi_ref writes[VARIABLES];
    int32_t contents[VARIABLES][N];
    int n_values;
    tgi_ref values[ACTIONS + 1];
    int32_t elements[ACTIONS + 1][N];
} program;

static void push(program *p, tgi_ref ref, const int32_t *elements)
{
    p->values[p->n_values] = ref;
    memcpy(p->elements[p->n_values++], elements, N * sizeof(int32_t));
}

static void act(program *p, uint64_t *seed)
{
    tgi_graph *g = p->graph;
    int k = random_below(seed, VARIABLES);
    int i = random_below(seed, p->n_values);
    int j = random_below(seed, p->n_values);
    tgi_ref v = p->variables[k], x = p->values[i], y = p->values[j];
    int32_t out[N], sum[N];
    for (int e = 0; e < N; e++)
        sum[e] = p->elements[i][e] + p->elements[j][e];
    switch (random_below(seed, 6)) {
    case 0:
    case 1:
        push(p, read_after(g, v, p->writes[k]), p->contents[k]);
        break;
    case 2:
        push(p, binary(g, TGI_OP_ADD, x, y), sum);
        break;
    case 3:
        for (int e = 0; e < N; e++)
            out[e] = p->elements[i][e % 2 * 2 + e / 2];
        push(p, transpose(g, x), out);
        break;
    case 4:
        p->writes[k] = assign(g, v, x);
        memcpy(p->contents[k], p->elements[i], sizeof(out));
        push(p, p->writes[k], p->contents[k]);
        break;
    case 5: /* v = transposed v + x; returns the old v */
        p->writes[k] = call(g, p->callee, 2, REFS(v, x));
        memcpy(out, p->contents[k], sizeof(out));
        for (int e = 0; e < N; e++)
            p->contents[k][e] = out[e % 2 * 2 + e / 2] + p->elements[i][e];
        push(p, result(g, p->writes[k], 0, shape_of(g, v)), out);
        break;
    }
}

static tgi_graph *turn_and_add(void)
{
    tgi_graph *g = tgi_graph_create("turn_and_add", NULL);
    tgi_ref v = variable(g, 2, DIMS(2, 2)), x = param(g, 2, DIMS(2, 2));
    tgi_ref old = read_after(g, v, 0);
    assign(g, v, binary(g, TGI_OP_ADD, transpose(g, old), x));
    returns(g, old);
    return g;
}

Test(interp, random_programs_agree_with_a_plain_simulation)
{
    for (uint64_t round = 0; round < 500; round++) {
        uint64_t seed = round;
        program p = {.graph = tgi_graph_create("random", NULL),
                     .callee = turn_and_add()};
        int32_t buffers[VARIABLES + 1][N], out[ACTIONS + 1][N];
        void *params[VARIABLES + 1], *results[ACTIONS + 1];
        for (int k = 0; k < VARIABLES; k++)
            p.variables[k] = variable(p.graph, 2, DIMS(2, 2));
        for (int k = 0; k <= VARIABLES; k++) {
            for (int e = 0; e < N; e++)
                buffers[k][e] = random_below(&seed, 1000);
            params[k] = buffers[k];
            if (k < VARIABLES)
                memcpy(p.contents[k], buffers[k], sizeof(buffers[k]));
        }
        push(&p, param(p.graph, 2, DIMS(2, 2)), buffers[VARIABLES]);
        while (p.n_values <= ACTIONS)
            act(&p, &seed);
        /* Few are results, so that memory is reused. */
        int n_results = 0, shown[ACTIONS + 1];
        for (int i = 0; i < p.n_values; i++)
            if (random_below(&seed, 4) == 0) {
                returns(p.graph, p.values[i]);
                shown[n_results] = i;
                results[n_results] = out[n_results];
                n_results++;
            }
        tgi_graph_release(p.callee);
        cr_assert_eq(run_once(p.graph, NULL, params, results), TG_OK);
        for (int i = 0; i < n_results; i++)
            cr_assert_arr_eq(out[i], p.elements[shown[i]], sizeof(out[i]),
                             "program %d, value %d", (int)round, shown[i]);
        for (int k = 0; k < VARIABLES; k++)
            cr_assert_arr_eq(buffers[k], p.contents[k], sizeof(buffers[k]),
                             "program %d, variable %d", (int)round, k);
    }
}

/* -- Size ------------------------------------------------------------------ */

static void *with_little_stack(void *user)
{
    (void)user;
    int32_t x = 1, out;
    cr_assert_eq(run_once(tower(5000, 1), NULL, BUFFERS(&x), BUFFERS(&out)),
                 TG_OK);
    cr_expect_eq(out, 2);

    enum { LONG = 100000 };
    tgi_graph *g = tgi_graph_create("long", NULL);
    tgi_ref sum = param(g, 0, NULL), one = number(g, 1);
    for (int i = 0; i < LONG; i++)
        sum = binary(g, TGI_OP_ADD, sum, one);
    returns(g, sum);
    tgi_interp *interp = prepare(g, NULL);
    cr_expect(tgi_interp_bytes(interp) <= 128);
    cr_assert_eq(tgi_interp_run(interp, BUFFERS(&x), BUFFERS(&out)), TG_OK);
    cr_expect_eq(out, LONG + 1);
    tgi_interp_destroy(interp);
    tgi_graph_release(g);
    return NULL;
}

Test(interp, deep_calls_and_long_graphs_need_little_stack)
{
    pthread_attr_t attr;
    pthread_t thread;
    pthread_attr_init(&attr);
    cr_assert_eq(pthread_attr_setstacksize(&attr, 256 * 1024), 0);
    cr_assert_eq(pthread_create(&thread, &attr, with_little_stack, NULL), 0);
    pthread_join(thread, NULL);
    pthread_attr_destroy(&attr);
    check_nothing_is_alive();
}

/* An allocator with limited memory. */
static void *allocate_some(size_t bytes, size_t align, void *user)
{
    void *memory = NULL;
    (void)user;
    if (bytes > (size_t)1 << 30 || posix_memalign(&memory, align, bytes))
        return NULL;
    return memory;
}

static void release_some(void *memory, size_t bytes, size_t align, void *user)
{
    (void)bytes, (void)align, (void)user;
    free(memory);
}

Test(interp, broadcasts_cost_nothing_until_they_must_be_made)
{
    tg_allocator some = {allocate_some, release_some, NULL};
    cr_assert_eq(tg_allocator_set(&some), TG_OK);
    const int64_t huge = INT64_C(1000000000000000);
    tgi_graph *g = tgi_graph_create("f", NULL);
    tgi_ref wide = spread(g, number(g, 7), shape(g, 1, &huge));
    tgi_attr_slice slice = {{huge - 1}, {1}};
    returns(g, add(g, TGI_OP_SLICE, shape(g, 1, DIMS(1)), 1, &wide, &slice,
                   sizeof(slice)));
    int32_t out;
    cr_assert_eq(run_once(g, NULL, NULL, BUFFERS(&out)), TG_OK);
    cr_expect_eq(out, 7);

    g = tgi_graph_create("f", NULL);
    wide = spread(g, number(g, 7), shape(g, 1, &huge));
    returns(g, add(g, TGI_OP_NEG, shape(g, 1, &huge), 1, &wide, NULL, 0));
    tgi_interp *interp;
    cr_expect_eq(tgi_interp_create(g, NULL, &host, 0, &interp),
                 TG_ERROR_OUT_OF_MEMORY);
    cr_expect_not_null(strstr(tg_error(NULL), "4000000000000000 bytes"), "%s",
                       tg_error(NULL));
    tgi_graph_release(g);
    check_nothing_is_alive();
}

Test(interp, keeps_to_the_memory_limit)
{
    tgi_graph *g = tgi_graph_create("f", NULL);
    tgi_ref x = param(g, 1, DIMS(1024));
    returns(g, plus(g, plus(g, x, 1), 2));
    tgi_interp *interp;
    cr_expect_eq(tgi_interp_create(g, NULL, &host, 8191, &interp),
                 TG_ERROR_OUT_OF_MEMORY);
    cr_expect_str_eq(tg_error(NULL),
                     "out of memory: the call needs 8192 bytes of "
                     "temporaries, the limit is 8191");
    cr_expect_eq(tgi_interp_create(g, NULL, &host, 8192, &interp), TG_OK);
    cr_expect_eq(tgi_interp_bytes(interp), 8192);
    tgi_interp_destroy(interp);
    tgi_graph_release(g);
    check_nothing_is_alive();
}

Test(interp, reports_sizes_that_overflow)
{
    tgi_graph *g = tgi_graph_create("f", NULL);
    tgi_dim n = tgi_dim_symbol(g->dims, (tgi_symbol){0, 0});
    tgi_ref x = param(g, 1, &n);
    spread(g, x, shape(g, 2, DIMS(n, n)));
    tgi_interp *interp;
    int64_t symbols[] = {INT64_C(1) << 40};
    cr_expect_eq(tgi_interp_create(g, symbols, &host, 0, &interp),
                 TG_ERROR_OVERFLOW);
    cr_expect_not_null(strstr(tg_error(NULL), "user.c:9: broadcast: "));
    tgi_graph_release(g);
    check_nothing_is_alive();
}

Test(interp, survives_every_lack_of_memory)
{
    tgi_graph *f = add_to();
    tgi_graph *g = tgi_graph_create("g", NULL);
    tgi_ref v = variable(g, 1, DIMS(4));
    tgi_ref old = read_after(g, v, 0);
    tgi_ref of = call(g, f, 2, REFS(v, spread(g, number(g, 1),
                                              shape_of(g, v))));
    tgi_ref r = result(g, of, 0, shape_of(g, v));
    print(g, "%v", 1, &r);
    returns(g, old);
    tgi_graph_release(f);

    size_t bytes = tg_live_bytes(), objects = tg_live_objects();
    int32_t a[4] = {1, 2, 3, 4}, out[4];
    bool succeeded = false;
    /* Each allocation alone, and with all later ones. */
    for (long nth = 0; nth < 1000 && !succeeded; nth++) {
        tgi_interp *interp;
        tgi_alloc_inject_failure(nth / 2, nth % 2);
        tg_status status = tgi_interp_create(g, NULL, &host, 0, &interp);
        if (status == TG_OK)
            status = tgi_interp_run(interp, BUFFERS(a), BUFFERS(out));
        tgi_alloc_inject_failure(-1, 0);
        succeeded = status == TG_OK;
        cr_expect(succeeded || status == TG_ERROR_OUT_OF_MEMORY);
        tgi_interp_destroy(interp);
        cr_assert_eq(tg_live_bytes(), bytes, "at allocation %ld", nth);
        cr_assert_eq(tg_live_objects(), objects);
    }
    cr_expect(succeeded);
    tgi_graph_release(g);
    check_nothing_is_alive();
}
