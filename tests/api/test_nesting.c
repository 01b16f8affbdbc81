/* SPDX-License-Identifier: MIT */
/*
 * test_nesting.c - functions, branches and loops nested to the depth
 * TG_MAX_NESTING, and one level deeper: tracing, gradients, passes and compiled
 * code on a small stack, in every mode.
 */
#include <pthread.h>

#include "support/control.h"

/*
 * Everything except LLVM, which runs after tracing, uses at most half of 256
 * KiB. Builds without optimisation have larger frames, and sanitizers need
 * several times as much.
 */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
enum { STACK_BYTES = 2 << 20, TRACE_BYTES = STACK_BYTES };
#elif defined(__OPTIMIZE__)
enum { STACK_BYTES = 256 << 10, TRACE_BYTES = STACK_BYTES / 2 };
#else
enum { STACK_BYTES = 256 << 10, TRACE_BYTES = STACK_BYTES };
#endif

enum { ELEMENTS = 5 };

/* How a level contains the next one. */
typedef enum kind {
    BY_APPLY,
    BY_FOR,
    BY_WHILE,
    BY_COND,
    BY_SWITCH,
    BY_SCAN,
    BY_MAP,
    BY_CHECKPOINT,
    BY_UNROLLED,
    N_KINDS,
    BY_ALL_IN_TURN = N_KINDS,
    BY_CALL /* runs while the caller is traced */
} kind;

/* A function with `levels` nested levels, including itself. */
typedef struct nest {
    tg_context *ctx;
    kind kind;
    int levels;
    bool with_gradient;
    tg_tensor *x;
    tg_function *functions[TG_MAX_NESTING + 2]; /* by number of inner levels */
    tg_status status; /* of the first failure */
    char complaint[1024];
} nest;

static void note_failure(nest *n)
{
    if (n->status)
        return;
    n->status = tg_error_last()->status;
    snprintf(n->complaint, sizeof(n->complaint), "%s", tg_error(NULL));
}

/* Passed to the callbacks of a level. */
static _Thread_local nest *now;

static tg_value inside(tg_value x, int levels);

/* Gradients save values per iteration, with one axis per enclosing loop. 99
   loops would exceed the maximum rank, so these loops save nothing. */
static bool has_loops(kind by)
{
    return by == BY_FOR || by == BY_WHILE || by == BY_SCAN || by == BY_MAP ||
           by == BY_ALL_IN_TURN;
}

/* The body of a level that contains this many more. */
static tg_value level(tg_value x, int levels)
{
    tg_value y = levels > 0 ? inside(x, levels) : x;
    return has_loops(now->kind) ? tg_mul(y, 0.75f) : tg_mul(tg_sin(y), x);
}

static int levels_of(const void *user)
{
    return (int)(intptr_t)user;
}

CALLBACK(body)
{
    tg_return(t, level(in[0], levels_of(user)));
}

CALLBACK(counted_body)
{
    tg_return(t, level(in[1], levels_of(user)));
}

CALLBACK(same)
{
    tg_return(t, in[0]);
}

CALLBACK(while_test)
{
    tg_return(t, tg_lt(in[1], 1));
}

CALLBACK(while_body)
{
    tg_return(t, level(in[0], levels_of(user)), tg_add(in[1], 1));
}

CALLBACK(scan_body)
{
    tg_return(t, tg_add(level(in[0], levels_of(user)), in[1]));
}

/* -- Levels ---------------------------------------------------------------- */

/* Each contains the next level, whose callback receives `user`. They are
   called through a table, so that a level has only the stack frame of its own
   kind. */
typedef tg_value holder(tg_value x, void *user);

static tg_value by_apply(tg_value x, void *user)
{
    tg_value y;
    tg_apply(now->functions[levels_of(user)], TG_ARGS(x), &y, 1);
    return y;
}

static tg_value by_for(tg_value x, void *user)
{
    tg_value y;
    tg_for(1, counted_body, user, TG_ARGS(x), &y, 1);
    return y;
}

static tg_value by_while(tg_value x, void *user)
{
    tg_value y[2];
    tg_while(while_test, while_body, user, TG_ARGS(x, 0), y, 2);
    return y[0];
}

static tg_value by_cond(tg_value x, void *user)
{
    tg_value y, is_positive = tg_gt(tg_sum(x, TG_ALL_AXES), 0);
    tg_cond(is_positive, body, same, user, TG_ARGS(x), &y, 1);
    return y;
}

static tg_value by_switch(tg_value x, void *user)
{
    static tg_callback *const branches[] = {same, body};
    tg_value y, index = tg_cast(tg_sum(x, TG_ALL_AXES), TG_I32);
    tg_switch(index, branches, 2, user, TG_ARGS(x), &y, 1);
    return y;
}

static tg_value by_scan(tg_value x, void *user)
{
    tg_value y, sequence = tg_reshape(x, TG_DIMS(1, ELEMENTS));
    tg_scan(scan_body, user, TG_ARGS(x), TG_ARGS(sequence), &y, 1, NULL, 0);
    return y;
}

static tg_value by_map(tg_value x, void *user)
{
    tg_value y, sequence = tg_reshape(x, TG_DIMS(1, ELEMENTS));
    tg_map(body, user, TG_ARGS(sequence), &y, 1);
    return tg_reshape(y, TG_DIMS(ELEMENTS));
}

static tg_value by_checkpoint(tg_value x, void *user)
{
    tg_value y;
    tg_checkpoint(body, user, TG_ARGS(x), &y, 1);
    return y;
}

static tg_value by_unrolled(tg_value x, void *user)
{
    tg_value y;
    tg_for_unrolled(1, counted_body, user, TG_ARGS(x), &y, 1);
    return y;
}

/* If the call fails, so does the use of its result. */
static tg_value by_call(tg_value x, void *user)
{
    tg_tensor *y = NULL;
    tg_value sum = {0, 0};
    if (tg_call(now->functions[levels_of(user)], TG_ARGS(now->x),
                TG_RESULTS(&y)))
        note_failure(now);
    else
        sum = tg_add(x, y);
    tg_tensor_release(y);
    return sum;
}

static tg_value inside(tg_value x, int levels)
{
    static holder *const holders[] = {
        [BY_APPLY] = by_apply,           [BY_FOR] = by_for,
        [BY_WHILE] = by_while,           [BY_COND] = by_cond,
        [BY_SWITCH] = by_switch,         [BY_SCAN] = by_scan,
        [BY_MAP] = by_map,               [BY_CHECKPOINT] = by_checkpoint,
        [BY_UNROLLED] = by_unrolled,     [BY_CALL] = by_call,
    };
    const kind by = now->kind == BY_ALL_IN_TURN ? (kind)(levels % N_KINDS)
                                                : now->kind;
    return holders[by](x, (void *)(intptr_t)(levels - 1));
}

CALLBACK(whole)
{
    tg_value y = level(in[0], now->levels - 1), gradient;
    if (!now->with_gradient) {
        tg_return(t, y, y);
        return;
    }
    tg_gradients(y, in, 1, &gradient);
    tg_return(t, y, gradient);
}

/* -- On a small stack ------------------------------------------------------ */

typedef struct job {
    nest n;
    const char *jit;
    bool bottom_up; /* inner functions are traced first, each separately */
    float result[2 * ELEMENTS];
} job;

static void keep_results(job *of, tg_tensor *y, tg_tensor *gradient)
{
    memcpy(of->result, tg_tensor_data(y), sizeof(float[ELEMENTS]));
    memcpy(of->result + ELEMENTS, tg_tensor_data(gradient),
           sizeof(float[ELEMENTS]));
}

/* Assertions work only on the test's thread, so failures are recorded. */
static void *run(void *user)
{
    job *of = user;
    const tg_context_options options = {.struct_bytes = sizeof(options),
                                        .jit = of->jit};
    nest *n = now = &of->n;
    n->ctx = tg_context_create(&options);
    for (int i = 0; i < n->levels; i++)
        n->functions[i] =
            tg_function_create(n->ctx, body, (void *)(intptr_t)i, NULL);
    tg_function *f = tg_function_create(n->ctx, whole, NULL, NULL);
    const float data[ELEMENTS] = {0.5f, 0.75f, -0.25f, 0.125f, 0.25f};
    tg_tensor *x = n->x =
        tg_tensor_copy(n->ctx, data, TG_F32, TG_DIMS(ELEMENTS));
    tg_tensor *y = NULL, *gradient = NULL;
    for (int i = 0; of->bottom_up && i < n->levels - 1; i++)
        if (tg_call(n->functions[i], TG_ARGS(x), TG_RESULTS()))
            note_failure(n);
    if (tg_call(f, TG_ARGS(x), TG_RESULTS(&y, &gradient)))
        note_failure(n);
    else
        keep_results(of, y, gradient);
    tg_tensor_release(x);
    tg_tensor_release(y);
    tg_tensor_release(gradient);
    for (int i = 0; i < n->levels; i++)
        tg_function_release(n->functions[i]);
    tg_function_release(f);
    tg_context_release(n->ctx);
    return NULL;
}

static job run_on_small_stack(job of)
{
    pthread_attr_t attributes;
    pthread_t thread;
    cr_assert_eq(pthread_attr_init(&attributes), 0);
    cr_assert_eq(pthread_attr_setstacksize(
                     &attributes, strcmp(of.jit, "off") == 0 ? TRACE_BYTES
                                                             : STACK_BYTES),
                 0);
    cr_assert_eq(pthread_create(&thread, &attributes, run, &of), 0);
    cr_assert_eq(pthread_join(thread, NULL), 0);
    pthread_attr_destroy(&attributes);
    check_nothing_is_alive();
    return of;
}

/* Nests to the limit in the first n_modes modes, which must agree, and one
   level too deep. */
static void check_nest(kind by, bool with_gradient, bool bottom_up,
                       int n_modes)
{
    static const char *const modes[] = {"off", "auto", "required"};
    char text[1024];
    char words[128];
    job first = {.jit = NULL};
    snprintf(words, sizeof(words), "%d levels of nested functions",
             TG_MAX_NESTING + 1);
    if (n_modes > 2 && !tgi_jit_describe(text, sizeof(text)))
        n_modes = 2;
    for (int i = 0; i < n_modes; i++) {
        job of = run_on_small_stack((job){
            .n = {.kind = by,
                  .levels = TG_MAX_NESTING,
                  .with_gradient = with_gradient},
            .jit = modes[i],
            .bottom_up = bottom_up});
        cr_assert_eq(of.n.status, TG_OK, "%s: %s", modes[i], of.n.complaint);
        if (i == 0)
            first = of;
        cr_assert_arr_eq(of.result, first.result, sizeof(of.result), "%s",
                         modes[i]);

        of = run_on_small_stack((job){
            .n = {.kind = by,
                  .levels = TG_MAX_NESTING + 1,
                  .with_gradient = with_gradient},
            .jit = modes[i],
            .bottom_up = bottom_up});
        cr_assert_eq(of.n.status, TG_ERROR_LIMIT, "%s", of.n.complaint);
        cr_assert(strstr(of.n.complaint, words), "%s", of.n.complaint);
        cr_assert(strstr(of.n.complaint, __FILE__ ":"), "%s", of.n.complaint);
    }
}

/* Gradients only in the first n_modes modes: LLVM takes 5 seconds or more
   for those of 99 branches, checkpoints or while loops. */
#define NESTS(name, by, n_modes) \
    Test(nesting, name) \
    { \
        check_nest(by, false, false, 3); \
    } \
    Test(nesting, gradients_of_##name) \
    { \
        check_nest(by, true, false, n_modes); \
    }

NESTS(functions, BY_APPLY, 3)
NESTS(counted_loops, BY_FOR, 3)
NESTS(while_loops, BY_WHILE, 2)
NESTS(conditions, BY_COND, 2)
NESTS(switches, BY_SWITCH, 1)
NESTS(scans, BY_SCAN, 3)
NESTS(maps, BY_MAP, 3)
NESTS(checkpoints, BY_CHECKPOINT, 1)
NESTS(unrolled_loops, BY_UNROLLED, 3)
NESTS(all_in_turn, BY_ALL_IN_TURN, 1)

Test(nesting, calls_inside_of_callbacks)
{
    check_nest(BY_CALL, false, false, 3);
}

Test(nesting, functions_traced_before_count_as_well)
{
    check_nest(BY_APPLY, false, true, 1);
}
