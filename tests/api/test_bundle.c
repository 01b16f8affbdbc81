/* SPDX-License-Identifier: MIT */
/*
 * test_bundle.c - bundles: listed, nested, passed as one argument, captured,
 * and in an input signature.
 */
#include "front/object/bundle.h"
#include "support/api.h"

typedef struct layer {
    tg_variable *w, *b;
} layer;

typedef struct model {
    int64_t version; /* there may be other members in between */
    layer first;
    tg_variable *scale;
    layer last;
} model;

static const tg_bundle_field layer_fields[] = {TG_FIELD(layer, w),
                                               TG_FIELD(layer, b)};
static const tg_bundle_type layer_type = TG_BUNDLE(layer, layer_fields);

static const tg_bundle_field model_fields[] = {
    TG_FIELD_BUNDLE(model, first, &layer_type),
    TG_FIELD(model, scale),
    TG_FIELD_BUNDLE(model, last, &layer_type),
};
static const tg_bundle_type model_type = TG_BUNDLE(model, model_fields);

static tg_variable *filled(tg_context *ctx, const char *name, double value)
{
    return tg_variable_create(ctx, name, TG_F32, TG_DIMS(2), tg_fill(value));
}

static layer make_layer(tg_context *ctx, double value)
{
    return (layer){filled(ctx, "w", value), filled(ctx, "b", value + 0.5)};
}

static model make_model(tg_context *ctx)
{
    return (model){7, make_layer(ctx, 1), filled(ctx, "scale", 2),
                   make_layer(ctx, 3)};
}

/* -- Lists ----------------------------------------------------------------- */

Test(bundle, variables_are_listed_in_field_order)
{
    session s;
    session_begin(&s);
    model m = make_model(s.ctx);
    tg_variable *list[6] = {NULL};
    cr_assert_eq(tg_bundle_variables(&model_type, &m, TG_ALL_VARIABLES, list,
                                     6),
                 5);
    cr_assert(list[0] == m.first.w && list[1] == m.first.b &&
              list[2] == m.scale && list[3] == m.last.w &&
              list[4] == m.last.b);
    cr_assert_null(list[5]);
    cr_assert_eq(tg_bundle_count(&model_type, &m, TG_ALL_VARIABLES), 10);
    tg_variable *few[2] = {NULL};
    cr_assert_eq(tg_bundle_variables(&model_type, &m, TG_ALL_VARIABLES, few,
                                     1),
                 5);
    cr_assert(few[0] == m.first.w && !few[1]);
    cr_assert_eq(tg_bundle_variables(&model_type, &m, TG_ALL_VARIABLES, NULL,
                                     0),
                 5);
    tg_bundle_release(&model_type, &m);
    cr_assert(!m.first.w && !m.first.b && !m.scale && !m.last.w && !m.last.b);
    cr_assert_eq(m.version, 7);
    tg_bundle_release(&model_type, &m); /* already empty */
    session_end(&s);
}

Test(bundle, filters_select_trainable_variables)
{
    session s;
    session_begin(&s);
    tg_variable_options fixed = TG_VARIABLE_OPTIONS_INIT;
    fixed.untrainable = true;
    layer l = {filled(s.ctx, "w", 1),
               tg_variable_create_with(s.ctx, "b", TG_F32, TG_DIMS(3),
                                       tg_zeros(), &fixed)};
    tg_variable *list[2] = {NULL};
    cr_assert_eq(tg_bundle_variables(&layer_type, &l, TG_TRAINABLE, list, 2),
                 1);
    cr_assert_eq(list[0], l.w);
    cr_assert_eq(tg_bundle_count(&layer_type, &l, TG_TRAINABLE), 2);
    cr_assert_eq(tg_bundle_count(&layer_type, &l, TG_ALL_VARIABLES), 5);
    tg_bundle_release(&layer_type, &l);
    session_end(&s);
}

Test(bundle, members_that_are_missing_are_not_listed)
{
    session s;
    session_begin(&s);
    layer l = {NULL, filled(s.ctx, "b", 1)};
    tg_variable *list[2] = {NULL};
    cr_assert_eq(tg_bundle_variables(&layer_type, &l, TG_ALL_VARIABLES, list,
                                     2),
                 1);
    cr_assert_eq(list[0], l.b);
    cr_assert_eq(tg_bundle_count(&layer_type, &l, TG_ALL_VARIABLES), 2);
    tg_bundle_release(&layer_type, &l);
    cr_assert_eq(tg_bundle_variables(NULL, &l, TG_ALL_VARIABLES, list, 2), 0);
    cr_assert_eq(tg_bundle_count(&layer_type, NULL, TG_ALL_VARIABLES), 0);
    tg_bundle_release(NULL, NULL);
    session_end(&s);
}

/* -- As an argument -------------------------------------------------------- */

/* first.w += scale; returns last.w * last.b */
static void train(tg_trace *t, const tg_value *in, void *user)
{
    const model *m = tg_bundle_argument(t, 0, &model_type);
    cr_assert_not_null(m);
    cr_assert_not(tg_is_valid(in[0]), "a bundle is no value");
    cr_assert_str_eq(tg_variable_name(m->first.b), "b");
    cr_assert_eq(m->version, 0, "only variables are passed");
    if (user)
        ++*(int *)user;
    tg_assign_add(m->first.w, m->scale);
    tg_return(t, tg_mul(m->last.w, m->last.b));
}

Test(bundle, one_trace_serves_all_bundles_of_one_shape)
{
    session s;
    session_begin(&s);
    model a = make_model(s.ctx), b = make_model(s.ctx);
    set_variable(b.scale, 10, 20);
    int n_traces = 0;
    tg_function *f = tg_function_create(s.ctx, train, &n_traces, NULL);
    check_f32(call_one(f, TG_ARGS(tg_bundle_of(&model_type, &a))), 10.5f,
              10.5f);
    check_variable(a.first.w, 3, 3);
    check_variable(b.first.w, 1, 1);
    call_only(f, TG_ARGS(tg_bundle_of(&model_type, &b)));
    check_variable(b.first.w, 11, 21);
    check_variable(a.first.w, 3, 3);
    cr_assert_eq(n_traces, 1);
    tg_bundle_release(&model_type, &a);
    tg_bundle_release(&model_type, &b);
    tg_function_release(f);
    session_end(&s);
}

Test(bundle, one_variable_in_two_places_is_another_trace)
{
    session s;
    session_begin(&s);
    model a = make_model(s.ctx);
    int n_traces = 0;
    tg_function *f = tg_function_create(s.ctx, train, &n_traces, NULL);
    call_only(f, TG_ARGS(tg_bundle_of(&model_type, &a)));
    model tied = a;
    tied.last.w = a.first.w;
    /* first.w is 3, then 3 + 2; last.w reads that. */
    check_f32(call_one(f, TG_ARGS(tg_bundle_of(&model_type, &tied))), 17.5f,
              17.5f);
    cr_assert_eq(n_traces, 2);
    tg_bundle_release(&model_type, &a);
    tg_function_release(f);
    session_end(&s);
}

Test(bundle, another_spec_of_a_member_is_another_trace)
{
    session s;
    session_begin(&s);
    model a = make_model(s.ctx), b = make_model(s.ctx);
    tg_variable *larger =
        tg_variable_create(s.ctx, "w", TG_F32, TG_DIMS(3, 2), tg_fill(1));
    int n_traces = 0;
    tg_function *f = tg_function_create(s.ctx, train, &n_traces, NULL);
    call_only(f, TG_ARGS(tg_bundle_of(&model_type, &a)));
    tg_variable_release(b.last.w);
    b.last.w = larger;
    tg_tensor *y = call_one(f, TG_ARGS(tg_bundle_of(&model_type, &b)));
    cr_assert_eq(tg_tensor_rank(y), 2);
    cr_assert_eq(n_traces, 2);
    tg_tensor_release(y);
    tg_bundle_release(&model_type, &a);
    tg_bundle_release(&model_type, &b);
    tg_function_release(f);
    session_end(&s);
}

static void swap_layers(tg_trace *t, const tg_value *in, void *user)
{
    (void)in, (void)user;
    const layer *a = tg_bundle_argument(t, 0, &layer_type);
    const layer *b = tg_bundle_argument(t, 2, &layer_type);
    tg_value w = tg_read(a->w);
    tg_assign(a->w, b->w);
    tg_assign(b->w, w);
    tg_return(t, tg_add(in[1], a->w));
}

Test(bundle, several_bundles_and_tensors_in_one_call)
{
    session s;
    session_begin(&s);
    layer a = make_layer(s.ctx, 1), b = make_layer(s.ctx, 5);
    tg_function *f = tg_function_create(s.ctx, swap_layers, NULL, NULL);
    tg_tensor *x = f32_vector(s.ctx, 100, 200);
    check_f32(call_one(f, TG_ARGS(tg_bundle_of(&layer_type, &a), x,
                                  tg_bundle_of(&layer_type, &b))),
              105, 205);
    check_variable(a.w, 5, 5);
    check_variable(b.w, 1, 1);
    /* The same bundle twice: the assignments follow each other. */
    check_f32(call_one(f, TG_ARGS(tg_bundle_of(&layer_type, &a), x,
                                  tg_bundle_of(&layer_type, &a))),
              105, 205);
    check_variable(a.w, 5, 5);
    cr_assert_eq(tg_function_trace_count(f), 2);
    tg_tensor_release(x);
    tg_bundle_release(&layer_type, &a);
    tg_bundle_release(&layer_type, &b);
    tg_function_release(f);
    session_end(&s);
}

/* -- Trainable members ----------------------------------------------------- */

static void count_trainable(tg_trace *t, const tg_value *in, void *user)
{
    (void)in, (void)user;
    const layer *l = tg_bundle_argument(t, 0, &layer_type);
    size_t n = tg_bundle_variables(&layer_type, l, TG_TRAINABLE, NULL, 0);
    tg_return(t, tg_scalar(TG_I64, n));
}

/* A callback may treat untrainable variables differently, so this is part of
   the signature. */
Test(bundle, members_are_trainable_inside_as_they_are_outside)
{
    session s;
    session_begin(&s);
    tg_variable_options fixed = TG_VARIABLE_OPTIONS_INIT;
    fixed.untrainable = true;
    layer all = make_layer(s.ctx, 1);
    layer some = {filled(s.ctx, "w", 1),
                  tg_variable_create_with(s.ctx, "b", TG_F32, TG_DIMS(2),
                                          tg_zeros(), &fixed)};
    tg_function *f = tg_function_create(s.ctx, count_trainable, NULL, NULL);
    check_i64(call_one(f, TG_ARGS(tg_bundle_of(&layer_type, &all))), 2);
    check_i64(call_one(f, TG_ARGS(tg_bundle_of(&layer_type, &some))), 1);
    cr_assert_eq(tg_function_trace_count(f), 2);
    char *text = tg_explain_retrace(f);
    cr_assert_not_null(strstr(text, "trace 1: arg 1: another kind of bundle"),
                       "%s", text);
    tg_text_free(text);
    tg_bundle_release(&layer_type, &all);
    tg_bundle_release(&layer_type, &some);
    tg_function_release(f);
    session_end(&s);
}

/* -- Captured -------------------------------------------------------------- */

static void train_captured(tg_trace *t, const tg_value *in, void *user)
{
    const model *m = user;
    (void)in;
    tg_assign_add(m->first.w, m->scale);
    tg_return(t, tg_mul(m->last.w, m->last.b));
}

Test(bundle, a_captured_bundle_is_live)
{
    session s;
    session_begin(&s);
    model m = make_model(s.ctx);
    tg_function *f = tg_function_create(s.ctx, train_captured, &m, NULL);
    check_f32(call_one(f, TG_ARGS()), 10.5f, 10.5f);
    set_variable(m.scale, 5, 6);
    set_variable(m.last.w, 1, 2);
    check_f32(call_one(f, TG_ARGS()), 3.5f, 7);
    check_variable(m.first.w, 8, 9);
    cr_assert_eq(tg_function_trace_count(f), 1);
    tg_bundle_release(&model_type, &m);
    tg_function_release(f); /* it retained the variables */
    session_end(&s);
}

/* -- Handed on ------------------------------------------------------------- */

static void call_with_layer(tg_trace *t, const tg_value *in, void *user)
{
    (void)in;
    const model *m = tg_bundle_argument(t, 0, &model_type);
    tg_value y;
    tg_apply(user, TG_ARGS(tg_bundle_of(&layer_type, &m->first)), &y, 1);
    tg_return(t, y, m->first.w);
}

static void double_weights(tg_trace *t, const tg_value *in, void *user)
{
    (void)in, (void)user;
    const layer *l = tg_bundle_argument(t, 0, &layer_type);
    tg_assign(l->w, tg_mul(l->w, 2));
    tg_return(t, tg_add(l->w, l->b));
}

Test(bundle, a_part_can_be_handed_to_another_function)
{
    session s;
    session_begin(&s);
    model m = make_model(s.ctx);
    tg_function *inner = tg_function_create(s.ctx, double_weights, NULL, NULL);
    tg_function *outer =
        tg_function_create(s.ctx, call_with_layer, inner, NULL);
    tg_tensor *y = NULL, *w = NULL;
    check_works(tg_call(outer, TG_ARGS(tg_bundle_of(&model_type, &m)),
                        TG_RESULTS(&y, &w)));
    check_f32(y, 3.5f, 3.5f);
    check_f32(w, 2, 2);
    check_variable(m.first.w, 2, 2);
    tg_bundle_release(&model_type, &m);
    tg_function_release(inner);
    tg_function_release(outer);
    session_end(&s);
}

/* -- In a signature -------------------------------------------------------- */

Test(bundle, a_signature_may_have_one)
{
    session s;
    session_begin(&s);
    model like = make_model(s.ctx), m = make_model(s.ctx);
    int n_traces = 0;
    const tg_spec spec = tg_spec_bundle(&model_type, &like);
    tg_function_options options = TG_FUNCTION_OPTIONS_INIT;
    options.signature = &spec;
    options.n_signature = 1;
    tg_function *f = tg_function_create(s.ctx, train, &n_traces, &options);
    tg_bundle_release(&model_type, &like); /* it was only a pattern */
    call_only(f, TG_ARGS(tg_bundle_of(&model_type, &m)));
    check_variable(m.first.w, 3, 3);

    model wrong = m;
    wrong.scale =
        tg_variable_create(s.ctx, "scale", TG_F32, TG_DIMS(3), tg_zeros());
    check_fails(
        tg_call(f, TG_ARGS(tg_bundle_of(&model_type, &wrong)), TG_RESULTS()),
        TG_ERROR_SIGNATURE,
        "train: argument 0 ('scale'): the signature has variable "
        "f32[2], but the call has variable f32[3]");
    check_fails(
        tg_call(f, TG_ARGS(tg_bundle_of(&layer_type, &m.first)), TG_RESULTS()),
        TG_ERROR_SIGNATURE, "5 variables and tensors, but the call has 2");
    check_fails(tg_call(f, TG_ARGS(m.scale), TG_RESULTS()),
                TG_ERROR_SIGNATURE, "train: ");
    cr_assert_eq(n_traces, 1);
    tg_variable_release(wrong.scale);
    tg_bundle_release(&model_type, &m);
    tg_function_release(f);
    session_end(&s);
}

/* -- Errors ---------------------------------------------------------------- */

static void ask_wrongly(tg_trace *t, const tg_value *in, void *user)
{
    (void)in;
    cr_assert_null(tg_bundle_argument(t, *(size_t *)user, &layer_type));
    cr_assert_null(tg_bundle_argument(t, 0, &layer_type),
                   "the first error sticks");
}

Test(bundle, other_operands_than_bundles_are_errors)
{
    session s;
    session_begin(&s);
    layer l = make_layer(s.ctx, 1);
    size_t arg = 1;
    tg_function *f = tg_function_create(s.ctx, ask_wrongly, &arg, NULL);
    check_fails(tg_call(f, TG_ARGS(tg_bundle_of(&layer_type, &l), 3),
                        TG_RESULTS()),
                TG_ERROR_INVALID_ARGUMENT,
                "argument 1 is not a bundle, but 'layer' was requested");
    arg = 99;
    check_fails(tg_call(f, TG_ARGS(tg_bundle_of(&layer_type, &l), 3),
                        TG_RESULTS()),
                TG_ERROR_INVALID_ARGUMENT,
                "argument 99 is out of range: the function has 2");
    cr_assert_null(tg_bundle_argument(NULL, 0, &layer_type));
    check_record(TG_ERROR_TRACE, "can only be used inside a traced callback");
    tg_function_release(f);
    tg_bundle_release(&layer_type, &l);
    session_end(&s);
}

/* Members that are NULL are NULL in the callback. */
static void add_members(tg_trace *t, const tg_value *in, void *user)
{
    const layer *l = tg_bundle_argument(t, 0, &layer_type);
    tg_value sum = in[1];
    (void)user;
    if (!l)
        return;
    if (l->w)
        sum = tg_add(sum, tg_sum(l->w, TG_ALL_AXES));
    if (l->b)
        sum = tg_sub(sum, tg_sum(l->b, TG_ALL_AXES));
    tg_return(t, sum);
}

static void use_missing_member(tg_trace *t, const tg_value *in, void *user)
{
    const layer *l = tg_bundle_argument(t, 0, &layer_type);
    (void)user;
    if (l)
        tg_return(t, tg_mul(in[1], l->b));
}

Test(bundle, members_may_be_missing)
{
    session s;
    session_begin(&s);
    tg_function *f = tg_function_create(s.ctx, add_members, NULL, NULL);
    tg_variable *v = f32_scalar_variable(s.ctx, "v", 3);
    const layer layers[] = {{v, NULL}, {NULL, v}, {NULL, NULL}, {v, NULL}};
    const float want[] = {4, -2, 1, 4};
    for (int i = 0; i < 4; i++) {
        float sum;
        check_works(tg_call(f, TG_ARGS(tg_bundle_of(&layer_type, &layers[i]),
                                       1.0f),
                            TG_RESULTS(&sum)));
        cr_assert_eq(sum, want[i], "%d: %g", i, (double)sum);
    }
    cr_assert_eq(tg_function_trace_count(f), 3);
    tg_function_release(f);
    f = tg_function_create(s.ctx, use_missing_member, NULL, NULL);
    check_fails(tg_call(f, TG_ARGS(tg_bundle_of(&layer_type, &layers[0]), 1),
                        TG_RESULTS(NULL)),
                TG_ERROR_INVALID_ARGUMENT, __FILE__,
                "mul: the variable is NULL");
    tg_function_release(f);
    tg_variable_release(v);
    session_end(&s);
}

Test(bundle, bad_bundles_are_refused)
{
    session s, other;
    session_begin(&s);
    session_begin(&other);
    tg_function *f = tg_function_create(s.ctx, train, NULL, NULL);
    layer l = make_layer(s.ctx, 1);
    layer foreign = make_layer(other.ctx, 1);
    check_fails(tg_call(f, TG_ARGS(tg_bundle_of(NULL, &l)), TG_RESULTS()),
                TG_ERROR_INVALID_ARGUMENT,
                "argument 0: the bundle or its type is NULL");
    check_fails(
        tg_call(f, TG_ARGS(3, tg_bundle_of(&layer_type, NULL)), TG_RESULTS()),
        TG_ERROR_INVALID_ARGUMENT,
        "argument 1: the bundle or its type is NULL");
    check_fails(tg_call(f, TG_ARGS(tg_bundle_of(&layer_type, &foreign)),
                        TG_RESULTS()),
                TG_ERROR_INVALID_ARGUMENT,
                "w: variable 'w' belongs to another context");
    tg_bundle_release(&layer_type, &foreign);
    tg_bundle_release(&layer_type, &l);
    tg_function_release(f);
    tg_context_release(other.ctx);
    session_end(&s);
}

Test(bundle, nesting_has_a_bound)
{
    session s;
    session_begin(&s);
    tg_variable *v = filled(s.ctx, "v", 1);
    const void *bundle = &v;
    tg_bundle_field fields[TGI_BUNDLE_DEPTH + 1];
    tg_bundle_type types[TGI_BUNDLE_DEPTH + 1];
    for (int i = 0; i <= TGI_BUNDLE_DEPTH; i++) {
        fields[i] = (tg_bundle_field){
            "v", 0, i < TGI_BUNDLE_DEPTH ? &types[i + 1] : NULL};
        types[i] = (tg_bundle_type){"deep", sizeof(v), &fields[i], 1};
    }
    cr_assert_eq(tg_bundle_count(&types[1], bundle, TG_ALL_VARIABLES), 2);
    cr_assert_eq(tg_bundle_count(&types[0], bundle, TG_ALL_VARIABLES), 0);
    tg_function *f = tg_function_create(s.ctx, train_captured, NULL, NULL);
    check_fails(
        tg_call(f, TG_ARGS(tg_bundle_of(&types[0], bundle)), TG_RESULTS()),
        TG_ERROR_INVALID_ARGUMENT,
        "argument 0: the bundle type has no fields, or nests deeper "
        "than 16 levels");
    tg_function_release(f);
    tg_variable_release(v);
    session_end(&s);
}

/* -- Memory ---------------------------------------------------------------- */

static void add_layers(tg_trace *t, const tg_value *in, void *user)
{
    (void)in, (void)user;
    const model *m = tg_bundle_argument(t, 0, &model_type);
    if (!m)
        return;
    tg_assign_add(m->first.w, m->last.w);
    tg_return(t, m->scale);
}

static bool call_with_bundle(void)
{
    tg_context *ctx = tg_context_create(NULL);
    if (!ctx)
        return false;
    model m = make_model(ctx);
    tg_function *f = tg_function_create(ctx, add_layers, NULL, NULL);
    tg_tensor *y = NULL;
    const bool good =
        f && tg_bundle_variables(&model_type, &m, TG_ALL_VARIABLES, NULL,
                                 0) == 5 &&
        tg_call(f, TG_ARGS(tg_bundle_of(&model_type, &m)), TG_RESULTS(&y)) ==
            TG_OK;
    tg_tensor_release(y);
    tg_function_release(f);
    tg_bundle_release(&model_type, &m);
    tg_context_release(ctx);
    return good;
}

Test(bundle, every_lack_of_memory_is_reported)
{
    check_every_fault(call_with_bundle);
}
