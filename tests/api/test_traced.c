/* SPDX-License-Identifier: MIT */
/*
 * test_traced.c - goldens of traced functions, as recorded and after the
 * passes, so that dumps do not change unnoticed.
 */
#include "support/api.h"
#include "support/golden.h"
#include "support/traced.h"

/* Compares the text of all traces with golden/traced_NAME.txt. */
static void check_text(tg_function *f, tg_text_kind kind, const char *name)
{
    char file[64];
    snprintf(file, sizeof(file), "traced_%s.txt", name);
    char *text = tg_function_text(f, kind);
    cr_assert_not_null(text, "%s", tg_error(NULL));
    check_golden(file, text);
    tg_text_free(text);
}

/* A context whose functions keep their recorded graphs. */
static void session_begin_raw(session *s)
{
    tg_context_options options = {
        .skip_passes = "inline,layout,crop,shape,distribute,fold,simplify,"
                       "hoist,dead"};
    session_begin_with(s, options);
}

static void trace_for(tg_function *f, const tg_spec *specs, size_t n)
{
    tg_concrete *c = tg_function_concrete(f, specs, n);
    cr_assert_not_null(c, "%s", tg_error(NULL));
    tg_concrete_release(c);
}

Test(traced, an_expression)
{
    session s;
    session_begin_raw(&s);
    const tg_spec spec = tg_spec_tensor(TG_F32, TG_DIMS(64, 1024));
    tg_function *f = tg_function_create(s.ctx, gelu_like, NULL, NULL);
    trace_for(f, &spec, 1);
    check_text(f, TG_TEXT_GRAPH, "gelu_like");
    check_text(f, TG_TEXT_DOT, "gelu_like_dot");
    check_text(f, TG_TEXT_VERBOSE, "gelu_like_verbose");
    tg_function_release(f);
    session_end(&s);
}

Test(traced, unknown_extents_and_their_conditions)
{
    session s;
    session_begin_raw(&s);
    const int64_t dims[] = {TG_UNKNOWN, 3};
    const tg_spec spec = tg_spec_tensor(TG_F32, 2, dims);
    tg_function *f = tg_function_create(s.ctx, normalise, NULL, NULL);
    trace_for(f, &spec, 1);
    check_text(f, TG_TEXT_GRAPH, "normalise");
    tg_function_release(f);
    session_end(&s);
}

Test(traced, state_and_effects)
{
    session s;
    session_begin(&s);
    tg_variable *weights[] = {
        tg_variable_create(s.ctx, "weights", TG_F32, TG_DIMS(3, 2),
                           tg_fill(1)),
        tg_variable_create(s.ctx, "steps", TG_I64, TG_SCALAR, tg_zeros()),
    };
    const tg_spec spec = tg_spec_tensor(TG_F32, TG_DIMS(4, 3));
    tg_function *f = tg_function_create(s.ctx, train_step, weights, NULL);
    trace_for(f, &spec, 1);
    check_text(f, TG_TEXT_GRAPH, "train_step");
    check_text(f, TG_TEXT_VERBOSE, "train_step_verbose");
    tg_function_release(f);
    tg_variable_release(weights[0]);
    tg_variable_release(weights[1]);
    session_end(&s);
}

Test(traced, several_traces_oldest_first)
{
    session s;
    session_begin(&s);
    const tg_spec specs[][2] = {
        {tg_spec_tensor(TG_F32, TG_DIMS(2)), tg_spec_static(tg_in_i32(1))},
        {tg_spec_tensor(TG_F32, TG_DIMS(2)), tg_spec_static(tg_in_i32(3))},
        {tg_spec_tensor(TG_F64, TG_SCALAR), tg_spec_static(tg_in_i32(0))},
    };
    tg_function *f = tg_function_create(s.ctx, with_static, NULL, NULL);
    for (int i = 0; i < 3; i++)
        trace_for(f, specs[i], 2);
    check_text(f, TG_TEXT_SHORT, "with_static_short");
    check_text(f, TG_TEXT_GRAPH, "with_static");
    tg_function_release(f);
    session_end(&s);
}

Test(traced, a_nested_function_before_and_after_inlining)
{
    for (int raw = 0; raw <= 1; raw++) {
        session s;
        raw ? session_begin_raw(&s) : session_begin(&s);
        const tg_spec spec = tg_spec_tensor(TG_F32, TG_DIMS(2, 3));
        tg_function *inner = tg_function_create(s.ctx, normalise, NULL, NULL);
        tg_function *outer = tg_function_create(s.ctx, caller, inner, NULL);
        trace_for(outer, &spec, 1);
        check_text(outer, TG_TEXT_GRAPH, raw ? "caller" : "caller_inlined");
        tg_function_release(inner);
        tg_function_release(outer);
        session_end(&s);
    }
}

Test(traced, branches_and_loops_before_and_after_passes)
{
    for (int raw = 0; raw <= 1; raw++) {
        session s;
        raw ? session_begin_raw(&s) : session_begin(&s);
        tg_variable *steps =
            tg_variable_create(s.ctx, "steps", TG_I64, TG_SCALAR, tg_zeros());
        const int64_t dims[] = {TG_UNKNOWN};
        const tg_spec specs[] = {tg_spec_tensor(TG_F32, 1, dims),
                                 tg_spec_tensor(TG_I32, TG_SCALAR)};
        tg_function *f = tg_function_create(s.ctx, flow, steps, NULL);
        trace_for(f, specs, 2);
        check_text(f, TG_TEXT_GRAPH, raw ? "flow" : "flow_passed");
        if (!raw)
            check_text(f, TG_TEXT_DOT, "flow_dot");
        tg_function_release(f);
        tg_variable_release(steps);
        session_end(&s);
    }
}
