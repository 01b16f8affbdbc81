/* SPDX-License-Identifier: MIT */
/*
 * test_control_carried.c - loop-carried values. Compiled code keeps them in
 * registers, updates them in place or double-buffers them, always with the bits
 * of the interpreter. Each body runs on few and on many elements, for several
 * iteration counts.
 */
#include "support/fusing.h"
#include "support/modes.h"

#define CALLBACK(name) \
    static void name(__attribute__((unused)) tg_trace *t, \
                     __attribute__((unused)) const tg_value *in, \
                     __attribute__((unused)) void *user)

/* -- Bodies: iteration, a, b ----------------------------------------------- */

CALLBACK(in_place)
{
    tg_return(t, tg_add(tg_mul(in[1], 0.5), 1), tg_sub(in[2], 0.25));
}

CALLBACK(from_both)
{
    tg_return(t, tg_add(in[1], in[2]), tg_mul(tg_sub(in[1], in[2]), 0.5));
}

CALLBACK(swapped)
{
    tg_return(t, in[2], in[1]);
}

CALLBACK(shifted)
{
    tg_return(t, in[2], tg_add(tg_mul(in[1], 0.25), in[2]));
}

CALLBACK(the_same_twice)
{
    tg_return(t, in[2], in[2]);
}

CALLBACK(one_stays)
{
    tg_return(t, tg_add(in[1], tg_mul(in[2], 0.125)), in[2]);
}

CALLBACK(reversed)
{
    tg_return(t, tg_slice(in[1], 0, -1, TG_END, -1), tg_add(in[2], in[1]));
}

CALLBACK(with_neighbours)
{
    tg_value left = tg_slice(in[2], 0, 0, -2, 1);
    tg_value right = tg_slice(in[2], 0, 2, TG_END, 1);
    tg_value middle = tg_add(tg_mul(tg_add(left, right), 0.25),
                             tg_slice(in[1], 0, 1, -1, 1));
    tg_return(t, in[2],
              tg_concat(0, tg_slice(in[2], 0, 0, 1, 1), middle,
                        tg_slice(in[2], 0, -1, TG_END, 1)));
}

CALLBACK(by_sum)
{
    tg_value all = tg_sum(in[1], TG_ALL_AXES);
    tg_return(t, tg_add(in[1], tg_mul(in[2], tg_tanh(all))),
              tg_mul(in[2], 0.75));
}

CALLBACK(with_update)
{
    const tg_value *first = user;
    tg_value piece = tg_slice(first[1], 0, 0, 2, 1);
    tg_return(t, tg_dynamic_update_slice(in[1], piece, 0, in[0]),
              tg_add(in[2], 1));
}

CALLBACK(add_one)
{
    tg_return(t, tg_add(in[0], 1), tg_mul(in[1], 0.5));
}

CALLBACK(swap_them)
{
    tg_return(t, in[1], in[0]);
}

CALLBACK(by_branch)
{
    tg_value r[2];
    tg_cond(tg_eq(tg_rem(in[0], 2), 0), add_one, swap_them, NULL,
            TG_ARGS(in[1], in[2]), r, 2);
    tg_return(t, r[0], r[1]);
}

CALLBACK(with_inner_loop)
{
    tg_value r[2];
    tg_for(in[0], from_both, NULL, TG_ARGS(in[2], in[1]), r, 2);
    tg_return(t, tg_mul(r[0], 0.5), r[1]);
}

CALLBACK(with_first)
{
    const tg_value *first = user;
    tg_return(t, tg_add(tg_mul(first[0], 0.5), in[1]),
              tg_add(first[1], in[1]));
}

CALLBACK(printed)
{
    tg_print(t, "iteration %v: %v %v", in[0], in[1], in[2]);
    tg_return(t, tg_mul(in[2], 0.5), tg_add(in[1], 1));
}

CALLBACK(with_the_same)
{
    const tg_value *first = user;
    tg_value scale = tg_exp(tg_mul(first[0], 0.001));
    tg_value mean = tg_mean(first[1], TG_ALL_AXES);
    tg_return(t, tg_add(tg_mul(in[1], scale), mean), in[1]);
}

CALLBACK(add_a_half)
{
    tg_return(t, tg_add(in[1], 0.5));
}

CALLBACK(first_of_them)
{
    tg_return(t, tg_add(in[0], tg_cast(in[1], TG_F32)));
}

CALLBACK(second_of_them)
{
    tg_return(t, tg_sub(in[0], tg_cast(in[1], TG_F32)));
}

/* Carried values select a branch and an iteration count, so that steps other
   than kernels read them. Receives the iteration, i (i64), x. */
CALLBACK(decided_by_carried)
{
    tg_callback *const branches[] = {first_of_them, second_of_them};
    /* A preceding kernel that the next value can join. */
    tg_value twice = tg_mul(in[1], 2), x;
    tg_switch(in[1], branches, 2, NULL, TG_ARGS(in[2], twice), &x, 1);
    tg_for(in[1], add_a_half, NULL, TG_ARGS(x), &x, 1);
    tg_return(t, tg_add(in[1], 1), x);
}

static tg_callback *const bodies[] = {
    in_place,    from_both,       swapped,    shifted,        the_same_twice,
    one_stays,   reversed,        by_sum,     with_neighbours, with_update,
    by_branch,   with_inner_loop, with_first, printed,        with_the_same,
};
enum { N_BODIES = sizeof(bodies) / sizeof(*bodies) };

/* -- In all modes ---------------------------------------------------------- */

static tg_callback *chosen_body;

/* in: x, number of iterations */
CALLBACK(run_body)
{
    tg_value first[] = {in[0], tg_mul(in[0], 0.75)}, r[2];
    tg_for(in[1], chosen_body, first, TG_ARGS(first[0], first[1]), r, 2);
    /* The initial value is still intact, and results can be used. */
    tg_return(t, r[0], tg_add(r[1], 0), tg_add(first[0], r[1]), first[1]);
}

static void note_sum(outcome *out, const tg_tensor *x)
{
    uint64_t sum = 0;
    const unsigned char *bytes = tg_tensor_data(x);
    for (size_t i = 0; i < tg_tensor_bytes(x); i++)
        sum = sum * 0x100000001b3 + bytes[i];
    note(out, &sum, sizeof(sum));
}

static void note_variable_sum(outcome *out, tg_variable *v)
{
    unsigned char contents[4096];
    uint64_t sum = 0;
    const size_t bytes = tg_variable_bytes(v);
    cr_assert_leq(bytes, sizeof(contents));
    check_works(tg_variable_get(v, contents, bytes));
    for (size_t i = 0; i < bytes; i++)
        sum = sum * 31 + contents[i];
    note(out, &sum, sizeof(sum));
}

static void run_bodies(session *s, outcome *out)
{
    static const int64_t sizes[] = {3, 7, 70, 2000};
    for (int i = 0; i < N_BODIES; i++) {
        chosen_body = bodies[i];
        tg_function *f = tg_function_create(s->ctx, run_body, NULL, NULL);
        for (int k = 0; k < 4; k++) {
            tg_tensor *x = f32_range(s->ctx, sizes[k]);
            for (int64_t iterations = 0; iterations < 5; iterations++) {
                tg_tensor *y[4] = {NULL};
                check_works(tg_call(f, TG_ARGS(x, iterations),
                                    TG_RESULTS(&y[0], &y[1], &y[2], &y[3])));
                for (int r = 0; r < 4; r++) {
                    note_sum(out, y[r]);
                    tg_tensor_release(y[r]);
                }
            }
            tg_tensor_release(x);
        }
        tg_function_release(f);
    }
}

Test(control_carried, bodies_of_all_kinds_have_the_interpreters_bits)
{
    check_modes(run_bodies);
}

/* -- Memory ---------------------------------------------------------------- */

/* in: x, number of iterations. The result of the loop stays alive while
   other values use memory. */
CALLBACK(use_memory_behind)
{
    tg_value r[2], other = in[0];
    tg_for(in[1], reversed, NULL, TG_ARGS(in[0], tg_mul(in[0], 0.75)), r, 2);
    for (int i = 0; i < 4; i++) {
        other = tg_exp(tg_mul(other, 0.125));
        other = tg_div(other, tg_sum(tg_slice(other, 0, -1, TG_END, -1),
                                     TG_ALL_AXES));
        other = tg_slice(tg_add(other, 0.5), 0, -1, TG_END, -1);
    }
    tg_return(t, tg_sub(r[0], other), tg_add(r[1], other));
}

static void run_behind(session *s, outcome *out)
{
    tg_function *f = tg_function_create(s->ctx, use_memory_behind, NULL, NULL);
    tg_tensor *x = f32_range(s->ctx, 3000);
    for (int64_t iterations = 0; iterations < 4; iterations++) {
        tg_tensor *y[2] = {NULL};
        check_works(
            tg_call(f, TG_ARGS(x, iterations), TG_RESULTS(&y[0], &y[1])));
        for (int i = 0; i < 2; i++) {
            note_sum(out, y[i]);
            tg_tensor_release(y[i]);
        }
    }
    tg_tensor_release(x);
    tg_function_release(f);
}

Test(control_carried, swapped_buffers_stay_live)
{
    check_modes(run_behind);
}

/* -- Branch indices and loop counts ---------------------------------------- */

CALLBACK(run_decided)
{
    tg_value r[2];
    tg_for(in[1], decided_by_carried, NULL,
           TG_ARGS(tg_scalar(TG_I64, 0), in[0]), r, 2);
    tg_return(t, r[0], r[1]);
}

static void run_deciding(session *s, outcome *out)
{
    static const int64_t sizes[] = {3, 2000};
    tg_function *f = tg_function_create(s->ctx, run_decided, NULL, NULL);
    for (int i = 0; i < 2; i++)
        for (int64_t iterations = 0; iterations < 5; iterations++) {
            tg_tensor *x = f32_range(s->ctx, sizes[i]), *y[2] = {NULL};
            check_works(
                tg_call(f, TG_ARGS(x, iterations), TG_RESULTS(&y[0], &y[1])));
            note_tensor(out, y[0]);
            note_sum(out, y[1]);
            for (int r = 0; r < 2; r++)
                tg_tensor_release(y[r]);
            tg_tensor_release(x);
        }
    tg_function_release(f);
}

Test(control_carried, branch_indices_are_read_before_they_are_overwritten)
{
    check_modes(run_deciding);
}

/* -- Copies in branches ---------------------------------------------------- */

/* Two copies of one value, of which this branch changes one. */
CALLBACK(one_changes)
{
    tg_value x = tg_mul(in[0], 0.5);
    tg_return(t, tg_dynamic_update_slice(x, tg_neg(tg_slice(x, 0, 0, 1, 1)),
                                         0, 1),
              x);
}

/* This branch changes neither. */
CALLBACK(none_changes)
{
    tg_value x = tg_mul(in[0], 0.25);
    tg_return(t, x, x);
}

/* Here they are different values. */
CALLBACK(two_of_them)
{
    tg_value x = tg_atan(in[0]);
    tg_return(t, tg_slice(x, 0, -1, TG_END, -1), x);
}

static tg_callback *const branches[] = {
    one_changes, none_changes, one_changes, two_of_them,
    none_changes, two_of_them,
};
enum { N_BRANCHES = sizeof(branches) / sizeof(*branches) };

CALLBACK(the_first)
{
    tg_return(t, in[0]);
}

CALLBACK(the_second)
{
    tg_return(t, in[1]);
}

/* in: x, which branch; user: the first of two. The code that follows uses
   both values, or receives both and uses one. */
CALLBACK(run_branch)
{
    tg_callback *const *first = user, *const by[] = {the_first, the_second};
    tg_value r[2], y[2];
    for (int i = 0; i < 2; i++) {
        tg_switch(in[1], first, 2, NULL, TG_ARGS(tg_add(in[0], i)), r, 2);
        tg_cond(tg_lt(in[1], 9), by[i], by[i], NULL, TG_ARGS(r[0], r[1]),
                &y[i], 1);
    }
    tg_switch(in[1], first, 2, NULL, TG_ARGS(tg_add(in[0], 2)), r, 2);
    tg_return(t, y[0], y[1], tg_sub(r[0], tg_mul(r[1], 0.75)));
}

static void run_branches(session *s, outcome *out)
{
    static const int64_t sizes[] = {3, 2000};
    for (int first = 0; first + 1 < N_BRANCHES; first++) {
        tg_callback *const *user = branches + first;
        tg_function *f =
            tg_function_create(s->ctx, run_branch, (void *)(uintptr_t)user,
                               NULL);
        for (int64_t i = 0; i < 4; i++) {
            tg_tensor *x = f32_range(s->ctx, sizes[i / 2]), *y[3] = {NULL};
            check_works(tg_call(f, TG_ARGS(x, i % 2),
                                TG_RESULTS(&y[0], &y[1], &y[2])));
            for (int r = 0; r < 3; r++) {
                note_sum(out, y[r]);
                tg_tensor_release(y[r]);
            }
            tg_tensor_release(x);
        }
        tg_function_release(f);
    }
}

Test(control_carried, a_copy_in_one_branch_does_not_excuse_a_change_in_another)
{
    check_modes(run_branches);
}

/* -- Sequences ------------------------------------------------------------- */

CALLBACK(mix)
{
    tg_value next = tg_add(tg_mul(in[0], 0.5), in[1]);
    tg_return(t, next, next, tg_sum(tg_mul(in[1], in[2]), TG_ALL_AXES));
}

CALLBACK(scan_rows)
{
    tg_value carry, stacked[2];
    tg_scan(mix, NULL, TG_ARGS(tg_mul(in[0], 2)),
            TG_ARGS(in[1], tg_add(in[1], 1)), &carry, 1, stacked, 2);
    tg_return(t, carry, stacked[0], stacked[1]);
}

CALLBACK(row_sum)
{
    tg_return(t, tg_sum(in[0], TG_ALL_AXES));
}

CALLBACK(map_rows)
{
    tg_value sums;
    tg_map(row_sum, NULL, TG_ARGS(in[1]), &sums, 1);
    tg_return(t, sums);
}

static void run_scans(session *s, outcome *out)
{
    static const int64_t columns[] = {3, 300};
    tg_function *f = tg_function_create(s->ctx, scan_rows, NULL, NULL);
    tg_function *g = tg_function_create(s->ctx, map_rows, NULL, NULL);
    for (int i = 0; i < 2; i++)
        for (int64_t rows = 0; rows < 6; rows++) {
            tg_tensor *x = f32_range(s->ctx, columns[i]);
            tg_tensor *xs = tg_tensor_create(
                s->ctx, TG_F32, TG_DIMS(rows, columns[i]), tg_zeros());
            float *data = tg_tensor_data(xs);
            for (int64_t k = 0; k < rows * columns[i]; k++)
                data[k] = 0.5f * (float)(k % 37);
            tg_tensor *y[4] = {NULL};
            check_works(tg_call(f, TG_ARGS(x, xs),
                                TG_RESULTS(&y[0], &y[1], &y[2])));
            check_works(tg_call(g, TG_ARGS(x, xs), TG_RESULTS(&y[3])));
            cr_assert_eq(tg_tensor_count(y[1]), rows * columns[i]);
            cr_assert_eq(tg_tensor_count(y[2]), rows);
            for (int r = 0; r < 4; r++) {
                note_sum(out, y[r]);
                tg_tensor_release(y[r]);
            }
            tg_tensor_release(x);
            tg_tensor_release(xs);
        }
    tg_function_release(f);
    tg_function_release(g);
}

Test(control_carried, scans_have_the_interpreters_bits)
{
    check_modes(run_scans);
}

/* -- Values that grow ------------------------------------------------------ */

CALLBACK(is_not_one)
{
    tg_return(t, tg_ne(in[0], 1));
}

CALLBACK(collatz_step)
{
    tg_list list = tg_list_push(tg_list_of(in[1], in[2]), in[0]);
    tg_value half = tg_div(in[0], 2), up = tg_add(tg_mul(in[0], 3), 1);
    tg_return(t, tg_select(tg_eq(tg_rem(in[0], 2), 0), half, up), list.items,
              list.count);
}

/* All numbers from in[0] down to 1: at most 20. */
CALLBACK(collatz)
{
    tg_list list = tg_list_create(20, TG_I64, TG_SCALAR);
    tg_value r[3];
    tg_while(is_not_one, collatz_step, NULL,
             TG_ARGS(in[0], list.items, list.count), r, 3);
    tg_return(t, r[1], r[2]);
}

static void run_lists(session *s, outcome *out)
{
    tg_function *f = tg_function_create(s->ctx, collatz, NULL, NULL);
    static const int64_t starts[] = {1, 7, 27, 18};
    for (int i = 0; i < 4; i++) {
        tg_tensor *y[2] = {NULL};
        tg_tensor *x = tg_tensor_copy(s->ctx, &starts[i], TG_I64, TG_SCALAR);
        const tg_status status = note_status(
            out, tg_call(f, TG_ARGS(x), TG_RESULTS(&y[0], &y[1])));
        cr_assert_eq(status, starts[i] == 27 ? TG_ERROR_INDEX : TG_OK);
        if (!status) {
            const int64_t *items = tg_tensor_data(y[0]);
            const int64_t n = *(const int64_t *)tg_tensor_data(y[1]);
            cr_assert_eq(n, starts[i] == 1 ? 0 : starts[i] == 7 ? 16 : 20);
            cr_assert(n == 0 || (items[0] == starts[i] && items[n - 1] == 2));
            note_tensor(out, y[0]);
        }
        tg_tensor_release(x);
        tg_tensor_release(y[0]);
        tg_tensor_release(y[1]);
    }
    tg_function_release(f);
}

Test(control_carried, lists_grow_to_their_maximum_and_no_further)
{
    check_modes(run_lists);
}

/* -- Variables ------------------------------------------------------------- */

CALLBACK(is_below_a_hundred)
{
    tg_return(t, tg_lt(tg_reduce_max(in[0], TG_ALL_AXES), 100));
}

CALLBACK(increased)
{
    tg_return(t, tg_add(tg_mul(in[0], 0.5), 60));
}

/* in: v, number of iterations. Assigns the result of a loop. It is computed in
   the memory of the variable if few iterations are known: else a cancelled call
   would leave a value that was never assigned. */
static void assign_loop(tg_trace *t, const tg_value *in, tg_value n)
{
    tg_value r[2];
    tg_for(n, in_place, NULL, TG_ARGS(in[0], tg_mul(in[0], 0.75)), r, 2);
    tg_assign(in[0], r[0]);
    tg_return(t, r[1]);
}

static tg_value iterations(int64_t n)
{
    return tg_constant(TG_I64, TG_SCALAR, &n);
}

CALLBACK(assigned_after_16)
{
    assign_loop(t, in, iterations(16));
}

CALLBACK(assigned_after_17)
{
    assign_loop(t, in, iterations(17));
}

CALLBACK(assigned_loop)
{
    assign_loop(t, in, in[1]);
}

/* The same, but the old contents are used later. */
CALLBACK(assigned_late)
{
    tg_value old = tg_read(in[0]), r[2];
    tg_for(in[1], in_place, NULL, TG_ARGS(old, tg_mul(old, 0.75)), r, 2);
    tg_value both = tg_add(old, r[1]);
    tg_assign(in[0], r[0]);
    tg_return(t, both);
}

/* The same, but the call may fail before the assignment. */
CALLBACK(assigned_or_failed)
{
    tg_value r[2];
    tg_for(in[1], in_place, NULL, TG_ARGS(in[0], tg_mul(in[0], 0.75)), r, 2);
    tg_assert(t, tg_lt(in[1], 3), "too many");
    tg_assign(in[0], r[0]);
    tg_return(t, r[1]);
}

/* A loop that its test ends, and assignments within a loop. */
CALLBACK(assigned_while)
{
    tg_value r;
    tg_while(is_below_a_hundred, increased, NULL, TG_ARGS(in[0]), &r, 1);
    tg_assign(in[0], r);
    tg_return(t, tg_add(r, tg_cast(in[1], TG_F32)));
}

static void run_assigned(session *s, outcome *out)
{
    static tg_callback *const callbacks[] = {assigned_loop, assigned_late,
                                             assigned_or_failed,
                                             assigned_while};
    static const int64_t sizes[] = {3, 70, 900};
    for (int i = 0; i < 4; i++) {
        tg_function *f = tg_function_create(s->ctx, callbacks[i], NULL, NULL);
        for (int k = 0; k < 3; k++) {
            tg_tensor *x = f32_range(s->ctx, sizes[k]);
            tg_variable *v = tg_variable_create(s->ctx, "v", TG_F32,
                                                TG_DIMS(sizes[k]),
                                                tg_from_data(
                                                    tg_tensor_data(x)));
            for (int64_t trips = 0; trips < 5; trips++) {
                tg_tensor *y = NULL;
                note_status(out, tg_call(f, TG_ARGS(v, trips),
                                         TG_RESULTS(&y)));
                if (y)
                    note_sum(out, y);
                tg_tensor_release(y);
                note_variable_sum(out, v);
            }
            tg_variable_release(v);
            tg_tensor_release(x);
        }
        tg_function_release(f);
    }
}

Test(control_carried, assigned_loops_have_the_interpreters_bits)
{
    check_modes(run_assigned);
}

/* -- Buffers --------------------------------------------------------------- */

static const tgi_control_flow *only_loop(const fused *fu)
{
    cr_assert_eq(fu->loops->controls.n, 1);
    return &fu->loops->controls.data[0];
}

static void check_carried(tg_callback *body, int64_t n, bool is_straightline,
                          uint32_t n_moved)
{
    fused fu;
    chosen_body = body;
    fuse(&fu, run_body, NO_SYMBOLS, F32(n),
         tg_spec_tensor(TG_I64, TG_SCALAR));
    const tgi_control_flow *c = only_loop(&fu);
    cr_assert_eq(c->is_straightline, is_straightline, "of %d elements", (int)n);
    cr_assert_eq(c->n_moved, n_moved, "of %d elements: %u", (int)n,
                 c->n_moved);
    fuse_end(&fu);
}

Test(control_carried, in_place_updates_keep_their_buffer)
{
    check_carried(in_place, 5000, false, 0);
    check_carried(from_both, 5000, false, 0);
    check_carried(one_stays, 5000, false, 0);
    check_carried(with_update, 5000, false, 0);
    check_nothing_is_alive();
}

Test(control_carried, the_rest_changes_places)
{
    check_carried(swapped, 5000, false, 2);
    /* The next value of the second is stored where the first was. */
    check_carried(shifted, 5000, false, 2);
    check_carried(with_neighbours, 5000, false, 3);
    check_carried(reversed, 5000, false, 2);
    check_nothing_is_alive();
}

Test(control_carried, a_few_elements_are_in_registers)
{
    for (int i = 0; i < N_BODIES; i++)
        if (bodies[i] != printed && bodies[i] != with_inner_loop &&
            bodies[i] != by_branch)
            check_carried(bodies[i], 7, true, 0);
    check_nothing_is_alive();
}

/* The place of the first carried value. */
static int carried_place(tg_callback *callback)
{
    fused fu;
    fuse(&fu, callback, NO_SYMBOLS, V32(5000),
         tg_spec_tensor(TG_I64, TG_SCALAR));
    const tgi_control_flow *c = fu.loops->controls.data; /* the loop is first */
    const int place = tgi_loops_buffer(fu.loops, c->carried[0])->place;
    fuse_end(&fu);
    return place;
}

Test(control_carried, loops_of_few_iterations_update_variables_in_place)
{
    cr_assert_eq(carried_place(assigned_after_16), TGI_PLACE_PARAM);
    cr_assert_eq(carried_place(assigned_after_17), TGI_PLACE_TEMP);
    cr_assert_eq(carried_place(assigned_loop), TGI_PLACE_TEMP);
    cr_assert_eq(carried_place(assigned_while), TGI_PLACE_RESULT);
    cr_assert_eq(carried_place(assigned_late), TGI_PLACE_TEMP);
    cr_assert_eq(carried_place(assigned_or_failed), TGI_PLACE_TEMP);
    check_nothing_is_alive();
}
