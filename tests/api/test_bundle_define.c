/* SPDX-License-Identifier: MIT */
/*
 * test_bundle_define.c - bundles of one line, TG_DEFINE_BUNDLE, and the
 * gradients of a whole bundle.
 */
#include "support/modes.h"

TG_DEFINE_BUNDLE(layer, weights, bias)
TG_DEFINE_BUNDLE(model, (layer, first), (layer, second), temperature)
TG_DEFINE_BUNDLE(pair_of_models, (model, left), (model, right))
TG_DEFINE_BUNDLE(single, only)
TG_DEFINE_BUNDLE(many, m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, m12, m13,
                 m14, m15, m16, m17, m18, m19, m20, m21, m22, m23, m24, m25,
                 m26, m27, m28, m29, m30, m31, (layer, m32))

/* -- Types ----------------------------------------------------------------- */

/* The type written out, as before there was a macro. */
static const tg_bundle_field written_out_fields[] = {
    TG_FIELD_BUNDLE(model, first, &layer_type),
    TG_FIELD_BUNDLE(model, second, &layer_type), TG_FIELD(model, temperature)};

Test(bundle, one_line_defines_struct_and_type)
{
    cr_assert_str_eq(layer_type.name, "layer");
    cr_assert_eq(layer_type.bytes, 2 * sizeof(tg_variable *));
    cr_assert_eq(layer_type.n_fields, 2);
    cr_assert_str_eq(layer_type.fields[1].name, "bias");
    cr_assert_eq(model_type.n_fields, 3);
    cr_assert_eq(model_type.bytes, sizeof(model));
    for (int i = 0; i < 3; i++) {
        const tg_bundle_field *is = &model_type.fields[i];
        cr_assert_str_eq(is->name, written_out_fields[i].name);
        cr_assert_eq(is->offset, written_out_fields[i].offset);
        cr_assert_eq(is->bundle, written_out_fields[i].bundle);
    }
    cr_assert_eq(pair_of_models_type.bytes, 2 * sizeof(model));
    cr_assert_eq(single_type.n_fields, 1);
    cr_assert_eq(many_type.n_fields, 32);
    cr_assert_eq(many_type.bytes, 33 * sizeof(tg_variable *));
    cr_assert_str_eq(many_type.fields[31].name, "m32");
    cr_assert_eq(many_type.fields[31].bundle, &layer_type);
}

static layer layer_create(tg_context *ctx, double weights, double bias)
{
    tg_variable_options options = TG_VARIABLE_OPTIONS_INIT;
    options.untrainable = bias == 0;
    return (layer){tg_variable_create(ctx, "weights", TG_F32, TG_DIMS(2),
                                      tg_fill(weights)),
                   tg_variable_create_with(ctx, "bias", TG_F32, TG_SCALAR,
                                           tg_fill(bias), &options)};
}

/* The bias of the second layer is not trainable. */
static model model_create(tg_context *ctx)
{
    return (model){layer_create(ctx, 2, 1), layer_create(ctx, 3, 0),
                   f32_scalar_variable(ctx, "temperature", 10)};
}

Test(bundle, lists_counts_and_release_follow_the_definition)
{
    session s;
    session_begin(&s);
    pair_of_models p = {model_create(s.ctx), model_create(s.ctx)};
    tg_variable *list[10];
    cr_assert_eq(tg_bundle_variables(&pair_of_models_type, &p,
                                     TG_ALL_VARIABLES, list, 10),
                 10);
    cr_assert_eq(list[0], p.left.first.weights);
    cr_assert_eq(list[3], p.left.second.bias);
    cr_assert_eq(list[9], p.right.temperature);
    cr_assert_eq(tg_bundle_count(&pair_of_models_type, &p, TG_ALL_VARIABLES),
                 14);
    cr_assert_eq(tg_bundle_count(&pair_of_models_type, &p, TG_TRAINABLE), 12);
    tg_bundle_release(&pair_of_models_type, &p);
    cr_assert_null(p.right.second.weights);
    session_end(&s);
}

/* -- Gradients ------------------------------------------------------------- */

static tg_value apply_layer(const layer *l, tg_value x)
{
    return tg_add(tg_mul(x, l->weights), l->bias);
}

/* One step of descent by the whole bundle, an argument. */
static void train(tg_trace *t, const tg_value *in, void *user)
{
    const model *m = tg_bundle_argument(t, 1, &model_type);
    tg_variable *v[5];
    tg_value g[5];
    (void)user;
    if (!m)
        return;
    tg_value y = apply_layer(&m->second, apply_layer(&m->first, in[0]));
    tg_value loss = tg_sum(tg_mul(y, m->temperature), TG_ALL_AXES);
    const size_t n = tg_bundle_gradients(loss, &model_type, m, v, g, 5);
    cr_assert_eq(n, 4); /* one bias is not trainable */
    for (size_t i = 0; i < n; i++)
        tg_assign_sub(v[i], g[i]);
    tg_return(t, loss);
}

/* x = 1, 2: y = 3 (2 x + 1) = 9, 15; loss = 240. */
static void check_training(session *s)
{
    model m = model_create(s->ctx);
    tg_function *f = tg_function_create(s->ctx, train, NULL, NULL);
    tg_tensor *x = f32_vector(s->ctx, 1, 2);
    float loss = 0;
    check_works(tg_call(f, TG_ARGS(x, tg_bundle_of(&model_type, &m)),
                        TG_RESULTS(&loss)));
    cr_assert_eq(loss, 240);
    check_variable(m.first.weights, 2 - 10 * 3 * 1, 2 - 10 * 3 * 2);
    check_variable(m.first.bias, 1 - 10 * (3 + 3));
    check_variable(m.second.weights, 3 - 10 * 3, 3 - 10 * 5);
    check_variable(m.second.bias, 0);
    check_variable(m.temperature, 10 - 24);
    tg_tensor_release(x);
    tg_function_release(f);
    tg_bundle_release(&model_type, &m);
}

Test(bundle, gradients_of_a_whole_bundle_train_it)
{
    in_modes(check_training);
}

typedef struct attempt {
    model m;
    int which;
} attempt;

static void gradients_wrongly(tg_trace *t, const tg_value *in, void *user)
{
    attempt *a = user;
    tg_variable *v[5];
    tg_value g[5];
    tg_value y = tg_mul(in[0], a->m.temperature);
    size_t n = 7;
    switch (a->which) {
    case 0:
        n = tg_bundle_gradients(y, &model_type, &a->m, v, g, 3);
        break;
    case 1:
        n = tg_bundle_gradients(y, &model_type, NULL, v, g, 5);
        break;
    case 2:
        n = tg_bundle_gradients(y, NULL, &a->m, v, g, 5);
        break;
    case 3:
        n = tg_bundle_gradients(y, &model_type, &a->m, v, NULL, 5);
        break;
    case 4:
        /* Only one variable is connected. */
        n = tg_bundle_gradients(y, &model_type, &a->m, v, g, 5);
        cr_assert_eq(n, 4);
        cr_assert_not(tg_is_valid(g[0]));
        cr_assert_str_not_empty(tg_gradient_reason(g[0]));
        cr_assert(tg_is_valid(g[3]));
        cr_assert_eq(v[3], a->m.temperature);
        tg_return(t, g[3]);
        return;
    }
    cr_assert_eq(n, 0);
}

Test(bundle, gradients_of_a_bundle_report_wrong_use)
{
    static const char *const messages[] = {
        ("bundle_gradients: bundle 'model' has 4 trainable variables, but "
         "there is room for 3"),
        "bundle_gradients: the bundle is NULL",
        "bundle_gradients: the bundle's type is NULL",
        "there is room for 0"};
    session s;
    session_begin(&s);
    attempt a = {model_create(s.ctx), 0};
    for (a.which = 0; a.which < 5; a.which++) {
        tg_function *f =
            tg_function_create(s.ctx, gradients_wrongly, &a, NULL);
        float g = 0;
        const tg_status status =
            tg_call(f, TG_ARGS(6.0f), TG_RESULTS(&g));
        if (a.which < 4)
            check_fails(status, TG_ERROR_INVALID_ARGUMENT, messages[a.which],
                        "test_bundle_define.c:");
        else
            check_works(status);
        cr_assert_eq(g, a.which < 4 ? 0 : 6);
        tg_function_release(f);
    }
    tg_variable *v[5];
    tg_value g[5];
    cr_assert_eq(tg_bundle_gradients(1.0, &model_type, &a.m, v, g, 5), 0);
    check_record(TG_ERROR_TRACE, "bundle_gradients");
    tg_bundle_release(&model_type, &a.m);
    session_end(&s);
}
