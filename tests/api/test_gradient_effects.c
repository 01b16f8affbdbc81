/* SPDX-License-Identifier: MIT */
/*
 * test_gradient_effects.c - promise 33: gradients through data-dependent loops
 * inside other loops and branches, which print, call the host, draw random
 * numbers or read a variable that is assigned later. They are computed from
 * saved values, and no effect happens twice. Every scenario runs interpreted,
 * with and without passes, compiled for several threads, and in the default
 * mode.
 */
#include <math.h>

#include "support/control.h"

/* -- Helpers --------------------------------------------------------------- */

/* State of a program besides its argument. */
typedef struct world {
    int32_t n_calls; /* of the host function */
    tg_variable *v, *generator;
    tg_value x;      /* the argument of the trace */
    bool differentiates;
} world;

/* The number of host calls so far, as a result. */
static tg_status count_call(const tg_host_buffer *in, size_t n_in,
                            const tg_host_buffer *out, size_t n_out,
                            void *user)
{
    world *w = user;
    (void)in, (void)n_in, (void)n_out;
    *(float *)out->data = (float)++w->n_calls;
    return TG_OK;
}

static tg_value call_host(tg_trace *t, world *w)
{
    const tg_host_spec spec = {TG_F32, TG_SCALAR};
    tg_value n;
    tg_host_call(t, count_call, w, TG_ARGS(w->x), &spec, &n, 1);
    return n;
}

/* y and, if requested, its gradient and the second derivative. */
static void give(tg_trace *t, const world *w, tg_value y)
{
    if (!w->differentiates) {
        tg_return(t, y, y, y);
        return;
    }
    const tg_value first = tg_gradient(y, w->x);
    tg_return(t, y, first, tg_gradient(first, w->x));
}

typedef struct outcome {
    float y[3], first[3], second[3], v;
    uint64_t generator[2];
    int32_t n_calls;
    char printed[4096];
} outcome;

static void run(session *s, tg_callback *callback, bool differentiates,
                outcome *out)
{
    world w = {.differentiates = differentiates,
               .v = f32_scalar_variable(s->ctx, "v", 1),
               .generator = tg_generator_create(s->ctx, "g", 7)};
    tg_function *f = tg_function_create(s->ctx, callback, &w, NULL);
    tg_tensor *x = f32_vector(s->ctx, 1, 2, 3);
    tg_tensor *y = NULL, *first = NULL, *second = NULL;
    /* Stacks that grew in the first call are reused in the second. */
    for (int i = 0; i < 2; i++) {
        w.n_calls = 0;
        s->printed[0] = '\0';
        check_works(tg_variable_set(w.v, &(float){1}, sizeof(float)));
        check_works(tg_variable_set(w.generator, (uint64_t[]){7, 0},
                                    2 * sizeof(uint64_t)));
        check_works(
            tg_call(f, TG_ARGS(x), TG_RESULTS(&y, &first, &second)));
    }
    memset(out, 0, sizeof(*out));
    memcpy(out->y, tg_tensor_data(y), sizeof(out->y));
    memcpy(out->first, tg_tensor_data(first), sizeof(out->first));
    memcpy(out->second, tg_tensor_data(second), sizeof(out->second));
    check_works(tg_variable_get(w.v, &out->v, sizeof(out->v)));
    check_works(tg_variable_get(w.generator, out->generator,
                                sizeof(out->generator)));
    out->n_calls = w.n_calls;
    strcpy(out->printed, s->printed);
    tg_tensor_release(x);
    tg_tensor_release(y);
    tg_tensor_release(first);
    tg_tensor_release(second);
    tg_function_release(f);
    tg_variable_release(w.v);
    tg_variable_release(w.generator);
}

/* Effects with gradients equal those without; so does the target. */
static void check_effects(session *s, tg_callback *callback, outcome *with)
{
    outcome without;
    run(s, callback, false, &without);
    run(s, callback, true, with);
    cr_assert_str_eq(with->printed, without.printed);
    cr_assert_eq(with->n_calls, without.n_calls);
    cr_assert_eq(with->v, without.v);
    cr_assert_arr_eq(with->generator, without.generator,
                     sizeof(with->generator));
    cr_assert_arr_eq(with->y, without.y, sizeof(with->y));
}

static void check_floats(const float *is, float a, float b, float c)
{
    cr_assert(is[0] == a && is[1] == b && is[2] == c,
              "%.9g %.9g %.9g, not %.9g %.9g %.9g", (double)is[0],
              (double)is[1], (double)is[2], (double)a, (double)b, (double)c);
}

/* All modes of check_control, and the default mode. */
static void check_ways(void (*check)(session *s))
{
    session s;
    check_control(check);
    session_begin_with(&s, (tg_context_options){.jit = "auto"});
    check(&s);
    session_end(&s);
}

/* A number and its derivatives with respect to x. */
typedef struct jet {
    double y, d, dd;
} jet;

/* f(y), given f'(y) and f''(y). */
static jet apply(jet of, double f, double f1, double f2)
{
    return (jet){f, f1 * of.d, f2 * of.d * of.d + f1 * of.dd};
}

static void check_jets(const outcome *o, const jet *j)
{
    for (int i = 0; i < 3; i++) {
        cr_expect_float_eq((double)o->y[i], j[i].y, 1e-4 * fabs(j[i].y));
        cr_expect_float_eq((double)o->first[i], j[i].d, 1e-4 * fabs(j[i].d));
        cr_expect_float_eq((double)o->second[i], j[i].dd,
                           1e-3 * fabs(j[i].dd));
    }
}

static double largest(const jet *j)
{
    return fmax(j[0].y, fmax(j[1].y, j[2].y));
}

static void scale(jet *j, double by)
{
    for (int i = 0; i < 3; i++)
        j[i] = apply(j[i], by * j[i].y, by, 0);
}

/* The expected results of is_small and square_by_host for all three
   elements. */
static void square_by_calls(jet *j, int *n_calls)
{
    while (largest(j) < 40) {
        const double n = ++*n_calls;
        for (int i = 0; i < 3; i++)
            j[i] = apply(j[i], n * j[i].y * j[i].y, 2 * n * j[i].y, 2 * n);
    }
}

#define EFFECT_TEST(name) \
    static void check_##name(session *s); \
    Test(gradient_effects, name) \
    { \
        check_ways(check_##name); \
    } \
    static void check_##name(session *s)

CALLBACK(is_small)
{
    tg_return(t, tg_lt(tg_reduce_max(in[0], TG_ALL_AXES), 40.0));
}

/* -- Each effect ----------------------------------------------------------- */

CALLBACK(square_and_print)
{
    tg_print(t, "square %v", in[0]);
    tg_return(t, tg_square(in[0]));
}

/* 3 to 9 to 81, then from 3 again. */
CALLBACK(printing_iteration)
{
    tg_value y;
    tg_while(is_small, square_and_print, user, TG_ARGS(in[1]), &y, 1);
    tg_return(t, tg_div(y, 27.0));
}

CALLBACK(printing)
{
    world *w = user;
    tg_value y;
    w->x = in[0];
    tg_for(2, printing_iteration, w, TG_ARGS(w->x), &y, 1);
    give(t, w, y);
}

/* x^4 / 27 is [.. .. 3]; its fourth power over 27: x^16 / 27^5. */
EFFECT_TEST(prints_inside_happen_once)
{
    outcome o;
    check_effects(s, printing, &o);
    const char *at = o.printed;
    int n = 0;
    while ((at = strstr(at, "square")))
        n++, at++;
    cr_assert_eq(n, 4, "%s", o.printed);
    for (int i = 0; i < 3; i++) {
        const double x = i + 1, x15 = x * x * x * x * x * x * x * x * x * x *
                                      x * x * x * x * x;
        const double first = 16 * x15 / 14348907,
                     second = 240 * x15 / x / 14348907;
        cr_assert_float_eq((double)o.first[i], first, 1e-5 * first);
        cr_assert_float_eq((double)o.second[i], second, 1e-5 * second);
    }
}

/* y^2 times the number of the host call. */
CALLBACK(square_by_host)
{
    tg_return(t, tg_mul(tg_square(in[0]), call_host(t, user)));
}

CALLBACK(host_iteration)
{
    tg_value y;
    tg_while(is_small, square_by_host, user, TG_ARGS(in[1]), &y, 1);
    tg_return(t, tg_mul(y, 0.0625));
}

CALLBACK(calling)
{
    world *w = user;
    tg_value y;
    w->x = in[0];
    tg_for(2, host_iteration, w, TG_ARGS(w->x), &y, 1);
    give(t, w, y);
}

/* 3 becomes 9, then 162, divided by 16, times 3. */
EFFECT_TEST(host_calls_inside_happen_once)
{
    outcome o;
    check_effects(s, calling, &o);
    jet j[3] = {{1, 1, 0}, {2, 1, 0}, {3, 1, 0}};
    int n = 0;
    for (int iteration = 0; iteration < 2; iteration++) {
        square_by_calls(j, &n);
        scale(j, 0.0625);
    }
    cr_assert_eq(o.n_calls, n, "%d, not %d", o.n_calls, n);
    check_jets(&o, j);
}

/* v is incremented; its previous value is a factor. */
CALLBACK(add_by_variable)
{
    world *w = user;
    const tg_value before = tg_read(w->v);
    const tg_value y = tg_add(in[0], tg_mul(tg_mul(w->x, w->x), before));
    tg_assign_add(w->v, 1.0);
    tg_return(t, y, tg_add(in[1], 1.0));
}

CALLBACK(has_iterations)
{
    tg_return(t, tg_lt(in[1], 60.0));
}

CALLBACK(variable_iteration)
{
    tg_value y[2];
    tg_while(has_iterations, add_by_variable, user,
             TG_ARGS(in[1], tg_scalar(TG_F32, 0)), y, 2);
    tg_return(t, y[0]);
}

CALLBACK(counting)
{
    world *w = user;
    tg_value y;
    w->x = in[0];
    tg_for(40, variable_iteration, w, TG_ARGS(w->x), &y, 1);
    give(t, w, y);
}

/* 1 + 2 + … + 2400 times x^2: more slices than the initial capacity. */
EFFECT_TEST(reads_of_what_is_assigned_later_see_the_past)
{
    outcome o;
    const float n = 2400 * 2401 / 2;
    check_effects(s, counting, &o);
    cr_assert_eq(o.v, 2401);
    check_floats(o.first, 2 * n + 1, 4 * n + 1, 6 * n + 1);
    check_floats(o.second, 2 * n, 2 * n, 2 * n);
}

/* Only read inside, assigned after the outer loop. */
CALLBACK(scale_by_variable)
{
    world *w = user;
    tg_return(t, tg_mul(tg_square(in[0]), tg_read(w->v)));
}

CALLBACK(reading_iteration)
{
    tg_value y;
    tg_while(is_small, scale_by_variable, user, TG_ARGS(in[1]), &y, 1);
    tg_return(t, y);
}

CALLBACK(assigning_afterwards)
{
    world *w = user;
    tg_value y;
    w->x = in[0];
    tg_assign(w->v, 2.0);
    tg_for(2, reading_iteration, w, TG_ARGS(w->x), &y, 1);
    tg_assign(w->v, 100.0);
    give(t, w, y);
}

/* 3, 18, 648: 8 x^4. */
EFFECT_TEST(reads_of_what_is_assigned_behind_the_loops)
{
    outcome o;
    check_effects(s, assigning_afterwards, &o);
    cr_assert_eq(o.v, 100);
    check_floats(o.first, 32, 256, 864);
    check_floats(o.second, 96, 384, 864);
}

CALLBACK(square_by_draw)
{
    world *w = user;
    const tg_value drawn = tg_random_uniform(w->generator, TG_F32, TG_SCALAR);
    tg_return(t, tg_mul(tg_square(in[0]), tg_add(drawn, 1.0)),
              tg_mul(in[1], tg_square(in[1])));
}

CALLBACK(is_first_small)
{
    tg_return(t, tg_lt(tg_reduce_max(in[0], TG_ALL_AXES), 40.0));
}

CALLBACK(drawing_iteration)
{
    tg_value y[2];
    tg_while(is_first_small, square_by_draw, user, TG_ARGS(in[1], in[1]), y,
             2);
    tg_return(t, tg_mul(y[0], 0.0625));
}

CALLBACK(drawing)
{
    world *w = user;
    tg_value y;
    w->x = in[0];
    tg_for(3, drawing_iteration, w, TG_ARGS(w->x), &y, 1);
    give(t, w, y);
}

/* y is c x^(2^n): x y' = 2^n y, whatever the random numbers. */
EFFECT_TEST(draws_inside_happen_once)
{
    outcome o;
    check_effects(s, drawing, &o);
    const double n = round((double)(o.first[0] / o.y[0]));
    for (int i = 0; i < 3; i++) {
        const double x = i + 1, y = (double)o.y[i];
        cr_assert_float_eq((double)o.first[i], n * y / x,
                           1e-4 * n * y / x);
        cr_assert_float_eq((double)o.second[i], n * (n - 1) * y / x / x,
                           1e-4 * n * n * y / x / x);
    }
    cr_assert_gt(o.generator[1], 0);
}

/* -- Deeper ---------------------------------------------------------------- */

/* A loop in a branch, in a loop with a run-time iteration count, in a
   data-dependent loop. */
CALLBACK(while_branch)
{
    tg_value y;
    tg_while(is_small, square_by_host, user, TG_ARGS(in[0]), &y, 1);
    tg_return(t, tg_div(y, 50.0));
}

CALLBACK(plain_branch)
{
    tg_print(t, "plain");
    tg_return(t, tg_div(tg_mul(in[0], 4.0), tg_add(in[0], 1.0)));
}

CALLBACK(choosing_iteration)
{
    tg_value y;
    const tg_value is_odd =
        tg_eq(tg_rem(in[0], tg_scalar(TG_I64, (int64_t)2)),
              tg_scalar(TG_I64, (int64_t)1));
    tg_cond(is_odd, while_branch, plain_branch, user, TG_ARGS(in[1]), &y, 1);
    tg_return(t, y);
}

CALLBACK(told_iteration)
{
    tg_value y;
    const tg_value n = tg_cast(tg_add(in[1], 2.0), TG_I64);
    tg_for(n, choosing_iteration, user, TG_ARGS(in[0]), &y, 1);
    tg_print(t, "round %v", in[1]);
    tg_return(t, y, tg_add(in[1], 1.0));
}

CALLBACK(has_rounds)
{
    tg_return(t, tg_lt(in[1], 3.0));
}

CALLBACK(deep)
{
    world *w = user;
    tg_value y[2];
    w->x = in[0];
    tg_while(has_rounds, told_iteration, w, TG_ARGS(w->x, tg_scalar(TG_F32, 0)),
             y, 2);
    give(t, w, y[0]);
}

EFFECT_TEST(loops_in_branches_in_loops_in_loops)
{
    outcome o;
    check_effects(s, deep, &o);
    /* The same in C: the largest element ends the loops. */
    jet j[3] = {{1, 1, 0}, {2, 1, 0}, {3, 1, 0}};
    int n = 0;
    for (int round = 0; round < 3; round++)
        for (int iteration = 0; iteration < round + 2; iteration++) {
            for (int i = 0; iteration % 2 == 0 && i < 3; i++) {
                const double y = j[i].y, by = 1 / (1 + y);
                j[i] = apply(j[i], 4 * y * by, 4 * by * by,
                             -8 * by * by * by);
            }
            if (iteration % 2 == 0)
                continue;
            square_by_calls(j, &n);
            scale(j, 0.02);
        }
    cr_assert_eq(o.n_calls, n, "%d, not %d", o.n_calls, n);
    check_jets(&o, j);
}

/* -- Gradients inside ------------------------------------------------------ */

/* The gradient of a loop with effects, taken in the body of another loop:
   the saved values of the inner loop are used there, and for the overall
   gradient. */
CALLBACK(gradient_iteration)
{
    tg_value z, y = tg_mul(in[1], 1.0);
    tg_while(is_small, square_by_host, user, TG_ARGS(y), &z, 1);
    tg_return(t, tg_div(tg_gradient(z, y), 30.0));
}

CALLBACK(gradients_inside)
{
    world *w = user;
    tg_value y;
    w->x = in[0];
    tg_for(3, gradient_iteration, w, TG_ARGS(w->x), &y, 1);
    give(t, w, y);
}

/* The inner loop computes k y^m: its gradient is k m y^(m - 1). */
EFFECT_TEST(gradients_of_loops_with_effects_in_loops)
{
    outcome o;
    check_effects(s, gradients_inside, &o);
    jet j[3] = {{1, 1, 0}, {2, 1, 0}, {3, 1, 0}};
    int n = 0;
    for (int iteration = 0; iteration < 3; iteration++) {
        double k = 1, m = 1;
        while (k * pow(largest(j), m) < 40) {
            k = ++n * k * k;
            m *= 2;
        }
        k *= m / 30;
        m--;
        for (int i = 0; i < 3; i++)
            j[i] = apply(j[i], k * pow(j[i].y, m),
                         m > 0 ? k * m * pow(j[i].y, m - 1) : 0,
                         m > 1 ? k * m * (m - 1) * pow(j[i].y, m - 2) : 0);
    }
    cr_assert_eq(o.n_calls, n, "%d, not %d", o.n_calls, n);
    check_jets(&o, j);
}

/* -- Calls ----------------------------------------------------------------- */

/* In a function that is applied in a loop, as if it were inlined. */
CALLBACK(called)
{
    tg_value y;
    tg_while(is_small, square_and_print, user, TG_ARGS(in[0]), &y, 1);
    tg_return(t, tg_div(y, 27.0));
}

CALLBACK(calling_iteration)
{
    tg_value y;
    tg_apply(user, TG_ARGS(in[1]), &y, 1);
    tg_return(t, y);
}

CALLBACK(calls_in_a_loop)
{
    tg_value y;
    tg_for(2, calling_iteration, user, TG_ARGS(in[0]), &y, 1);
    const tg_value first = tg_gradient(y, in[0]);
    tg_print(t, "%v %v", first, tg_gradient(first, in[0]));
}

EFFECT_TEST(loops_in_functions_that_loops_call)
{
    tg_function *callee = tg_function_create(s->ctx, called, NULL, NULL);
    tg_function *f =
        tg_function_create(s->ctx, calls_in_a_loop, callee, NULL);
    tg_tensor *x = f32_vector(s->ctx, 3, 3, 3);
    check_works(tg_call(f, TG_ARGS(x), TG_RESULTS()));
    check_printed(s, "square [3 3 3]\nsquare [9 9 9]\n"
                     "square [3 3 3]\nsquare [9 9 9]\n"
                     "[16 16 16] [80 80 80]\n");
    tg_tensor_release(x);
    tg_function_release(f);
    tg_function_release(callee);
}
