/* SPDX-License-Identifier: MIT */
/*
 * test_faults_host.c - actions of the host around the library: floating-point
 * modes, many threads that call, bind, evict and release, and forks.
 */
#include <fenv.h>
#include <float.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/wait.h>
#include <unistd.h>

#include "support/api.h"

/* -- Floating-point modes -------------------------------------------------- */

/* Everything that the mode could change: roundings, denormals and
   conversions, at run time and while tracing. */
static void many_roundings(tg_trace *t, const tg_value *in, void *user)
{
    tg_value x = in[0];
    tg_value third = tg_div(tg_scalar(TG_F32, 1), tg_scalar(TG_F32, 3));
    const float tiny[] = {FLT_MIN, 1e-40f, -1e-42f, 3e38f};
    tg_value c = tg_constant(TG_F32, TG_DIMS(4), tiny);
    tg_return(t, tg_mul(x, 0.1), tg_div(x, 3.0), tg_mul(c, 0.25),
              tg_add(x, third), tg_exp(x), tg_sum(tg_mul(x, 1.1), TG_ALL_AXES),
              tg_cast(tg_mul(tg_cast(x, TG_F64), 0.3), TG_F32),
              tg_round(tg_mul(x, 10)), tg_sub(c, 1e-41), tg_tanh(x),
              tg_random_normal(5, TG_F32, TG_DIMS(4)), tg_sqrt(x),
              tg_matmul(x, x), tg_cast(tg_mul(c, 1e-4), TG_F64),
              tg_add(x, (tg_variable *)user));
}

enum { N_RESULTS = 15, N_ROUNDED = N_RESULTS + 2 };

typedef struct rounded {
    tg_tensor *y[N_ROUNDED];
    char printed[4096];
} rounded;

static void print_third(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    tg_print(t, "%v", tg_div(in[0], 3.0));
}

/* Everything, starting with the context, in the current mode. */
static tg_status compute(rounded *out)
{
    session s;
    memset(&s, 0, sizeof s);
    const tg_context_options options = {
        .struct_bytes = sizeof options,
        .print_callback = keep_print,
        .print_user = &s,
    };
    const float data[] = {0.3f, 1.7f, 1e-39f, 12345.678f};
    tg_context *ctx = s.ctx = tg_context_create(&options);
    tg_variable *v[] = {
        tg_variable_create(ctx, "v", TG_F32, TG_DIMS(4), tg_fill(0.1)),
        tg_variable_create(ctx, "w", TG_F32, TG_DIMS(4),
                           tg_seeded(tg_uniform(0.1, 0.7), 3)),
        tg_variable_create(ctx, "z", TG_F32, TG_DIMS(4),
                           tg_seeded(tg_normal(0.1, 1e-3), 3)),
    };
    tg_function *f = tg_function_create(ctx, many_roundings, v[0], NULL);
    tg_function *g = tg_function_create(ctx, print_third, NULL, NULL);
    tg_tensor *x = tg_tensor_copy(ctx, data, TG_F32, TG_DIMS(4));
    tg_tensor **y = out->y;
    memset(out, 0, sizeof *out);
    tg_status status =
        tg_call(f, TG_ARGS(x),
                TG_RESULTS(&y[0], &y[1], &y[2], &y[3], &y[4], &y[5], &y[6],
                           &y[7], &y[8], &y[9], &y[10], &y[11], &y[12],
                           &y[13], &y[14]));
    if (!status)
        status = tg_call(g, TG_ARGS(x), TG_RESULTS());
    if (!status)
        status = tg_call(g, TG_ARGS(0.1), TG_RESULTS());
    for (int i = 1; i < 3 && !status; i++) {
        tg_tensor *contents =
            tg_tensor_create(ctx, TG_F32, TG_DIMS(4), tg_zeros());
        status = tg_variable_get(v[i], tg_tensor_data(contents), 16);
        y[N_RESULTS - 1 + i] = contents;
    }
    snprintf(out->printed, sizeof out->printed, "%s", s.printed);
    for (int i = 0; i < 3; i++)
        tg_variable_release(v[i]);
    tg_tensor_release(x);
    tg_function_release(f);
    tg_function_release(g);
    tg_context_release(ctx);
    return status;
}

static void rounded_release(rounded *r)
{
    for (int i = 0; i < N_ROUNDED; i++)
        tg_tensor_release(r->y[i]);
}

/* Computes in the mode set by `set`; `mode` describes it. */
static void check_mode(const rounded *want, void (*set)(int), int mode,
                       const char *name)
{
    rounded is;
    fenv_t plain, inside, after;
    fegetenv(&plain);
    set(mode);
    fegetenv(&inside);
    const tg_status status = compute(&is);
    fegetenv(&after);
    fesetenv(&plain);
    check_works(status);
    for (int i = 0; i < N_ROUNDED; i++)
        cr_assert_eq(memcmp(tg_tensor_data(is.y[i]),
                            tg_tensor_data(want->y[i]),
                            tg_tensor_bytes(want->y[i])),
                     0, "%s: result %d differs", name, i);
    cr_assert_str_eq(is.printed, want->printed, "%s", name);
#ifdef __SSE__
    const unsigned flags = 0x3f; /* sticky exception flags, not masks */
    cr_assert_eq(inside.__mxcsr & ~flags, after.__mxcsr & ~flags,
                 "%s: the mode was %x, is %x", name, inside.__mxcsr,
                 after.__mxcsr);
#endif
    rounded_release(&is);
}

static void set_rounding(int mode)
{
    fesetround(mode);
}

#ifdef __SSE__
#include <xmmintrin.h>

static void set_bits(int bits)
{
    _mm_setcsr(_mm_getcsr() | (unsigned)bits);
}
#endif

Test(faults, the_mode_of_the_host_changes_no_result)
{
    rounded want;
    check_works(compute(&want));
    check_mode(&want, set_rounding, FE_TONEAREST, "to nearest");
    check_mode(&want, set_rounding, FE_UPWARD, "upward");
    check_mode(&want, set_rounding, FE_DOWNWARD, "downward");
    check_mode(&want, set_rounding, FE_TOWARDZERO, "towards zero");
#ifdef __SSE__
    check_mode(&want, set_bits, 0x8000, "flush to zero");
    check_mode(&want, set_bits, 0x8040, "flush to zero, denormals are zero");
#endif
    rounded_release(&want);
    check_nothing_is_alive();
}

/* -- Threads --------------------------------------------------------------- */

/* Interpreted; stress_compile.c compiles every trace. */
static const tg_context_options interpreted = {
    .struct_bytes = sizeof(tg_context_options), .jit = "off"};

enum { THREADS = 6, CALLS = 150, LENGTHS = 5 };

typedef struct shared {
    tg_context *ctx;
    tg_function *f;
    tg_variable *total; /* increases by 1 with every call */
    atomic_int n_wrong;
} shared;

static void sum_and_count(tg_trace *t, const tg_value *in, void *user)
{
    shared *all = user;
    tg_assign_add(all->total, 1);
    tg_return(t, tg_sum(in[0], TG_ALL_AXES));
}

/* Calls with varying lengths, so that traces are evicted. */
static void *call_and_evict(void *user)
{
    shared *all = user;
    uint64_t seed = (uint64_t)(uintptr_t)&seed;
    float data[LENGTHS];
    for (int i = 0; i < LENGTHS; i++)
        data[i] = 1;
    for (int i = 0; i < CALLS; i++) {
        const int n = 1 + random_below(&seed, LENGTHS);
        tg_tensor *x = tg_tensor_wrap(all->ctx, data, TG_F32, TG_DIMS(n));
        tg_tensor *y = NULL;
        bool good;
        if (random_below(&seed, 3)) {
            good = tg_call(all->f, TG_ARGS(x), TG_RESULTS(&y)) == TG_OK;
        } else {
            tg_bound *b = tg_bind(all->f, TG_ARGS(x), TG_RESULTS(&y));
            good = b && tg_run(b) == TG_OK;
            tg_bound_release(b);
        }
        if (!good || *(float *)tg_tensor_data(y) != (float)n)
            atomic_fetch_add(&all->n_wrong, 1);
        tg_tensor_release(y);
        tg_tensor_release(x);
        if (random_below(&seed, 16) == 0)
            tg_function_clear(all->f);
    }
    return NULL;
}

static void run_threads(void *(*run)(void *), shared *all)
{
    pthread_t threads[THREADS];
    for (int i = 0; i < THREADS; i++)
        pthread_create(&threads[i], NULL, run, all);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
}

Test(faults, threads_that_call_and_evict_get_right_results)
{
    session s;
    session_begin_with(&s, interpreted);
    for (int policy = TG_GENERALISE; policy <= TG_EXACT; policy++) {
        tg_function_options options = TG_FUNCTION_OPTIONS_INIT;
        options.policy = (tg_policy)policy;
        options.max_traces = 2;
        shared all = {.ctx = s.ctx,
                      .total = f32_scalar_variable(s.ctx, "total", 0)};
        all.f = tg_function_create(s.ctx, sum_and_count, &all, &options);
        run_threads(call_and_evict, &all);
        cr_assert_eq(all.n_wrong, 0);
        check_variable(all.total, THREADS * CALLS);
        tg_function_release(all.f);
        tg_variable_release(all.total);
    }
    session_end(&s);
}

/* Creates a context and releases everything in it in some order; shares one
   function, whose last reference any thread may release. */
static void *make_and_drop(void *user)
{
    shared *all = user;
    for (int i = 0; i < 30; i++) {
        tg_context *ctx = tg_context_create(&interpreted);
        tg_variable *v =
            tg_variable_create(ctx, "v", TG_F32, TG_SCALAR, tg_zeros());
        shared own = {.ctx = ctx, .total = v};
        own.f = tg_function_create(ctx, sum_and_count, &own, NULL);
        tg_context_release(ctx);
        tg_tensor *x = tg_tensor_copy(ctx, &(float){3}, TG_F32, TG_DIMS(1));
        tg_tensor *y = NULL;
        if (tg_call(own.f, TG_ARGS(x), TG_RESULTS(&y)) ||
            *(float *)tg_tensor_data(y) != 3)
            atomic_fetch_add(&all->n_wrong, 1);
        tg_function_release(own.f);
        tg_tensor_release(x);
        tg_variable_release(v);
        tg_tensor_release(y);
    }
    tg_tensor *x = tg_tensor_copy(all->ctx, &(float){3}, TG_F32, TG_DIMS(1));
    if (tg_call(all->f, TG_ARGS(x), TG_RESULTS()))
        atomic_fetch_add(&all->n_wrong, 1);
    tg_tensor_release(x);
    tg_function_release(all->f);
    tg_variable_release(all->total);
    return NULL;
}

Test(faults, threads_that_drop_last_references_leave_nothing)
{
    session s;
    session_begin_with(&s, interpreted);
    for (int round = 0; round < 5; round++) {
        shared all = {.ctx = s.ctx,
                      .total = f32_scalar_variable(s.ctx, "total", 0)};
        all.f = tg_function_create(s.ctx, sum_and_count, &all, NULL);
        for (int i = 1; i < THREADS; i++) { /* one reference per thread */
            tg_function_retain(all.f);
            tg_variable_retain(all.total);
        }
        run_threads(make_and_drop, &all);
        cr_assert_eq(all.n_wrong, 0);
    }
    session_end(&s);
}

/* -- Fork ------------------------------------------------------------------ */

Test(faults, a_child_forked_when_idle_works)
{
    session s;
    session_begin(&s);
    shared all = {.ctx = s.ctx,
                  .total = f32_scalar_variable(s.ctx, "total", 0)};
    all.f = tg_function_create(s.ctx, sum_and_count, &all, NULL);
    tg_tensor *x = f32_vector(s.ctx, 1, 2);
    tg_tensor *longer = f32_vector(s.ctx, 1, 2, 3);
    check_f32(call_one(all.f, TG_ARGS(x)), 3);
    const pid_t child = fork();
    if (child == 0) {
        alarm(60);
        tg_tensor *y = NULL, *z = NULL;
        const bool good =
            tg_call(all.f, TG_ARGS(x), TG_RESULTS(&y)) == TG_OK &&
            tg_call(all.f, TG_ARGS(longer), TG_RESULTS(&z)) == TG_OK &&
            *(float *)tg_tensor_data(y) == 3 &&
            *(float *)tg_tensor_data(z) == 6;
        _exit(good ? 0 : 1);
    }
    int status = -1;
    cr_assert_eq(waitpid(child, &status, 0), child);
    cr_assert(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    check_variable(all.total, 1); /* the child had its own memory */
    tg_tensor_release(x);
    tg_tensor_release(longer);
    tg_function_release(all.f);
    tg_variable_release(all.total);
    session_end(&s);
}

typedef struct mapping {
    tg_variable *variable;
    atomic_int stage; /* 1: mapped, 2: unmap it */
} mapping;

static void *map_for_long(void *user)
{
    mapping *m = user;
    if (tg_variable_map(m->variable, TG_WRITE)) {
        atomic_store(&m->stage, 1);
        while (atomic_load(&m->stage) != 2)
            sched_yield();
        (void)!tg_variable_unmap(m->variable);
    }
    return NULL;
}

/* In the child, whose parent has another thread that uses `used`. */
static bool works_without(tg_variable *used, tg_variable *own, tg_function *f,
                          tg_function *f_own, const tg_tensor *x)
{
    float number = 0;
    bool good = !tg_variable_map(used, TG_READ) &&
                tg_error_last()->status == TG_ERROR_BUSY &&
                strstr(tg_error(NULL), "forked");
    good = good && tg_variable_unmap(used) == TG_ERROR_STATE &&
           tg_call(f, TG_ARGS(x), TG_RESULTS(NULL)) == TG_ERROR_BUSY &&
           strstr(tg_error(NULL), "forked");
    /* What the forking thread itself has mapped stays its own. */
    good = good && tg_variable_unmap(own) == TG_OK &&
           tg_call(f_own, TG_ARGS(x), TG_RESULTS(NULL)) == TG_OK &&
           tg_variable_get(own, &number, sizeof(number)) == TG_OK;
    return good && number == 1;
}

Test(faults, a_child_forked_while_another_thread_uses_variables_is_told)
{
    session s;
    session_begin(&s);
    shared of[2];
    for (int i = 0; i < 2; i++) {
        of[i] = (shared){.ctx = s.ctx,
                         .total = f32_scalar_variable(s.ctx, "total", 0)};
        of[i].f = tg_function_create(s.ctx, sum_and_count, &of[i], NULL);
    }
    tg_tensor *x = f32_vector(s.ctx, 1, 2);
    mapping m = {.variable = of[0].total};
    pthread_t thread;
    cr_assert_eq(pthread_create(&thread, NULL, map_for_long, &m), 0);
    while (atomic_load(&m.stage) != 1)
        sched_yield();
    cr_assert_not_null(tg_variable_map(of[1].total, TG_WRITE));
    const pid_t child = fork();
    if (child == 0) {
        alarm(60);
        _exit(works_without(of[0].total, of[1].total, of[0].f, of[1].f, x)
                  ? 0
                  : 1);
    }
    int status = -1;
    cr_assert_eq(waitpid(child, &status, 0), child);
    cr_assert(WIFEXITED(status) && WEXITSTATUS(status) == 0, "status %x",
              (unsigned)status);
    cr_assert_eq(tg_variable_unmap(of[1].total), TG_OK);
    atomic_store(&m.stage, 2);
    cr_assert_eq(pthread_join(thread, NULL), 0);
    check_variable(of[0].total, 0);
    tg_tensor_release(x);
    for (int i = 0; i < 2; i++) {
        tg_function_release(of[i].f);
        tg_variable_release(of[i].total);
    }
    session_end(&s);
}
