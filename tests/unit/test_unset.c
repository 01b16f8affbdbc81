/* SPDX-License-Identifier: MIT */
/*
 * test_unset.c - uninitialised initial values of loops, and in-place updates of
 * carried values: nothing is filled in advance or copied per iteration, and
 * results are unaffected.
 */
#include "front/call/function_object.h"
#include "interp/interp.h"
#include "support/modes.h"

#define CALLBACK(name) \
    static void name(__attribute__((unused)) tg_trace *t, \
                     __attribute__((unused)) const tg_value *in, \
                     __attribute__((unused)) void *user)

/* -- Scans ----------------------------------------------------------------- */

/* Stacks two values of one type, and one of another. */
CALLBACK(step)
{
    tg_value next = tg_add(tg_mul(in[0], 0.5), in[1]);
    tg_return(t, next, next, tg_mul(in[1], 3), tg_gt(next, 4));
}

CALLBACK(scan_all)
{
    tg_value carry, stacked[3];
    tg_scan(step, NULL, TG_ARGS(in[0]), TG_ARGS(in[1]), &carry, 1, stacked, 3);
    tg_return(t, carry, stacked[0], stacked[1], stacked[2]);
}

static tg_concrete *concrete_for(session *s, tg_callback *callback,
                                 int64_t rows, int64_t columns)
{
    tg_function *f = tg_function_create(s->ctx, callback, NULL, NULL);
    const tg_spec specs[] = {
        tg_spec_tensor(TG_F32, TG_DIMS(columns)),
        tg_spec_tensor(TG_F32, TG_DIMS(rows, columns))};
    tg_concrete *c = tg_function_concrete(f, specs, 2);
    cr_assert_not_null(c, "%s", tg_error(NULL));
    tg_function_release(f);
    return c;
}

static size_t count(const char *text, const char *word)
{
    size_t n = 0;
    while ((text = strstr(text, word))) {
        text += strlen(word);
        n++;
    }
    return n;
}

Test(unset, a_scan_stores_nothing_before_its_first_step)
{
    session s;
    session_begin(&s);
    tg_concrete *c = concrete_for(&s, scan_all, 50, 300);
    char *text = tg_concrete_text(c, TG_TEXT_LOOPS);
    cr_assert_not_null(text, "%s", tg_error(NULL));
    const char *loop = strstr(text, "\nloop ");
    cr_assert_not_null(loop, "%s", text);
    /* The number of iterations, and the initial value of the loop. */
    const size_t n_before = count(text, "\nkernel ") - count(loop, "\nkernel ");
    cr_assert_leq(n_before, 2, "%s", text);
    cr_assert_eq(count(text, "f32 0\n"), 0, "%s", text);
    tg_text_free(text);
    text = tg_concrete_text(c, TG_TEXT_GRAPH);
    cr_assert_eq(count(text, "unset "), 2, "%s", text);
    tg_text_free(text);
    tg_concrete_release(c);
    session_end(&s);
}

/* Bytes of the interpreter's temporaries. */
static uint64_t bytes_of(tg_callback *callback, int64_t rows, int64_t columns)
{
    session s;
    tgi_interp *interp;
    session_begin(&s);
    tg_concrete *c = concrete_for(&s, callback, rows, columns);
    check_works(tgi_interp_create(c->graph, NULL, NULL, 0, &interp));
    const uint64_t bytes = tgi_interp_bytes(interp);
    tgi_interp_destroy(interp);
    tg_concrete_release(c);
    session_end(&s);
    return bytes;
}

/* An iteration that copied the stacked result would need twice its memory. */
Test(unset, the_interpreter_does_not_copy_the_stacked_results_of_a_scan)
{
    const int64_t rows = 4000, columns = 10;
    const uint64_t stacked = (uint64_t)(rows * columns * (4 + 4 + 1));
    const uint64_t bytes = bytes_of(scan_all, rows, columns);
    cr_assert_geq(bytes, stacked);
    cr_assert_lt(bytes, stacked + 4096);
}

static void run_scan(session *s, outcome *out)
{
    tg_function_options relaxed = TG_FUNCTION_OPTIONS_INIT;
    relaxed.policy = TG_RELAXED;
    tg_function *f = tg_function_create(s->ctx, scan_all, NULL, NULL);
    tg_function *g = tg_function_create(s->ctx, scan_all, NULL, &relaxed);
    static const int64_t widths[] = {0, 3, 36, 250};
    for (int w = 0; w < 4; w++)
        for (int64_t rows = 0; rows < 5; rows++) {
            const int64_t columns = widths[w];
            tg_tensor *x = f32_range(s->ctx, columns);
            tg_tensor *xs = tg_tensor_create(
                s->ctx, TG_F32, TG_DIMS(rows, columns), tg_zeros());
            for (int64_t i = 0; i < rows * columns; i++)
                ((float *)tg_tensor_data(xs))[i] = 0.5f * (float)(i % 37);
            for (int k = 0; k < 2; k++) {
                tg_tensor *y[4] = {NULL};
                check_works(
                    tg_call(k ? f : g, TG_ARGS(x, xs),
                            TG_RESULTS(&y[0], &y[1], &y[2], &y[3])));
                for (int i = 0; i < 4; i++) {
                    note_tensor(out, y[i]);
                    tg_tensor_release(y[i]);
                }
            }
            tg_tensor_release(x);
            tg_tensor_release(xs);
        }
    tg_function_release(f);
    tg_function_release(g);
}

Test(unset, every_element_is_set)
{
    check_modes(run_scan);
}

/* -- Updates of carried values --------------------------------------------- */

/* Bodies with two carried vectors, which each updates differently. */
CALLBACK(update_one)
{
    tg_value part = tg_mul(tg_slice(in[2], 0, 0, 2, 1), 2);
    tg_return(t, tg_dynamic_update_slice(in[1], part, 0, in[0]), in[2]);
}

/* Reads a value before it updates it. */
CALLBACK(look_first)
{
    tg_value part = tg_dynamic_slice(in[1], 0, in[0], 3);
    tg_return(t, tg_dynamic_update_slice(in[1], tg_add(part, 1), 0, in[0]),
              tg_add(in[2], tg_sum(in[1], TG_ALL_AXES)));
}

/* Reads the old value after the update. */
CALLBACK(look_back)
{
    tg_value part = tg_dynamic_slice(in[1], 0, in[0], 2);
    tg_value next = tg_dynamic_update_slice(in[1], tg_mul(part, 3), 0, in[0]);
    tg_return(t, next,
              tg_sub(tg_add(in[2], tg_slice(in[1], 0, -1, TG_END, -1)), next));
}

/* Updates a vector with another part of itself. */
CALLBACK(shift_parts)
{
    tg_value part = tg_slice(in[1], 0, 2, 5, 1);
    tg_value other = tg_slice(in[1], 0, 0, 4, 1);
    tg_return(t, tg_dynamic_update_slice(in[1], part, 0, in[0]),
              tg_dynamic_update_slice(in[2], other, 0, 1));
}

/* Updates an updated vector. */
CALLBACK(update_twice)
{
    tg_value once = tg_dynamic_update_slice(
        in[1], tg_mul(tg_dynamic_slice(in[1], 0, in[0], 1), 2), 0, in[0]);
    tg_value twice = tg_scatter_with(
        once, tg_rem(tg_add(tg_iota(TG_I64, TG_DIMS(3), 0), in[0]), 7),
        tg_slice(in[2], 0, 1, 4, 1), 0, TG_SCATTER_ADD, TG_SCATTER_DROP);
    tg_return(t, twice, tg_add(in[2], 1));
}

/* Swaps both vectors, one of them updated. */
CALLBACK(change_places)
{
    tg_value part = tg_slice(in[1], 0, 0, 3, 1);
    tg_return(t, tg_dynamic_update_slice(in[2], part, 0, in[0]), in[1]);
}

/* Returns one value for both. */
CALLBACK(become_one)
{
    tg_value next = tg_dynamic_update_slice(
        in[1], tg_add(tg_slice(in[2], 0, 0, 3, 1), 0.5), 0, in[0]);
    tg_return(t, next, next);
}

/* Returns one vector unchanged, and again as the other. */
CALLBACK(one_stays)
{
    tg_return(t, in[1], tg_add(in[1], in[2]));
}

static tg_callback *const bodies[] = {update_one,   look_first,
                                      look_back,    shift_parts,
                                      update_twice, change_places,
                                      become_one,   one_stays};
enum { N_BODIES = sizeof(bodies) / sizeof(*bodies) };

CALLBACK(loop_five_times)
{
    tg_callback *const *body = user;
    tg_value y[2];
    tg_for(5, *body, NULL, TG_ARGS(in[0], tg_mul(in[0], 2)), y, 2);
    tg_return(t, y[0], y[1]);
}

static void run_updates(session *s, outcome *out)
{
    static const int64_t lengths[] = {7, 40, 600};
    for (int i = 0; i < N_BODIES; i++) {
        tg_function *f = tg_function_create(s->ctx, loop_five_times,
                                            (void *)(uintptr_t)&bodies[i],
                                            NULL);
        for (int k = 0; k < 3; k++) {
            tg_tensor *x = f32_range(s->ctx, lengths[k]);
            tg_tensor *y = NULL, *z = NULL;
            check_works(tg_call(f, TG_ARGS(x), TG_RESULTS(&y, &z)));
            note_tensor(out, y);
            note_tensor(out, z);
            tg_tensor_release(x);
            tg_tensor_release(y);
            tg_tensor_release(z);
        }
        tg_function_release(f);
    }
}

Test(unset, updates_in_place_give_the_same_results)
{
    check_modes(run_updates);
}

CALLBACK(add_to_parts)
{
    tg_value part = tg_dynamic_slice(in[1], 0, in[0], 2);
    tg_value once = tg_dynamic_update_slice(in[1], tg_add(part, 1), 0, in[0]);
    tg_return(t, tg_dynamic_update_slice(once, tg_mul(part, 2), 0, 7));
}

CALLBACK(update_large_in_place)
{
    tg_value y;
    tg_for(5, add_to_parts, NULL,
           TG_ARGS(tg_reshape(in[1], TG_DIMS(40000))), &y, 1);
    tg_return(t, y);
}

Test(unset, the_interpreter_updates_carried_values_in_place)
{
    const uint64_t bytes = bytes_of(update_large_in_place, 4000, 10);
    cr_assert_geq(bytes, 160000);
    cr_assert_lt(bytes, 160000 + 4096);
}
