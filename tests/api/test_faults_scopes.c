/* SPDX-License-Identifier: MIT */
/*
 * test_faults_scopes.c - fault injection, as in test_faults.c, for scopes,
 * tg_get_variable, initialisers, result slots, host access, bundles and
 * operations on several axes.
 */
#include "support/api.h"

TG_DEFINE_BUNDLE(layer, weights, bias)
TG_DEFINE_BUNDLE(model, (layer, first), (layer, second))

static tg_context *context_create(void)
{
    tg_context_options options = TG_CONTEXT_OPTIONS_INIT;
    options.jit = "off";
    return tg_context_create(&options);
}

/* -- Scopes ---------------------------------------------------------------- */

static bool scope_scenario(void)
{
    TG_AUTO(tg_context) ctx = context_create();
    if (!ctx)
        return false;
    bool good = true;
    for (int i = 0; i < 2 && good; i++) {
        if (tg_scope_push(ctx, "outer/inner", TG_REUSE_AUTO))
            return false;
        good = !tg_scope_push_default(ctx, "layer", TG_REUSE_OFF);
        if (good) {
            good = tg_get_variable(ctx, "weights", TG_F32, TG_DIMS(3, 2),
                                   tg_glorot()) &&
                   tg_get_variable(ctx, "bias", TG_F32, TG_DIMS(2),
                                   tg_zeros()) &&
                   strstr(tg_scope_name(ctx), "layer");
            if (tg_scope_pop(ctx))
                return false;
        }
        if (tg_scope_pop(ctx))
            return false;
    }
    return good && *tg_scope_name(ctx) == '\0';
}

Test(faults, scopes_and_their_variables)
{
    check_every_fault(scope_scenario);
}

static void use_scope(tg_trace *t, const tg_value *in, void *user)
{
    tg_context *ctx = user;
    tg_scope_push(ctx, "norm", TG_REUSE_AUTO);
    tg_variable *scale =
        tg_get_variable(ctx, "scale", TG_F32, TG_SCALAR, tg_normal(0, 1));
    tg_variable *calls =
        tg_get_variable(ctx, "calls", TG_I64, TG_SCALAR, tg_zeros());
    tg_scope_pop(ctx);
    if (!scale || !calls)
        return;
    tg_assign_add(calls, 1);
    tg_return(t, tg_mul(in[0], scale));
}

static bool traced_scope_scenario(void)
{
    TG_AUTO(tg_context) ctx = context_create();
    TG_AUTO(tg_function) f =
        ctx ? tg_function_create(ctx, use_scope, ctx, NULL) : NULL;
    TG_AUTO(tg_function) g =
        f ? tg_function_create(ctx, use_scope, ctx, NULL) : NULL;
    float y;
    return g && !tg_call(f, TG_ARGS(2.0f), TG_RESULTS(&y)) &&
           !tg_call(g, TG_ARGS(2.0f), TG_RESULTS(&y)) &&
           !tg_call(f, TG_ARGS(2), TG_RESULTS());
}

Test(faults, scopes_inside_callbacks)
{
    check_every_fault(traced_scope_scenario);
}

/* -- Initialisers ---------------------------------------------------------- */

static bool initialiser_scenario(void)
{
    static const float data[6] = {1, 2, 3, 4, 5, 6};
    const tg_initial initials[] = {
        tg_zeros(), tg_ones(), tg_fill(0.5), tg_from_data(data),
        tg_uniform(-1, 1), tg_normal(0, 1), tg_truncated_normal(0, 1),
        tg_glorot(), tg_he_normal(), tg_lecun(), tg_orthogonal(1)};
    TG_AUTO(tg_context) ctx = context_create();
    bool good = ctx != NULL;
    for (size_t i = 0; good && i < sizeof initials / sizeof *initials; i++) {
        TG_AUTO(tg_variable) v = tg_variable_create(
            ctx, "v", TG_F32, TG_DIMS(3, 2), initials[i]);
        TG_AUTO(tg_tensor) x =
            tg_tensor_create(ctx, TG_F32, TG_DIMS(2, 3), initials[i]);
        good = v && x;
    }
    return good;
}

Test(faults, initialisers)
{
    check_every_fault(initialiser_scenario);
}

/* -- Host access ----------------------------------------------------------- */

static bool text_scenario(void)
{
    TG_AUTO(tg_context) ctx = context_create();
    TG_AUTO(tg_tensor) x =
        ctx ? tg_tensor_create(ctx, TG_F32, TG_DIMS(9, 9), tg_fill(0.125))
            : NULL;
    TG_AUTO(tg_variable) v =
        x ? tg_variable_create(ctx, "v", TG_F32, TG_DIMS(9, 9), tg_zeros())
          : NULL;
    float element;
    /* A failure returns "", and the previous text remains valid. */
    return v && *tg_tensor_text(x) && *tg_tensor_format(x, "%t %v %t") &&
           *tg_tensor_text(x) && !tg_tensor_get(x, &element, 8, 8) &&
           !tg_variable_assign(v, x) && !tg_variable_assign(v, 2);
}

Test(faults, texts_and_assignments_of_the_host)
{
    check_every_fault(text_scenario);
}

/* -- Result slots ---------------------------------------------------------- */

static void sum_and_double(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    tg_return(t, tg_sum(in[0], TG_ALL_AXES), tg_mul(in[0], 2));
}

static bool slot_scenario(void)
{
    TG_AUTO(tg_context) ctx = context_create();
    TG_AUTO(tg_function) f =
        ctx ? tg_function_create(ctx, sum_and_double, NULL,
                                 TG_SIGNATURE(TG_SPEC(TG_F32, TG_UNKNOWN)))
            : NULL;
    TG_AUTO(tg_tensor) x = f ? f32_vector(ctx, 1, 2, 3) : NULL;
    TG_AUTO(tg_tensor) last = x ? f32_vector(ctx, 4) : NULL;
    TG_AUTO(tg_tensor) y = NULL;
    float sum = 0;
    if (!last || tg_call(f, TG_ARGS(x), TG_RESULTS(&sum, TG_FRESH(&y))))
        return false;
    const tg_tensor *const before = y;
    if (tg_call(f, TG_ARGS(last), TG_RESULTS(&sum, TG_FRESH(&y)))) {
        cr_assert(y == before && sum == 6, "a failure changes no slot");
        return false;
    }
    TG_AUTO(tg_bound) b =
        tg_bind(f, TG_ARGS(x), TG_RESULTS(&sum, TG_FRESH(&y)));
    return b && !tg_run(b) && sum == 6;
}

Test(faults, result_slots)
{
    check_every_fault(slot_scenario);
}

/* -- Bundles and axes ------------------------------------------------------ */

static void train(tg_trace *t, const tg_value *in, void *user)
{
    const model *m = tg_bundle_argument(t, 1, &model_type);
    tg_variable *v[4];
    tg_value g[4];
    (void)user;
    if (!m)
        return;
    tg_value y = tg_add(tg_mul(in[0], m->first.weights), m->first.bias);
    y = tg_add(tg_mul(y, m->second.weights), m->second.bias);
    y = tg_slice_axes(y, TG_DIMS(1, 0), TG_DIMS(TG_END, 2));
    y = tg_pad_axes(y, TG_DIMS(1, 1), TG_DIMS(0, 1), 0);
    y = tg_dynamic_update_slice_axes(
        y, tg_dynamic_slice_axes(y, TG_ARGS(1, 0), TG_DIMS(1, 2)),
        TG_ARGS(0, in[2]));
    tg_print(t, "%t", y);
    tg_value loss = tg_sum(tg_square(y), TG_ALL_AXES);
    const size_t n = tg_bundle_gradients(loss, &model_type, m, v, g, 4);
    for (size_t i = 0; i < n; i++)
        tg_assign_sub(v[i], g[i]);
    tg_return(t, loss);
}

static void ignore_print(const char *text, void *user)
{
    (void)text, (void)user;
}

static bool bundle_scenario(void)
{
    tg_context_options options = TG_CONTEXT_OPTIONS_INIT;
    options.jit = "off";
    options.print_callback = ignore_print;
    TG_AUTO(tg_context) ctx = tg_context_create(&options);
    TG_AUTO(tg_function) f =
        ctx ? tg_function_create(ctx, train, NULL, NULL) : NULL;
    TG_AUTO(tg_tensor) x =
        f ? tg_tensor_create(ctx, TG_F32, TG_DIMS(3, 3), tg_ones()) : NULL;
    model m = {{NULL, NULL}, {NULL, NULL}};
    tg_variable **members[] = {&m.first.weights, &m.first.bias,
                               &m.second.weights, &m.second.bias};
    bool good = x != NULL;
    for (int i = 0; i < 4 && good; i++)
        good = (*members[i] = tg_variable_create(ctx, "v", TG_F32, TG_DIMS(3),
                                                 tg_fill(i)));
    float loss;
    good = good && !tg_call(f, TG_ARGS(x, tg_bundle_of(&model_type, &m), 1),
                            TG_RESULTS(&loss));
    tg_bundle_release(&model_type, &m);
    return good;
}

Test(faults, bundles_and_several_axes)
{
    check_every_fault(bundle_scenario);
}
