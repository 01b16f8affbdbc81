/* SPDX-License-Identifier: MIT */
/*
 * case_gradients.c - cases with gradients: training steps, which update their
 * variables in place, and the backward pass of a loop.
 */
#include "cases.h"

/* One step of gradient descent. Returns the loss and variable number `returned`
   after the step. */
static void train(tg_trace *t, tg_value loss, const tg_value *variables, int n,
                  int returned)
{
    tg_value gradients[KERNEL_INPUTS], after = loss;
    tg_gradients(loss, variables, (size_t)n, gradients);
    for (int i = 0; i < n; i++) {
        const tg_value by = tg_mul(gradients[i], TRAIN_RATE);
        const tg_value now = tg_assign_sub(variables[i], by);
        if (i == returned)
            after = now;
    }
    tg_return(t, loss, after);
}

/* -- mlp: 784-256-128-10 --------------------------------------------------- */

static void trace_mlp_train(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    const tg_value labels = tg_cast(in[1], TG_I64), *parameters = in + 2;
    const tg_value logits = mlp_of(in[0], parameters);
    train(t, tg_mean(tg_softmax_cross_entropy(logits, labels), TG_ALL_AXES),
          parameters, 6, 1);
}

const tensor_case mlp_train_case = {
    .callback = trace_mlp_train,
    .kernels = {[BACKEND_C] = plain_mlp_train,
                [BACKEND_OPENBLAS] = openblas_mlp_train},
    .inputs =
        {INPUT(TG_F32, SHAPE(ROWS, MLP_IN), 0, 1),
         INPUT_INDEX(SHAPE(ROWS), MLP_OUT),
         INPUT_VARIABLE(TG_F32, SHAPE(MLP_IN, MLP_FIRST), -0.1, 0.1),
         INPUT_VARIABLE(TG_F32, SHAPE(MLP_FIRST), -0.1, 0.1),
         INPUT_VARIABLE(TG_F32, SHAPE(MLP_FIRST, MLP_SECOND), -0.1, 0.1),
         INPUT_VARIABLE(TG_F32, SHAPE(MLP_SECOND), -0.1, 0.1),
         INPUT_VARIABLE(TG_F32, SHAPE(MLP_SECOND, MLP_OUT), -0.1, 0.1),
         INPUT_VARIABLE(TG_F32, SHAPE(MLP_OUT), -0.1, 0.1)},
    .results = {{TG_F32, SHAPE_SCALAR}, {TG_F32, SHAPE(MLP_FIRST)}},
    .scratch = SHAPE(ROWS, 2 * MLP_FIRST + 2 * MLP_SECOND + MLP_OUT),
    .absolute = 1e-5,
    .relative = 1e-5,
    .has_state = true,
    .expression = "mlp_train",
    .engines = ENGINES_GRADIENT,
};

const case_size mlp_train_sizes[] = {
    SIZE_PRODUCT("mlp", 0, 64, MLP_IN, MLP_OUT, SIZE_BY_DEFAULT),
    SIZE_PRODUCT("mlp_1", 0, 1, MLP_IN, MLP_OUT, SIZE_IN_CHECK),
    SIZE_PRODUCT("mlp_7", 0, 7, MLP_IN, MLP_OUT, SIZE_IN_CHECK),
    SIZES_END,
};

/* -- cnn_train: 28x28x1, 32 and 64 filters, 10 classes --------------------- */

/* Forward and backward; the gradient of the images is not needed. */
double cnn_count(const case_size *size)
{
    const double points = CNN_SIDE * CNN_SIDE, taps = CONV_WINDOW * CONV_WINDOW;
    return (double)size->rows *
           (2 * points * taps * CNN_FIRST +
            3 * points / 4 * taps * CNN_FIRST * CNN_SECOND +
            3 * CNN_FEATURES * CNN_OUT);
}

static tg_value conv_layer(tg_value x, const tg_value *layer)
{
    const tg_value y = tg_conv2d(x, layer[0], .padding = TG_PADDING_SAME);
    return tg_max_pool(tg_relu(tg_add(y, layer[1])), .window = {2, 2});
}

static void trace_cnn_train(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    const tg_value labels = tg_cast(in[1], TG_I64), *parameters = in + 2;
    const tg_value x = conv_layer(conv_layer(in[0], parameters),
                                  parameters + 2);
    const tg_value features =
        tg_reshape(x, TG_DIMS(tg_value_dim(x, 0), CNN_FEATURES));
    const tg_value logits =
        tg_add(tg_matmul(features, parameters[4]), parameters[5]);
    train(t, tg_mean(tg_softmax_cross_entropy(logits, labels), TG_ALL_AXES),
          parameters, 6, 0);
}

#define CNN_FILTERS(n_in, n_out) SHAPE(CONV_WINDOW, CONV_WINDOW, n_in, n_out)

const tensor_case cnn_train_case = {
    .callback = trace_cnn_train,
    .kernels = {[BACKEND_C] = plain_cnn_train},
    .inputs =
        {INPUT(TG_F32, SHAPE(ROWS, CNN_SIDE, CNN_SIDE, 1), 0, 1),
         INPUT_INDEX(SHAPE(ROWS), CNN_OUT),
         INPUT_VARIABLE(TG_F32, CNN_FILTERS(1, CNN_FIRST), -0.1, 0.1),
         INPUT_VARIABLE(TG_F32, SHAPE(CNN_FIRST), -0.1, 0.1),
         INPUT_VARIABLE(TG_F32, CNN_FILTERS(CNN_FIRST, CNN_SECOND), -0.1, 0.1),
         INPUT_VARIABLE(TG_F32, SHAPE(CNN_SECOND), -0.1, 0.1),
         INPUT_VARIABLE(TG_F32, SHAPE(CNN_FEATURES, CNN_OUT), -0.1, 0.1),
         INPUT_VARIABLE(TG_F32, SHAPE(CNN_OUT), -0.1, 0.1)},
    .results = {{TG_F32, SHAPE_SCALAR}, {TG_F32, CNN_FILTERS(1, CNN_FIRST)}},
    .scratch = SHAPE(ROWS, CNN_TEMPORARIES),
    .absolute = 1e-5,
    .relative = 1e-4,
    .has_state = true,
    .expression = "cnn_train",
    .engines = ENGINES_GRADIENT,
};

const case_size cnn_sizes[] = {
    SIZE_TIMED("32", 32, CNN_OUT),
    SIZE_CHECKED("1", 1, CNN_OUT),
    SIZE_CHECKED("3", 3, CNN_OUT),
    SIZES_END,
};

/* -- logistic: logistic regression ----------------------------------------- */

static void trace_logistic_train(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    const tg_value labels = in[1], *parameters = in + 2;
    const tg_value z = tg_add(tg_matmul(in[0], parameters[0]), parameters[1]);
    train(t, tg_mean(tg_sub(tg_softplus(z), tg_mul(labels, z)), TG_ALL_AXES),
          parameters, 2, 0);
}

const tensor_case logistic_train_case = {
    .callback = trace_logistic_train,
    .kernels = {[BACKEND_C] = plain_logistic_train},
    .inputs = {INPUT(TG_F32, SHAPE_WHOLE, -1, 1),
               INPUT(TG_F32, SHAPE(ROWS), 0, 1),
               INPUT_VARIABLE(TG_F32, SHAPE(COLUMNS), -1, 1),
               INPUT_VARIABLE(TG_F32, SHAPE_SCALAR, 0.5, 0.5)},
    .results = {{TG_F32, SHAPE_SCALAR}, {TG_F32, SHAPE(COLUMNS)}},
    .absolute = 1e-5,
    .relative = 1e-5,
    .has_state = true,
    .expression = "logistic_train",
    .engines = ENGINES_GRADIENT,
};

const case_size logistic_train_sizes[] = {
    SIZE_TIMED("logistic", 8192, 128),
    SIZE_CHECKED("logistic_1", 1, 1),
    SIZE_CHECKED("logistic_37", 37, 19),
    SIZES_END,
};

/* -- scan_3x3: the gradient of a sum over all iterations ------------------- */

static void trace_scan_gradient(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    tg_value last, gradients[3];
    const tg_value all = scan_of(in, &last);
    tg_gradients(tg_square(all), in, 3, gradients);
    tg_return(t, gradients[0], gradients[1], gradients[2]);
}

const tensor_case scan_gradient_case = {
    .callback = trace_scan_gradient,
    .kernels = {[BACKEND_C] = plain_scan_3x3_gradient},
    .inputs = {INPUT(TG_F32, SHAPE_WHOLE, -1, 1),
               INPUT(TG_F32, SHAPE(3, 3), -1, 1),
               INPUT(TG_F32, SHAPE(3, 3), -0.3, 0.3)},
    .results = {{TG_F32, SHAPE_WHOLE},
                {TG_F32, SHAPE(3, 3)},
                {TG_F32, SHAPE(3, 3)}},
    .scratch = SHAPE(COLUMNS, 3, 3),
    .absolute = 1e-4,
    .relative = 1e-4,
    .expression = "scan_3x3_gradient",
    .engines = ENGINE(BACKEND_JAX),
};

/* -- adam: one update of parameters with their moments --------------------- */

/* x + (to - x) * by, assigned to x. */
static tg_value approach(tg_value x, tg_value to, float by)
{
    return tg_assign(x, tg_add(x, tg_mul(tg_sub(to, x), by)));
}

/* in: parameters, both moments, the number of updates so far, the gradient. */
static void trace_adam(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    const tg_value g = in[4], n = tg_assign_add(in[3], 1);
    const tg_value m = approach(in[1], g, 1 - ADAM_BETA_1);
    const tg_value v = approach(in[2], tg_square(g), 1 - ADAM_BETA_2);
    const tg_value rate =
        tg_div(TRAIN_RATE, tg_sub(1, tg_pow(ADAM_BETA_1, n)));
    const tg_value scale = tg_div(1, tg_sub(1, tg_pow(ADAM_BETA_2, n)));
    const tg_value by = tg_div(
        tg_mul(rate, m), tg_add(tg_sqrt(tg_mul(scale, v)), ADAM_EPSILON));
    const tg_value p = tg_assign_sub(in[0], by);
    tg_return(t, tg_slice(p, 0, -ADAM_SHOWN, TG_END, 1));
}

const tensor_case adam_case = {
    .callback = trace_adam,
    .kernels = {[BACKEND_C] = plain_adam},
    .inputs = {INPUT_VARIABLE(TG_F32, SHAPE(COLUMNS), -1, 1),
               INPUT_VARIABLE(TG_F32, SHAPE(COLUMNS), -0.1, 0.1),
               INPUT_VARIABLE(TG_F32, SHAPE(COLUMNS), 0.01, 0.1),
               INPUT_VARIABLE(TG_F32, SHAPE_SCALAR, 2, 2),
               INPUT(TG_F32, SHAPE(COLUMNS), -1, 1)},
    .results = {{TG_F32, SHAPE(ADAM_SHOWN)}},
    .absolute = 1e-5,
    .relative = 1e-5,
    .has_state = true,
    .expression = "adam",
    .engines = ENGINES_GRADIENT | ENGINE(BACKEND_NUMPY) |
               ENGINE(BACKEND_NUMBA),
};

const case_size adam_sizes[] = {
    SIZE_TIMED("1e6", 0, 1000000),
    SIZE_CHECKED("16", 0, 16),
    SIZE_CHECKED("1001", 0, 1001),
    SIZES_END,
};

/* -- momentum: one update by gradient descent with momentum ---------------- */

/* in: parameters, the momentum, the gradient. */
static void trace_momentum(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    const tg_value m = tg_assign(in[1], tg_add(tg_mul(in[1], MOMENTUM), in[2]));
    const tg_value p = tg_assign_sub(in[0], tg_mul(m, TRAIN_RATE));
    tg_return(t, tg_slice(p, 0, -ADAM_SHOWN, TG_END, 1));
}

const tensor_case momentum_case = {
    .callback = trace_momentum,
    .kernels = {[BACKEND_C] = plain_momentum},
    .inputs = {INPUT_VARIABLE(TG_F32, SHAPE(COLUMNS), -1, 1),
               INPUT_VARIABLE(TG_F32, SHAPE(COLUMNS), -0.1, 0.1),
               INPUT(TG_F32, SHAPE(COLUMNS), -1, 1)},
    .results = {{TG_F32, SHAPE(ADAM_SHOWN)}},
    .absolute = 1e-5,
    .relative = 1e-5,
    .has_state = true,
};
