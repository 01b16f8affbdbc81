/* SPDX-License-Identifier: MIT */
/*
 * test_unbounded_stack.c - loops that save something in each trip, as often as they go
 * round: interpreted and compiled, alone and inside of others, in memory that
 * grows, is kept, and may run out.
 */
#include "base/alloc.h"
#include "support/modes.h"
#include "support/saved_values.h"

#define CALLBACK(name) \
    static void name(__attribute__((unused)) tg_trace *t, \
                     __attribute__((unused)) const tg_value *in, \
                     __attribute__((unused)) void *user)

/* What a loop has saved, for those that come after it. */
typedef struct saved {
    tg_value stacks[4], trips;
} saved;

/* -- There and back -------------------------------------------------------- */

/* Loop values: x and the trips done. Saves x, the sum of x, a mask, and the
   number of the trip. */
CALLBACK(go)
{
    tg_value next = tg_add(tg_mul(in[1], 0.75), tg_cast(in[0], TG_F32));
    tg_return(t, next, tg_add(in[2], 1), in[1],
              tg_sum(tg_cast(in[1], TG_F64), TG_ALL_AXES), tg_gt(in[1], 2),
              tg_cast(in[0], TG_U8));
}

CALLBACK(goes_on)
{
    const tg_value *most = user;
    tg_return(t, tg_lt(in[1], *most));
}

/* Loop values: x, and one number; takes what was saved, the last first. */
CALLBACK(go_back)
{
    const saved *s = user;
    tg_value at = tg_sub(tg_sub(s->trips, in[0]), 1);
    tg_value x = take_saved(t, s->stacks[0], at);
    tg_value mask = take_saved(t, s->stacks[2], at);
    tg_value number = take_saved(t, s->stacks[3], at);
    tg_return(t,
              tg_select(mask, tg_add(tg_mul(in[1], 0.5), x),
                        tg_add(in[1], tg_cast(number, TG_F32))),
              tg_add(tg_mul(in[2], 0.5), take_saved(t, s->stacks[1], at)));
}

static void there_and_back(tg_value x, tg_value trips, bool by_test,
                           tg_value *out_values)
{
    saved s;
    tg_value ends[2];
    tg_value zero = tg_scalar(TG_I64, 0);
    tg_value many = tg_scalar(TG_I64, INT64_MAX);
    if (by_test)
        loop_saving(tg_in_value(many), false, goes_on, go, &trips,
                    (tg_operand[]){tg_in_value(x), tg_in_value(zero)}, 2, 4,
                    ends, s.stacks);
    else
        loop_saving(tg_in_value(trips), false, NULL, go, NULL,
                    (tg_operand[]){tg_in_value(x), tg_in_value(zero)}, 2, 4,
                    ends, s.stacks);
    s.trips = ends[1];
    tg_for(ends[1], go_back, &s, TG_ARGS(ends[0], tg_scalar(TG_F64, 0)),
           out_values, 2);
}

CALLBACK(save_by_number)
{
    tg_value y[2];
    there_and_back(in[0], in[1], false, y);
    tg_return(t, y[0], y[1]);
}

CALLBACK(save_by_test)
{
    tg_value y[2];
    there_and_back(in[0], in[1], true, y);
    tg_return(t, y[0], y[1]);
}

static tg_tensor *i64_of(session *s, int64_t number)
{
    return tg_tensor_copy(s->ctx, &number, TG_I64, TG_SCALAR);
}

/* Calls f for x of n elements and so many trips; notes what comes out. */
static void call_saving(session *s, outcome *out, tg_function *f, int64_t n,
                        int64_t trips)
{
    tg_tensor *x = f32_range(s->ctx, n), *count = i64_of(s, trips);
    tg_tensor *y = NULL, *z = NULL;
    check_works(tg_call(f, TG_ARGS(x, count), TG_RESULTS(&y, &z)));
    note_tensor(out, y);
    note_tensor(out, z);
    tg_tensor_release(x);
    tg_tensor_release(count);
    tg_tensor_release(y);
    tg_tensor_release(z);
}

static void call_all_saving(session *s, outcome *out, tg_callback *callback)
{
    static const int64_t lengths[] = {3, 1, 0, 700, 4099};
    static const int64_t trips[] = {0, 1, 5, 3, 200, 70, 71};
    tg_function *f = tg_function_create(s->ctx, callback, NULL, NULL);
    for (size_t i = 0; i < 4; i++)
        for (size_t k = 0; k < 7; k++)
            call_saving(s, out, f, lengths[i], trips[k]);
    call_saving(s, out, f, lengths[4], 9);
    tg_function_release(f);
}

static void all_by_number(session *s, outcome *out)
{
    call_all_saving(s, out, save_by_number);
}

static void all_by_test(session *s, outcome *out)
{
    call_all_saving(s, out, save_by_test);
}

Test(grows, what_is_saved_is_there_when_it_is_taken)
{
    check_modes(all_by_number);
}

Test(grows, the_data_may_decide_how_often)
{
    check_modes(all_by_test);
}

static void many_trips(session *s, outcome *out)
{
    tg_function *f = tg_function_create(s->ctx, save_by_test, NULL, NULL);
    call_saving(s, out, f, 3, 100000);
    tg_function_release(f);
}

Test(grows, a_hundred_thousand_trips_of_a_tiny_loop)
{
    check_modes(many_trips);
}

static void many_wide_trips(session *s, outcome *out)
{
    tg_function *f = tg_function_create(s->ctx, save_by_number, NULL, NULL);
    call_saving(s, out, f, 700, 3000);
    tg_function_release(f);
}

Test(grows, many_trips_of_a_loop_that_is_not_tiny)
{
    check_modes(many_wide_trips);
}

/* What is saved has the number that it should, not only that of others. */
CALLBACK(save_counts)
{
    tg_return(t, tg_add(in[1], 1), tg_mul(in[0], in[0]));
}

CALLBACK(sum_counts)
{
    const saved *s = user;
    tg_return(t, tg_add(in[1], tg_mul(take_saved(t, s->stacks[0], in[0]),
                                      tg_add(in[0], 1))));
}

CALLBACK(sum_of_squares)
{
    saved s;
    tg_value end, sum;
    tg_value zero = tg_scalar(TG_I64, 0);
    loop_saving(tg_in_value(in[0]), false, NULL, save_counts, NULL,
                (tg_operand[]){tg_in_value(zero)}, 1, 1, &end, s.stacks);
    tg_for(end, sum_counts, &s, TG_ARGS(tg_scalar(TG_I64, 0)), &sum, 1);
    tg_return(t, sum);
}

static void add_squares(session *s, outcome *out)
{
    tg_function *f = tg_function_create(s->ctx, sum_of_squares, NULL, NULL);
    for (int64_t trips = 0; trips < 5000; trips = 3 * trips + 1) {
        int64_t want = 0;
        for (int64_t i = 0; i < trips; i++)
            want += i * i * (i + 1);
        tg_tensor *n = i64_of(s, trips), *y = call_one(f, TG_ARGS(n));
        cr_assert_eq(*(int64_t *)tg_tensor_data(y), want, "%lld trips",
                     (long long)trips);
        note_tensor(out, y);
        tg_tensor_release(n);
        tg_tensor_release(y);
    }
    tg_function_release(f);
}

Test(grows, each_trip_has_its_slice)
{
    check_modes(add_squares);
}

/* -- Inside of others ------------------------------------------------------ */

/* A loop that saves, and one that takes, in each trip of another. */
CALLBACK(inner_loops)
{
    const tg_value *trips = user;
    tg_value y[2];
    there_and_back(in[1], tg_mul(*trips, in[0]), true, y);
    tg_return(t, tg_mul(y[0], 0.125), tg_add(in[2], y[1]));
}

CALLBACK(save_in_a_loop)
{
    tg_value y[2];
    tg_for(4, inner_loops, (void *)(uintptr_t)&in[1],
           TG_ARGS(in[0], tg_scalar(TG_F64, 0)), y, 2);
    tg_return(t, y[0], y[1]);
}

CALLBACK(save_in_branch)
{
    const tg_value *trips = user;
    tg_value y[2];
    there_and_back(in[0], *trips, false, y);
    tg_return(t, y[0], y[1]);
}

CALLBACK(save_twice_in_branch)
{
    const tg_value *trips = user;
    tg_value y[2], z[2];
    there_and_back(in[0], *trips, false, y);
    there_and_back(tg_mul(y[0], 0.5), tg_add(*trips, 7), true, z);
    tg_return(t, tg_add(z[0], y[0]), tg_sub(z[1], y[1]));
}

CALLBACK(save_in_branches)
{
    tg_value y[2];
    tg_cond(tg_gt(in[1], 5), save_twice_in_branch, save_in_branch,
            (void *)(uintptr_t)&in[1], TG_ARGS(in[0]), y, 2);
    tg_return(t, y[0], y[1]);
}

/* What is taken in a branch of the loop. */
CALLBACK(take_x)
{
    const saved *s = user;
    tg_return(t, tg_add(in[0], take_saved(t, s->stacks[0], in[1])));
}

CALLBACK(take_number)
{
    const saved *s = user;
    tg_value number = take_saved(t, s->stacks[3], in[1]);
    tg_return(t, tg_mul(in[0], tg_cast(number, TG_F32)));
}

CALLBACK(go_back_by_branches)
{
    const saved *s = user;
    tg_value y;
    tg_cond(tg_eq(tg_rem(in[0], 2), 0), take_x, take_number,
            (void *)(uintptr_t)s, TG_ARGS(tg_mul(in[1], 0.25), in[0]), &y, 1);
    tg_return(t, y);
}

CALLBACK(take_in_branches)
{
    saved s;
    tg_value ends[2], y;
    tg_value zero = tg_scalar(TG_I64, 0);
    loop_saving(tg_in_value(in[1]), false, NULL, go, NULL,
                (tg_operand[]){tg_in_value(in[0]), tg_in_value(zero)}, 2, 4,
                ends, s.stacks);
    tg_for(ends[1], go_back_by_branches, &s, TG_ARGS(ends[0]), &y, 1);
    tg_return(t, y, ends[1]);
}

static void in_a_loop(session *s, outcome *out)
{
    call_all_saving(s, out, save_in_a_loop);
}

static void in_branches(session *s, outcome *out)
{
    call_all_saving(s, out, save_in_branches);
}

static void by_branches(session *s, outcome *out)
{
    call_all_saving(s, out, take_in_branches);
}

Test(grows, in_each_trip_of_another_loop)
{
    check_modes(in_a_loop);
}

Test(grows, in_branches)
{
    check_modes(in_branches);
}

Test(grows, branches_take_what_loops_have_saved)
{
    check_modes(by_branches);
}

/* Called by another function, with extents of its own: the inline pass opens
   it. */
typedef struct callee {
    tg_function *f;
} callee;

CALLBACK(apply_saving)
{
    const callee *c = user;
    tg_value y[2];
    tg_apply(c->f, TG_ARGS(tg_mul(in[0], 0.5), in[1]), y, 2);
    tg_return(t, tg_add(y[0], in[0]), y[1]);
}

static void in_a_callee(session *s, outcome *out)
{
    tg_function_options relaxed = TG_FUNCTION_OPTIONS_INIT;
    relaxed.policy = TG_RELAXED;
    callee c = {tg_function_create(s->ctx, save_by_test, NULL, &relaxed)};
    tg_function *f =
        tg_function_create(s->ctx, apply_saving, &c, &relaxed);
    for (int64_t n = 0; n < 4; n++)
        call_saving(s, out, f, n, 10 * n);
    tg_function_release(f);
    tg_function_release(c.f);
}

Test(grows, in_a_callee)
{
    check_modes(in_a_callee);
}

/* -- Memory ---------------------------------------------------------------- */

/* A bound call of save_by_number; 700 elements are too many for tiny loops. */
typedef struct bound_call {
    tg_function *f;
    tg_tensor *x, *trips, *y, *z;
    tg_bound *bound;
} bound_call;

static void bind_saving(session *s, bound_call *b, tg_callback *callback,
                        int64_t n, int64_t trips)
{
    b->f = tg_function_create(s->ctx, callback, NULL, NULL);
    b->x = f32_range(s->ctx, n);
    b->trips = i64_of(s, trips);
    b->y = f32_range(s->ctx, n);
    b->z = tg_tensor_create(s->ctx, TG_F64, TG_SCALAR);
    memset(tg_tensor_data(b->y), 0x55, tg_tensor_bytes(b->y));
    memset(tg_tensor_data(b->z), 0x55, tg_tensor_bytes(b->z));
    b->bound = tg_bind(b->f, TG_ARGS(b->x, b->trips),
                       TG_RESULTS(&b->y, &b->z));
    cr_assert_not_null(b->bound, "%s", tg_error(NULL));
}

static void note_bound(const bound_call *b, outcome *out)
{
    note_tensor(out, b->y);
    note_tensor(out, b->z);
}

static void release_bound(bound_call *b)
{
    tg_bound_release(b->bound);
    tg_tensor_release(b->x);
    tg_tensor_release(b->trips);
    tg_tensor_release(b->y);
    tg_tensor_release(b->z);
    tg_function_release(b->f);
}

static void keeps_memory(session *s, outcome *out)
{
    static const int64_t lengths[] = {3, 700};
    for (int i = 0; i < 2; i++) {
        bound_call b;
        bind_saving(s, &b, save_by_test, lengths[i], 900);
        check_works(tg_run(b.bound));
        note_bound(&b, out);
        tgi_alloc_inject_failure(-1, 0);
        check_works(tg_run(b.bound));
        cr_assert_eq(tgi_alloc_inject_failure(-1, 0), 0, "nothing grows again");
        note_bound(&b, out);
        *(int64_t *)tg_tensor_data(b.trips) = 4000;
        check_works(tg_run(b.bound));
        cr_assert_gt(tgi_alloc_inject_failure(-1, 0), 0,
                     "more trips take more");
        note_bound(&b, out);
        *(int64_t *)tg_tensor_data(b.trips) = 2;
        check_works(tg_run(b.bound));
        cr_assert_eq(tgi_alloc_inject_failure(-1, 0), 0);
        note_bound(&b, out);
        release_bound(&b);
    }
}

Test(grows, memory_is_kept_for_the_next_run)
{
    check_modes(keeps_memory);
}

/* Each time there is memory for one stack more; the results of a run that
   fails are what they were. */
static void runs_out(session *s, outcome *out)
{
    static const int64_t lengths[] = {3, 700};
    for (int i = 0; i < 2; i++) {
        bound_call b;
        long n_faults = 0;
        bind_saving(s, &b, save_by_test, lengths[i], 3000);
        for (bool works = false; !works;) {
            tgi_alloc_inject_failure(n_faults == 0 ? 0 : 1, n_faults % 2);
            const tg_status status = tg_run(b.bound);
            const bool has_failed =
                tgi_alloc_inject_failure(-1, 0) > (n_faults == 0 ? 0 : 1);
            works = status == TG_OK;
            cr_assert_eq(has_failed, !works);
            if (works)
                break;
            cr_assert_eq(status, TG_ERROR_OUT_OF_MEMORY);
            check_record(TG_ERROR_OUT_OF_MEMORY, "of a loop that saves");
            for (size_t k = 0; k < tg_tensor_bytes(b.y); k++)
                cr_assert_eq(((char *)tg_tensor_data(b.y))[k], 0x55);
            n_faults++;
            cr_assert_lt(n_faults, 1000);
        }
        cr_assert_gt(n_faults, 3);
        note_bound(&b, out);
        release_bound(&b);
    }
}

Test(grows, memory_may_run_out)
{
    check_modes(runs_out);
}

CALLBACK(save_after_effects)
{
    tg_value y[2];
    tg_assign_add(in[2], 1);
    tg_print(t, "%v", tg_sum(in[2], TG_ALL_AXES));
    there_and_back(in[0], in[1], true, y);
    tg_assign_add(in[2], 10);
    tg_return(t, y[0], y[1]);
}

static void effects_stay(session *s, outcome *out)
{
    tg_function *f =
        tg_function_create(s->ctx, save_after_effects, NULL, NULL);
    tg_variable *v = tg_variable_create(s->ctx, "v", TG_F32, TG_DIMS(3),
                                        tg_fill(1));
    tg_tensor *x = f32_range(s->ctx, 3), *few = i64_of(s, 2);
    tg_tensor *trips = i64_of(s, 100000), *y = NULL, *z = NULL;
    check_works(tg_call(f, TG_ARGS(x, few, v), TG_RESULTS(&y, &z)));
    note_variable(out, v);
    tgi_alloc_inject_failure(-1, 0);
    check_fails(tg_call(f, TG_ARGS(x, trips, v), TG_RESULTS(&y, &z)),
                TG_ERROR_OUT_OF_MEMORY, "the limit is 262144");
    note_variable(out, v);
    tg_variable_release(v);
    tg_tensor_release(x);
    tg_tensor_release(few);
    tg_tensor_release(trips);
    tg_tensor_release(y);
    tg_tensor_release(z);
    tg_function_release(f);
}

/* As check_modes, with a limit of memory. */
Test(grows, the_limit_of_memory_holds_and_effects_before_stay)
{
    static outcome want, is;
    need_compiler();
    setenv("TGJIT_GRAIN", "0", 1);
    for (int i = 0; i < N_MODES; i++) {
        session s;
        outcome *out = i ? &is : &want;
        out->n = 0;
        session_begin_with(
            &s, (tg_context_options){.jit = all_modes[i].jit,
                                     .threads = all_modes[i].threads,
                                     .vector_bits = all_modes[i].vector_bits,
                                     .memory_limit = 1 << 18});
        effects_stay(&s, out);
        note(out, s.printed, strlen(s.printed));
        session_end(&s);
        cr_assert_eq(want.n, out->n);
        cr_assert_arr_eq(want.bytes, out->bytes, want.n, "%s",
                         all_modes[i].name);
    }
}

/* Memory runs out while everything is made, and while it runs. */
static bool save_with_faults(void)
{
    tg_context_options options = {.struct_bytes = sizeof(options),
                                  .jit = "off"};
    const float data[] = {1, 2, 3};
    const int64_t number = 1500;
    tg_context *ctx = tg_context_create(&options);
    if (!ctx)
        return false;
    tg_function *f = tg_function_create(ctx, save_by_test, NULL, NULL);
    tg_tensor *x = tg_tensor_copy(ctx, data, TG_F32, TG_DIMS(3));
    tg_tensor *trips = tg_tensor_copy(ctx, &number, TG_I64, TG_SCALAR);
    tg_tensor *y = NULL, *z = NULL;
    const bool went_well =
        f && x && trips &&
        tg_call(f, TG_ARGS(x, trips), TG_RESULTS(&y, &z)) == TG_OK;
    tg_tensor_release(x);
    tg_tensor_release(trips);
    tg_tensor_release(y);
    tg_tensor_release(z);
    tg_function_release(f);
    tg_context_release(ctx);
    return went_well;
}

Test(grows, nothing_is_left_behind_when_memory_runs_out_anywhere)
{
    check_every_fault(save_with_faults);
}

/* -- Limits of trips, and what cannot be ----------------------------------- */

CALLBACK(save_with_limit)
{
    saved s;
    tg_value ends[2], y[2], most = in[1];
    tg_value zero = tg_scalar(TG_I64, 0), limit = tg_scalar(TG_I64, 50);
    loop_saving(tg_in_value(limit), true, goes_on, go, &most,
                (tg_operand[]){tg_in_value(in[0]), tg_in_value(zero)}, 2, 4,
                ends, s.stacks);
    s.trips = ends[1];
    tg_for(ends[1], go_back, &s, TG_ARGS(ends[0], tg_scalar(TG_F64, 0)), y, 2);
    tg_return(t, y[0], y[1]);
}

static void with_limit(session *s, outcome *out)
{
    static const int64_t lengths[] = {3, 700};
    tg_function *f = tg_function_create(s->ctx, save_with_limit, NULL, NULL);
    for (int i = 0; i < 2; i++) {
        tg_tensor *x = f32_range(s->ctx, lengths[i]), *trips = i64_of(s, 51);
        tg_tensor *y = NULL, *z = NULL;
        call_saving(s, out, f, lengths[i], 50);
        note_status(out,
                    tg_call(f, TG_ARGS(x, trips), TG_RESULTS(&y, &z)));
        check_record(TG_ERROR_LIMIT, "limit of 50 iterations");
        call_saving(s, out, f, lengths[i], 49);
        tg_tensor_release(x);
        tg_tensor_release(trips);
    }
    tg_function_release(f);
}

Test(grows, a_loop_that_saves_may_have_a_limit)
{
    check_modes(with_limit);
}

static void check_not_exported(tg_callback *callback)
{
    session s;
    session_begin(&s);
    tg_function *f = tg_function_create(s.ctx, callback, NULL, NULL);
    const tg_spec specs[] = {tg_spec_tensor(TG_F32, TG_DIMS(3)),
                             tg_spec_tensor(TG_I64, TG_SCALAR)};
    tg_concrete *c = tg_function_concrete(f, specs, 2);
    cr_assert_not_null(c, "%s", tg_error(NULL));
    check_fails(tg_concrete_export(c, "/tmp/f", NULL), TG_ERROR_UNSUPPORTED,
                "saved_values.h:", "saves values in a loop");
    tg_concrete_release(c);
    tg_function_release(f);
    session_end(&s);
}

Test(grows, what_grows_cannot_be_exported)
{
    check_not_exported(save_by_number);
    check_not_exported(save_in_a_loop);
}
