/* SPDX-License-Identifier: MIT */
/*
 * test_code_sharing.c - functions and contexts that share compiled code: when
 * they do, when they must not, and what users can observe.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <sys/wait.h>
#include <unistd.h>

#include "support/folders.h"
#include "support/modes.h"

/* -- Functions ------------------------------------------------------------- */

static void twice_plus(tg_trace *t, const tg_value *in, void *user)
{
    const double *constant = user;
    tg_return(t, tg_add(tg_mul(in[0], 2), *constant));
}

/* The same with other names. */
static void plus_twice(tg_trace *t, const tg_value *in, void *user)
{
    const double *constant = user;
    tg_value doubled = tg_mul(in[0], 2);
    tg_return(t, tg_add(doubled, *constant));
}

static void twice_minus(tg_trace *t, const tg_value *in, void *user)
{
    const double *constant = user;
    tg_return(t, tg_sub(tg_mul(in[0], 2), *constant));
}

static double one = 1, two = 2;

static const tg_context_options compiled = {.jit = "required"};

static tg_code_counters counts(void)
{
    tg_code_counters c = TG_CODE_COUNTERS_INIT;
    check_works(tg_code_counts(&c));
    return c;
}

/* Calls a new function with ones; returns the number of misses. */
static int misses_of_call(tg_context *ctx, tg_callback *callback, double *user,
                          tg_dtype dtype, int64_t n, double want)
{
    const uint64_t before = counts().misses;
    tg_function *f = tg_function_create_named(ctx, "f", callback, user, NULL);
    const float floats[] = {1, 1, 1, 1};
    const double doubles[] = {1, 1, 1, 1};
    tg_tensor *x = tg_tensor_copy(ctx, dtype == TG_F32 ? (const void *)floats
                                                       : doubles,
                                  dtype, TG_DIMS(n));
    tg_tensor *y = call_one(f, TG_ARGS(x));
    if (dtype == TG_F32)
        cr_assert_eq(*(float *)tg_tensor_data(y), (float)want);
    else
        cr_assert_eq(*(double *)tg_tensor_data(y), want);
    tg_tensor_release(x);
    tg_tensor_release(y);
    tg_function_release(f);
    return (int)(counts().misses - before);
}

/* -- Sharing --------------------------------------------------------------- */

Test(code_sharing, equal_graphs_are_compiled_once)
{
    need_compiler();
    session s, other;
    session_begin_with(&s, compiled);
    session_begin_with(&other, (tg_context_options){.jit = "required",
                                                    .threads = 2,
                                                    .log = "warn,+jit"});
    cr_assert_eq(misses_of_call(s.ctx, twice_plus, &one, TG_F32, 3, 3), 1);
    cr_assert_eq(misses_of_call(s.ctx, twice_plus, &one, TG_F32, 3, 3), 0);
    cr_assert_eq(misses_of_call(s.ctx, plus_twice, &one, TG_F32, 3, 3), 0);
    cr_assert_eq(misses_of_call(other.ctx, plus_twice, &one, TG_F32, 3, 3), 0);
    const tg_code_counters c = counts();
    cr_assert_eq(c.hits, 3);
    cr_assert_eq(c.entries, 1);
    cr_assert_gt(c.bytes, 100);
    cr_assert_null(strstr(other.logged, ": compiled "));
    tg_context_release(s.ctx);
    /* Code outlives the context that it was compiled for. */
    cr_assert_eq(misses_of_call(other.ctx, twice_plus, &one, TG_F32, 3, 3), 0);
    session_end(&other);
    cr_assert_eq(counts().entries, 0);
}

Test(code_sharing, other_graphs_are_not)
{
    need_compiler();
    session s;
    session_begin_with(&s, compiled);
    cr_assert_eq(misses_of_call(s.ctx, twice_plus, &one, TG_F32, 3, 3), 1);
    cr_assert_eq(misses_of_call(s.ctx, twice_plus, &two, TG_F32, 3, 4), 1);
    cr_assert_eq(misses_of_call(s.ctx, twice_minus, &one, TG_F32, 3, 1), 1);
    cr_assert_eq(misses_of_call(s.ctx, twice_plus, &one, TG_F64, 3, 3), 1);
    cr_assert_eq(misses_of_call(s.ctx, twice_plus, &one, TG_F32, 4, 3), 1);
    cr_assert_eq(counts().entries, 5);
    session_end(&s);
}

Test(code_sharing, other_processors_are_not)
{
    need_compiler();
    static const tg_context_options options[] = {
        {.jit = "required"},
        {.jit = "required", .vector_bits = 128},
        {.jit = "required", .cpu = "x86-64-v3"},
    };
    enum { N = sizeof(options) / sizeof(options[0]) };
    session s[N];
    for (int round = 0; round < 2; round++)
        for (int i = 0; i < N; i++) {
            if (round == 0)
                session_begin_with(&s[i], options[i]);
            cr_assert_eq(
                misses_of_call(s[i].ctx, twice_plus, &one, TG_F32, 3, 3),
                round == 0, "%d", i);
        }
    for (int i = 0; i < N - 1; i++)
        tg_context_release(s[i].ctx);
    session_end(&s[N - 1]);
}

/* Code that is dumped must be compiled; cached code is not lost by that. */
Test(code_sharing, dumps_show_code_that_is_there)
{
    need_compiler();
    char dir[] = "/tmp/tgjit-sharing-XXXXXX";
    cr_assert_not_null(mkdtemp(dir));
    session s, dumping;
    session_begin_with(&s, compiled);
    session_begin_with(&dumping, (tg_context_options){.jit = "required",
                                                      .log = "warn,+jit",
                                                      .dump = "asm",
                                                      .dump_dir = dir});
    cr_assert_eq(misses_of_call(s.ctx, twice_plus, &one, TG_F32, 3, 3), 1);
    cr_assert_eq(misses_of_call(dumping.ctx, twice_plus, &one, TG_F32, 3, 3),
                 0);
    cr_assert_not_null(strstr(dumping.logged, ": compiled "));
    cr_assert_eq(misses_of_call(s.ctx, twice_plus, &one, TG_F32, 3, 3), 0);
    tg_context_release(s.ctx);
    session_end(&dumping);
    cr_assert_eq(remove_folder(dir), 1);
}

/* -- Room ------------------------------------------------------------------ */

Test(code_sharing, a_limit_of_0_keeps_no_code)
{
    need_compiler();
    session s;
    session_begin_with(&s, compiled);
    tg_code_limit(0);
    for (int i = 0; i < 2; i++)
        cr_assert_eq(misses_of_call(s.ctx, twice_plus, &one, TG_F32, 3, 3),
                     1);
    cr_assert_eq(counts().entries, 0);
    session_end(&s);
}

Test(code_sharing, code_leaves_while_bound_calls_go_on)
{
    need_compiler();
    session s;
    session_begin_with(&s, compiled);
    tg_function *f = tg_function_create(s.ctx, twice_plus, &one, NULL);
    tg_tensor *x = f32_vector(s.ctx, 1, 2, 3), *y = NULL;
    tg_bound *bound = tg_bind(f, TG_ARGS(x), TG_RESULTS(&y));
    cr_assert_not_null(bound, "%s", tg_error(NULL));
    tg_code_clear();
    cr_assert_eq(counts().entries, 0);
    check_works(tg_run(bound));
    check_f32(tg_tensor_retain(y), 3, 5, 7);
    /* Different code does not replace it. */
    cr_assert_eq(misses_of_call(s.ctx, twice_minus, &one, TG_F32, 3, 1), 1);
    tg_function_release(f);
    check_works(tg_run(bound));
    check_f32(y, 3, 5, 7);
    tg_bound_release(bound);
    tg_tensor_release(x);
    session_end(&s);
}

Test(code_sharing, counts_go_where_there_is_room)
{
    struct {
        tg_code_counters known;
        uint64_t news;
    } newer = {{.struct_bytes = sizeof(newer)}, 77};
    check_works(tg_code_counts(&newer.known));
    cr_assert_eq(newer.news, 77);
    for (size_t bytes = 0; bytes < sizeof(newer.known); bytes++) {
        newer.known.struct_bytes = bytes;
        check_fails(tg_code_counts(&newer.known), TG_ERROR_INVALID_ARGUMENT,
                    "tg_code_counters: struct_bytes is ");
    }
    check_fails(tg_code_counts(NULL), TG_ERROR_INVALID_ARGUMENT, "NULL");
    check_nothing_is_alive();
}

/* -- Many at once ---------------------------------------------------------- */

enum { N_THREADS = 6 };

static pthread_barrier_t together;
static atomic_int n_compiled;

static void count_compiles(tg_log_level level, const char *component,
                           const char *message, void *user)
{
    (void)level, (void)component, (void)user;
    if (strstr(message, ": compiled "))
        atomic_fetch_add(&n_compiled, 1);
}

/* A new function in a new context. */
static void *call_alone(void *user)
{
    const tg_context_options options = {.struct_bytes = sizeof(options),
                                        .jit = "required",
                                        .log = "warn,+jit",
                                        .log_callback = count_compiles};
    (void)user;
    tg_context *ctx = tg_context_create(&options);
    tg_function *f = tg_function_create(ctx, twice_plus, &one, NULL);
    tg_tensor *x = f32_vector(ctx, 1, 2, 3);
    pthread_barrier_wait(&together);
    check_f32(call_one(f, TG_ARGS(x)), 3, 5, 7);
    pthread_barrier_wait(&together);
    tg_tensor_release(x);
    tg_function_release(f);
    tg_context_release(ctx);
    return NULL;
}

Test(code_sharing, first_calls_of_equal_functions_compile_once)
{
    need_compiler();
    alarm(120);
    pthread_t threads[N_THREADS];
    pthread_barrier_init(&together, NULL, N_THREADS);
    for (int i = 0; i < N_THREADS; i++)
        cr_assert_eq(pthread_create(&threads[i], NULL, call_alone, NULL), 0);
    for (int i = 0; i < N_THREADS; i++)
        pthread_join(threads[i], NULL);
    pthread_barrier_destroy(&together);
    cr_assert_eq(atomic_load(&n_compiled), 1);
    cr_assert_eq(counts().hits, N_THREADS - 1);
    check_nothing_is_alive();
}

/* A log callback that calls a function equal to the one being compiled. */
typedef struct nosy {
    tg_context *ctx;
    int depth, n_good;
} nosy;

static void call_from_log(tg_log_level level, const char *component,
                          const char *message, void *user)
{
    nosy *n = user;
    (void)level, (void)component, (void)message;
    if (n->depth++ == 0)
        n->n_good += misses_of_call(n->ctx, twice_plus, &one,
                                    TG_F32, 3, 3) <= 1;
    n->depth--;
}

Test(code_sharing, a_log_callback_may_call_an_equal_function)
{
    need_compiler();
    alarm(120);
    nosy n = {0};
    const tg_context_options options = {.struct_bytes = sizeof(options),
                                        .jit = "required",
                                        .log = "warn,+jit",
                                        .log_callback = call_from_log,
                                        .log_user = &n};
    n.ctx = tg_context_create(&options);
    tg_function *f = tg_function_create(n.ctx, twice_plus, &one, NULL);
    tg_tensor *x = f32_vector(n.ctx, 1, 2, 3);
    check_f32(call_one(f, TG_ARGS(x)), 3, 5, 7);
    cr_assert_geq(n.n_good, 1);
    tg_tensor_release(x);
    tg_function_release(f);
    tg_context_release(n.ctx);
    check_nothing_is_alive();
}

Test(code_sharing, a_child_runs_the_code_of_its_parent)
{
    need_compiler();
    alarm(120);
    session s;
    session_begin_with(&s, compiled);
    cr_assert_eq(misses_of_call(s.ctx, twice_plus, &one, TG_F32, 3, 3), 1);
    const pid_t child = fork();
    if (child == 0)
        _exit(misses_of_call(s.ctx, twice_plus, &one, TG_F32, 3, 3) == 0 &&
                      misses_of_call(s.ctx, twice_plus, &two, TG_F32, 3, 4) == 1
                  ? 7
                  : 1);
    int status = 0;
    cr_assert_eq(waitpid(child, &status, 0), child);
    cr_assert(WIFEXITED(status) && WEXITSTATUS(status) == 7);
    session_end(&s);
}
