/* SPDX-License-Identifier: MIT */
/*
 * test_profile.c - profiles of calls, read as JSON: what is recorded, and that
 * the parts add up. No test asserts how fast something is.
 */
#include <jansson.h>
#include <pthread.h>
#include <time.h>
#include <unistd.h>

#include "support/modes.h"

/* -- Functions ------------------------------------------------------------- */

static int matmul_line, tanh_line;

static void network(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    matmul_line = __LINE__ + 1;
    tg_value h = tg_matmul(in[0], in[1]);
    tanh_line = __LINE__ + 1;
    tg_value e = tg_tanh(h);
    tg_return(t, tg_softmax(tg_matmul(e, in[1]), -1));
}

static void chain(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    tg_return(t, tg_tanh(tg_exp(in[0])));
}

static void square_body(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    tg_return(t, tg_tanh(tg_matmul(in[1], in[1])));
}

static void repeated(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    tg_value result;
    tg_for(7, square_body, NULL, TG_ARGS(in[0]), &result, 1);
    tg_return(t, result);
}

/* -- Reports --------------------------------------------------------------- */

static json_t *report(void)
{
    json_error_t error;
    char *text = tg_profile_report(TG_PROFILE_JSON);
    cr_assert_not_null(text, "%s", tg_error(NULL));
    json_t *json = json_loads(text, JSON_REJECT_DUPLICATES, &error);
    cr_assert_not_null(json, "line %d: %s in %s", error.line, error.text, text);
    tg_text_free(text);
    return json;
}

static json_t *find(json_t *list, const char *key, const char *wanted)
{
    size_t i;
    json_t *item;
    json_array_foreach (list, i, item) {
        const char *text = json_string_value(json_object_get(item, key));
        if (text && strstr(text, wanted))
            return item;
    }
    return NULL;
}

static json_t *trace_of(json_t *json, const char *function)
{
    json_t *trace = find(json_object_get(json, "traces"), "function", function);
    cr_assert_not_null(trace, "no trace of %s", function);
    return trace;
}

static double number(const json_t *object, const char *key)
{
    const json_t *value = json_object_get(object, key);
    cr_assert(json_is_number(value), "no number '%s'", key);
    return json_number_value(value);
}

static double sum_of_kernels(const json_t *trace, const char *key)
{
    double sum = 0;
    size_t i;
    json_t *kernel;
    json_array_foreach (json_object_get(trace, "kernels"), i, kernel)
        sum += number(kernel, key);
    return sum;
}

static bool has_site(const json_t *kernel, int line)
{
    size_t i;
    json_t *site;
    json_array_foreach (json_object_get(kernel, "sites"), i, site)
        if ((int)number(site, "line") == line &&
            strstr(json_string_value(json_object_get(site, "file")),
                   "test_profile.c"))
            return true;
    return false;
}

/* -- Sessions -------------------------------------------------------------- */

static tg_tensor *square(tg_context *ctx, int64_t n)
{
    return tg_tensor_create(ctx, TG_F32, TG_DIMS(n, n), tg_zeros());
}

static void begin_compiled(session *s, int threads)
{
    need_compiler();
    session_begin_with(
        s, (tg_context_options){.jit = "required", .threads = threads});
}

static void end_profile(session *s)
{
    cr_assert_eq(tg_profile_stop(), TG_OK);
    tg_profile_clear();
    session_end(s);
}

static void call_network(session *s, tg_function *f, int64_t n, int n_calls)
{
    TG_AUTO(tg_tensor) x = square(s->ctx, n);
    TG_AUTO(tg_tensor) w = square(s->ctx, n);
    TG_AUTO(tg_tensor) y = NULL;
    for (int i = 0; i < n_calls; i++)
        cr_assert_eq(tg_call(f, TG_ARGS(x, w), TG_RESULTS(&y)), TG_OK, "%s",
                     tg_error(s->ctx));
}

Test(profile, kernels_have_lines_counts_and_work)
{
    session s;
    begin_compiled(&s, 1);
    tg_function *f = tg_function_create(s.ctx, network, NULL, NULL);
    cr_assert_eq(tg_profile_start(NULL), TG_OK);
    call_network(&s, f, 128, 5);
    json_t *json = report(), *trace = trace_of(json, "network");
    cr_assert_eq(number(trace, "calls"), 5);
    cr_assert_eq(number(trace, "interpreted_calls"), 0);
    cr_assert_str_eq(json_string_value(json_object_get(trace, "reason")),
                     "first call");
    json_t *kernels = json_object_get(trace, "kernels");
    json_t *tanh = find(kernels, "operations", "tanh");
    cr_assert_not_null(tanh);
    cr_assert(has_site(tanh, matmul_line) && has_site(tanh, tanh_line));
    cr_assert_eq((int)number(json_array_get(json_object_get(tanh, "sites"), 0),
                             "line"),
                 matmul_line, "the matmul has most of the work");
    cr_assert_eq(number(tanh, "runs"), 5);
    /* 2 m n k and the recipe of tanh; two operands and a result. */
    cr_assert_geq(number(tanh, "flops"), 5 * 2.0 * 128 * 128 * 128);
    cr_assert_eq(number(tanh, "bytes"), 5 * 3.0 * 128 * 128 * 4);
    cr_assert_leq(number(tanh, "min_ns") * 5, number(tanh, "total_ns"));
    cr_assert_geq(number(json_object_get(trace, "phases_ns"), "trace"), 1);
    cr_assert_geq(number(json_object_get(trace, "phases_ns"), "fuse"), 1);
    json_decref(json);
    tg_function_release(f);
    end_profile(&s);
}

/*
 * Kernels, barriers, host steps and the rest are the time of the calls; kernels
 * of milliseconds are at least 90 % of it on one thread. Other processes may
 * interrupt this one anywhere, so one of several attempts must show it.
 */
static bool sums_agree(session *s, tg_function *f, int threads)
{
    struct timespec begin, end;
    cr_assert_eq(tg_profile_start(NULL), TG_OK);
    clock_gettime(CLOCK_MONOTONIC, &begin);
    call_network(s, f, 512, 4);
    clock_gettime(CLOCK_MONOTONIC, &end);
    cr_assert_eq(tg_profile_stop(), TG_OK);
    const double wall = 1e9 * (double)(end.tv_sec - begin.tv_sec) +
                        (double)(end.tv_nsec - begin.tv_nsec);
    json_t *json = report(), *trace = trace_of(json, "network");
    const double total = number(trace, "total_ns");
    const double kernels = sum_of_kernels(trace, "total_ns");
    const double parts = kernels + number(trace, "barrier_ns") +
                         number(trace, "host_ns") + number(trace, "other_ns");
    json_decref(json);
    cr_assert_leq(total, wall);
    /* Of kernels between two barriers, different threads may be slowest. */
    if (threads == 1)
        cr_assert(parts > 0.999 * total && parts < 1.001 * total, "%g of %g",
                  parts, total);
    return total >= 0.9 * wall && parts >= 0.9 * total &&
           parts <= 1.1 * total && (threads > 1 || kernels >= 0.9 * total);
}

static void check_sums(int threads)
{
    enum { ATTEMPTS = 20 };
    session s;
    begin_compiled(&s, threads);
    tg_function *f = tg_function_create(s.ctx, network, NULL, NULL);
    call_network(&s, f, 512, 1); /* compiles */
    int attempt = 0;
    while (attempt < ATTEMPTS && !sums_agree(&s, f, threads))
        attempt++;
    cr_assert_lt(attempt, ATTEMPTS);
    tg_function_release(f);
    end_profile(&s);
}

Test(profile, parts_are_the_wall_time_on_one_thread)
{
    check_sums(1);
}

Test(profile, parts_are_the_wall_time_on_two_threads)
{
    check_sums(2);
}

Test(profile, a_kernel_in_a_loop_counts_each_iteration)
{
    session s;
    begin_compiled(&s, 1);
    tg_function *f = tg_function_create(s.ctx, repeated, NULL, NULL);
    tg_tensor *x = square(s.ctx, 64);
    tg_tensor *y = NULL;
    cr_assert_eq(tg_profile_start(NULL), TG_OK);
    for (int i = 0; i < 3; i++)
        cr_assert_eq(tg_call(f, TG_ARGS(x), TG_RESULTS(&y)), TG_OK, "%s",
                     tg_error(s.ctx));
    json_t *json = report(), *trace = trace_of(json, "repeated");
    json_t *tanh =
        find(json_object_get(trace, "kernels"), "operations", "tanh");
    cr_assert_not_null(tanh);
    cr_assert_eq(number(tanh, "runs"), 21);
    json_decref(json);
    tg_function_release(f);
    tg_tensor_release(x);
    tg_tensor_release(y);
    end_profile(&s);
}

Test(profile, interpreted_calls_are_counted_by_operation)
{
    session s;
    session_begin_with(&s, (tg_context_options){.jit = "off"});
    tg_function *f = tg_function_create(s.ctx, network, NULL, NULL);
    cr_assert_eq(tg_profile_start(NULL), TG_OK);
    call_network(&s, f, 16, 4);
    json_t *json = report(), *trace = trace_of(json, "network");
    cr_assert_eq(number(trace, "interpreted_calls"), 4);
    json_t *matmul = find(json_object_get(trace, "kernels"), "name", "matmul");
    cr_assert_not_null(matmul);
    cr_assert(json_is_true(json_object_get(matmul, "interpreted")));
    cr_assert_eq(number(matmul, "runs"), 8);
    json_decref(json);
    char *table = tg_profile_report(TG_PROFILE_TABLE);
    cr_assert_not_null(strstr(table, "interpreted matmul"), "%s", table);
    tg_text_free(table);
    tg_function_release(f);
    end_profile(&s);
}

Test(profile, a_second_trace_has_its_reason)
{
    session s;
    session_begin_with(&s, (tg_context_options){.jit = "off"});
    tg_function *f = tg_function_create(s.ctx, network, NULL, NULL);
    cr_assert_eq(tg_profile_start(NULL), TG_OK);
    call_network(&s, f, 4, 1);
    call_network(&s, f, 5, 1);
    char *table = tg_profile_report(TG_PROFILE_TABLE);
    cr_assert_not_null(strstr(table, "network, trace 1 (arg 0 dim 0: 4 -> 5"),
                       "%s", table);
    tg_text_free(table);
    tg_function_release(f);
    end_profile(&s);
}

/* -- State ----------------------------------------------------------------- */

Test(profile, nothing_is_recorded_before_start_and_after_stop)
{
    session s;
    session_begin_with(&s, (tg_context_options){.jit = "off"});
    tg_function *f = tg_function_create(s.ctx, network, NULL, NULL);
    call_network(&s, f, 4, 3);
    cr_assert_eq(tg_profile_start(NULL), TG_OK);
    call_network(&s, f, 4, 2);
    cr_assert_eq(tg_profile_stop(), TG_OK);
    call_network(&s, f, 4, 3);
    json_t *json = report();
    cr_assert_eq(number(trace_of(json, "network"), "calls"), 2);
    json_decref(json);
    tg_profile_clear();
    json = report();
    cr_assert_eq(json_array_size(json_object_get(json, "traces")), 0);
    json_decref(json);
    tg_function_release(f);
    end_profile(&s);
}

/* A profile is read after everything it describes has gone. */
Test(profile, outlives_functions_and_contexts)
{
    session s;
    session_begin(&s);
    tg_function *f = tg_function_create(s.ctx, network, NULL, NULL);
    cr_assert_eq(tg_profile_start(NULL), TG_OK);
    call_network(&s, f, 16, 2);
    tg_function_release(f);
    cr_assert_eq(tg_compile_wait(NULL), TG_OK);
    tg_context_release(s.ctx);
    cr_assert_eq(tg_profile_stop(), TG_OK);
    json_t *json = report();
    cr_assert_eq(number(trace_of(json, "network"), "calls"), 2);
    json_decref(json);
    tg_profile_clear();
    check_nothing_is_alive();
}

enum { CALLERS = 4, CALLS = 50 };

static void *call_in_own_context(void *user)
{
    (void)user;
    session s;
    session_begin_with(&s, (tg_context_options){.threads = 2});
    tg_function *f = tg_function_create(s.ctx, chain, NULL, NULL);
    tg_tensor *x =
        tg_tensor_create(s.ctx, TG_F32, TG_DIMS(5000), tg_zeros());
    tg_tensor *y = NULL;
    for (int i = 0; i < CALLS; i++) {
        cr_assert_eq(tg_call(f, TG_ARGS(x), TG_RESULTS(&y)), TG_OK, "%s",
                     tg_error(s.ctx));
        if (i % 10 == 9)
            tg_text_free(tg_profile_report(TG_PROFILE_JSON));
    }
    tg_function_release(f);
    tg_tensor_release(x);
    tg_tensor_release(y);
    cr_assert_eq(tg_compile_wait(s.ctx), TG_OK);
    tg_context_release(s.ctx);
    return NULL;
}

Test(profile, several_threads_and_contexts_share_it)
{
    const char path[] = "test_profile_threads.json";
    pthread_t callers[CALLERS];
    tg_profile_options options = TG_PROFILE_OPTIONS_INIT;
    options.trace_file = path;
    cr_assert_eq(tg_profile_start(&options), TG_OK, "%s", tg_error(NULL));
    for (int i = 0; i < CALLERS; i++)
        cr_assert_eq(
            pthread_create(&callers[i], NULL, call_in_own_context, NULL), 0);
    for (int i = 0; i < CALLERS; i++)
        pthread_join(callers[i], NULL);
    cr_assert_eq(tg_profile_stop(), TG_OK);
    json_t *json = report(), *trace = trace_of(json, "chain");
    cr_assert_eq(number(trace, "calls"), CALLERS * CALLS);
    json_decref(json);
    json_t *events = json_load_file(path, 0, NULL);
    cr_assert_not_null(events);
    cr_assert_geq(json_array_size(events), CALLERS * CALLS);
    json_decref(events);
    (void)unlink(path);
    tg_profile_clear();
    check_nothing_is_alive();
}

/* -- Spans of the program -------------------------------------------------- */

Test(profile, spans_are_a_track_and_may_overlap)
{
    const char path[] = "test_profile_spans.json";
    tg_profile_options options = TG_PROFILE_OPTIONS_INIT;
    options.trace_file = path;
    const uint64_t before = tg_timeline_now();
    cr_assert_not(tg_timeline_is_on());
    tg_timeline_span("track", "dropped", before, before + 1);
    cr_assert_eq(tg_profile_start(&options), TG_OK, "%s", tg_error(NULL));
    cr_assert(tg_timeline_is_on());
    const uint64_t begin = tg_timeline_now();
    tg_timeline_span("track", "first", begin, begin + 2000);
    tg_timeline_span("track", "second", begin + 1000, begin + 3000);
    tg_timeline_span("track", "too early", before, begin);
    tg_timeline_span("track", "backwards", begin + 1, begin);
    tg_timeline_span(NULL, NULL, begin, begin);
    cr_assert_eq(tg_profile_stop(), TG_OK);
    json_t *events = json_load_file(path, 0, NULL), *event;
    const char *wanted[] = {"bfirst", "efirst", "bsecond", "esecond", "b", "e"};
    size_t i, n = 0;
    json_array_foreach(events, i, event)
    {
        char text[64];
        snprintf(text, sizeof(text), "%s%s",
                 json_string_value(json_object_get(event, "ph")),
                 json_string_value(json_object_get(event, "name")));
        if (text[0] == 'b' || text[0] == 'e') {
            cr_assert_lt(n, sizeof(wanted) / sizeof(*wanted));
            cr_assert_str_eq(text, wanted[n++]);
            cr_assert_not_null(json_object_get(event, "id"));
        }
    }
    cr_assert_eq(n, sizeof(wanted) / sizeof(*wanted));
    json_decref(events);
    (void)unlink(path);
    tg_profile_clear();
}

/* -- Bits ------------------------------------------------------------------ */

Test(profile, results_keep_their_bits)
{
    session s;
    begin_compiled(&s, 2);
    tg_function *f = tg_function_create(s.ctx, network, NULL, NULL);
    tg_tensor *x = square(s.ctx, 96);
    tg_tensor *plain = NULL;
    tg_tensor *profiled = NULL;
    float *data = tg_tensor_data(x);
    for (int i = 0; i < 96 * 96; i++)
        data[i] = (float)(i % 17) / 7;
    cr_assert_eq(tg_call(f, TG_ARGS(x, x), TG_RESULTS(&plain)), TG_OK);
    cr_assert_eq(tg_profile_start(NULL), TG_OK);
    cr_assert_eq(tg_call(f, TG_ARGS(x, x), TG_RESULTS(&profiled)), TG_OK);
    cr_assert_eq(memcmp(tg_tensor_data(plain), tg_tensor_data(profiled),
                        96 * 96 * sizeof(float)),
                 0);
    tg_function_release(f);
    tg_tensor_release(x);
    tg_tensor_release(plain);
    tg_tensor_release(profiled);
    end_profile(&s);
}

/* -- Failures -------------------------------------------------------------- */

Test(profile, a_trace_file_that_cannot_be_created_fails_start)
{
    tg_profile_options options = TG_PROFILE_OPTIONS_INIT;
    options.trace_file = "/nonexistent/dir/trace.json";
    cr_assert_eq(tg_profile_start(&options), TG_ERROR_FILE);
    cr_assert_not_null(strstr(tg_error(NULL), "/nonexistent/dir/trace.json"));
    options.struct_bytes = 3;
    cr_assert_eq(tg_profile_start(&options), TG_ERROR_INVALID_ARGUMENT);
    cr_assert_null(tg_profile_report((tg_profile_format)9));
    cr_assert_eq(tg_error_last()->status, TG_ERROR_INVALID_ARGUMENT);
}

Test(profile, files_of_context_options_must_be_writable)
{
    tg_context_options options = TG_CONTEXT_OPTIONS_INIT;
    options.profile = "/nonexistent/dir/profile.txt";
    cr_assert_null(tg_context_create(&options));
    cr_assert_eq(tg_error_last()->status, TG_ERROR_FILE);
    options.profile = NULL;
    options.trace_file = "/nonexistent/dir/trace.json";
    cr_assert_null(tg_context_create(&options));
    cr_assert_eq(tg_error_last()->status, TG_ERROR_FILE);
    check_nothing_is_alive();
}

Test(profile, files_of_the_environment_are_warnings)
{
    session s;
    setenv("TGJIT_PROFILE", "/nonexistent/dir/profile.txt", 1);
    setenv("TGJIT_TRACE", "/nonexistent/dir/trace.json", 1);
    session_begin_with(&s, (tg_context_options){.jit = "off"});
    cr_assert_not_null(strstr(s.logged, "TGJIT_PROFILE: "), "%s", s.logged);
    cr_assert_not_null(strstr(s.logged, "TGJIT_TRACE: "), "%s", s.logged);
    tg_function *f = tg_function_create(s.ctx, network, NULL, NULL);
    call_network(&s, f, 4, 1);
    tg_function_release(f);
    session_end(&s);
}

static bool profile_call(void)
{
    tg_context_options options = TG_CONTEXT_OPTIONS_INIT;
    options.jit = "off";
    if (tg_profile_start(NULL))
        return false;
    tg_context *ctx = tg_context_create(&options);
    tg_function *f =
        ctx ? tg_function_create(ctx, chain, NULL, NULL) : NULL;
    tg_tensor *x =
        f ? tg_tensor_create(ctx, TG_F32, TG_DIMS(4), tg_zeros()) : NULL;
    tg_tensor *y = NULL;
    bool went_well = x && tg_call(f, TG_ARGS(x), TG_RESULTS(&y)) == TG_OK;
    char *text = went_well ? tg_profile_report(TG_PROFILE_TABLE) : NULL;
    went_well = went_well && text;
    tg_text_free(text);
    tg_tensor_release(x);
    tg_tensor_release(y);
    tg_function_release(f);
    tg_context_release(ctx);
    (void)tg_profile_stop();
    tg_profile_clear();
    return went_well;
}

Test(profile, any_allocation_may_fail)
{
    check_every_fault(profile_call);
}
