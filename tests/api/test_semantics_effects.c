/* SPDX-License-Identifier: MIT */
/*
 * test_semantics_effects.c - promises 13 to 15: the order of effects. Every
 * scenario runs with all passes and with none, with the same results.
 */
#include <pthread.h>

#include "support/api.h"
#include "support/modes.h"

/* Runs a check in a context with all passes, and in one without. */
static void with_and_without_passes(void (*check)(session *s))
{
    static const char *const skips[] = {
        "", "fold,simplify,layout,crop,shape,distribute,dead", "inline",
        "fold,simplify,hoist,shape,dead,inline"};
    for (int i = 0; i < 4; i++) {
        session s;
        /* Calls that are not inlined are interpreted, with a warning. */
        session_begin_with(&s, (tg_context_options){
                                   .skip_passes = skips[i],
                                   .jit = i >= 2 ? "off" : NULL});
        check(&s);
        cr_assert_str_eq(s.logged, ""); /* no warning, such as "unknown pass" */
        session_end(&s);
    }
}

/* -- 13: program order per variable ---------------------------------------- */

static void read_write_read(tg_trace *t, const tg_value *in, void *user)
{
    tg_variable *v = user;
    (void)in;
    tg_value before = tg_read(v);
    tg_value assigned = tg_assign(v, tg_add(tg_mul(before, 10), 1));
    tg_value after = tg_read(v);
    tg_value again = tg_assign_sub(v, 100);
    /* All are used after everything was written. */
    tg_return(t, tg_neg(before), tg_neg(assigned), tg_neg(after),
              tg_neg(again), before, assigned, after, again);
}

static void check_read_write_read(session *s)
{
    tg_variable *v = tg_variable_create(s->ctx, "v", TG_F32, TG_DIMS(2),
                                        tg_fill(2));
    tg_function *f = tg_function_create(s->ctx, read_write_read, v, NULL);
    tg_tensor *y[8] = {NULL};
    check_works(tg_call(f, TG_ARGS(),
                        TG_RESULTS(&y[0], &y[1], &y[2], &y[3], &y[4], &y[5],
                                   &y[6], &y[7])));
    check_variable(v, -79, -79);
    const float want[8] = {-2, -21, -21, 79, 2, 21, 21, -79};
    for (int i = 0; i < 8; i++)
        check_f32(y[i], want[i], want[i]);
    tg_variable_release(v);
    tg_function_release(f);
}

Test(semantics, line_13_reads_see_earlier_writes)
{
    with_and_without_passes(check_read_write_read);
}

typedef struct two {
    tg_variable *a, *b;
} two;

static void swap_contents(tg_trace *t, const tg_value *in, void *user)
{
    const two *v = user;
    (void)t, (void)in;
    tg_value a = tg_read(v->a), b = tg_read(v->b);
    tg_assign(v->a, b);
    tg_assign(v->b, a);
}

static void check_swap(session *s)
{
    two v = {tg_variable_create(s->ctx, "a", TG_F32, TG_DIMS(2),
                                tg_from_data((float[]){1, 2})),
             tg_variable_create(s->ctx, "b", TG_F32, TG_DIMS(2),
                                tg_from_data((float[]){3, 4}))};
    tg_function *f = tg_function_create(s->ctx, swap_contents, &v, NULL);
    call_only(f, TG_ARGS());
    check_variable(v.a, 3, 4);
    check_variable(v.b, 1, 2);
    call_only(f, TG_ARGS());
    check_variable(v.a, 1, 2);
    tg_variable_release(v.a);
    tg_variable_release(v.b);
    tg_function_release(f);
}

Test(semantics, line_13_two_variables_can_be_swapped)
{
    with_and_without_passes(check_swap);
}

/* The assignments precede the print, and the views of the old contents follow
   it. */
static void swap_before_a_print(tg_trace *t, const tg_value *in, void *user)
{
    const two *v = user;
    (void)in;
    tg_value a = tg_read(v->a), b = tg_read(v->b);
    tg_assign(v->a, b);
    tg_assign(v->b, a);
    tg_print(t, "swapped");
    tg_return(t, tg_min(tg_reshape(b, TG_DIMS(9)), 4),
              tg_reshape(a, TG_DIMS(9)));
}

static void check_views_after_a_print(session *s)
{
    two v = {tg_variable_create(s->ctx, "a", TG_F32, TG_DIMS(3, 3),
                                tg_fill(1)),
             tg_variable_create(
                 s->ctx, "b", TG_F32, TG_DIMS(3, 3),
                 tg_from_data((float[]){1, 2, 3, 4, 5, 6, 7, 8, 9}))};
    tg_function *f = tg_function_create(s->ctx, swap_before_a_print, &v, NULL);
    tg_tensor *low = NULL, *old = NULL;
    cr_assert_eq(tg_call(f, TG_ARGS(), TG_RESULTS(&low, &old)), TG_OK, "%s",
                 tg_error(NULL));
    check_f32(low, 1, 2, 3, 4, 4, 4, 4, 4, 4);
    check_f32(old, 1, 1, 1, 1, 1, 1, 1, 1, 1);
    check_variable(v.a, 1, 2, 3, 4, 5, 6, 7, 8, 9);
    check_variable(v.b, 1, 1, 1, 1, 1, 1, 1, 1, 1);
    tg_variable_release(v.a);
    tg_variable_release(v.b);
    tg_function_release(f);
}

Test(semantics, line_13_views_keep_the_contents_before_a_print)
{
    with_and_without_passes(check_views_after_a_print);
    in_modes(check_views_after_a_print);
}

static void move_elements(tg_trace *t, const tg_value *in, void *user)
{
    tg_variable *v = user;
    (void)in;
    tg_value old_row = tg_slice(v, 0, 0, 1, 1); /* views of its memory */
    tg_assign(v, tg_transpose(v, TG_PERM(1, 0)));
    tg_assign(v, tg_slice(v, 1, -1, TG_END, -1));
    tg_return(t, old_row);
}

static void check_moves(session *s)
{
    tg_variable *v =
        tg_variable_create(s->ctx, "v", TG_F32, TG_DIMS(3, 3),
                           tg_from_data((float[]){1, 2, 3, 4, 5, 6, 7, 8, 9}));
    tg_function *f = tg_function_create(s->ctx, move_elements, v, NULL);
    check_f32(call_one(f, TG_ARGS()), 1, 2, 3);
    check_variable(v, 7, 4, 1, 8, 5, 2, 9, 6, 3);
    tg_variable_release(v);
    tg_function_release(f);
}

Test(semantics, line_13_a_variable_can_be_assigned_a_view_of_itself)
{
    with_and_without_passes(check_moves);
}

static void overwrite(tg_trace *t, const tg_value *in, void *user)
{
    tg_variable *v = user;
    (void)t, (void)in;
    tg_assign(v, 1);
    tg_assign(v, 2);
    tg_assign(v, 3);
}

static void check_overwrite(session *s)
{
    tg_variable *v = f32_scalar_variable(s->ctx, "v", 0);
    tg_function *f = tg_function_create(s->ctx, overwrite, v, NULL);
    const uint64_t version = tg_variable_version(v);
    call_only(f, TG_ARGS());
    check_variable(v, 3);
    cr_assert_gt(tg_variable_version(v), version);
    tg_variable_release(v);
    tg_function_release(f);
}

Test(semantics, line_13_the_last_assignment_stays)
{
    with_and_without_passes(check_overwrite);
}

/* Random reads and writes of three variables, compared with plain C. */
enum { N_STEPS = 200, N_STATE = 3 };

typedef struct random_program {
    uint64_t seed;
    tg_variable *v[N_STATE];
} random_program;

static void run_random_program(tg_trace *t, const tg_value *in, void *user)
{
    const random_program *p = user;
    uint64_t seed = p->seed;
    tg_value values[4] = {in[0], in[0], in[0], in[0]};
    for (int i = 0; i < N_STEPS; i++) {
        tg_variable *v = p->v[random_below(&seed, N_STATE)];
        tg_value *k = &values[random_below(&seed, 4)];
        if (random_below(&seed, 2))
            *k = tg_read(v);
        else if (random_below(&seed, 2))
            *k = tg_assign(v, tg_sub(*k, 3));
        else
            *k = tg_assign_add(v, *k);
    }
    tg_return(t, values[0], values[1], values[2], values[3]);
}

static void expect_random_program(uint64_t seed, uint32_t x, uint32_t *state,
                                  uint32_t *values)
{
    for (int i = 0; i < 4; i++)
        values[i] = x;
    for (int i = 0; i < N_STEPS; i++) {
        uint32_t *v = &state[random_below(&seed, N_STATE)];
        uint32_t *k = &values[random_below(&seed, 4)];
        if (random_below(&seed, 2))
            *k = *v;
        else if (random_below(&seed, 2))
            *k = *v = *k - 3;
        else
            *k = *v += *k;
    }
}

static void check_random_programs(session *s)
{
    tg_tensor *x = tg_tensor_copy(s->ctx, &(uint32_t){77}, TG_U32, TG_SCALAR);
    for (uint64_t seed = 1; seed <= 20; seed++) {
        random_program p = {.seed = seed};
        uint32_t state[N_STATE] = {1, 20, 300}, is, values[4];
        for (int i = 0; i < N_STATE; i++)
            p.v[i] = tg_variable_create(s->ctx, NULL, TG_U32, TG_SCALAR,
                                        tg_from_data(&state[i]));
        tg_function *f =
            tg_function_create(s->ctx, run_random_program, &p, NULL);
        for (int run = 0; run < 2; run++) {
            tg_tensor *y[4] = {NULL};
            check_works(tg_call(f, TG_ARGS(x),
                                TG_RESULTS(&y[0], &y[1], &y[2], &y[3])));
            expect_random_program(seed, 77, state, values);
            for (int i = 0; i < 4; i++) {
                cr_assert_eq(*(uint32_t *)tg_tensor_data(y[i]), values[i],
                             "seed %d", (int)seed);
                tg_tensor_release(y[i]);
            }
            for (int i = 0; i < N_STATE; i++) {
                check_works(tg_variable_get(p.v[i], &is, sizeof is));
                cr_assert_eq(is, state[i], "seed %d", (int)seed);
            }
        }
        for (int i = 0; i < N_STATE; i++)
            tg_variable_release(p.v[i]);
        tg_function_release(f);
    }
    tg_tensor_release(x);
}

Test(semantics, line_13_random_programs_keep_their_order)
{
    with_and_without_passes(check_random_programs);
}

/* -- 14: failure in mid-call ----------------------------------------------- */

typedef struct effects {
    tg_variable *before, *target, *after;
} effects;

static effects effects_create(tg_context *ctx)
{
    return (effects){f32_scalar_variable(ctx, "before", 0),
                     f32_scalar_variable(ctx, "target", 0),
                     f32_scalar_variable(ctx, "after", 0)};
}

static void effects_release(effects *e)
{
    tg_variable_release(e->before);
    tg_variable_release(e->target);
    tg_variable_release(e->after);
}

/* in[0][in[1]] between other effects. */
static void pick_among_effects(tg_trace *t, const tg_value *in, void *user)
{
    const effects *e = user;
    tg_assign_add(e->before, 1);
    tg_print(t, "first");
    tg_value picked = tg_gather(in[0], in[1], 0);
    tg_assign_add(e->target, picked);
    tg_print(t, "second");
    tg_assign_add(e->after, 1);
    tg_return(t, picked, tg_read(e->before));
}

static tg_tensor *index_of(tg_context *ctx, int32_t i)
{
    return tg_tensor_copy(ctx, &i, TG_I32, TG_SCALAR);
}

static void check_failure(session *s)
{
    effects e = effects_create(s->ctx);
    tg_function *f = tg_function_create(s->ctx, pick_among_effects, &e, NULL);
    tg_tensor *x = f32_vector(s->ctx, 10, 20, 30);
    tg_tensor *good = index_of(s->ctx, 2), *bad = index_of(s->ctx, 3);
    tg_tensor *y = NULL, *n = NULL;

    check_fails(tg_call(f, TG_ARGS(x, bad), TG_RESULTS(&y, &n)),
                TG_ERROR_INDEX, "gather", "index 3", "extent 3", __FILE__);
    cr_assert_null(y);
    cr_assert_null(n);
    check_variable(e.before, 1);
    check_variable(e.target, 0);
    check_variable(e.after, 0);
    cr_assert_str_eq(s->printed, "first\n");

    check_works(tg_call(f, TG_ARGS(x, good), TG_RESULTS(&y, &n)));
    check_variable(e.before, 2);
    check_variable(e.target, 30);
    check_variable(e.after, 1);
    cr_assert_str_eq(s->printed, "first\nfirst\nsecond\n");

    /* Tensors passed for results are unchanged. */
    check_fails(tg_call(f, TG_ARGS(x, bad), TG_RESULTS(&y, &n)),
                TG_ERROR_INDEX, "gather");
    check_variable(e.before, 3);
    check_f32(y, 30);
    check_f32(n, 2);
    tg_tensor_release(x);
    tg_tensor_release(good);
    tg_tensor_release(bad);
    tg_function_release(f);
    effects_release(&e);
}

Test(semantics, line_14_a_failing_op_keeps_earlier_effects_and_stops_the_rest)
{
    with_and_without_passes(check_failure);
}

static void check_bound_failure(session *s)
{
    effects e = effects_create(s->ctx);
    tg_function *f = tg_function_create(s->ctx, pick_among_effects, &e, NULL);
    tg_tensor *x = f32_vector(s->ctx, 10, 20, 30), *i = index_of(s->ctx, 1);
    tg_tensor *y = NULL;
    tg_bound *b = tg_bind(f, TG_ARGS(x, i), TG_RESULTS(&y));
    cr_assert_not_null(b, "%s", tg_error(NULL));
    check_works(tg_run(b));
    *(int32_t *)tg_tensor_data(i) = -1;
    check_fails(tg_run(b), TG_ERROR_INDEX, "gather", "index -1");
    check_variable(e.before, 2);
    check_variable(e.target, 20);
    check_variable(e.after, 1);
    cr_assert_eq(*(float *)tg_tensor_data(y), 20);
    *(int32_t *)tg_tensor_data(i) = 0;
    check_works(tg_run(b));
    check_variable(e.target, 30);
    check_f32(y, 10);
    tg_bound_release(b);
    tg_tensor_release(x);
    tg_tensor_release(i);
    tg_function_release(f);
    effects_release(&e);
}

Test(semantics, line_14_a_bound_call_fails_too_and_runs_again)
{
    with_and_without_passes(check_bound_failure);
}

/* Effects, a nested call that fails in the middle, effects. */
static void fail_inside(tg_trace *t, const tg_value *in, void *user)
{
    tg_value y;
    tg_print(t, "outer before");
    tg_apply((tg_function *)user, TG_ARGS(in[0], in[1]), &y, 1);
    tg_print(t, "outer after");
    tg_return(t, y);
}

static void check_nested_failure(session *s)
{
    effects e = effects_create(s->ctx);
    tg_function *f = tg_function_create(s->ctx, pick_among_effects, &e, NULL);
    tg_function *outer = tg_function_create(s->ctx, fail_inside, f, NULL);
    tg_tensor *x = f32_vector(s->ctx, 10, 20, 30);
    tg_tensor *good = index_of(s->ctx, 0), *bad = index_of(s->ctx, 7);
    check_fails(tg_call(outer, TG_ARGS(x, bad), TG_RESULTS()),
                TG_ERROR_INDEX, "gather", "index 7");
    check_variable(e.before, 1);
    check_variable(e.target, 0);
    check_variable(e.after, 0);
    cr_assert_str_eq(s->printed, "outer before\nfirst\n");
    s->printed[0] = '\0';
    check_f32(call_one(outer, TG_ARGS(x, good)), 10);
    check_variable(e.before, 2);
    check_variable(e.target, 10);
    check_variable(e.after, 1);
    cr_assert_str_eq(s->printed,
                     "outer before\nfirst\nsecond\nouter after\n");
    tg_tensor_release(x);
    tg_tensor_release(good);
    tg_tensor_release(bad);
    tg_function_release(outer);
    tg_function_release(f);
    effects_release(&e);
}

Test(semantics, line_14_a_failure_in_a_nested_call_stops_the_outer_one)
{
    with_and_without_passes(check_nested_failure);
}

static void *set_from_another_thread(void *user)
{
    set_variable((tg_variable *)user, 50);
    return NULL;
}

Test(semantics, line_14_a_failed_call_holds_no_lock)
{
    session s;
    session_begin(&s);
    effects e = effects_create(s.ctx);
    tg_function *f = tg_function_create(s.ctx, pick_among_effects, &e, NULL);
    tg_tensor *x = f32_vector(s.ctx, 10), *bad = index_of(s.ctx, 1);
    check_fails(tg_call(f, TG_ARGS(x, bad), TG_RESULTS()), TG_ERROR_INDEX,
                "gather");
    pthread_t thread;
    pthread_create(&thread, NULL, set_from_another_thread, e.target);
    pthread_join(thread, NULL);
    check_variable(e.target, 50);
    tg_tensor_release(x);
    tg_tensor_release(bad);
    tg_function_release(f);
    effects_release(&e);
    session_end(&s);
}

/* -- 14: effects without results ------------------------------------------- */

static void only_effects(tg_trace *t, const tg_value *in, void *user)
{
    const effects *e = user;
    tg_value unused = tg_add(tg_read(e->target), in[0]); /* may be eliminated */
    (void)unused;
    tg_assign(e->before, in[0]);
    tg_print(t, "before is %v", e->before);
    tg_assign(e->before, tg_mul(tg_read(e->before), 2));
    tg_print(t, "before is %v", e->before);
}

static void check_unused(session *s)
{
    effects e = effects_create(s->ctx);
    tg_function *f = tg_function_create(s->ctx, only_effects, &e, NULL);
    call_only(f, TG_ARGS(4.0f));
    check_variable(e.before, 8);
    cr_assert_str_eq(s->printed, "before is 4\nbefore is 8\n");
    call_only(f, TG_ARGS(5.0f));
    check_variable(e.before, 10);
    tg_function_release(f);
    effects_release(&e);
}

Test(semantics, line_14_unused_assignments_and_prints_run)
{
    with_and_without_passes(check_unused);
}

static void discard_assigned(tg_trace *t, const tg_value *in, void *user)
{
    const effects *e = user;
    tg_return(t, tg_assign_add(e->before, in[0]), in[0]);
}

static void check_discarded(session *s)
{
    effects e = effects_create(s->ctx);
    tg_function *f = tg_function_create(s->ctx, discard_assigned, &e, NULL);
    tg_tensor *y = NULL;
    check_works(tg_call(f, TG_ARGS(2.0f), TG_RESULTS(NULL, &y)));
    check_f32(y, 2);
    check_works(tg_call(f, TG_ARGS(2.0f), TG_RESULTS(NULL)));
    check_works(tg_call(f, TG_ARGS(2.0f), TG_RESULTS()));
    check_variable(e.before, 6);
    tg_function_release(f);
    effects_release(&e);
}

Test(semantics, line_14_effects_run_if_their_results_are_discarded)
{
    with_and_without_passes(check_discarded);
}

static void print_letters(tg_trace *t, const tg_value *in, void *user)
{
    (void)in, (void)user;
    tg_print(t, "b");
    tg_print(t, "c");
    tg_print(t, "c"); /* each print happens */
}

static void print_around(tg_trace *t, const tg_value *in, void *user)
{
    tg_print(t, "a %v", in[0]);
    tg_apply((tg_function *)user, TG_ARGS(), NULL, 0);
    tg_print(t, "d %v", tg_add(in[0], 1));
    tg_apply((tg_function *)user, TG_ARGS(), NULL, 0);
    tg_print(t, "e");
}

static void check_prints(session *s)
{
    tg_function *f = tg_function_create(s->ctx, print_letters, NULL, NULL);
    tg_function *outer = tg_function_create(s->ctx, print_around, f, NULL);
    call_only(outer, TG_ARGS(1));
    cr_assert_str_eq(s->printed, "a 1\nb\nc\nc\nd 2\nb\nc\nc\ne\n");
    tg_function_release(outer);
    tg_function_release(f);
}

Test(semantics, line_14_prints_keep_one_order)
{
    with_and_without_passes(check_prints);
}

/* -- 15: nested writes ----------------------------------------------------- */

static void times_ten_plus_argument(tg_trace *t, const tg_value *in,
                                    void *user)
{
    tg_variable *v = user;
    (void)in;
    tg_return(t, tg_assign(v, tg_add(tg_mul(v, 10), in[0])));
}

static void times_ten_plus(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    tg_return(t, tg_assign(in[1], tg_add(tg_mul(in[1], 10), in[0])));
}

typedef struct nested_writes {
    tg_function *captures, *takes;
    tg_variable *v;
} nested_writes;

/* Each digit of the variable is one write, with reads in between. */
static void write_digits(tg_trace *t, const tg_value *in, void *user)
{
    const nested_writes *w = user;
    (void)in;
    tg_value a, b, start = tg_read(w->v);
    tg_assign(w->v, 1);
    tg_apply(w->captures, TG_ARGS(2.0f), &a, 1);
    tg_value between = tg_read(w->v);
    tg_apply(w->takes, TG_ARGS(3.0f, w->v), &b, 1);
    tg_assign_add(w->v, 0.5f);
    tg_apply(w->captures, TG_ARGS(4.0f), NULL, 0);
    tg_return(t, start, a, between, b, tg_read(w->v));
}

static void check_nested_writes(session *s)
{
    nested_writes w = {.v = f32_scalar_variable(s->ctx, "v", 9)};
    w.captures =
        tg_function_create(s->ctx, times_ten_plus_argument, w.v, NULL);
    w.takes = tg_function_create(s->ctx, times_ten_plus, NULL, NULL);
    tg_function *f = tg_function_create(s->ctx, write_digits, &w, NULL);
    const float want[5] = {9, 12, 12, 123, 1239};
    tg_tensor *y[5] = {NULL};
    check_works(tg_call(f, TG_ARGS(),
                        TG_RESULTS(&y[0], &y[1], &y[2], &y[3], &y[4])));
    for (int i = 0; i < 5; i++)
        check_f32(y[i], want[i]);
    check_variable(w.v, 1239);
    tg_function_release(f);
    tg_function_release(w.takes);
    tg_function_release(w.captures);
    tg_variable_release(w.v);
}

Test(semantics, line_15_nested_writes_are_ordered_with_the_outer_ones)
{
    with_and_without_passes(check_nested_writes);
}

/* A nested function with two variables, for which the outer one passes the
   same: its own argument and a captured one. */
static void add_then_double(tg_trace *t, const tg_value *in, void *user)
{
    (void)t, (void)user;
    tg_assign_add(in[0], 1);
    tg_assign(in[1], tg_mul(in[1], 2));
}

static void pass_both(tg_trace *t, const tg_value *in, void *user)
{
    const nested_writes *w = user;
    (void)t;
    tg_apply(w->takes, TG_ARGS(in[0], w->v), NULL, 0);
}

static void check_nested_aliases(session *s)
{
    nested_writes w = {.v = f32_scalar_variable(s->ctx, "v", 5)};
    tg_variable *other = f32_scalar_variable(s->ctx, "other", 100);
    w.takes = tg_function_create(s->ctx, add_then_double, NULL, NULL);
    tg_function *f = tg_function_create(s->ctx, pass_both, &w, NULL);
    call_only(f, TG_ARGS(other));
    check_variable(other, 101);
    check_variable(w.v, 10);
    call_only(f, TG_ARGS(w.v));
    check_variable(w.v, 22);
    call_only(f, TG_ARGS(other));
    check_variable(other, 102);
    check_variable(w.v, 44);
    tg_function_release(f);
    tg_function_release(w.takes);
    tg_variable_release(other);
    tg_variable_release(w.v);
}

Test(semantics, line_15_a_nested_function_may_meet_one_variable_twice)
{
    with_and_without_passes(check_nested_aliases);
}
