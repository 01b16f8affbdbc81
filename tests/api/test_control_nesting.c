/* SPDX-License-Identifier: MIT */
/*
 * test_control_nesting.c - nested branches and loops, in applied functions and
 * around them; unknown extents; variables owned by a function.
 */
#include "support/control.h"

/* -- One in another -------------------------------------------------------- */

CALLBACK(count_inner)
{
    const tg_value *outer_iteration = user;
    tg_value both = tg_add(tg_mul(*outer_iteration, 10), in[0]);
    tg_return(t, tg_add(in[1], both));
}

CALLBACK(count_outer)
{
    tg_value iteration = in[0], y;
    tg_for(tg_add(in[0], 1), count_inner, &iteration, TG_ARGS(in[1]), &y, 1);
    tg_return(t, y);
}

CALLBACK(triangle)
{
    tg_value y;
    tg_for(in[0], count_outer, NULL, TG_ARGS((int64_t)0), &y, 1);
    tg_return(t, y);
}

static void check_nested_loops(session *s)
{
    tg_function *f = tg_function_create(s->ctx, triangle, NULL, NULL);
    for (int64_t n = 0; n < 6; n++) {
        int64_t want = 0;
        for (int64_t i = 0; i < n; i++)
            for (int64_t k = 0; k <= i; k++)
                want += 10 * i + k;
        tg_tensor *iterations = i64_scalar(s->ctx, n);
        check_i64(call_one(f, TG_ARGS(iterations)), want);
        tg_tensor_release(iterations);
    }
    tg_function_release(f);
}

Test(control, an_inner_loop_uses_the_iteration_of_the_outer_one)
{
    check_control(check_nested_loops);
}

/* The Collatz sequence: a branch in a loop, whose results the test uses. */
CALLBACK(is_not_one)
{
    tg_return(t, tg_ne(in[0], 1));
}

CALLBACK(go_down)
{
    tg_return(t, tg_div(in[0], 2), in[1]);
}

CALLBACK(go_up)
{
    tg_return(t, tg_add(tg_mul(in[0], 3), 1), tg_add(in[1], 1));
}

CALLBACK(collatz_step)
{
    tg_value y[2], is_even = tg_eq(tg_rem(in[0], 2), 0);
    tg_cond(is_even, go_down, go_up, NULL, TG_ARGS(in[0], in[1]), y, 2);
    tg_return(t, y[0], y[1], tg_add(in[2], 1));
}

CALLBACK(collatz)
{
    tg_value y[3], zero = tg_scalar(TG_I64, 0);
    tg_while(is_not_one, collatz_step, NULL, TG_ARGS(in[0], zero, zero), y, 3);
    tg_return(t, y[1], y[2]);
}

static void check_collatz(session *s)
{
    tg_function *f = tg_function_create(s->ctx, collatz, NULL, NULL);
    static const int64_t cases[][3] = {{1, 0, 0}, {6, 2, 8}, {27, 41, 111}};
    for (int i = 0; i < 3; i++) {
        tg_tensor *n = i64_scalar(s->ctx, cases[i][0]);
        tg_tensor *ups = NULL, *all = NULL;
        check_works(tg_call(f, TG_ARGS(n), TG_RESULTS(&ups, &all)));
        check_i64(ups, cases[i][1]);
        check_i64(all, cases[i][2]);
        tg_tensor_release(n);
    }
    tg_function_release(f);
}

Test(control, a_branch_in_a_loop_is_selected_in_every_iteration)
{
    check_control(check_collatz);
}

/* Nested levels: even levels are loops of two iterations, odd ones branches.
   The innermost assigns and captures from all. */
enum { DEPTH = 10 };

typedef struct level {
    int left;
    tg_value x; /* of the outermost callback */
    tg_value near; /* of the enclosing callback */
    tg_variable *v;
} level;

static void go_deeper(tg_trace *t, tg_value x, const level *around);

CALLBACK(deeper_loop)
{
    go_deeper(t, in[1], user);
}

CALLBACK(deeper_branch)
{
    go_deeper(t, in[0], user);
}

CALLBACK(other_branch)
{
    tg_return(t, tg_add(in[0], ((const level *)user)->x));
}

static void go_deeper(tg_trace *t, tg_value x, const level *around)
{
    level here = *around;
    tg_value y = x;
    here.near = tg_add(x, around->near);
    if (--here.left == 0) {
        tg_assign_add(here.v, 1.0);
        tg_return(t, tg_add(tg_mul(around->near, 0.25), here.x));
        return;
    }
    if (here.left % 2)
        tg_cond(tg_ge(x, 0.0), deeper_branch, other_branch, &here, TG_ARGS(x),
                &y, 1);
    else
        tg_for(2, deeper_loop, &here, TG_ARGS(x), &y, 1);
    tg_return(t, tg_add(y, 1.0));
}

CALLBACK(go_deep)
{
    level top = {DEPTH, in[0], tg_mul(in[0], 2.0), user};
    tg_value y;
    tg_for(1, deeper_loop, &top, TG_ARGS(in[0]), &y, 1);
    tg_return(t, y);
}

/* The same in plain C. */
static float expect_deep(float x, float top, float near_outside, int left,
                         int *n)
{
    const float near_here = x + near_outside;
    float y = x;
    if (--left == 0) {
        ++*n;
        return near_outside * 0.25f + top;
    }
    if (left % 2)
        y = x >= 0 ? expect_deep(x, top, near_here, left, n) : x + top;
    else
        for (int i = 0; i < 2; i++)
            y = expect_deep(y, top, near_here, left, n);
    return y + 1;
}

static void check_depth(session *s)
{
    for (int i = 0; i < 2; i++) {
        int n = 0;
        const float x = i ? -64 : 0.5f;
        tg_variable *v = f32_scalar_variable(s->ctx, "v", 0);
        tg_function *f = tg_function_create(s->ctx, go_deep, v, NULL);
        tg_tensor *in = f32_scalar(s->ctx, x);
        check_f32(call_one(f, TG_ARGS(in)),
                  expect_deep(x, x, x * 2, DEPTH, &n));
        check_variable(v, (float)n);
        tg_tensor_release(in);
        tg_variable_release(v);
        tg_function_release(f);
    }
}

Test(control, branches_and_loops_nest_deeply)
{
    check_control(check_depth);
}

/* -- Functions in branches and loops, and the other way round -------------- */

CALLBACK(scale_by_extent)
{
    tg_variable *n_calls = user;
    tg_assign_add(n_calls, 1.0);
    tg_value n = tg_cast(tg_extent(in[0], 0), TG_F32);
    tg_return(t, tg_sub(tg_mul(in[0], n), 1.0));
}

typedef struct applied {
    tg_function *inner, *middle;
    tg_variable *v;
} applied;

CALLBACK(apply_in_iteration)
{
    const applied *a = user;
    tg_value y;
    tg_apply(a->inner, TG_ARGS(in[1]), &y, 1);
    tg_return(t, y);
}

CALLBACK(apply_in_branch)
{
    const applied *a = user;
    tg_value y;
    tg_apply(a->inner, TG_ARGS(in[0]), &y, 1);
    tg_return(t, tg_neg(y));
}

CALLBACK(return_negative)
{
    tg_return(t, tg_neg(in[0]));
}

/* A function with a loop and a branch, both of which apply another function, */
CALLBACK(loop_then_branch)
{
    const applied *a = user;
    tg_value y, z;
    tg_for(in[0], apply_in_iteration, user, TG_ARGS(in[1]), &y, 1);
    tg_value seen = tg_read(a->v);
    tg_cond(tg_gt(seen, 2.0), apply_in_branch, return_negative, user,
            TG_ARGS(y), &z, 1);
    tg_return(t, z, seen);
}

CALLBACK(apply_middle_in_iteration)
{
    const applied *a = user;
    tg_value y[2];
    tg_apply(a->middle, TG_ARGS(in[0], in[1]), y, 2);
    tg_return(t, y[0], tg_add(in[2], y[1]));
}

/* and a function that applies it, directly and in a loop. */
CALLBACK(apply_all)
{
    const applied *a = user;
    tg_value y[2], z[2];
    tg_assign(a->v, 0.0);
    tg_apply(a->middle, TG_ARGS(in[0], in[1]), y, 2);
    tg_for(2, apply_middle_in_iteration, user, TG_ARGS(y[0], y[1]), z, 2);
    tg_return(t, y[0], y[1], z[0], z[1], tg_read(a->v));
}

enum { MAX_N = 8 };

typedef struct expected {
    int n;
    float v;
} expected;

static void expect_inner(expected *e, float *x)
{
    e->v++;
    for (int i = 0; i < e->n; i++)
        x[i] = x[i] * (float)e->n - 1;
}

static float expect_middle(expected *e, int64_t iterations, float *x)
{
    for (int64_t i = 0; i < iterations; i++)
        expect_inner(e, x);
    const float seen = e->v;
    if (seen > 2)
        expect_inner(e, x);
    for (int i = 0; i < e->n; i++)
        x[i] = -x[i];
    return seen;
}

static void check_applied_once(session *s, tg_function *f, int n,
                               int iterations)
{
    const float start[MAX_N] = {0.5, 1, 2, 3, 0.25, 5, 6, 7};
    float first[MAX_N], second[MAX_N];
    expected e = {n, 0};
    memcpy(first, start, sizeof(start));
    const float seen = expect_middle(&e, iterations, first);
    memcpy(second, first, sizeof(first));
    float sum = seen;
    for (int i = 0; i < 2; i++)
        sum += expect_middle(&e, i, second);

    tg_tensor *x = tg_tensor_copy(s->ctx, start, TG_F32, TG_DIMS(n));
    tg_tensor *k = i64_scalar(s->ctx, iterations), *y[5] = {NULL};
    check_works(tg_call(f, TG_ARGS(k, x),
                        TG_RESULTS(&y[0], &y[1], &y[2], &y[3], &y[4])));
    check_f32_at(__LINE__, y[0], first, n);
    check_f32(y[1], seen);
    check_f32_at(__LINE__, y[2], second, n);
    check_f32(y[3], sum);
    check_f32(y[4], e.v);
    tg_tensor_release(x);
    tg_tensor_release(k);
}

static void check_applied(session *s)
{
    static const tg_policy policies[] = {TG_EXACT, TG_RELAXED, TG_GENERALISE};
    for (int i = 0; i < 9; i++) {
        tg_function_options inner = TG_FUNCTION_OPTIONS_INIT;
        tg_function_options outer = TG_FUNCTION_OPTIONS_INIT;
        inner.policy = policies[i % 3];
        outer.policy = policies[i / 3];
        applied a = {.v = f32_scalar_variable(s->ctx, "v", 0)};
        a.inner = tg_function_create(s->ctx, scale_by_extent, a.v, &inner);
        a.middle = tg_function_create(s->ctx, loop_then_branch, &a, &inner);
        tg_function *f = tg_function_create(s->ctx, apply_all, &a, &outer);
        for (int n = 1; n <= MAX_N; n += 3)
            for (int iterations = 0; iterations < 4; iterations++)
                check_applied_once(s, f, n, iterations);
        tg_function_release(f);
        tg_function_release(a.middle);
        tg_function_release(a.inner);
        tg_variable_release(a.v);
    }
}

Test(control, line_15_functions_applied_in_branches_and_loops_write_in_order)
{
    check_control(check_applied);
}

CALLBACK(add_to_argument)
{
    tg_return(t, tg_assign_add(in[0], in[1]));
}

CALLBACK(apply_to_argument)
{
    const applied *a = user;
    tg_value y;
    tg_apply(a->inner, TG_ARGS(a->v, tg_cast(in[0], TG_F32)), &y, 1);
    tg_return(t, tg_add(in[1], y));
}

CALLBACK(apply_with_variable)
{
    const applied *a = user;
    tg_value y;
    tg_for(in[0], apply_to_argument, user, TG_ARGS(0.0f), &y, 1);
    tg_return(t, y, tg_read(a->v));
}

static void check_applied_variable(session *s)
{
    applied a = {.v = f32_scalar_variable(s->ctx, "v", 10)};
    a.inner = tg_function_create(s->ctx, add_to_argument, NULL, NULL);
    tg_function *f = tg_function_create(s->ctx, apply_with_variable, &a, NULL);
    tg_tensor *y = NULL, *v = NULL;
    check_works(tg_call(f, TG_ARGS(4), TG_RESULTS(&y, &v)));
    check_f32(y, 10 + 11 + 13 + 16);
    check_f32(v, 16);
    tg_function_release(f);
    tg_function_release(a.inner);
    tg_variable_release(a.v);
}

Test(control, line_15_a_loop_passes_variables_to_functions)
{
    check_control(check_applied_variable);
}

/* The function receives a variable that it also captures, and a branch uses
   a bundle of placeholders from the enclosing callback. */
CALLBACK(double_then_add)
{
    tg_variable *captured = user;
    tg_assign(in[0], tg_mul(in[0], 2.0));
    tg_assign_add(captured, 1.0);
}

CALLBACK(apply_to_captured)
{
    const applied *a = user;
    tg_apply(a->inner, TG_ARGS(a->v), NULL, 0);
}

CALLBACK(apply_in_loop)
{
    tg_for(in[0], apply_to_captured, user, TG_ARGS(), NULL, 0);
}

static void check_aliases(session *s)
{
    applied a = {.v = f32_scalar_variable(s->ctx, "v", 1)};
    a.inner = tg_function_create(s->ctx, double_then_add, a.v, NULL);
    tg_function *f = tg_function_create(s->ctx, apply_in_loop, &a, NULL);
    call_only(f, TG_ARGS(3));
    check_variable(a.v, 15);
    tg_function_release(f);
    tg_function_release(a.inner);
    tg_variable_release(a.v);
}

Test(control, line_15_a_function_in_a_loop_may_meet_one_variable_twice)
{
    check_control(check_aliases);
}

typedef struct pair {
    tg_variable *a, *b;
} pair;
static const tg_bundle_field pair_fields[] = {TG_FIELD(pair, a),
                                              TG_FIELD(pair, b)};
static const tg_bundle_type pair_type = TG_BUNDLE(pair, pair_fields);

CALLBACK(a_becomes_sum)
{
    const pair *p = tg_bundle_argument(t, 0, &pair_type);
    tg_return(t, tg_assign_add(p->a, p->b));
}

CALLBACK(apply_to_bundle)
{
    const pair *p = tg_bundle_argument(t, 1, &pair_type);
    tg_value y;
    tg_apply((tg_function *)user, TG_ARGS(tg_bundle_of(&pair_type, p)), &y, 1);
    tg_return(t, tg_add(in[1], y));
}

CALLBACK(loop_over_bundle)
{
    tg_value y;
    tg_for(in[0], apply_to_bundle, user, TG_ARGS(0.0f), &y, 1);
    tg_return(t, y);
}

static void check_applied_bundles(session *s)
{
    pair p = {f32_scalar_variable(s->ctx, "a", 1),
              f32_scalar_variable(s->ctx, "b", 10)};
    tg_function *inner =
        tg_function_create(s->ctx, a_becomes_sum, NULL, NULL);
    tg_function *f =
        tg_function_create(s->ctx, loop_over_bundle, inner, NULL);
    check_f32(call_one(f, TG_ARGS(3, tg_bundle_of(&pair_type, &p))),
              11 + 21 + 31);
    check_variable(p.a, 31);
    check_variable(p.b, 10);
    tg_function_release(f);
    tg_function_release(inner);
    tg_bundle_release(&pair_type, &p);
}

Test(control, a_loop_passes_on_the_bundle_that_its_function_got)
{
    check_control(check_applied_bundles);
}

/* -- Unknown extents ------------------------------------------------------- */

typedef struct matrices {
    tg_value a, b;
} matrices;

CALLBACK(join_step)
{
    const matrices *m = user;
    tg_value rows = tg_reshape(in[1], TG_DIMS(tg_value_dim(m->a, 0), -1));
    tg_value sum = tg_add(rows, m->a);
    tg_value product = tg_mul(sum, tg_add(m->b, 1.0));
    tg_return(t, tg_reshape(product, TG_DIMS(tg_value_dim(in[1], 0))),
              tg_add(in[2], tg_extent(m->a, 1)));
}

CALLBACK(join)
{
    matrices m = {in[1], in[2]};
    tg_value y[2], n = tg_mul(tg_extent(in[1], 0), tg_extent(in[1], 1));
    tg_value flat = tg_reshape(in[1], TG_DIMS(-1));
    tg_for(in[0], join_step, &m, TG_ARGS(flat, n), y, 2);
    tg_return(t, y[0], y[1]);
}

static tg_tensor *matrix(tg_context *ctx, int64_t rows, int64_t columns)
{
    tg_tensor *x =
        tg_tensor_create(ctx, TG_F32, TG_DIMS(rows, columns), tg_zeros());
    for (int64_t i = 0; i < rows * columns; i++)
        ((float *)tg_tensor_data(x))[i] = (float)(i + 1);
    return x;
}

static void check_unknown_extents(session *s)
{
    tg_function_options options = TG_FUNCTION_OPTIONS_INIT;
    options.policy = TG_RELAXED;
    tg_function *f = tg_function_create(s->ctx, join, NULL, &options);
    for (int rows = 1; rows <= 40; rows += 13) {
        tg_tensor *x = matrix(s->ctx, rows, 3), *z = matrix(s->ctx, 1, 3);
        tg_tensor *y = NULL, *n = NULL;
        check_works(tg_call(f, TG_ARGS(2, x, z), TG_RESULTS(&y, &n)));
        const float *is = tg_tensor_data(y), *a = tg_tensor_data(x);
        for (int i = 0; i < 3 * rows; i++) {
            const float b = (float)(i % 3 + 2);
            cr_assert_eq(is[i], ((2 * a[i]) * b + a[i]) * b, "%d: %g", i,
                         (double)is[i]);
        }
        check_i64(n, 3 * rows + 6);
        tg_tensor_release(y);
        tg_tensor_release(x);
        tg_tensor_release(z);
    }
    cr_assert_eq(tg_function_trace_count(f), 1);
    /* The conditions of an iteration are checked before the call runs. */
    tg_tensor *x = matrix(s->ctx, 2, 3), *z = matrix(s->ctx, 1, 2);
    check_fails(tg_call(f, TG_ARGS(2, x, z), TG_RESULTS()), TG_ERROR_SHAPE,
                "mul", __FILE__);
    tg_tensor_release(x);
    tg_tensor_release(z);
    tg_function_release(f);
}

Test(control, loops_work_with_unknown_extents)
{
    check_control(check_unknown_extents);
}

/* -- Variables of the function --------------------------------------------- */

CALLBACK(own_in_iteration)
{
    tg_variable *sum =
        tg_own_variable(t, "sum", TG_F32, TG_SCALAR, tg_fill(100));
    tg_return(t, tg_assign_add(sum, in[1]));
}

CALLBACK(own_in_branch)
{
    tg_variable *n = tg_own_variable(t, "n", TG_F32, TG_SCALAR, tg_zeros());
    tg_assign_add(n, 1.0);
    tg_return(t, tg_read(n));
}

CALLBACK(no_own)
{
    tg_return(t, -1.0);
}

CALLBACK(own_inside)
{
    tg_value y, n;
    tg_for(in[0], own_in_iteration, NULL, TG_ARGS(in[1]), &y, 1);
    tg_cond(tg_gt(y, 150.0), own_in_branch, no_own, NULL, TG_ARGS(), &n, 1);
    tg_return(t, y, n);
}

static void check_own(session *s)
{
    tg_function *f = tg_function_create(s->ctx, own_inside, NULL, NULL);
    const struct {
        int iterations;
        float x, y, n;
    } cases[] = {{1, 5, 105, -1}, {0, 7, 7, -1}, {1, 50, 155, 1},
                 {2, 1, 312, 2}};
    for (int i = 0; i < 4; i++) {
        tg_tensor *y = NULL, *n = NULL;
        check_works(tg_call(f, TG_ARGS(cases[i].iterations, cases[i].x),
                            TG_RESULTS(&y, &n)));
        check_f32(y, cases[i].y);
        check_f32(n, cases[i].n);
    }
    cr_assert_eq(tg_function_trace_count(f), 1);
    tg_function_release(f);
}

Test(control, line_07_branches_and_loops_make_variables_of_the_function)
{
    check_control(check_own);
}
