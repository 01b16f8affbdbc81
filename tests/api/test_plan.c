/* SPDX-License-Identifier: MIT */
/*
 * test_plan.c - measured planning: results have the bits of the interpreter,
 * timing a schedule has no effects, a plan that was found is found again, and
 * whatever fails, the call works. Nothing here depends on what is faster.
 */
#include <dirent.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "support/folders.h"
#include "support/modes.h"
#include "tgjit/cache.h"

static uint64_t n_timed(void)
{
    tg_code_counters counts = TG_CODE_COUNTERS_INIT;
    check_works(tg_code_counts(&counts));
    return counts.timed_schedules;
}

static tg_context_options measuring(void)
{
    return (tg_context_options){
        .plan = "measure", .jit = "required", .cache = "off", .threads = 1};
}

/* -- Functions ------------------------------------------------------------- */

enum { ROWS = 96, COLUMNS = 80, N = ROWS * COLUMNS };

/* Kernels of most kinds: a matmul with an epilogue, softmax, a sum down
   columns, a transpose, a gather, fission. */
static void many_kernels(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    const tg_value x = in[0];
    const tg_value product = tg_relu(tg_matmul(x, tg_transpose(x, TG_PERM(1, 0))));
    const tg_value soft = tg_softmax(x, -1);
    const tg_value columns = tg_sum(tg_mul(soft, x), TG_AXES(0));
    const tg_value heavy =
        tg_mul(tg_tanh(x), tg_mul(tg_exp(tg_neg(x)), tg_erf(x)));
    const tg_value picked = tg_gather(x, in[1], 0);
    tg_return(t, product, columns, heavy, picked,
              tg_add(tg_transpose(x, TG_PERM(1, 0)), tg_reshape(soft, TG_DIMS(COLUMNS, ROWS))));
}

enum { N_RESULTS = 5 };

typedef struct results {
    tg_tensor *tensor[N_RESULTS];
} results;

static results call_many(tg_context *ctx, const tg_function_options *options)
{
    results r = {{NULL}};
    tg_function *f = tg_function_create(ctx, many_kernels, NULL, options);
    tg_tensor *x = f32_range(ctx, N);
    tg_tensor *picks = tg_tensor_create(ctx, TG_I32, TG_DIMS(40), tg_zeros());
    cr_assert(f && picks, "%s", tg_error(NULL));
    tg_tensor *matrix =
        tg_tensor_copy(ctx, tg_tensor_data(x), TG_F32, TG_DIMS(ROWS, COLUMNS));
    for (int i = 0; i < 40; i++)
        ((int32_t *)tg_tensor_data(picks))[i] = i * 7 % ROWS;
    check_works(tg_call(f, TG_ARGS(matrix, picks),
                        TG_RESULTS(&r.tensor[0], &r.tensor[1], &r.tensor[2],
                                   &r.tensor[3], &r.tensor[4])));
    tg_tensor_release(x);
    tg_tensor_release(matrix);
    tg_tensor_release(picks);
    tg_function_release(f);
    return r;
}

static void release(results *r)
{
    for (int i = 0; i < N_RESULTS; i++)
        tg_tensor_release(r->tensor[i]);
}

static void check_same(const results *a, const results *b)
{
    for (int i = 0; i < N_RESULTS; i++) {
        const size_t bytes = tg_tensor_bytes(a->tensor[i]);
        cr_assert_eq(bytes, tg_tensor_bytes(b->tensor[i]));
        cr_expect(memcmp(tg_tensor_data(a->tensor[i]),
                         tg_tensor_data(b->tensor[i]), bytes) == 0,
                  "result %d differs", i);
    }
}

/* Calls with these options, and interpreted: the same bits. Returns how many
   schedules were timed. */
static uint64_t check_call(tg_context_options options)
{
    session s, reference;
    const uint64_t before = n_timed();
    memset(&reference, 0, sizeof(reference));
    session_begin_with(&s, options);
    tg_context_options interpreted = {.struct_bytes = sizeof(interpreted),
                                      .jit = "off"};
    tg_context *ctx = tg_context_create(&interpreted);
    results measured = call_many(s.ctx, NULL), expected = call_many(ctx, NULL);
    check_same(&measured, &expected);
    release(&measured);
    release(&expected);
    tg_context_release(ctx);
    session_end(&s);
    return n_timed() - before;
}

Test(plan, has_the_bits_of_the_interpreter)
{
    need_compiler();
    setenv("TGJIT_GRAIN", "0", 1);
    setenv("TGJIT_VERIFY", "1", 1);
    for (int threads = 1; threads <= 3; threads++) {
        tg_context_options options = measuring();
        options.threads = threads;
        cr_expect_gt(check_call(options), 10);
    }
}

Test(plan, is_estimated_unless_it_is_asked_for)
{
    need_compiler();
    tg_context_options options = measuring();
    options.plan = NULL;
    cr_expect_eq(check_call(options), 0);
    options.plan = "estimate";
    cr_expect_eq(check_call(options), 0);
    setenv("TGJIT_PLAN", "measure", 1);
    cr_expect_eq(check_call(options), 0);
    options.plan = NULL;
    cr_expect_gt(check_call(options), 0);
}

Test(plan, a_function_chooses_or_has_that_of_its_context)
{
    need_compiler();
    for (int i = 0; i < 2; i++) {
        session s;
        tg_context_options of_context = measuring();
        tg_function_options of_function = TG_FUNCTION_OPTIONS_INIT;
        of_context.plan = i ? "measure" : "estimate";
        of_function.plan = i ? "estimate" : "measure";
        session_begin_with(&s, of_context);
        const uint64_t before = n_timed();
        results r = call_many(s.ctx, &of_function);
        cr_expect_eq(n_timed() > before, i == 0);
        release(&r);
        session_end(&s);
    }
}

Test(plan, other_words_are_rejected)
{
    session s;
    tg_context_options options = TG_CONTEXT_OPTIONS_INIT;
    options.plan = "guess";
    cr_expect_null(tg_context_create(&options));
    cr_expect_not_null(strstr(tg_error(NULL), "'guess' is not one of estimate, "
                                              "measure"));
    options.plan = NULL;
    options.plan_budget = -1;
    cr_expect_null(tg_context_create(&options));
    cr_expect_not_null(strstr(tg_error(NULL), "plan_budget"));
    session_begin(&s);
    tg_function_options of_function = TG_FUNCTION_OPTIONS_INIT;
    of_function.plan = "guess";
    cr_expect_null(
        tg_function_create(s.ctx, many_kernels, NULL, &of_function));
    cr_expect_not_null(strstr(tg_error(NULL), "tg_function_options.plan"));
    session_end(&s);
}

/* A budget of 0 times nothing. */
Test(plan, the_budget_is_respected)
{
    need_compiler();
    setenv("TGJIT_PLAN_BUDGET", "0", 1);
    cr_expect_eq(check_call(measuring()), 0);
}

/* -- Effects --------------------------------------------------------------- */

static int n_host_calls;

static tg_status count_call(const tg_host_buffer *in, size_t n_in,
                            const tg_host_buffer *out, size_t n_out, void *user)
{
    (void)in, (void)n_in, (void)out, (void)n_out, (void)user;
    n_host_calls++;
    return TG_OK;
}

/* Assigns to a variable, in place, prints, asserts and calls the host. */
static void with_effects(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    const tg_value x = in[1];
    tg_assign(in[0], tg_add(tg_mul(tg_read(in[0]), 0.5F), tg_tanh(x)));
    const tg_value sum = tg_sum(tg_read(in[0]), TG_ALL_AXES);
    tg_print(t, "%v", sum);
    tg_host_call(t, count_call, NULL, TG_ARGS(sum), NULL, NULL, 0);
    tg_assert(t, tg_lt(sum, 1e9F), "too large");
    tg_return(t, tg_softmax(tg_mul(tg_read(in[0]), x), -1));
}

typedef struct effects {
    char printed[sizeof(((session *)0)->printed)];
    float variable[N];
    float result[N];
} effects;

static void run_with_effects(tg_context_options options, bool is_bound,
                             effects *out)
{
    session s;
    session_begin_with(&s, options);
    tg_function *f = tg_function_create(s.ctx, with_effects, NULL, NULL);
    tg_variable *v =
        tg_variable_create(s.ctx, "v", TG_F32, TG_DIMS(N), tg_ones());
    tg_tensor *x = f32_range(s.ctx, N), *y = NULL;
    n_host_calls = 0;
    if (is_bound) {
        tg_bound *bound = tg_bind(f, TG_ARGS(v, x), TG_RESULTS(&y));
        cr_assert_not_null(bound, "%s", tg_error(NULL));
        cr_expect_eq(n_host_calls, 0);
        cr_expect_str_eq(s.printed, "");
        check_works(tg_run(bound));
        tg_bound_release(bound);
    } else {
        check_works(tg_call(f, TG_ARGS(v, x), TG_RESULTS(&y)));
    }
    cr_expect_eq(n_host_calls, 1);
    snprintf(out->printed, sizeof(out->printed), "%s", s.printed);
    check_works(tg_variable_get(v, out->variable, sizeof(out->variable)));
    memcpy(out->result, tg_tensor_data(y), sizeof(out->result));
    tg_tensor_release(x);
    tg_tensor_release(y);
    tg_variable_release(v);
    tg_function_release(f);
    session_end(&s);
}

Test(plan, timing_has_no_effects)
{
    static effects expected, measured;
    need_compiler();
    run_with_effects((tg_context_options){.jit = "off"}, false, &expected);
    for (int is_bound = 0; is_bound <= 1; is_bound++) {
        const uint64_t before = n_timed();
        tg_code_clear();
        run_with_effects(measuring(), is_bound, &measured);
        cr_expect_gt(n_timed(), before);
        cr_expect_str_eq(measured.printed, expected.printed);
        cr_expect_arr_eq(measured.variable, expected.variable,
                         sizeof(expected.variable));
        cr_expect_arr_eq(measured.result, expected.result,
                         sizeof(expected.result));
    }
}

/* -- Found again ----------------------------------------------------------- */

static char store[] = "/tmp/tgjit-plan-XXXXXX";

static tg_context_options measuring_with(const char *cache)
{
    tg_context_options options = measuring();
    options.cache = cache;
    options.cache_dir = store;
    return options;
}

static void begin_store(void)
{
    need_compiler();
    cr_assert_not_null(mkdtemp(store));
}

Test(plan, is_found_again_in_memory)
{
    session s;
    need_compiler();
    session_begin(&s); /* keeps the in-memory cache */
    tg_context *ctx[2];
    uint64_t n[3] = {n_timed()};
    for (int i = 0; i < 2; i++) {
        tg_context_options options = measuring();
        options.struct_bytes = sizeof(options);
        ctx[i] = tg_context_create(&options);
        results r = call_many(ctx[i], NULL);
        release(&r);
        n[i + 1] = n_timed();
    }
    cr_expect_gt(n[1], n[0]);
    cr_expect_eq(n[2], n[1]);
    tg_context_release(ctx[0]);
    tg_context_release(ctx[1]);
    session_end(&s);
}

/* check_call ends with the last context, and so does the in-memory cache. */
Test(plan, is_found_again_on_disk)
{
    begin_store();
    cr_expect_gt(check_call(measuring_with("rw")), 0);
    cr_expect_eq(check_call(measuring_with("rw")), 0);
    cr_expect_eq(check_call(measuring_with("ro")), 0);
    cr_expect_gt(check_call(measuring_with("off")), 0);
    cr_expect_gt(remove_folder(store), 0);
}

/* Code that was planned by estimate is other code. */
Test(plan, is_not_that_of_estimated_code)
{
    begin_store();
    tg_context_options estimated = measuring_with("rw");
    estimated.plan = "estimate";
    cr_expect_eq(check_call(estimated), 0);
    cr_expect_gt(check_call(measuring_with("rw")), 0);
    cr_expect_eq(check_call(measuring_with("rw")), 0);
    remove_folder(store);
}

/* -- Failures -------------------------------------------------------------- */

Test(plan, works_with_a_cache_that_cannot_be_written)
{
    begin_store();
    cr_expect_gt(check_call(measuring_with("ro")), 0);
    cr_expect_eq(remove_folder(store), 0);
    cr_expect_gt(check_call((tg_context_options){.plan = "measure",
                                                 .jit = "required",
                                                 .log = "off",
                                                 .cache = "rw",
                                                 .cache_dir = "/dev/null/no"}),
                 0);
}

/* Flips a byte in the middle of every file of the store. */
static void damage_store(void)
{
    DIR *dir = opendir(store);
    for (struct dirent *entry; (entry = readdir(dir));) {
        char path[512];
        struct stat about;
        snprintf(path, sizeof(path), "%s/%s", store, entry->d_name);
        if (stat(path, &about) != 0 || !S_ISREG(about.st_mode))
            continue;
        FILE *file = fopen(path, "r+b");
        cr_assert_not_null(file);
        fseek(file, about.st_size / 2, SEEK_SET);
        const int byte = fgetc(file);
        fseek(file, about.st_size / 2, SEEK_SET);
        fputc(byte ^ 1, file);
        fclose(file);
    }
    closedir(dir);
}

Test(plan, is_measured_again_if_it_is_damaged)
{
    begin_store();
    cr_expect_gt(check_call(measuring_with("rw")), 0);
    damage_store();
    cr_expect_gt(check_call(measuring_with("rw")), 0);
    cr_expect_eq(check_call(measuring_with("rw")), 0);
    remove_folder(store);
}

/* A kernel whose scratch memory exceeds the limit is planned by estimate. */
Test(plan, scratch_memory_is_limited)
{
    need_compiler();
    tg_context_options options = measuring();
    options.memory_limit = 200 << 10; /* the call needs less than that */
    cr_expect_gt(check_call(options), 0);
}

/* Out of memory while schedules are timed: the call works all the same, or
   fails for lack of memory itself. */
Test(plan, survives_a_lack_of_memory)
{
    begin_store();
    long nth = 200; /* about the first allocation of planning */
    bool has_failed = true;
    tg_context_options options = measuring_with("rw");
    options.plan_budget = 20;
    for (; has_failed; nth += 61) {
        session s;
        session_begin_with(&s, options);
        tg_function *f = tg_function_create(s.ctx, with_effects, NULL, NULL);
        tg_variable *v =
            tg_variable_create(s.ctx, "v", TG_F32, TG_DIMS(N), tg_ones());
        tg_tensor *x = f32_range(s.ctx, N), *y = NULL;
        n_host_calls = 0;
        tgi_alloc_inject_failure(nth, 0);
        const tg_status status = tg_call(f, TG_ARGS(v, x), TG_RESULTS(&y));
        has_failed = tgi_alloc_inject_failure(-1, 0) > nth;
        cr_assert(status == TG_OK || status == TG_ERROR_OUT_OF_MEMORY, "%s",
                  tg_error(NULL));
        cr_assert(has_failed || status == TG_OK);
        cr_expect_leq(n_host_calls, 1);
        tg_tensor_release(x);
        tg_tensor_release(y);
        tg_variable_release(v);
        tg_function_release(f);
        session_end(&s);
        cr_assert_eq(tg_cache_clear(store), TG_OK);
    }
    cr_expect_gt(nth, 400);
    remove_folder(store);
}
