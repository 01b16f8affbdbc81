/* SPDX-License-Identifier: MIT */
/*
 * test_tiers.c - calls that are interpreted while their code is compiled in the
 * background (compile_queue.h), and calls that wait for it.
 *
 * A log callback that blocks delays a compile for as long as a test needs,
 * which makes the interleaving deterministic.
 */
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "support/folders.h"
#include "support/modes.h"

static void add_up(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    tg_return(t, tg_add(tg_sum(in[0], TG_ALL_AXES),
                        tg_sum(tg_mul(in[0], in[0]), TG_ALL_AXES)));
}

enum { LONG = 20000 }; /* nodes of a graph that takes long to compile */

static void add_long(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    tg_value y = in[0];
    for (int i = 0; i < LONG; i++)
        y = tg_add(y, in[0]);
    tg_return(t, tg_sum(y, TG_ALL_AXES));
}

/* -- A log that holds compiles up ------------------------------------------ */

typedef struct gate {
    sem_t reached, open;
    atomic_int n_compiled, n_interpreted, n_explained;
    bool is_closed;
    const char *holds; /* prefix of the message to block on; NULL: any */
    bool waits; /* the log callback waits for its own compile */
    tg_status waited;
    tg_context *ctx;
    tg_function *f;
} gate;

static void hold_up(tg_log_level level, const char *component,
                    const char *message, void *user)
{
    gate *g = user;
    (void)level, (void)component;
    atomic_fetch_add(&g->n_interpreted,
                     strstr(message, ": interpreted: ") != NULL);
    atomic_fetch_add(&g->n_explained, strstr(message, "fusion of ") != NULL);
    if (!strstr(message, ": compiled "))
        return;
    atomic_fetch_add(&g->n_compiled, 1);
    if (g->holds && strncmp(message, g->holds, strlen(g->holds)) != 0)
        return;
    if (g->waits)
        g->waited = tg_compile_wait(g->ctx);
    if (!g->is_closed)
        return;
    sem_post(&g->reached);
    sem_wait(&g->open);
}

static void gate_begin(gate *g, const char *jit, const char *compile,
                       bool is_closed)
{
    memset(g, 0, sizeof(*g));
    sem_init(&g->reached, 0, 0);
    sem_init(&g->open, 0, 0);
    g->is_closed = is_closed;
    tg_context_options options = TG_CONTEXT_OPTIONS_INIT;
    options.log = "warn,+jit";
    options.log_callback = hold_up;
    options.log_user = g;
    options.jit = jit;
    options.compile = compile;
    g->ctx = tg_context_create(&options);
    g->f = tg_function_create(g->ctx, add_up, NULL, NULL);
    cr_assert(g->f, "%s", tg_error(NULL));
}

static void gate_end(gate *g)
{
    tg_function_release(g->f);
    cr_assert_eq(tg_compile_wait(g->ctx), TG_OK);
    tg_context_release(g->ctx);
    sem_destroy(&g->reached);
    sem_destroy(&g->open);
    check_nothing_is_alive();
}

/* Calls a function with n ones. */
static float call_with_ones(gate *g, tg_function *f, int64_t n)
{
    float *data = malloc((size_t)n * sizeof(*data));
    for (int64_t i = 0; i < n; i++)
        data[i] = 1;
    tg_tensor *x = tg_tensor_wrap(g->ctx, data, TG_F32, TG_DIMS(n));
    tg_tensor *y = NULL;
    cr_assert_eq(tg_call(f, TG_ARGS(x), TG_RESULTS(&y)), TG_OK, "%s",
                 tg_error(NULL));
    const float result = *(float *)tg_tensor_data(y);
    tg_tensor_release(x);
    tg_tensor_release(y);
    free(data);
    return result;
}

static void check_adds_up(gate *g, int64_t n)
{
    cr_assert_eq(call_with_ones(g, g->f, n), 2 * (float)n);
}

static void check_adds_long(gate *g, tg_function *f, int64_t n)
{
    cr_assert_eq(call_with_ones(g, f, n), (LONG + 1) * (float)n);
}

/* Binds a function to n elements, then releases it. */
static void bind_once(gate *g, tg_function *f, int64_t n)
{
    tg_tensor *x = tg_tensor_create(g->ctx, TG_F32, TG_DIMS(n), tg_zeros());
    tg_tensor *y = NULL;
    tg_bound *b = tg_bind(f, TG_ARGS(x), TG_RESULTS(&y));
    cr_assert_not_null(b, "%s", tg_error(NULL));
    tg_bound_release(b);
    tg_tensor_release(x);
    tg_tensor_release(y);
}

/* -- Calls that wait ------------------------------------------------------- */

Test(tiers, small_calls_do_not_wait_for_a_compile)
{
    need_compiler();
    gate g;
    gate_begin(&g, "auto", "background", true);
    check_adds_up(&g, 16);
    sem_wait(&g.reached); /* it is being compiled, and is blocked */
    for (int i = 0; i < 10; i++)
        check_adds_up(&g, 16);
    sem_post(&g.open);
    cr_assert_eq(tg_compile_wait(g.ctx), TG_OK);
    check_adds_up(&g, 16);
    cr_assert_eq(g.n_compiled, 1);
    gate_end(&g);
}

Test(tiers, background_is_the_default)
{
    need_compiler();
    gate g;
    unsetenv("TGJIT_COMPILE");
    gate_begin(&g, "auto", NULL, true);
    check_adds_up(&g, 16);
    sem_wait(&g.reached);
    check_adds_up(&g, 16);
    sem_post(&g.open);
    gate_end(&g);
}

Test(tiers, eager_calls_run_compiled_code)
{
    need_compiler();
    static const char *const modes[][2] = {
        {"auto", "eager"}, {"required", "background"}, {"required", "eager"}};
    for (size_t i = 0; i < sizeof(modes) / sizeof(modes[0]); i++) {
        gate g;
        gate_begin(&g, modes[i][0], modes[i][1], false);
        check_adds_up(&g, 16);
        cr_assert_eq(g.n_compiled, 1, "%s, %s", modes[i][0], modes[i][1]);
        gate_end(&g);
    }
}

Test(tiers, bound_calls_have_their_code)
{
    need_compiler();
    gate g;
    gate_begin(&g, "auto", "background", false);
    bind_once(&g, g.f, 16);
    cr_assert_eq(g.n_compiled, 1);
    gate_end(&g);
}

Test(tiers, calls_that_would_take_long_have_their_code)
{
    need_compiler();
    gate g;
    gate_begin(&g, "auto", "background", false);
    check_adds_up(&g, 1 << 20);
    cr_assert_eq(g.n_compiled, 1);
    gate_end(&g);
}

Test(tiers, a_log_callback_does_not_wait_for_its_own_compile)
{
    need_compiler();
    gate g;
    gate_begin(&g, "auto", "background", false);
    g.waits = true;
    cr_assert_eq(tg_compile_wait(g.ctx), TG_OK); /* nothing to wait for yet */
    check_adds_up(&g, 16);
    cr_assert_eq(tg_compile_wait(NULL), TG_OK);
    cr_assert_eq(g.n_compiled, 1);
    cr_assert_eq(g.waited, TG_ERROR_BUSY);
    gate_end(&g);
}

static void add_captured(tg_trace *t, const tg_value *in, void *user)
{
    tg_variable *w = user;
    tg_return(t, tg_add(tg_sum(in[0], TG_ALL_AXES), w));
}

/* Names, from which initial values derive, do not depend on how far a compile
   is. */
Test(tiers, a_compile_does_not_keep_variables)
{
    need_compiler();
    gate g;
    gate_begin(&g, "auto", "background", true);
    for (int i = 0; i < 3; i++) {
        tg_variable *w = tg_variable_create(g.ctx, "w", TG_F32, TG_SCALAR,
                                            tg_fill(i));
        cr_assert_str_eq(tg_variable_name(w), "w");
        tg_function *f = tg_function_create(g.ctx, add_captured, w, NULL);
        cr_assert_eq(call_with_ones(&g, f, 16 + i), 16 + 2 * (float)i);
        if (i == 0)
            sem_wait(&g.reached); /* later compiles wait for this one */
        tg_function_release(f);
        tg_variable_release(w);
        cr_assert_null(tg_context_find_variable(g.ctx, "w"));
    }
    g.is_closed = false;
    sem_post(&g.open);
    gate_end(&g);
}

/* -- Long compiles --------------------------------------------------------- */

Test(tiers, only_bound_calls_wait_for_long_compiles, .timeout = 120)
{
    need_compiler();
    gate g;
    gate_begin(&g, "auto", "background", true);
    g.holds = "long";
    tg_function *f =
        tg_function_create_named(g.ctx, "long", add_long, NULL, NULL);
    /* Neither its own calls, with few bytes or many, */
    check_adds_long(&g, f, 8);
    sem_wait(&g.reached);
    check_adds_long(&g, f, 8);
    check_adds_long(&g, f, 64);
    /* nor short compiles. */
    check_adds_up(&g, 16);
    while (g.n_compiled < 2)
        usleep(1000);
    check_adds_up(&g, 16);
    g.is_closed = false;
    sem_post(&g.open);
    cr_assert_eq(tg_compile_wait(g.ctx), TG_OK);
    const int n_compiled = g.n_compiled;
    check_adds_long(&g, f, 8);
    tg_function_clear(f);
    tg_code_clear();
    bind_once(&g, f, 8);
    cr_assert_eq(g.n_compiled, n_compiled + 1);
    cr_assert_eq(g.n_interpreted, 0);
    tg_function_release(f);
    gate_end(&g);
}

Test(tiers, long_compiles_are_waited_for_where_calls_are_eager)
{
    need_compiler();
    gate g;
    gate_begin(&g, "auto", "eager", false);
    tg_function *f =
        tg_function_create_named(g.ctx, "long", add_long, NULL, NULL);
    check_adds_long(&g, f, 8);
    cr_assert_eq(g.n_compiled, 1);
    tg_function_release(f);
    gate_end(&g);
}

static void add_without_end(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    tg_value y = in[0];
    for (int i = 0; i < 100000; i++)
        y = tg_add(y, in[0]);
    tg_return(t, y);
}

/* Few nodes, but a lot of code: kernels with different constants share none. */
static void sum_without_end(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    tg_value y = in[0];
    for (int i = 0; i < 2000; i++)
        y = tg_add(tg_mul(tg_sum(y, TG_ALL_AXES), in[0]), i);
    tg_return(t, y);
}

Test(tiers, functions_with_very_long_compiles_are_interpreted)
{
    need_compiler();
    static tg_callback *const callbacks[] = {add_without_end, sum_without_end};
    static const char *const modes[] = {"background", "eager"};
    for (int i = 0; i < 4; i++) {
        gate g;
        gate_begin(&g, "auto", modes[i / 2], false);
        tg_function *f =
            tg_function_create(g.ctx, callbacks[i % 2], NULL, NULL);
        for (int k = 0; k < 2; k++)
            (void)call_with_ones(&g, f, 3);
        cr_assert_eq(tg_compile_wait(g.ctx), TG_OK);
        bind_once(&g, f, 3);
        cr_assert_eq(g.n_compiled, 0);
        cr_assert_eq(g.n_interpreted, 1);
        tg_function_release(f);
        gate_end(&g);
    }
}

/* -- Cache lookups --------------------------------------------------------- */

/* Both the call and the compiling thread look for code in the caches. */
Test(tiers, counts_and_stages_are_those_of_one_search)
{
    need_compiler();
    char dir[] = "/tmp/tgjit-tiers-XXXXXX";
    cr_assert_not_null(mkdtemp(dir));
    setenv("TGJIT_CACHE", "rw", 1);
    setenv("TGJIT_CACHE_DIR", dir, 1);
    setenv("TGJIT_EXPLAIN", "fusion", 1);
    for (unsigned is_warm = 0; is_warm < 2; is_warm++) {
        gate g;
        gate_begin(&g, "auto", "background", false);
        for (int i = 0; i < 3; i++) {
            check_adds_up(&g, 16);
            cr_assert_eq(tg_compile_wait(g.ctx), TG_OK);
        }
        tg_cache_counters c = TG_CACHE_COUNTERS_INIT;
        check_works(tg_cache_counts(g.ctx, &c));
        cr_assert_eq(c.hits, is_warm, "%d", (int)c.hits);
        cr_assert_eq(c.misses, !is_warm, "%d", (int)c.misses);
        cr_assert_eq(c.saves, !is_warm);
        cr_assert_eq(g.n_explained, 1);
        cr_assert_eq(g.n_compiled, !is_warm);
        gate_end(&g);
    }
    cr_assert_eq(remove_folder(dir), 1);
}

/* -- Ends ------------------------------------------------------------------ */

Test(tiers, all_may_be_released_during_a_compile)
{
    need_compiler();
    for (int i = 0; i < 10; i++) {
        gate g;
        gate_begin(&g, "auto", "background", false);
        check_adds_up(&g, 16);
        tg_function_release(g.f);
        tg_context_release(g.ctx);
        cr_assert_eq(tg_compile_wait(NULL), TG_OK);
        check_nothing_is_alive();
        sem_destroy(&g.reached);
        sem_destroy(&g.open);
    }
}

static int status_of(pid_t child)
{
    int status = -1;
    cr_assert_geq(child, 0);
    waitpid(child, &status, 0);
    return status;
}

/* -- The end of the process ------------------------------------------------ */

enum { END_BY_MAIN, END_BY_CALLER, END_BY_STRANGER };

typedef struct end {
    int by;
    useconds_t pause;
    gate g;
    tg_function *f;
} end;

/* Starts a compile, in most cases, and exits during it. */
static void *call_and_end(void *user)
{
    end *e = user;
    if (e->by != END_BY_STRANGER)
        check_adds_long(&e->g, e->f, 8);
    usleep(e->pause);
    exit(0);
}

static void end_process(end *e)
{
    pthread_t thread;
    gate_begin(&e->g, "auto", "background", false);
    e->f = tg_function_create(e->g.ctx, add_long, NULL, NULL);
    if (e->by == END_BY_MAIN)
        call_and_end(e);
    if (e->by == END_BY_STRANGER) {
        /* LLVM must have compiled before: see plugin.c. */
        bind_once(&e->g, e->f, 8);
        tg_function_clear(e->f);
        tg_code_clear();
        check_adds_long(&e->g, e->f, 8);
    }
    if (pthread_create(&thread, NULL, call_and_end, e) == 0)
        pthread_join(thread, NULL);
    _exit(1);
}

Test(tiers, the_process_may_end_during_a_compile, .timeout = 120)
{
    need_compiler();
#ifdef __SANITIZE_ADDRESS__
    cr_skip_test("LeakSanitizer looks for leaks while a thread compiles");
#endif
    for (int i = 0; i < 30; i++) {
        const pid_t child = fork();
        if (child == 0) {
            end e = {.by = i % 3, .pause = (useconds_t)(i * 2000)};
            end_process(&e);
        }
        const int status = status_of(child);
        cr_assert_eq(status, 0, "%d: %x", i, (unsigned)status);
    }
}

Test(tiers, a_child_forked_during_a_compile_works, .timeout = 120)
{
    need_compiler();
    gate g;
    gate_begin(&g, "auto", "background", true);
    check_adds_up(&g, 16);
    sem_wait(&g.reached);
    const pid_t child = fork();
    if (child == 0) {
        alarm(60);
        g.is_closed = false;
        check_adds_up(&g, 16);
        check_adds_up(&g, 17);
        check_adds_up(&g, 1 << 20);
        _exit(0);
    }
    const int status = status_of(child);
    sem_post(&g.open);
    cr_assert_eq(status, 0);
    gate_end(&g);
}

/* -- The log of a user who asks which it was ------------------------------- */

/* Calls add_up twice in a session of its own, whose log has `wanted` once. */
static void check_logged(tg_context_options options, const char *wanted)
{
    session s;
    options.log = "info";
    session_begin_with(&s, options);
    tg_function *f = tg_function_create(s.ctx, add_up, NULL, NULL);
    tg_tensor *x = tg_tensor_create(s.ctx, TG_F32, TG_DIMS(11), tg_zeros());
    call_only(f, TG_ARGS(x));
    call_only(f, TG_ARGS(x));
    cr_assert_eq(tg_compile_wait(s.ctx), TG_OK);
    const char *found = strstr(s.logged, wanted);
    cr_assert(found && strstr(s.logged, "traced add_up: "), "%s", s.logged);
    cr_assert_null(strstr(found + 1, wanted), "%s", s.logged);
    tg_function_release(f);
    tg_tensor_release(x);
    tg_context_release(s.ctx);
}

Test(tiers, the_log_says_how_a_trace_runs)
{
    need_compiler();
    char path[] = "test_tiers_log-XXXXXX";
    cr_assert_not_null(mkdtemp(path));
    tg_context_options compiled = {.compile = "eager",
                                   .cache = "rw",
                                   .cache_dir = path};
    check_logged((tg_context_options){.jit = "off"},
                 "add_up: interpreted: the option jit (TGJIT_JIT) is off");
    check_logged(compiled, "add_up: code compiled in ");
    check_logged(compiled, "add_up: code loaded from disk in ");
    check_logged((tg_context_options){.compile = "background"},
                 "add_up: interpreted until it is compiled in the background");
    tg_context *other = tg_context_create(&(tg_context_options){
        .struct_bytes = sizeof(tg_context_options)});
    cr_assert_not_null(other); /* keeps the code in memory */
    check_logged(compiled, "add_up: code loaded from disk in ");
    check_logged(compiled, "add_up: code found in memory in ");
    tg_context_release(other);
    remove_folder(path);
    check_nothing_is_alive();
}
