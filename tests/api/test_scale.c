/* SPDX-License-Identifier: MIT */
/*
 * test_scale.c - graphs of 100,000 operations on a thread with a small stack:
 * traced, optimised, dumped and run. Nothing in the library may recurse over a
 * graph, its shapes or its calls.
 */
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "support/support.h"
#include "tgjit.h"

enum { DEPTH = 100000, STACK_BYTES = 256 * 1024, ELEMENTS = 3 };

/* -- A small stack --------------------------------------------------------- */

/* The job of a thread. Only the main thread may assert; others record a
   message. */
typedef struct job {
    tg_callback *callback;
    bool is_general; /* the extent of the argument is unknown */
    bool has_variable;
    int32_t expected[ELEMENTS];
    int32_t expected_variable[ELEMENTS];
    char complaint[256];
} job;

#define complain(of, ...)                                                      \
    (snprintf((of)->complaint, sizeof((of)->complaint), __VA_ARGS__), false)

static bool check_elements(job *of, const char *what, const int32_t *are,
                           const int32_t *expected)
{
    for (int i = 0; i < ELEMENTS; i++)
        if (are[i] != expected[i])
            return complain(of, "element %d of the %s is %d, not %d", i, what,
                            are[i], expected[i]);
    return true;
}

static bool check_dump(job *of, tg_concrete *concrete)
{
    for (int kind = TG_TEXT_SHORT; kind <= TG_TEXT_DOT; kind++) {
        char *text = tg_concrete_text(concrete, (tg_text_kind)kind);
        bool good = text && strlen(text) > 0;
        tg_text_free(text);
        if (!good)
            return complain(of, "text %d: %s", kind, tg_error(NULL));
    }
    return true;
}

static bool check_call(job *of, tg_context *ctx, tg_concrete *concrete,
                       tg_variable *variable)
{
    int32_t elements[ELEMENTS] = {7, -2, 0};
    tg_tensor *result = NULL;
    tg_tensor *x = tg_tensor_wrap(ctx, elements, TG_I32, TG_DIMS(ELEMENTS));
    tg_status status =
        variable ? tg_concrete_call(concrete, TG_ARGS(x, variable),
                                    TG_RESULTS(&result))
                 : tg_concrete_call(concrete, TG_ARGS(x), TG_RESULTS(&result));
    bool good = status ? complain(of, "call: %s", tg_error(NULL))
                       : check_elements(of, "result", tg_tensor_data(result),
                                        of->expected);
    if (good && variable) {
        good = !tg_variable_get(variable, elements, sizeof(elements)) &&
               check_elements(of, "variable", elements, of->expected_variable);
    }
    tg_tensor_release(result);
    tg_tensor_release(x);
    return good;
}

/* Traces and calls, with all passes or with none; then checks the size of
   the graph and dumps it. */
static bool check_all(job *of, bool with_passes)
{
    tg_context_options options = TG_CONTEXT_OPTIONS_INIT;
    options.skip_passes =
        with_passes ? ""
                    : "inline,layout,crop,shape,distribute,fold,simplify,"
                      "hoist,dead";
    tg_context *ctx = tg_context_create(&options);
    tg_function *function = tg_function_create(ctx, of->callback, ctx, NULL);
    tg_variable *variable =
        of->has_variable ? tg_variable_create(ctx, "v", TG_I32,
                                              TG_DIMS(ELEMENTS), tg_zeros())
                         : NULL;
    int64_t extent = of->is_general ? TG_UNKNOWN : ELEMENTS;
    const tg_spec specs[] = {
        tg_spec_tensor(TG_I32, 1, &extent),
        tg_spec_variable(TG_I32, TG_DIMS(ELEMENTS)),
    };
    tg_concrete *concrete =
        function ? tg_function_concrete(function, specs, variable ? 2 : 1)
                 : NULL;
    bool good = concrete ? check_call(of, ctx, concrete, variable)
                         : complain(of, "trace: %s", tg_error(NULL));
    if (good && !with_passes)
        good = check_dump(of, concrete);
    tg_concrete_release(concrete);
    tg_variable_release(variable);
    tg_function_release(function);
    tg_context_release(ctx);
    return good;
}

static void *run(void *user)
{
    job *of = user;
    if (check_all(of, true))
        check_all(of, false);
    return NULL;
}

static void check_on_a_small_stack(job of)
{
    pthread_attr_t attributes;
    pthread_t thread;
    cr_assert_eq(pthread_attr_init(&attributes), 0);
    cr_assert_eq(pthread_attr_setstacksize(&attributes, STACK_BYTES), 0);
    cr_assert_eq(pthread_create(&thread, &attributes, run, &of), 0);
    cr_assert_eq(pthread_join(thread, NULL), 0);
    pthread_attr_destroy(&attributes);
    cr_assert_str_empty(of.complaint, "%s", of.complaint);
    check_nothing_is_alive();
}

/* -- Chains ---------------------------------------------------------------- */

static void add_ones(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    tg_value y = in[0];
    for (int i = 0; i < DEPTH; i++)
        y = tg_add(y, 1);
    tg_return(t, y);
}

Test(scale, a_chain)
{
    check_on_a_small_stack(
        (job){.callback = add_ones, .expected = {7 + DEPTH, DEPTH - 2, DEPTH}});
}

Test(scale, a_chain_of_an_unknown_extent)
{
    check_on_a_small_stack((job){.callback = add_ones,
                                 .is_general = true,
                                 .expected = {7 + DEPTH, DEPTH - 2, DEPTH}});
}

/* All of it is constant and folds. */
static void add_constants(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    tg_value y = tg_scalar(TG_I32, 0);
    for (int i = 0; i < DEPTH; i++)
        y = tg_add(y, 1);
    tg_return(t, tg_sub(y, in[0]));
}

Test(scale, a_chain_of_constants)
{
    check_on_a_small_stack((job){.callback = add_constants,
                                 .expected = {DEPTH - 7, DEPTH + 2, DEPTH}});
}

/* Every view is a view of the previous one, with extents of all sizes. */
static void view_views(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    tg_value y = in[0];
    for (int i = 0; i < DEPTH / 5; i++) {
        y = tg_pad(y, 0, 1, i % 3, 9);
        y = tg_slice(y, 0, -1, TG_END, -1);
        y = tg_slice(y, 0, i % 3, TG_END, 1);
        y = tg_slice(y, 0, -1, TG_END, -1);
        y = tg_slice(y, 0, 1, TG_END, 1);
    }
    tg_return(t, y);
}

Test(scale, a_chain_of_views)
{
    check_on_a_small_stack(
        (job){.callback = view_views, .expected = {7, -2, 0}});
}

Test(scale, a_chain_of_views_of_an_unknown_extent)
{
    check_on_a_small_stack((job){
        .callback = view_views, .is_general = true, .expected = {7, -2, 0}});
}

/* -- Effects and calls ----------------------------------------------------- */

/* Each write depends on the read before it. */
static void count(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    for (int i = 0; i < DEPTH / 2; i++)
        tg_assign_add(in[1], in[0]);
    tg_return(t, tg_sub(tg_read(in[1]), in[0]));
}

Test(scale, a_chain_of_writes)
{
    const int32_t n = DEPTH / 2;
    check_on_a_small_stack((job){.callback = count,
                                 .has_variable = true,
                                 .expected = {7 * (n - 1), -2 * (n - 1), 0},
                                 .expected_variable = {7 * n, -2 * n, 0}});
}

static void add_one(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    tg_return(t, tg_add(in[0], 1));
}

static void call_often(tg_trace *t, const tg_value *in, void *user)
{
    tg_function *inner = tg_function_create(user, add_one, NULL, NULL);
    tg_value y = in[0];
    for (int i = 0; i < DEPTH; i++)
        tg_apply(inner, TG_ARGS(y), &y, 1);
    tg_return(t, y);
    tg_function_release(inner);
}

Test(scale, a_chain_of_calls)
{
    check_on_a_small_stack((job){.callback = call_often,
                                 .expected = {7 + DEPTH, DEPTH - 2, DEPTH}});
}

/* -- One large node -------------------------------------------------------- */

static void join_many(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    static tg_operand parts[DEPTH];
    for (int i = 0; i < DEPTH; i++)
        parts[i] = tg_in_value(i % 2 ? tg_neg(in[0]) : in[0]);
    tg_value joined = tg_concat_at(0, parts, DEPTH, TG_HERE);
    tg_return(t, tg_slice(joined, 0, -ELEMENTS, TG_END, 1));
}

Test(scale, a_node_of_many_inputs)
{
    check_on_a_small_stack(
        (job){.callback = join_many, .expected = {-7, 2, 0}});
}

Test(scale, a_node_of_many_inputs_of_unknown_extents)
{
    check_on_a_small_stack((job){
        .callback = join_many, .is_general = true, .expected = {-7, 2, 0}});
}
