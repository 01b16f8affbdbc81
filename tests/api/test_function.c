/* SPDX-License-Identifier: MIT */
/*
 * test_function.c - a function's table of traces: limits, order of eviction,
 * clearing, lookup by spec, and history.
 */
#include "front/call/function_object.h"
#include "support/api.h"

static void twice(tg_trace *t, const tg_value *in, void *user)
{
    if (user)
        ++*(int *)user;
    tg_return(t, tg_mul(in[0], 2));
}

static void call_length(tg_context *ctx, tg_function *f, int64_t n)
{
    tg_tensor *x = tg_tensor_create(ctx, TG_F32, TG_DIMS(n), tg_zeros());
    call_only(f, TG_ARGS(x));
    tg_tensor_release(x);
}

static tg_function *exact_function(tg_context *ctx, int *n_runs,
                                   size_t max_traces)
{
    tg_function_options options = TG_FUNCTION_OPTIONS_INIT;
    options.policy = TG_EXACT;
    options.max_traces = max_traces;
    tg_function *f = tg_function_create(ctx, twice, n_runs, &options);
    cr_assert_not_null(f, "%s", tg_error(ctx));
    return f;
}

/* -- Names ----------------------------------------------------------------- */

Test(function, its_name_is_that_of_the_callback_or_of_the_options)
{
    session s;
    session_begin(&s);
    tg_function_options options = TG_FUNCTION_OPTIONS_INIT;
    options.name = "doubled";
    tg_function *a = tg_function_create(s.ctx, twice, NULL, NULL);
    tg_function *b = tg_function_create(s.ctx, twice, NULL, &options);
    tg_function *c =
        tg_function_create_named(s.ctx, NULL, twice, NULL, NULL);
    cr_assert_str_eq(tg_function_name(a), "twice");
    cr_assert_str_eq(tg_function_name(b), "doubled");
    cr_assert_str_eq(tg_function_name(c), "function");
    cr_assert_str_eq(tg_function_name(NULL), "");
    cr_assert_eq(tg_function_retain(a), a);
    tg_function_release(a);
    tg_function_release(a);
    tg_function_release(b);
    tg_function_release(c);
    session_end(&s);
}

/* -- Bounds ---------------------------------------------------------------- */

Test(function, the_least_recently_used_trace_leaves_first)
{
    session s;
    session_begin(&s);
    int n_runs = 0;
    tg_function *f = exact_function(s.ctx, &n_runs, 3);
    for (int64_t n = 1; n <= 3; n++)
        call_length(s.ctx, f, n);
    call_length(s.ctx, f, 1); /* now 2 is the oldest */
    call_length(s.ctx, f, 4);
    cr_assert_eq(n_runs, 4);
    call_length(s.ctx, f, 1);
    call_length(s.ctx, f, 3);
    call_length(s.ctx, f, 4);
    cr_assert_eq(n_runs, 4, "all three are still there");
    call_length(s.ctx, f, 2); /* evicts 1 */
    cr_assert_eq(n_runs, 5);
    call_length(s.ctx, f, 3); /* evicts only that */
    call_length(s.ctx, f, 4);
    cr_assert_eq(n_runs, 5);
    call_length(s.ctx, f, 1);
    cr_assert_eq(n_runs, 6);
    cr_assert_eq(tg_function_trace_count(f), 6);

    char *text = tg_function_text(f, TG_TEXT_SHORT);
    cr_assert_str_eq(text, "twice(f32[3])\ntwice(f32[4])\ntwice(f32[1])\n",
                     "in the order they were traced: %s", text);
    tg_text_free(text);
    tg_function_release(f);
    session_end(&s);
}

Test(function, the_newest_trace_always_stays)
{
    session s;
    session_begin(&s);
    tg_function_options options = TG_FUNCTION_OPTIONS_INIT;
    options.policy = TG_EXACT;
    options.max_trace_bytes = 1; /* smaller than any trace */
    int n_runs = 0;
    tg_function *f = tg_function_create(s.ctx, twice, &n_runs, &options);
    call_length(s.ctx, f, 1);
    call_length(s.ctx, f, 1);
    cr_assert_eq(n_runs, 1);
    call_length(s.ctx, f, 2);
    call_length(s.ctx, f, 2);
    cr_assert_eq(n_runs, 2);
    call_length(s.ctx, f, 1);
    cr_assert_eq(n_runs, 3);
    cr_assert_eq(f->table.n, 1);
    tg_function_release(f);
    session_end(&s);
}

Test(function, bytes_are_bounded_too)
{
    session s;
    session_begin(&s);
    tg_function *probe = exact_function(s.ctx, NULL, 0);
    call_length(s.ctx, probe, 1);
    const size_t one = tgi_concrete_bytes(probe->table.data[0]);
    tg_function_release(probe);

    tg_function_options options = TG_FUNCTION_OPTIONS_INIT;
    options.policy = TG_EXACT;
    options.max_trace_bytes = 4 * one;
    tg_function *f = tg_function_create(s.ctx, twice, NULL, &options);
    for (int64_t n = 1; n <= 20; n++)
        call_length(s.ctx, f, n);
    size_t bytes = 0;
    for (size_t i = 0; i < f->table.n; i++)
        bytes += tgi_concrete_bytes(f->table.data[i]);
    /* The newest trace was counted before it was compiled. */
    cr_assert_leq(bytes, 5 * one);
    cr_assert_geq(f->table.n, 2);
    tg_function_release(f);
    session_end(&s);
}

Test(function, an_evicted_trace_lives_until_its_last_release)
{
    session s;
    session_begin(&s);
    tg_function *f = exact_function(s.ctx, NULL, 1);
    const tg_spec spec = tg_spec_tensor(TG_F32, TG_DIMS(2));
    tg_concrete *retained = tg_function_concrete(f, &spec, 1);
    call_length(s.ctx, f, 3);
    tg_tensor *x = f32_vector(s.ctx, 1, 2), *y = NULL;
    check_works(tg_concrete_call(retained, TG_ARGS(x), TG_RESULTS(&y)));
    check_f32(y, 2, 4);
    tg_concrete *again = tg_function_concrete(f, &spec, 1);
    cr_assert_neq(again, retained);
    tg_concrete_release(retained);
    tg_concrete_release(again);
    tg_tensor_release(x);
    tg_function_release(f);
    session_end(&s);
}

Test(function, old_reasons_are_forgotten_but_counted)
{
    session s;
    session_begin_with(&s, (tg_context_options){.jit = "off"});
    tg_function *f = exact_function(s.ctx, NULL, 2);
    for (int64_t n = 0; n < 1030; n++)
        call_length(s.ctx, f, n);
    tg_retrace why;
    cr_assert_eq(tg_function_trace_count(f), 1030);
    cr_assert_not(tg_function_retrace(f, 0, &why));
    cr_assert_not(tg_function_retrace(f, 5, &why));
    cr_assert(tg_function_retrace(f, 6, &why));
    cr_assert_eq(why.now, 6);
    cr_assert(tg_function_retrace(f, 1029, &why));
    cr_assert_eq(why.now, 1029);
    cr_assert_not(tg_function_retrace(f, 1030, &why));
    cr_assert_not(tg_function_retrace(f, 7, NULL));
    tg_function_release(f);
    session_end(&s);
}

/* -- Clearing -------------------------------------------------------------- */

Test(function, clearing_drops_all_traces_and_nothing_else)
{
    session s;
    session_begin(&s);
    int n_runs = 0;
    tg_function *f = exact_function(s.ctx, &n_runs, 0);
    tg_function_clear(f); /* already empty */
    call_length(s.ctx, f, 1);
    call_length(s.ctx, f, 2);
    tg_tensor *x = f32_vector(s.ctx, 1, 2), *y = NULL;
    tg_bound *b = tg_bind(f, TG_ARGS(x), TG_RESULTS(&y));
    tg_function_clear(f);
    cr_assert_eq(f->table.n, 0);
    check_works(tg_run(b)); /* has its own trace */
    check_f32(y, 2, 4);
    char *text = tg_function_text(f, TG_TEXT_SHORT);
    cr_assert_str_eq(text, "");
    tg_text_free(text);
    cr_assert_eq(tg_function_trace_count(f), 2);
    call_length(s.ctx, f, 2);
    cr_assert_eq(n_runs, 3);
    tg_retrace why;
    cr_assert(tg_function_retrace(f, 2, &why));
    cr_assert_eq(why.reason, TG_RETRACE_DROPPED);
    tg_function_clear(NULL);
    tg_bound_release(b);
    tg_tensor_release(x);
    tg_function_release(f);
    session_end(&s);
}

static void clears_itself(tg_trace *t, const tg_value *in, void *user)
{
    tg_function_clear(*(tg_function **)user);
    tg_return(t, in[0]);
}

Test(function, a_callback_may_clear_its_own_function)
{
    session s;
    session_begin(&s);
    tg_function *f = NULL;
    f = tg_function_create(s.ctx, clears_itself, &f, NULL);
    tg_tensor *x = f32_vector(s.ctx, 7), *y = f32_vector(s.ctx, 7, 8);
    check_f32(call_one(f, TG_ARGS(x)), 7);
    check_f32(call_one(f, TG_ARGS(y)), 7, 8);
    cr_assert_eq(f->table.n, 1);
    tg_tensor_release(x);
    tg_tensor_release(y);
    tg_function_release(f);
    session_end(&s);
}

/* -- Looking up ------------------------------------------------------------ */

Test(function, a_trace_requested_by_spec_serves_calls)
{
    session s;
    session_begin(&s);
    int n_runs = 0;
    tg_function *f = tg_function_create(s.ctx, twice, &n_runs, NULL);
    const tg_spec any = tg_spec_tensor(TG_F32, TG_DIMS(TG_UNKNOWN));
    const tg_spec three = tg_spec_tensor(TG_F32, TG_DIMS(3));
    tg_concrete *general = tg_function_concrete(f, &any, 1);
    cr_assert_not_null(general, "%s", tg_error(s.ctx));
    call_length(s.ctx, f, 1);
    call_length(s.ctx, f, 5);
    cr_assert_eq(n_runs, 1);
    tg_concrete *special = tg_function_concrete(f, &three, 1);
    cr_assert_eq(n_runs, 2, "this exact spec was requested");
    cr_assert_neq(special, general);
    call_length(s.ctx, f, 3);
    cr_assert_eq(n_runs, 2);
    cr_assert_gt(special->last_use, general->last_use,
                 "the most specific one was used");
    tg_concrete_release(general);
    tg_concrete_release(special);
    tg_function_release(f);
    session_end(&s);
}

Test(function, of_several_that_fit_the_one_with_most_known_extents_serves)
{
    session s;
    session_begin(&s);
    int n_runs = 0;
    tg_function *f = tg_function_create(s.ctx, twice, &n_runs, NULL);
    const tg_spec specs[] = {
        tg_spec_tensor(TG_F32, TG_DIMS(TG_UNKNOWN, TG_UNKNOWN)),
        tg_spec_tensor(TG_F32, TG_DIMS(TG_UNKNOWN, 3)),
        tg_spec_tensor(TG_F32, TG_DIMS(TG_SAME(1), TG_SAME(1))),
    };
    tg_concrete *traces[3];
    for (int i = 0; i < 3; i++) {
        traces[i] = tg_function_concrete(f, &specs[i], 1);
        cr_assert_not_null(traces[i], "%s", tg_error(s.ctx));
    }
    cr_assert_eq(n_runs, 3);
    tg_tensor *x = tg_tensor_create(s.ctx, TG_F32, TG_DIMS(2, 3), tg_zeros());
    tg_tensor *y = tg_tensor_create(s.ctx, TG_F32, TG_DIMS(2, 4), tg_zeros());
    call_only(f, TG_ARGS(x));
    cr_assert_eq(traces[1]->last_use, f->tick);
    call_only(f, TG_ARGS(y));
    cr_assert_eq(traces[0]->last_use, f->tick);
    cr_assert_eq(n_runs, 3);
    for (int i = 0; i < 3; i++)
        tg_concrete_release(traces[i]);
    tg_tensor_release(x);
    tg_tensor_release(y);
    tg_function_release(f);
    session_end(&s);
}

Test(function, bad_specs_are_refused)
{
    session s;
    session_begin(&s);
    tg_function *f = tg_function_create(s.ctx, twice, NULL, NULL);
    const tg_spec bad[] = {
        tg_spec_tensor((tg_dtype)0, TG_DIMS(2)),
        tg_spec_tensor(TG_F32, TG_DIMS(2, TG_SAME(65))),
        tg_spec_tensor(TG_F32, 9, NULL),
        tg_spec_tensor(TG_F32, 2, NULL),
        tg_spec_variable(TG_F32, TG_DIMS(TG_UNKNOWN)),
        tg_spec_bundle(NULL, NULL),
        tg_spec_static(tg_in_variable(NULL)),
        {.kind = (tg_spec_kind)9},
    };
    const char *const messages[] = {
        "0 is not an element type",
        "extent -66 of axis 1 is negative",
        "rank 9 is not in 0",
        "extent -9223372036854775808 of axis 0 is negative",
        "extent -1 of axis 0 is negative",
        "argument 0: the bundle or its type is NULL",
        "argument 0: only numbers and strings can be static",
        "argument 0: unknown spec kind 9",
    };
    for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
        tg_error_clear();
        cr_assert_null(tg_function_concrete(f, &bad[i], 1));
        cr_assert_not_null(strstr(tg_error(s.ctx), messages[i]), "%zu: %s", i,
                           tg_error(s.ctx));
    }
    cr_assert_null(tg_function_concrete(f, NULL, 1));
    check_record(TG_ERROR_INVALID_ARGUMENT, "the specs are NULL");
    cr_assert_eq(tg_function_trace_count(f), 0);
    tg_function_release(f);
    session_end(&s);
}

static void add_two(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    tg_return(t, tg_add(in[0], in[1]));
}

/* A relaxed trace whose callback fails falls back to exact extents. */
static void needs_extent(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    if (!tg_dim_is_known(tg_value_dim(in[0], 0)))
        tg_fail(t, "the extent is unknown");
    tg_return(t, in[0]);
}

Test(function, the_relaxed_policy_has_one_trace)
{
    session s;
    session_begin(&s);
    tg_function_options options = TG_FUNCTION_OPTIONS_INIT;
    options.policy = TG_RELAXED;
    tg_function *f = tg_function_create(s.ctx, add_two, NULL, &options);
    tg_tensor *one = f32_vector(s.ctx, 1), *two = f32_vector(s.ctx, 1, 2);
    check_f32(call_one(f, TG_ARGS(two, two)), 2, 4);
    check_f32(call_one(f, TG_ARGS(one, two)), 2, 3);
    check_f32(call_one(f, TG_ARGS(one, one)), 2);
    check_f32(call_one(f, TG_ARGS(two, one)), 2, 3);
    cr_assert_eq(tg_function_trace_count(f), 1);
    tg_function_release(f);

    f = tg_function_create(s.ctx, needs_extent, NULL, &options);
    check_f32(call_one(f, TG_ARGS(two)), 1, 2);
    check_f32(call_one(f, TG_ARGS(one)), 1);
    cr_assert_eq(tg_function_trace_count(f), 2);
    tg_tensor_release(one);
    tg_tensor_release(two);
    tg_function_release(f);
    session_end(&s);
}

Test(function, a_signature_fixes_the_trace)
{
    session s;
    session_begin(&s);
    const int64_t same[] = {TG_SAME(1)};
    const tg_spec specs[] = {tg_spec_tensor(TG_F32, 1, same),
                             tg_spec_tensor(TG_F32, 1, same)};
    tg_function_options options = TG_FUNCTION_OPTIONS_INIT;
    options.signature = specs;
    options.n_signature = 2;
    options.policy = TG_EXACT; /* has no effect with a signature */
    tg_function *f = tg_function_create(s.ctx, add_two, NULL, &options);
    tg_tensor *x = f32_vector(s.ctx, 1, 2), *y = f32_vector(s.ctx, 1, 2, 3);
    check_f32(call_one(f, TG_ARGS(x, x)), 2, 4);
    check_f32(call_one(f, TG_ARGS(y, y)), 2, 4, 6);
    check_fails(
        tg_call(f, TG_ARGS(x, y), TG_RESULTS()), TG_ERROR_SIGNATURE,
        "test_function.c:", "add_two: argument 1: the signature has ",
        "the call has f32[3]; axis 0 must be 2, as axis 0 of argument 0 "
        "is");
    tg_variable *v =
        tg_variable_create(s.ctx, "v", TG_F32, TG_DIMS(2), tg_zeros());
    check_fails(tg_call(f, TG_ARGS(x, v), TG_RESULTS()), TG_ERROR_SIGNATURE,
                "the call has variable f32[2]; pass tg_value_of(v)");
    check_f32(call_one(f, TG_ARGS(x, tg_value_of(v))), 1, 2);
    tg_variable_release(v);
    check_fails(tg_call(f, TG_ARGS(x), TG_RESULTS()), TG_ERROR_SIGNATURE,
                "add_two: argument 1 is missing: the signature has 2 "
                "arguments, but the call has 1");
    check_fails(tg_call(f, TG_ARGS(x, 1), TG_RESULTS()), TG_ERROR_SIGNATURE,
                "the call has number i32");
    tg_concrete *c = tg_function_concrete(f, specs, 2);
    cr_assert_not_null(c);
    cr_assert_eq(tg_function_trace_count(f), 1);
    tg_concrete_release(c);
    tg_tensor_release(x);
    tg_tensor_release(y);
    tg_function_release(f);
    session_end(&s);
}

static void none(tg_trace *t, const tg_value *in, void *user)
{
    (void)in, (void)user;
    tg_return(t, tg_scalar(TG_F32, 1));
}

/* A signature without arguments is a signature too. */
Test(function, a_function_without_arguments_refuses_any)
{
    session s;
    session_begin(&s);
    const tg_spec unused = {0};
    tg_function_options options = TG_FUNCTION_OPTIONS_INIT;
    options.signature = &unused;
    options.n_signature = 0;
    tg_function *f = tg_function_create(s.ctx, none, NULL, &options);
    check_f32(call_one(f, TG_ARGS()), 1);
    check_fails(tg_call(f, TG_ARGS(1), TG_RESULTS()), TG_ERROR_SIGNATURE,
                "none: the signature has 0 arguments, but the call has 1");
    tg_function_release(f);
    session_end(&s);
}

/* -- Texts ----------------------------------------------------------------- */

Test(function, texts_of_every_kind)
{
    session s;
    session_begin(&s);
    tg_variable *v = f32_scalar_variable(s.ctx, "v", 1);
    tg_function *f = exact_function(s.ctx, NULL, 0);
    char *text = tg_function_text(f, TG_TEXT_VERBOSE);
    cr_assert_str_eq(text, "", "nothing is traced yet");
    tg_text_free(text);
    call_length(s.ctx, f, 3);
    call_only(f, TG_ARGS(v));
    static const char *const parts[][2] = {
        [TG_TEXT_SHORT] = {"twice(f32[3])\n", "twice(variable f32[])\n"},
        [TG_TEXT_VERBOSE] = {"twice(f32[3]) -> (f32[3])\n",
                             "nodes traced, "},
        [TG_TEXT_GRAPH] = {"test_function.c", "mul"},
        [TG_TEXT_DOT] = {"digraph", "->"},
    };
    for (int kind = TG_TEXT_SHORT; kind <= TG_TEXT_DOT; kind++) {
        text = tg_function_text(f, (tg_text_kind)kind);
        for (int i = 0; i < 2; i++)
            cr_assert_not_null(strstr(text, parts[kind][i]), "%s", text);
        tg_text_free(text);
    }
    tg_text_free(NULL);
    tg_variable_release(v);
    tg_function_release(f);
    session_end(&s);
}

/* -- Memory ---------------------------------------------------------------- */

static bool trace_and_evict(void)
{
    tg_context *ctx = tg_context_create(NULL);
    tg_function_options options = TG_FUNCTION_OPTIONS_INIT;
    options.policy = TG_EXACT;
    options.max_traces = 1;
    tg_function *f =
        ctx ? tg_function_create(ctx, twice, NULL, &options) : NULL;
    bool good = f != NULL;
    for (int64_t n = 1; n <= 2 && good; n++) {
        tg_tensor *x = tg_tensor_create(ctx, TG_F32, TG_DIMS(n), tg_zeros());
        good = x && tg_call(f, TG_ARGS(x), TG_RESULTS()) == TG_OK;
        tg_tensor_release(x);
    }
    char *text = good ? tg_function_text(f, TG_TEXT_GRAPH) : NULL;
    char *why = text ? tg_explain_retrace(f) : NULL;
    good = why != NULL;
    tg_text_free(text);
    tg_text_free(why);
    tg_function_release(f);
    tg_context_release(ctx);
    return good;
}

Test(function, every_lack_of_memory_is_reported)
{
    check_every_fault(trace_and_evict);
}
