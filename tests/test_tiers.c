/* SPDX-License-Identifier: MIT */
/*
 * test_tiers.c - calls that are interpreted while their code is compiled in
 * the background (compile_queue.h), and who waits for it.
 *
 * A log that does not return holds a compile up for as long as a test wants:
 * so what happens meanwhile is certain.
 */
#include <semaphore.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "modes.h"

static void add_up(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    tg_return(t, tg_add(tg_sum(in[0], TG_ALL_AXES),
                        tg_sum(tg_mul(in[0], in[0]), TG_ALL_AXES)));
}

/* -- A log that holds compiles up ------------------------------------------ */

typedef struct gate {
    sem_t reached, open;
    atomic_int n_compiled;
    bool is_closed;
    bool waits; /* the log for its own compile */
    tg_status waited;
    tg_context *ctx;
    tg_function *f;
} gate;

static void hold_up(tg_log_level level, const char *component,
                    const char *message, void *user)
{
    gate *g = user;
    (void)level, (void)component;
    if (!strstr(message, ": compiled "))
        return;
    atomic_fetch_add(&g->n_compiled, 1);
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

static void check_adds_up(gate *g, int64_t n)
{
    float *data = malloc((size_t)n * sizeof(*data));
    for (int64_t i = 0; i < n; i++)
        data[i] = 1;
    tg_tensor *x = tg_tensor_wrap(g->ctx, data, TG_F32, TG_DIMS(n));
    tg_tensor *y = NULL;
    cr_assert_eq(tg_call(g->f, TG_ARGS(x), TG_RESULTS(&y)), TG_OK, "%s",
                 tg_error(NULL));
    cr_assert_eq(*(float *)tg_tensor_data(y), 2 * (float)n);
    tg_tensor_release(x);
    tg_tensor_release(y);
    free(data);
}

/* -- Who waits ------------------------------------------------------------- */

Test(tiers, small_calls_do_not_wait_for_a_compile)
{
    need_compiler();
    gate g;
    gate_begin(&g, "auto", "background", true);
    check_adds_up(&g, 16);
    sem_wait(&g.reached); /* it is compiled now, and held up */
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

Test(tiers, those_who_are_eager_have_their_code)
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
    tg_tensor *x = tg_tensor_create(g.ctx, TG_F32, TG_DIMS(16));
    tg_tensor *y = NULL;
    tg_bound *b = tg_bind(g.f, TG_ARGS(x), TG_RESULTS(&y));
    cr_assert_not_null(b, "%s", tg_error(NULL));
    cr_assert_eq(g.n_compiled, 1);
    tg_bound_release(b);
    tg_tensor_release(x);
    tg_tensor_release(y);
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

Test(tiers, a_log_cannot_wait_for_its_own_compile)
{
    need_compiler();
    gate g;
    gate_begin(&g, "auto", "background", false);
    g.waits = true;
    cr_assert_eq(tg_compile_wait(g.ctx), TG_OK); /* there is nothing yet */
    check_adds_up(&g, 16);
    cr_assert_eq(tg_compile_wait(NULL), TG_OK);
    cr_assert_eq(g.n_compiled, 1);
    cr_assert_eq(g.waited, TG_ERROR_BUSY);
    gate_end(&g);
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

Test(tiers, the_process_may_end_during_a_compile, .timeout = 120)
{
    need_compiler();
#ifdef __SANITIZE_ADDRESS__
    cr_skip_test("LeakSanitizer looks for leaks while a thread compiles");
#endif
    for (int i = 0; i < 10; i++) {
        const pid_t child = fork();
        if (child == 0) {
            gate g;
            gate_begin(&g, "auto", "background", false);
            check_adds_up(&g, 16);
            usleep((useconds_t)(i * 2000));
            exit(0);
        }
        cr_assert_eq(status_of(child), 0);
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
