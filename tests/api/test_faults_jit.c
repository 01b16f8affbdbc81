/* SPDX-License-Identifier: MIT */
/*
 * test_faults_jit.c - fault injection while a function is compiled and
 * prepared: every allocation fails in turn, once or persistently. Only the
 * library's own allocations can fail; those of LLVM terminate the process.
 *
 * Traces are created without faults; test_faults.c tests those. Most faults
 * occur before LLVM runs, so most scenarios are fast.
 */
#include <stdlib.h>
#include <unistd.h>

#include "support/folders.h"
#include "support/modes.h"

/* -- A world to fail in ---------------------------------------------------- */

enum { N_RESULTS = 3 };

typedef struct world {
    session s;
    tg_function *f;
    tg_concrete *traced; /* keeps its trace alive */
    tg_variable *v;
    tg_tensor *x, *i;
    tg_tensor *y[N_RESULTS];
} world;

/* Few kernels; test_fuse.c injects faults for many. in: a variable [4], x
   [3,4], i [2] */
static void pick_and_turn(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    tg_value picked = tg_gather(in[1], in[2], 0);
    tg_assign(in[0], tg_slice(in[0], 0, -1, TG_END, -1));
    tg_print(t, "%v", tg_read(in[0]));
    tg_return(t, picked, tg_sum(in[1], TG_AXES(-1)), in[1]);
}

static void world_begin(world *w, tg_context_options options,
                        tg_policy policy)
{
    const float data[] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12};
    tg_function_options relaxed = TG_FUNCTION_OPTIONS_INIT;
    relaxed.policy = policy;
    memset(w, 0, sizeof(*w));
    options.jit = "required";
    session_begin_with(&w->s, options);
    tg_context *ctx = w->s.ctx;
    w->f = tg_function_create(ctx, pick_and_turn, NULL, &relaxed);
    w->v = tg_variable_create(ctx, "v", TG_F32, TG_DIMS(4), tg_zeros());
    w->x = tg_tensor_copy(ctx, data, TG_F32, TG_DIMS(3, 4));
    w->i = i32_vector(ctx, 2, 0);
    cr_assert(w->f && w->v && w->x && w->i, "%s", tg_error(NULL));
    const int64_t rows = policy == TG_RELAXED ? TG_UNKNOWN : 3;
    const int64_t columns = policy == TG_RELAXED ? TG_UNKNOWN : 4;
    const int64_t picks = policy == TG_RELAXED ? TG_UNKNOWN : 2;
    const tg_spec specs[] = {
        tg_spec_variable(TG_F32, TG_DIMS(4)),
        tg_spec_tensor(TG_F32, TG_DIMS(rows, columns)),
        tg_spec_tensor(TG_I32, TG_DIMS(picks)),
    };
    w->traced = tg_function_concrete(w->f, specs, 3);
    cr_assert_not_null(w->traced, "%s", tg_error(NULL));
    set_variable(w->v, 1, 2, 3, 4);
}

static void world_end(world *w)
{
    for (int i = 0; i < N_RESULTS; i++)
        tg_tensor_release(w->y[i]);
    tg_concrete_release(w->traced);
    tg_function_release(w->f);
    tg_variable_release(w->v);
    tg_tensor_release(w->x);
    tg_tensor_release(w->i);
    session_end(&w->s);
}

/* -- Faults ---------------------------------------------------------------- */

typedef tg_status attempt(world *w);

static tg_status call_it(world *w)
{
    return tg_call(w->f, TG_ARGS(w->v, w->x, w->i),
                   TG_RESULTS(&w->y[0], &w->y[1], &w->y[2]));
}

static tg_status bind_it(world *w)
{
    tg_bound *bound = tg_bind(w->f, TG_ARGS(w->v, w->x, w->i),
                              TG_RESULTS(NULL, &w->y[1], &w->y[2]));
    if (!bound)
        return tg_error_last()->status;
    const tg_status status = tg_run(bound);
    tg_bound_release(bound);
    return status;
}

/* Had either no effect or all of them. */
static void check_effects(world *w, tg_status status)
{
    if (status) {
        check_variable(w->v, 1, 2, 3, 4);
        cr_assert_str_eq(w->s.printed, "");
    } else {
        check_variable(w->v, 4, 3, 2, 1);
        cr_assert_str_eq(w->s.printed, "[4 3 2 1]\n");
    }
}

/* One attempt with a fault; false if there were fewer allocations. Sometimes
   repeats the call, which must work. */
static bool check_fault(attempt *try, tg_context_options options,
                        tg_policy policy, long nth, int forever)
{
    world w;
    world_begin(&w, options, policy);
    tg_error_clear();
    tgi_alloc_inject_failure(nth, forever);
    const tg_status status = try(&w);
    const bool has_failed = tgi_alloc_inject_failure(-1, 0) > nth;
    cr_assert(status == TG_OK || status == TG_ERROR_OUT_OF_MEMORY,
              "allocation %ld: %s", nth, tg_error(NULL));
    cr_assert(has_failed || status == TG_OK);
    /* A print that runs out of memory after an assignment. */
    if (!has_failed || status == TG_OK)
        check_effects(&w, status);
    else
        cr_assert_str_eq(w.s.printed, "");
    if (status && nth % 64 == 0) {
        set_variable(w.v, 1, 2, 3, 4);
        check_works(try(&w));
        check_effects(&w, TG_OK);
    }
    world_end(&w);
    return has_failed;
}

static void check_all_faults(attempt *try, tg_context_options options,
                             tg_policy policy)
{
    need_compiler();
    for (int forever = 0; forever <= 1; forever++) {
        long nth = 0;
        while (check_fault(try, options, policy, nth, forever))
            nth++;
        cr_assert_gt(nth, 100, "it was not compiled");
    }
}

Test(faults_jit, calls_that_compile)
{
    check_all_faults(call_it, (tg_context_options){0}, TG_EXACT);
}

Test(faults_jit, bound_calls_that_compile_for_unknown_extents)
{
    check_all_faults(bind_it, (tg_context_options){0}, TG_RELAXED);
}

/* -- With code on disk ----------------------------------------------------- */

static char store_dir[] = "/tmp/tgjit-faults-XXXXXX";

Test(faults_jit, code_from_a_directory)
{
    need_compiler();
    cr_assert_not_null(mkdtemp(store_dir));
    const tg_context_options options = {.cache = "rw", .cache_dir = store_dir};
    check_all_faults(call_it, options, TG_EXACT);
    size_t n_entries;
    check_works(tg_cache_size(store_dir, &n_entries, NULL));
    cr_assert_eq(n_entries, 1);
    check_works(tg_cache_clear(store_dir));
    cr_assert_eq(rmdir(store_dir), 0);
}

/* -- With texts of everything ---------------------------------------------- */

static char dump_dir[] = "/tmp/tgjit-faults-XXXXXX";

Test(faults_jit, dumps_of_all_stages)
{
    need_compiler();
    cr_assert_not_null(mkdtemp(dump_dir));
    const tg_context_options options = {.dump = "loops,llvm,asm",
                                        .dump_dir = dump_dir,
                                        .explain = "fusion"};
    long nth = 0;
    while (check_fault(call_it, options, TG_EXACT, nth, 0))
        nth++;
    cr_assert_gt(remove_folder(dump_dir), 3);
}
