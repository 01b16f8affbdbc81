/* SPDX-License-Identifier: MIT */
/*
 * test_native_host.c - compiled calls and the state of the host: rounding mode,
 * forks, its own parallel regions.
 */
#include <fenv.h>
#include <float.h>
#include <sys/wait.h>
#include <unistd.h>

#ifdef _OPENMP
#include <omp.h>
#endif

#include "support/modes.h"

static void rounded_much(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    tg_value x = in[0];
    tg_return(t, tg_div(x, 3.0), tg_mul(x, 1e-38), tg_exp(x),
              tg_sum(tg_mul(x, 1.1), TG_AXES(0)), tg_softmax(x, -1),
              tg_round(tg_mul(x, 2)));
}

static int host_mode; /* rounding mode; negative: bits of MXCSR */

static void set_host_mode(void)
{
    if (host_mode >= 0)
        fesetround(host_mode);
#ifdef __SSE__
    else
        __builtin_ia32_ldmxcsr(__builtin_ia32_stmxcsr() |
                               (unsigned)-host_mode);
#endif
}

static void roundings(session *s, outcome *out)
{
    tg_function *f = tg_function_create(s->ctx, rounded_much, NULL, NULL);
    tg_tensor *x =
        tg_tensor_create(s->ctx, TG_F32, TG_DIMS(64, 16), tg_zeros());
    tg_tensor *y[6] = {NULL};
    float *data = tg_tensor_data(x);
    for (int i = 0; i < 64 * 16; i++)
        data[i] = 0.37f * (float)(i - 400) * (i % 5 ? 1 : 1e-38f);
    fenv_t plain, inside, after;
    fegetenv(&plain);
    set_host_mode();
    fegetenv(&inside);
    const tg_status status =
        tg_call(f, TG_ARGS(x), TG_RESULTS(&y[0], &y[1], &y[2], &y[3], &y[4],
                                          &y[5]));
    fegetenv(&after);
    fesetenv(&plain);
    note_status(out, status);
#ifdef __SSE__
    cr_assert_eq(inside.__mxcsr & ~0x3fu, after.__mxcsr & ~0x3fu);
#endif
    for (int i = 0; i < 6; i++) {
        note_tensor(out, y[i]);
        tg_tensor_release(y[i]);
    }
    tg_tensor_release(x);
    tg_function_release(f);
}

Test(native_host, the_mode_of_the_host_changes_no_result)
{
    static const int modes[] = {FE_TONEAREST,  FE_UPWARD, FE_DOWNWARD,
                                FE_TOWARDZERO,
#ifdef __SSE__
                                -0x8040 /* FTZ and DAZ */
#endif
    };
    static outcome plain, with_mode;
    need_compiler();
    for (size_t i = 0; i < sizeof(modes) / sizeof(*modes); i++) {
        host_mode = modes[i];
        check_modes(roundings);
        /* True if results in all modes equal those without one. */
        session s;
        session_begin_mode(&s, &all_modes[3]);
        outcome *out = i ? &with_mode : &plain;
        out->n = 0;
        roundings(&s, out);
        session_end(&s);
        cr_assert_eq(memcmp(plain.bytes, out->bytes, plain.n), 0, "mode %x",
                     (unsigned)modes[i]);
    }
}

/* Sums that any error in the division of work would change. */
static void rows_and_columns(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    tg_value y = tg_softmax(in[0], -1);
    tg_return(t, tg_sum(y, TG_AXES(0)), tg_sum(tg_exp(in[0]), TG_AXES(1)));
}

static bool is_as_before(tg_function *f, tg_tensor *x, const tg_tensor *want)
{
    tg_tensor *y = NULL;
    const bool good =
        tg_call(f, TG_ARGS(x), TG_RESULTS(&y)) == TG_OK &&
        memcmp(tg_tensor_data(y), tg_tensor_data(want),
               tg_tensor_bytes(want)) == 0;
    tg_tensor_release(y);
    return good;
}

Test(native_host, a_child_forked_after_a_parallel_call_works)
{
    need_compiler();
    session s;
    session_begin_mode(&s, &all_modes[3]);
    tg_function *f = tg_function_create(s.ctx, rows_and_columns, NULL, NULL);
    tg_function *g = tg_function_create(s.ctx, rows_and_columns, NULL, NULL);
    tg_tensor *flat = f32_range(s.ctx, 64 * 64), *want = NULL, *y = NULL;
    tg_tensor *x = tg_tensor_wrap(s.ctx, tg_tensor_data(flat), TG_F32,
                                  TG_DIMS(64, 64));
    check_works(tg_call(f, TG_ARGS(x), TG_RESULTS(&want)));
    tg_bound *bound = tg_bind(f, TG_ARGS(x), TG_RESULTS(&y));
    check_works(tg_run(bound));
    const pid_t child = fork();
    if (child == 0) {
        alarm(60);
        bool good = is_as_before(f, x, want);
        good = good && is_as_before(g, x, want); /* compiled in the child */
        memset(tg_tensor_data(y), 0, tg_tensor_bytes(y));
        good = good && tg_run(bound) == TG_OK &&
               memcmp(tg_tensor_data(y), tg_tensor_data(want),
                      tg_tensor_bytes(want)) == 0;
        _exit(good ? 0 : 1);
    }
    int status = -1;
    cr_assert_eq(waitpid(child, &status, 0), child);
    cr_assert(WIFEXITED(status) && WEXITSTATUS(status) == 0, "status %x",
              (unsigned)status);
    cr_assert(is_as_before(f, x, want));
    tg_bound_release(bound);
    tg_tensor_release(y);
    tg_tensor_release(want);
    tg_tensor_release(x);
    tg_tensor_release(flat);
    tg_function_release(f);
    tg_function_release(g);
    session_end(&s);
}

#ifdef _OPENMP

Test(native_host, calls_work_inside_regions_of_the_user)
{
    need_compiler();
    session s;
    session_begin_mode(&s, &all_modes[3]);
    tg_function *f = tg_function_create(s.ctx, rows_and_columns, NULL, NULL);
    tg_function *g = tg_function_create(s.ctx, rows_and_columns, NULL, NULL);
    tg_tensor *flat = f32_range(s.ctx, 64 * 64), *want = NULL;
    tg_tensor *x = tg_tensor_wrap(s.ctx, tg_tensor_data(flat), TG_F32,
                                  TG_DIMS(64, 64));
    check_works(tg_call(f, TG_ARGS(x), TG_RESULTS(&want)));
    int n_wrong = 0;
    /* Bound outside for a team, run inside a region, where there is none. */
    tg_tensor *y = NULL;
    tg_bound *bound = tg_bind(f, TG_ARGS(x), TG_RESULTS(&y));
#pragma omp parallel num_threads(4) reduction(+ : n_wrong)
    {
        for (int i = 0; i < 20; i++)
            n_wrong += !is_as_before(f, x, want);
        n_wrong += !is_as_before(g, x, want); /* the first call */
#pragma omp single
        n_wrong += tg_run(bound) != TG_OK;
    }
    cr_assert_eq(n_wrong, 0);
    cr_assert_eq(memcmp(tg_tensor_data(y), tg_tensor_data(want),
                        tg_tensor_bytes(want)),
                 0);
    cr_assert(is_as_before(g, x, want));
    tg_bound_release(bound);
    tg_tensor_release(y);
    tg_tensor_release(want);
    tg_tensor_release(x);
    tg_tensor_release(flat);
    tg_function_release(f);
    tg_function_release(g);
    session_end(&s);
}

#endif
