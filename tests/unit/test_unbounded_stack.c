/* SPDX-License-Identifier: MIT */
/*
 * test_unbounded_stack.c - loops of unknown length that save values in each
 * iteration: interpreted and compiled, alone and nested, in memory that grows,
 * is reused, and may run out.
 */
#include "base/alloc.h"
#include "support/modes.h"
#include "support/saved_values.h"

#define CALLBACK(name) \
    static void name(__attribute__((unused)) tg_trace *t, \
                     __attribute__((unused)) const tg_value *in, \
                     __attribute__((unused)) void *user)

/* The values that a loop has saved, for later loops. */
typedef struct saved {
    tg_value stacks[4], iterations;
} saved;

/* -- A loop forward and one backward --------------------------------------- */

/* Loop values: x and the number of iterations. Saves x, the sum of x, a mask,
   and the iteration number. */
CALLBACK(forward_body)
{
    tg_value next = tg_add(tg_mul(in[1], 0.75), tg_cast(in[0], TG_F32));
    tg_return(t, next, tg_add(in[2], 1), in[1],
              tg_sum(tg_cast(in[1], TG_F64), TG_ALL_AXES), tg_gt(in[1], 2),
              tg_cast(in[0], TG_U8));
}

CALLBACK(is_below_limit)
{
    const tg_value *most = user;
    tg_return(t, tg_lt(in[1], *most));
}

/* Loop values: x and a number; reads saved values, the last first. */
CALLBACK(backward_body)
{
    const saved *s = user;
    tg_value at = tg_sub(tg_sub(s->iterations, in[0]), 1);
    tg_value x = take_saved(t, s->stacks[0], at);
    tg_value mask = take_saved(t, s->stacks[2], at);
    tg_value number = take_saved(t, s->stacks[3], at);
    tg_return(t,
              tg_select(mask, tg_add(tg_mul(in[1], 0.5), x),
                        tg_add(in[1], tg_cast(number, TG_F32))),
              tg_add(tg_mul(in[2], 0.5), take_saved(t, s->stacks[1], at)));
}

static void forward_and_backward(tg_value x, tg_value iterations, bool by_test,
                                 tg_value *out_values)
{
    saved s;
    tg_value ends[2];
    tg_value zero = tg_scalar(TG_I64, 0);
    tg_value many = tg_scalar(TG_I64, INT64_MAX);
    if (by_test)
        loop_saving(tg_in_value(many), false, is_below_limit, forward_body,
                    &iterations,
                    (tg_operand[]){tg_in_value(x), tg_in_value(zero)}, 2, 4,
                    ends, s.stacks);
    else
        loop_saving(tg_in_value(iterations), false, NULL, forward_body, NULL,
                    (tg_operand[]){tg_in_value(x), tg_in_value(zero)}, 2, 4,
                    ends, s.stacks);
    s.iterations = ends[1];
    tg_for(ends[1], backward_body, &s, TG_ARGS(ends[0], tg_scalar(TG_F64, 0)),
           out_values, 2);
}

CALLBACK(save_by_number)
{
    tg_value y[2];
    forward_and_backward(in[0], in[1], false, y);
    tg_return(t, y[0], y[1]);
}

CALLBACK(save_by_test)
{
    tg_value y[2];
    forward_and_backward(in[0], in[1], true, y);
    tg_return(t, y[0], y[1]);
}

static tg_tensor *i64_of(session *s, int64_t number)
{
    return tg_tensor_copy(s->ctx, &number, TG_I64, TG_SCALAR);
}

/* Calls f for x of n elements; records the results. */
static void call_saving(session *s, outcome *out, tg_function *f, int64_t n,
                        int64_t iterations)
{
    tg_tensor *x = f32_range(s->ctx, n), *count = i64_of(s, iterations);
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
    static const int64_t iterations[] = {0, 1, 5, 3, 200, 70, 71};
    tg_function *f = tg_function_create(s->ctx, callback, NULL, NULL);
    for (size_t i = 0; i < 4; i++)
        for (size_t k = 0; k < 7; k++)
            call_saving(s, out, f, lengths[i], iterations[k]);
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

Test(unbounded_stack, saved_values_are_read_back)
{
    check_modes(all_by_number);
}

Test(unbounded_stack, data_may_decide_the_number_of_iterations)
{
    check_modes(all_by_test);
}

static void many_iterations(session *s, outcome *out)
{
    tg_function *f = tg_function_create(s->ctx, save_by_test, NULL, NULL);
    call_saving(s, out, f, 3, 100000);
    tg_function_release(f);
}

Test(unbounded_stack, a_straight_line_loop_of_100000_iterations)
{
    check_modes(many_iterations);
}

static void many_wide_iterations(session *s, outcome *out)
{
    tg_function *f = tg_function_create(s->ctx, save_by_number, NULL, NULL);
    call_saving(s, out, f, 700, 3000);
    tg_function_release(f);
}

Test(unbounded_stack, a_large_loop_of_many_iterations)
{
    check_modes(many_wide_iterations);
}

/* A saved value depends on its own iteration number. */
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
    for (int64_t iterations = 0; iterations < 5000;
         iterations = 3 * iterations + 1) {
        int64_t want = 0;
        for (int64_t i = 0; i < iterations; i++)
            want += i * i * (i + 1);
        tg_tensor *n = i64_of(s, iterations), *y = call_one(f, TG_ARGS(n));
        cr_assert_eq(*(int64_t *)tg_tensor_data(y), want, "%lld iterations",
                     (long long)iterations);
        note_tensor(out, y);
        tg_tensor_release(n);
        tg_tensor_release(y);
    }
    tg_function_release(f);
}

Test(unbounded_stack, each_iteration_has_its_slice)
{
    check_modes(add_squares);
}

/* -- Nested ---------------------------------------------------------------- */

/* A loop that saves, and one that reads, in each iteration of another. */
CALLBACK(inner_loops)
{
    const tg_value *iterations = user;
    tg_value y[2];
    forward_and_backward(in[1], tg_mul(*iterations, in[0]), true, y);
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
    const tg_value *iterations = user;
    tg_value y[2];
    forward_and_backward(in[0], *iterations, false, y);
    tg_return(t, y[0], y[1]);
}

CALLBACK(save_twice_in_branch)
{
    const tg_value *iterations = user;
    tg_value y[2], z[2];
    forward_and_backward(in[0], *iterations, false, y);
    forward_and_backward(tg_mul(y[0], 0.5), tg_add(*iterations, 7), true, z);
    tg_return(t, tg_add(z[0], y[0]), tg_sub(z[1], y[1]));
}

CALLBACK(save_in_branches)
{
    tg_value y[2];
    tg_cond(tg_gt(in[1], 5), save_twice_in_branch, save_in_branch,
            (void *)(uintptr_t)&in[1], TG_ARGS(in[0]), y, 2);
    tg_return(t, y[0], y[1]);
}

/* Saved values that a branch in the loop reads. */
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
    loop_saving(tg_in_value(in[1]), false, NULL, forward_body, NULL,
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

Test(unbounded_stack, works_in_each_iteration_of_another_loop)
{
    check_modes(in_a_loop);
}

Test(unbounded_stack, works_in_branches)
{
    check_modes(in_branches);
}

Test(unbounded_stack, branches_read_values_saved_by_loops)
{
    check_modes(by_branches);
}

/* Called by another function, with its own extents, and inlined. */
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

Test(unbounded_stack, works_in_a_callee)
{
    check_modes(in_a_callee);
}

/* -- Memory ---------------------------------------------------------------- */

/* A bound call of save_by_number; 700 elements exceed straight-line loops. */
typedef struct bound_call {
    tg_function *f;
    tg_tensor *x, *iterations, *y, *z;
    tg_bound *bound;
} bound_call;

static void bind_saving(session *s, bound_call *b, tg_callback *callback,
                        int64_t n, int64_t iterations)
{
    b->f = tg_function_create(s->ctx, callback, NULL, NULL);
    b->x = f32_range(s->ctx, n);
    b->iterations = i64_of(s, iterations);
    b->y = f32_range(s->ctx, n);
    b->z = tg_tensor_create(s->ctx, TG_F64, TG_SCALAR, tg_zeros());
    memset(tg_tensor_data(b->y), 0x55, tg_tensor_bytes(b->y));
    memset(tg_tensor_data(b->z), 0x55, tg_tensor_bytes(b->z));
    b->bound = tg_bind(b->f, TG_ARGS(b->x, b->iterations),
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
    tg_tensor_release(b->iterations);
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
        *(int64_t *)tg_tensor_data(b.iterations) = 4000;
        check_works(tg_run(b.bound));
        cr_assert_gt(tgi_alloc_inject_failure(-1, 0), 0,
                     "more iterations take more");
        note_bound(&b, out);
        *(int64_t *)tg_tensor_data(b.iterations) = 2;
        check_works(tg_run(b.bound));
        cr_assert_eq(tgi_alloc_inject_failure(-1, 0), 0);
        note_bound(&b, out);
        release_bound(&b);
    }
}

Test(unbounded_stack, memory_is_reused_by_the_next_run)
{
    check_modes(keeps_memory);
}

/* Each attempt has memory for one more stack; a failed run leaves the results
   unchanged. */
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

Test(unbounded_stack, memory_may_run_out)
{
    check_modes(runs_out);
}

CALLBACK(save_after_effects)
{
    tg_value y[2];
    tg_assign_add(in[2], 1);
    tg_print(t, "%v", tg_sum(in[2], TG_ALL_AXES));
    forward_and_backward(in[0], in[1], true, y);
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
    tg_tensor *iterations = i64_of(s, 100000), *y = NULL, *z = NULL;
    check_works(tg_call(f, TG_ARGS(x, few, v), TG_RESULTS(&y, &z)));
    note_variable(out, v);
    tgi_alloc_inject_failure(-1, 0);
    check_fails(tg_call(f, TG_ARGS(x, iterations, v), TG_RESULTS(&y, &z)),
                TG_ERROR_OUT_OF_MEMORY, "the limit is 262144");
    note_variable(out, v);
    tg_variable_release(v);
    tg_tensor_release(x);
    tg_tensor_release(few);
    tg_tensor_release(iterations);
    tg_tensor_release(y);
    tg_tensor_release(z);
    tg_function_release(f);
}

/* As check_modes, with limited memory. */
Test(unbounded_stack, the_memory_limit_holds_and_earlier_effects_remain)
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
                                     .vector_bits = host_vector_bits(
                                         all_modes[i].vector_bits),
                                     .memory_limit = 1 << 18});
        effects_stay(&s, out);
        note(out, s.printed, strlen(s.printed));
        session_end(&s);
        cr_assert_eq(want.n, out->n);
        cr_assert_arr_eq(want.bytes, out->bytes, want.n, "%s",
                         all_modes[i].name);
    }
}

/* Allocation failures while building and while running. */
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
    tg_tensor *iterations = tg_tensor_copy(ctx, &number, TG_I64, TG_SCALAR);
    tg_tensor *y = NULL, *z = NULL;
    const bool went_well =
        f && x && iterations &&
        tg_call(f, TG_ARGS(x, iterations), TG_RESULTS(&y, &z)) == TG_OK;
    tg_tensor_release(x);
    tg_tensor_release(iterations);
    tg_tensor_release(y);
    tg_tensor_release(z);
    tg_function_release(f);
    tg_context_release(ctx);
    return went_well;
}

Test(unbounded_stack, nothing_leaks_when_any_allocation_fails)
{
    check_every_fault(save_with_faults);
}

/* -- Limits ---------------------------------------------------------------- */

CALLBACK(save_with_limit)
{
    saved s;
    tg_value ends[2], y[2], most = in[1];
    tg_value zero = tg_scalar(TG_I64, 0), limit = tg_scalar(TG_I64, 50);
    loop_saving(tg_in_value(limit), true, is_below_limit, forward_body, &most,
                (tg_operand[]){tg_in_value(in[0]), tg_in_value(zero)}, 2, 4,
                ends, s.stacks);
    s.iterations = ends[1];
    tg_for(ends[1], backward_body, &s, TG_ARGS(ends[0], tg_scalar(TG_F64, 0)),
           y, 2);
    tg_return(t, y[0], y[1]);
}

static void with_limit(session *s, outcome *out)
{
    static const int64_t lengths[] = {3, 700};
    tg_function *f = tg_function_create(s->ctx, save_with_limit, NULL, NULL);
    for (int i = 0; i < 2; i++) {
        tg_tensor *x = f32_range(s->ctx, lengths[i]);
        tg_tensor *iterations = i64_of(s, 51);
        tg_tensor *y = NULL, *z = NULL;
        call_saving(s, out, f, lengths[i], 50);
        note_status(out,
                    tg_call(f, TG_ARGS(x, iterations), TG_RESULTS(&y, &z)));
        check_record(TG_ERROR_LIMIT, "limit of 50 iterations");
        call_saving(s, out, f, lengths[i], 49);
        tg_tensor_release(x);
        tg_tensor_release(iterations);
    }
    tg_function_release(f);
}

Test(unbounded_stack, a_loop_that_saves_may_have_a_limit)
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

Test(unbounded_stack, a_function_with_one_cannot_be_exported)
{
    check_not_exported(save_by_number);
    check_not_exported(save_in_a_loop);
}
