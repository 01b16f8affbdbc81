/* SPDX-License-Identifier: MIT */
/*
 * cxx_tour.cpp - the interface in C++17: a bundle of variables from a scope, a
 * training step, lambdas as callbacks, and errors. Lists are written in braces;
 * TG_ARGS, TG_RESULTS and TG_DIMS work as in C.
 */
#include <cstdio>
#include <vector>

#include <tgjit.h>

TG_DEFINE_BUNDLE(layer, weights, bias)
TG_DEFINE_BUNDLE(model, (layer, hidden), (layer, out))

static layer layer_get(tg_context *ctx, const char *name, int64_t n_in,
                       int64_t n_out)
{
    tg_scope_push(ctx, name, TG_REUSE_AUTO);
    layer l = {tg_get_variable(ctx, "weights", TG_F32, {n_in, n_out},
                               tg_glorot()),
               tg_get_variable(ctx, "bias", TG_F32, {n_out}, tg_zeros())};
    tg_scope_pop(ctx);
    return l;
}

static tg_value apply(const layer &l, tg_value x)
{
    return tg_add(tg_matmul(x, l.weights), l.bias);
}

/* One step of gradient descent; in: x, y. */
static void step(tg_trace *t, const tg_value *in, void *user)
{
    const model *m = static_cast<const model *>(user);
    tg_value y = apply(m->out, tg_tanh(apply(m->hidden, in[0])));
    tg_value loss = tg_mean(tg_square(tg_sub(y, in[1])), TG_ALL_AXES);
    tg_variable *v[4];
    tg_value g[4];
    const size_t n = tg_bundle_gradients(loss, &model_type, m, v, g, 4);
    for (size_t i = 0; i < n; i++)
        tg_assign_sub(v[i], tg_mul(g[i], 0.1));
    tg_return(t, loss, y);
}

int main()
{
    TG_AUTO(tg_context) ctx = tg_context_create(nullptr);
    model m = {layer_get(ctx, "hidden", 1, 8), layer_get(ctx, "out", 8, 1)};
    printf("%lld parameters, the first ones are %s\n",
           (long long)tg_bundle_count(&model_type, &m, TG_TRAINABLE),
           tg_variable_name(m.hidden.weights));

    std::vector<float> points(16), squares(16);
    for (int i = 0; i < 16; i++) {
        points[i] = (float)i / 8 - 1;
        squares[i] = points[i] * points[i];
    }
    TG_AUTO(tg_tensor) x = tg_tensor_wrap(ctx, points.data(), TG_F32, {16, 1});
    TG_AUTO(tg_tensor) y = tg_tensor_wrap(ctx, squares.data(), TG_F32, {16, 1});
    TG_AUTO(tg_function) train = tg_function_create(
        ctx, step, &m,
        TG_SIGNATURE(TG_SPEC(TG_F32, TG_UNKNOWN, 1),
                     TG_SPEC(TG_F32, TG_UNKNOWN, 1)));
    TG_AUTO(tg_tensor) fitted = nullptr;
    float first = 0, last = 0;
    if (tg_call(train, {x, y}, {&first}))
        return fprintf(stderr, "%s\n", tg_error(ctx)) != 0;
    for (int i = 0; i < 3000; i++)
        if (tg_call(train, TG_ARGS(x, y), TG_RESULTS(&last, TG_FRESH(&fitted))))
            return fprintf(stderr, "%s\n", tg_error(ctx)) != 0;
    printf("the loss fell by more than 90 %%: %s\n",
           last < first / 10 ? "yes" : "no");
    printf("fitted is %s\n", tg_tensor_format(fitted, "%t"));

    /* A lambda without captures is a callback. */
    TG_AUTO(tg_function) centre = tg_function_create_named(
        ctx, "centre",
        [](tg_trace *t, const tg_value *in, void *) {
            tg_value part = tg_slice_axes(in[0], {6, 0}, {10, TG_END});
            tg_return(t, tg_reshape(part, {-1}));
        },
        nullptr, nullptr);
    TG_AUTO(tg_tensor) part = nullptr;
    if (tg_call(centre, {x}, {&part}))
        return fprintf(stderr, "%s\n", tg_error(ctx)) != 0;
    printf("the centre of x is %s\n", tg_tensor_text(part));

    /* Errors are values. */
    double wrong = 0;
    if (tg_call(train, {x, y}, {&wrong}) == TG_ERROR_DTYPE)
        printf("a double cannot receive an f32\n");
}
