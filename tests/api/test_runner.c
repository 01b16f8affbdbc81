/* SPDX-License-Identifier: MIT */
/*
 * test_runner.c - the choice between interpreter and compiled code: what each
 * mode does when something is missing, and how often code is compiled.
 */
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

#include "object/executable_pages.h"
#include "support/modes.h"

static void weigh(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    tg_value before = tg_read(in[0]);
    tg_assign_add(in[0], in[1]);
    tg_return(t, tg_mul(before, in[1]));
}

/* A function with a variable, and an argument for it. */
typedef struct weighing {
    session s;
    tg_function *f;
    tg_variable *v;
    tg_tensor *x;
} weighing;

static void weighing_begin(weighing *w, tg_context_options options)
{
    session_begin_with(&w->s, options);
    w->f = tg_function_create(w->s.ctx, weigh, NULL, NULL);
    w->v = tg_variable_create(w->s.ctx, "v", TG_F32, TG_DIMS(3), tg_fill(2));
    w->x = f32_vector(w->s.ctx, 1, 2, 3);
    cr_assert(w->f && w->v && w->x, "%s", tg_error(NULL));
}

static void weighing_end(weighing *w)
{
    tg_function_release(w->f);
    tg_variable_release(w->v);
    tg_tensor_release(w->x);
    session_end(&w->s);
}

/* Calls it and checks all results. */
static void check_weighs(weighing *w)
{
    set_variable(w->v, 2, 2, 2);
    check_f32(call_one(w->f, TG_ARGS(w->v, w->x)), 2, 4, 6);
    check_variable(w->v, 3, 4, 5);
}

/* A call that must be compiled but cannot be. */
static void check_refuses(weighing *w, const char *why)
{
    tg_tensor *y = NULL;
    set_variable(w->v, 2, 2, 2);
    check_fails(tg_call(w->f, TG_ARGS(w->v, w->x), TG_RESULTS(&y)),
                TG_ERROR_UNSUPPORTED, why);
    cr_assert_null(y);
    cr_assert_null(tg_bind(w->f, TG_ARGS(w->v, w->x), TG_RESULTS(&y)));
    cr_assert_null(y);
    check_variable(w->v, 2, 2, 2);
}

static int count_lines(const char *text, const char *piece)
{
    int n = 0;
    while ((text = strstr(text, piece))) {
        n++;
        text += strlen(piece);
    }
    return n;
}

/* Works, interpreted, with one warning. */
static void check_falls_back(weighing *w, const char *why)
{
    tg_error_clear();
    for (int i = 0; i < 3; i++)
        check_weighs(w);
    tg_bound *bound = tg_bind(w->f, TG_ARGS(w->v, w->x), TG_RESULTS());
    cr_assert_not_null(bound);
    check_works(tg_run(bound));
    tg_bound_release(bound);
    cr_assert_eq(tg_error_last()->status, TG_OK,
                 "calls that work record no error: %s", tg_error(NULL));
    cr_assert_eq(count_lines(w->s.logged, "interpreted"), 1, "%s",
                 w->s.logged);
    cr_assert_eq(count_lines(w->s.logged, why), 1, "no \"%s\" in %s", why,
                 w->s.logged);
}

static bool is_mapped(const char *library)
{
    bool found = false;
    char line[4096];
    FILE *file = fopen("/proc/self/maps", "r");
    cr_assert_not_null(file);
    while (fgets(line, sizeof(line), file))
        found |= strstr(line, library) != NULL;
    fclose(file);
    return found;
}

/* -- Off ------------------------------------------------------------------- */

Test(runner, off_never_opens_the_module)
{
    weighing w;
    weighing_begin(&w, (tg_context_options){.jit = "off"});
    check_weighs(&w);
    cr_assert_str_eq(w.s.logged, "");
    weighing_end(&w);
    cr_assert_not(is_mapped("libLLVM"));
    cr_assert_not(is_mapped("libtgjit-llvm"));

    need_compiler(); /* loads the plugin: the test would notice it */
    cr_assert(is_mapped("libLLVM") && is_mapped("libtgjit-llvm"));
}


/* -- No module ------------------------------------------------------------- */

static char empty_dir[] = "/tmp/tgjit-runner-XXXXXX";

static void hide_module(void)
{
    cr_assert_not_null(mkdtemp(empty_dir));
    setenv("TGJIT_MODULE_DIR", empty_dir, 1);
}

Test(runner, without_the_plugin_auto_interprets_and_warns_once)
{
    hide_module();
    weighing w;
    weighing_begin(&w, (tg_context_options){.jit = "auto"});
    check_falls_back(&w, "libtgjit");
    /* Nor again for another function of the same context. */
    tg_function *g = tg_function_create(w.s.ctx, weigh, NULL, NULL);
    tg_tensor_release(call_one(g, TG_ARGS(w.v, w.x)));
    cr_assert_eq(count_lines(w.s.logged, "interpreted"), 1, "%s", w.s.logged);
    tg_function_release(g);
    weighing_end(&w);
    rmdir(empty_dir);
}

Test(runner, without_the_module_required_fails)
{
    hide_module();
    weighing w;
    weighing_begin(&w, (tg_context_options){.jit = "required"});
    check_refuses(&w, "libtgjit");
    cr_assert_str_eq(w.s.logged, "");
    weighing_end(&w);
    rmdir(empty_dir);
}

/* -- A code generator that refuses ----------------------------------------- */

/* No other CPU has all features of AMD's last Bulldozer. */
Test(runner, a_cpu_that_this_machine_lacks_features_of_is_refused)
{
    need_compiler();
    weighing w;
    weighing_begin(&w, (tg_context_options){.jit = "auto", .cpu = "bdver4"});
    check_falls_back(&w, "bdver4");
    weighing_end(&w);
    weighing_begin(&w,
                   (tg_context_options){.jit = "required", .cpu = "bdver4"});
    check_refuses(&w, "bdver4");
    weighing_end(&w);
}

/* -- Executable memory that is refused ------------------------------------- */

Test(runner, without_executable_memory_auto_interprets)
{
    need_compiler();
    weighing w;
    weighing_begin(&w, (tg_context_options){.jit = "auto"});
    tgi_pages_inject_failures(0);
    check_falls_back(&w, "executable");
    tgi_pages_inject_failures(-1);
    weighing_end(&w);
}

Test(runner, with_executable_memory_again_required_works)
{
    need_compiler();
    /* Any of its allocations may fail. */
    for (long n = 0;; n++) {
        weighing w;
        weighing_begin(&w, (tg_context_options){.jit = "required"});
        tgi_pages_inject_failures(n);
        tg_tensor *y = NULL;
        const tg_status status =
            tg_call(w.f, TG_ARGS(w.v, w.x), TG_RESULTS(&y));
        tgi_pages_inject_failures(-1);
        tg_tensor_release(y);
        if (status != TG_OK)
            check_fails(status, TG_ERROR_UNSUPPORTED, "executable");
        check_weighs(&w);
        weighing_end(&w);
        if (status == TG_OK) {
            cr_assert_gt(n, 0);
            break;
        }
    }
}

/* -- Calls that stay calls ------------------------------------------------- */

static void weigh_twice(tg_trace *t, const tg_value *in, void *user)
{
    tg_value first = {0}, second = {0};
    tg_apply(user, TG_ARGS(in[0], in[1]), &first, 1);
    tg_apply(user, TG_ARGS(in[0], first), &second, 1);
    tg_return(t, first, second);
}

static void call_nested(const char *jit, const char *skip, tg_status wanted)
{
    weighing w;
    weighing_begin(&w,
                   (tg_context_options){.jit = jit, .skip_passes = skip});
    tg_function *g = tg_function_create(w.s.ctx, weigh_twice, w.f, NULL);
    tg_tensor *y = NULL, *z = NULL;
    for (int i = 0; i < 2; i++) {
        set_variable(w.v, 2, 2, 2);
        const tg_status status =
            tg_call(g, TG_ARGS(w.v, w.x), TG_RESULTS(&y, &z));
        cr_assert_eq(status, wanted, "%s, skipping %s: %s", jit,
                     skip ? skip : "nothing", tg_error(NULL));
        if (wanted) {
            check_record(wanted, "not inlined");
            check_variable(w.v, 2, 2, 2);
            continue;
        }
        check_variable(w.v, 5, 8, 11);
        check_f32(tg_tensor_retain(y), 2, 4, 6);
        check_f32(tg_tensor_retain(z), 6, 16, 30);
    }
    /* The functions they call are compiled either way. */
    check_weighs(&w);
    tg_tensor_release(y);
    tg_tensor_release(z);
    tg_function_release(g);
    weighing_end(&w);
}

Test(runner, nested_functions_that_are_not_inlined_are_interpreted)
{
    need_compiler();
    call_nested("off", NULL, TG_OK);
    call_nested("off", "inline", TG_OK);
    call_nested("auto", NULL, TG_OK);
    call_nested("auto", "inline", TG_OK);
    call_nested("required", NULL, TG_OK);
    call_nested("required", "inline", TG_ERROR_UNSUPPORTED);
}

static void many_steps(tg_trace *t, const tg_value *in, void *user)
{
    tg_value x = in[0];
    (void)user;
    for (int i = 0; i < 300; i++)
        x = tg_add(x, 1);
    tg_return(t, x);
}

static void many_steps_often(tg_trace *t, const tg_value *in, void *user)
{
    tg_value x = in[0];
    for (int i = 0; i < 12; i++)
        tg_apply(user, TG_ARGS(x), &x, 1);
    tg_return(t, x);
}

Test(runner, large_functions_with_several_calls_are_compiled)
{
    need_compiler();
    session s;
    session_begin_with(&s, (tg_context_options){.jit = "required"});
    tg_function *f = tg_function_create(s.ctx, many_steps, NULL, NULL);
    tg_function *g = tg_function_create(s.ctx, many_steps_often, f, NULL);
    tg_tensor *x = f32_vector(s.ctx, 0, -3600);
    check_f32(call_one(g, TG_ARGS(x)), 3600, 0);
    tg_tensor_release(x);
    tg_function_release(g);
    tg_function_release(f);
    session_end(&s);
}

/* -- Number of compiles ---------------------------------------------------- */

static void add_up(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    tg_return(t, tg_sum(tg_mul(in[0], 2), TG_ALL_AXES));
}

static tg_function *relaxed_add_up(session *s)
{
    tg_function_options options = TG_FUNCTION_OPTIONS_INIT;
    options.policy = TG_RELAXED;
    return tg_function_create(s->ctx, add_up, NULL, &options);
}

static void check_adds_up(session *s, tg_function *f, int64_t n)
{
    static const float data[16] = {1, 1, 1, 1, 1, 1, 1, 1,
                                   1, 1, 1, 1, 1, 1, 1, 1};
    tg_tensor *x = tg_tensor_copy(s->ctx, data, TG_F32, TG_DIMS(n));
    check_f32(call_one(f, TG_ARGS(x)), 2 * (float)n);
    tg_tensor_release(x);
}

Test(runner, code_is_compiled_once_for_each_class_of_extents)
{
    need_compiler();
    session s;
    session_begin_with(&s, (tg_context_options){.jit = "required",
                                                .log = "warn,+jit"});
    tg_function *f = relaxed_add_up(&s);
    for (int round = 0; round < 3; round++)
        for (int64_t n = 2; n <= 16; n++)
            check_adds_up(&s, f, n);
    cr_assert_eq(count_lines(s.logged, ": compiled "), 1, "%s", s.logged);
    for (int round = 0; round < 3; round++) {
        check_adds_up(&s, f, 1);
        check_adds_up(&s, f, 0);
    }
    cr_assert_eq(count_lines(s.logged, ": compiled "), 3, "%s", s.logged);
    cr_assert_eq(tg_function_trace_count(f), 1);
    /* The process still has the code of the evicted trace, */
    tg_function_clear(f);
    check_adds_up(&s, f, 5);
    cr_assert_eq(count_lines(s.logged, ": compiled "), 3, "%s", s.logged);
    /* until its cache is cleared too. */
    tg_function_clear(f);
    tg_code_clear();
    check_adds_up(&s, f, 5);
    cr_assert_eq(count_lines(s.logged, ": compiled "), 4, "%s", s.logged);
    tg_function_release(f);
    session_end(&s);
}

/* -- User code while code is compiled -------------------------------------- */

/* A log callback that calls the function being compiled. */
typedef struct nosy {
    tg_context *ctx;
    tg_function *f;
    tg_tensor *x;
    int depth, n_calls, n_good;
} nosy;

static void call_from_log(tg_log_level level, const char *component,
                          const char *message, void *user)
{
    nosy *n = user;
    (void)level, (void)component, (void)message;
    if (n->depth)
        return;
    n->depth++;
    n->n_calls++;
    tg_tensor *y = NULL;
    n->n_good += tg_call(n->f, TG_ARGS(n->x), TG_RESULTS(&y)) == TG_OK &&
                 *(float *)tg_tensor_data(y) == 6;
    tg_tensor_release(y);
    n->depth--;
}

Test(runner, a_log_callback_may_call_a_function_being_compiled)
{
    need_compiler();
    alarm(60);
    nosy n = {0};
    const tg_context_options options = {.struct_bytes = sizeof(options),
                                        .jit = "required",
                                        .log = "warn,+jit",
                                        .explain = "fusion",
                                        .log_callback = call_from_log,
                                        .log_user = &n};
    n.ctx = tg_context_create(&options);
    n.f = tg_function_create(n.ctx, add_up, NULL, NULL);
    n.x = f32_vector(n.ctx, 1, 1, 1);
    check_f32(call_one(n.f, TG_ARGS(n.x)), 6);
    cr_assert_geq(n.n_calls, 2, "%d", n.n_calls);
    cr_assert_eq(n.n_good, n.n_calls);
    check_f32(call_one(n.f, TG_ARGS(n.x)), 6);
    tg_tensor_release(n.x);
    tg_function_release(n.f);
    tg_context_release(n.ctx);
    check_nothing_is_alive();
}
