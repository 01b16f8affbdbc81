/* SPDX-License-Identifier: MIT */
/*
 * test_onnx.c - importing models: functions, variables, shapes, control flow and
 * local functions. onnx-suite tests operators, test_onnx_damage what is wrong
 * with files.
 */
#include "onnx/onnx_models.h"
#include "support/api.h"
#include "tgjit/onnx.h"

static tg_onnx_model *parse(tg_context *ctx, const proto *m,
                            const tg_onnx_options *options)
{
    tg_onnx_model *x = tg_onnx_parse(ctx, "m.onnx", m->data, m->n, options);
    cr_assert_not_null(x, "%s", tg_error(NULL));
    return x;
}

static const float dense_in[] = {1, 2, -1, 1};
static const float dense_out[] = {2.5f, 1, 7, 0, 2, 0};

static void check_dense(tg_onnx_model *m, tg_tensor *x)
{
    tg_tensor *y = NULL;
    check_works(tg_call(tg_onnx_function(m), TG_ARGS(x), TG_RESULTS(&y)));
    cr_assert_eq(memcmp(tg_tensor_data(y), dense_out, sizeof(dense_out)), 0,
                 "%s", tg_tensor_text(y));
    tg_tensor_release(y);
}

Test(onnx, a_model_is_a_function)
{
    session s;
    session_begin(&s);
    const proto bytes = dense_model();
    tg_onnx_model *m = parse(s.ctx, &bytes, NULL);
    tg_tensor *x = tg_tensor_copy(s.ctx, dense_in, TG_F32, TG_DIMS(2, 2));
    cr_assert_eq(tg_onnx_input_count(m), 1);
    cr_assert_str_eq(tg_onnx_input_name(m, 0), "x");
    cr_assert_eq(tg_onnx_input_spec(m, 0)->dims[0], TG_SAME(1));
    cr_assert_eq(tg_onnx_input_spec(m, 0)->dims[1], 2);
    cr_assert_eq(tg_onnx_output_count(m), 1);
    cr_assert_str_eq(tg_onnx_output_name(m, 0), "y");
    cr_assert_eq(tg_onnx_node_count(m), 2);
    cr_assert_str_eq(tg_onnx_node_operator(m, 1), "Relu");
    cr_assert_null(tg_onnx_node_operator(m, 2));
    cr_assert_null(tg_onnx_input_name(m, 1));
    check_dense(m, x);
    tg_tensor_release(x);
    tg_onnx_model_release(m);
    session_end(&s);
}

Test(onnx, initializers_are_variables_or_constants)
{
    session s;
    session_begin(&s);
    const proto bytes = dense_model();
    tg_onnx_options options = TG_ONNX_OPTIONS_INIT;
    tg_variable *all[4];
    options.prefix = "net/";
    tg_onnx_model *m = parse(s.ctx, &bytes, &options);
    cr_assert_eq(tg_onnx_variables(m, TG_TRAINABLE, all, 4), 2);
    cr_assert_eq(tg_onnx_variable(m, "w"), all[0]);
    cr_assert_str_eq(tg_variable_name(all[1]), "net/b");
    cr_assert_null(tg_onnx_variable(m, "x"));
    options.weights = TG_ONNX_CONSTANTS;
    tg_onnx_model *constant = parse(s.ctx, &bytes, &options);
    cr_assert_eq(tg_onnx_variables(constant, TG_ALL_VARIABLES, all, 4), 0);
    tg_tensor *x = tg_tensor_copy(s.ctx, dense_in, TG_F32, TG_DIMS(2, 2));
    check_dense(constant, x);
    tg_tensor_release(x);
    tg_onnx_model_release(constant);
    tg_onnx_model_release(m);
    session_end(&s);
}

/* One step towards the targets in[1], by the gradient of the model. */
static void train(tg_trace *t, const tg_value *in, void *user)
{
    tg_onnx_model *m = user;
    tg_value y, gradients[2];
    tg_variable *all[2];
    tg_apply(tg_onnx_function(m), TG_ARGS(in[0]), &y, 1);
    const tg_value loss = tg_mean_squared_error(y, in[1]);
    tg_onnx_variables(m, TG_TRAINABLE, all, 2);
    tg_gradients(loss, all, 2, gradients);
    for (int i = 0; i < 2; i++)
        tg_assign_sub(all[i], tg_mul(gradients[i], 0.05));
    tg_return(t, loss);
}

Test(onnx, an_imported_model_is_fine_tuned)
{
    session s;
    session_begin(&s);
    const proto bytes = dense_model();
    static const float targets[] = {3, 2, 5, 0, 1, 0};
    tg_onnx_model *m = parse(s.ctx, &bytes, NULL);
    tg_tensor *x = tg_tensor_copy(s.ctx, dense_in, TG_F32, TG_DIMS(2, 2));
    tg_tensor *y = tg_tensor_copy(s.ctx, targets, TG_F32, TG_DIMS(2, 3));
    tg_function *f = tg_function_create(s.ctx, train, m, NULL);
    float first = 0, last = 0;
    check_works(tg_call(f, TG_ARGS(x, y), TG_RESULTS(&first)));
    for (int i = 0; i < 200; i++)
        check_works(tg_call(f, TG_ARGS(x, y), TG_RESULTS(&last)));
    cr_assert_lt(last, 0.1f * first);
    tg_function_release(f);
    tg_tensor_release(x);
    tg_tensor_release(y);
    tg_onnx_model_release(m);
    session_end(&s);
}

/* -- Shapes ---------------------------------------------------------------- */

Test(onnx, one_trace_serves_unknown_extents)
{
    session s;
    session_begin(&s);
    const proto bytes = shape_chain();
    tg_onnx_model *m = parse(s.ctx, &bytes, NULL);
    for (int n = 2; n < 5; n++) {
        tg_tensor *x =
            tg_tensor_create(s.ctx, TG_F32, TG_DIMS(n, n, 3), tg_ones());
        tg_tensor *y = NULL;
        check_works(tg_call(tg_onnx_function(m), TG_ARGS(x), TG_RESULTS(&y)));
        cr_assert_eq(tg_tensor_rank(y), 2);
        cr_assert_eq(tg_tensor_dims(y)[0], n);
        cr_assert_eq(tg_tensor_dims(y)[1], 3 * n);
        tg_tensor_release(x);
        tg_tensor_release(y);
    }
    cr_assert_eq(tg_function_trace_count(tg_onnx_function(m)), 1);
    tg_onnx_model_release(m);
    session_end(&s);
}

/* y = expand(one, shape(x) / 2) for x [n]. */
static proto half_model(void)
{
    static const float one = 1;
    proto g = {.n = 0};
    const proto scalar = tensor("one", MESSAGE_F32, 0, NULL, &one, sizeof(one));
    const proto shape = node("Shape", "x", "s");
    const proto half = node("Div", "s,two", "h");
    const proto expand = node("Expand", "one,h", "y");
    add_ints(&g, "two", 1, DIMS(2));
    add_initial(&g, &scalar);
    add_node(&g, &shape);
    add_node(&g, &half);
    add_node(&g, &expand);
    add_in(&g, "x", MESSAGE_F32, 1, DIMS(-1));
    add_out(&g, "y");
    return model(&g, 13);
}

Test(onnx, quotients_of_unknown_extents_are_rounded_down)
{
    session s;
    session_begin(&s);
    const proto bytes = half_model();
    tg_onnx_model *m = parse(s.ctx, &bytes, NULL);
    for (int n = 4; n < 8; n++) {
        tg_tensor *x = tg_tensor_create(s.ctx, TG_F32, TG_DIMS(n), tg_ones());
        tg_tensor *y = NULL;
        check_works(tg_call(tg_onnx_function(m), TG_ARGS(x), TG_RESULTS(&y)));
        cr_assert_eq(tg_tensor_count(y), n / 2);
        tg_tensor_release(x);
        tg_tensor_release(y);
    }
    cr_assert_eq(tg_function_trace_count(tg_onnx_function(m)), 1);
    tg_onnx_model_release(m);
    session_end(&s);
}

Test(onnx, an_input_that_decides_a_shape_is_set)
{
    session s;
    session_begin(&s);
    const proto bytes = reshape_by_input();
    tg_onnx_model *m = parse(s.ctx, &bytes, NULL);
    tg_tensor *x = tg_tensor_create(s.ctx, TG_F32, TG_DIMS(6), tg_ones());
    tg_tensor *shape =
        tg_tensor_copy(s.ctx, DIMS(2, 3), TG_I64, TG_DIMS(2));
    tg_tensor *y = NULL;
    cr_assert(!tg_onnx_input_is_shape(m, 0));
    cr_assert(tg_onnx_input_is_shape(m, 1));
    cr_assert_eq(
        tg_call(tg_onnx_function(m), TG_ARGS(x, shape), TG_RESULTS(&y)),
        TG_ERROR_UNSUPPORTED);
    cr_assert(strstr(tg_error(s.ctx), "m.onnx: Reshape 'n':0: input 1, 'shape'"),
              "%s", tg_error(s.ctx));
    cr_assert_eq(tg_onnx_set_input(m, 1, x), TG_ERROR_DTYPE);
    cr_assert_eq(tg_onnx_set_input(m, 2, x), TG_ERROR_INVALID_ARGUMENT);
    check_works(tg_onnx_set_input(m, 1, shape));
    check_works(tg_call(tg_onnx_function(m), TG_ARGS(x), TG_RESULTS(&y)));
    cr_assert_eq(tg_tensor_rank(y), 2);
    cr_assert_eq(tg_tensor_dims(y)[1], 3);
    tg_tensor_release(x);
    tg_tensor_release(y);
    tg_tensor_release(shape);
    tg_onnx_model_release(m);
    session_end(&s);
}

Test(onnx, an_argument_has_the_declared_type)
{
    session s;
    session_begin(&s);
    const proto bytes = dense_model();
    tg_onnx_options options = TG_ONNX_OPTIONS_INIT;
    tg_tensor *x = tg_tensor_create(s.ctx, TG_F32, TG_DIMS(2, 4), tg_ones());
    tg_tensor *y = NULL;
    for (int i = 0; i < 2; i++) {
        options.shapes = i ? TG_ONNX_EXACT : TG_ONNX_DECLARED;
        tg_onnx_model *m = parse(s.ctx, &bytes, &options);
        cr_assert_eq(tg_call(tg_onnx_function(m), TG_ARGS(x), TG_RESULTS(&y)),
                     TG_ERROR_SIGNATURE, "%s", tg_error(s.ctx));
        tg_onnx_model_release(m);
    }
    tg_tensor_release(x);
    session_end(&s);
}

/* -- Control flow ---------------------------------------------------------- */

Test(onnx, a_branch_is_taken_at_run_time)
{
    session s;
    session_begin(&s);
    const proto bytes = branch_model();
    tg_onnx_model *m = parse(s.ctx, &bytes, NULL);
    float y = 0;
    check_works(tg_call(tg_onnx_function(m), TG_ARGS((bool)true, 3.0f),
                     TG_RESULTS(&y)));
    cr_assert_eq(y, 6);
    check_works(tg_call(tg_onnx_function(m), TG_ARGS((bool)false, 3.0f),
                     TG_RESULTS(&y)));
    cr_assert_eq(y, -3);
    cr_assert_eq(tg_function_trace_count(tg_onnx_function(m)), 1);
    tg_onnx_model_release(m);
    session_end(&s);
}

Test(onnx, a_loop_ends_by_its_condition_or_its_count)
{
    session s;
    session_begin(&s);
    const proto bytes = loop_model();
    tg_onnx_model *m = parse(s.ctx, &bytes, NULL);
    float y = 0;
    check_works(tg_call(tg_onnx_function(m), TG_ARGS((int64_t)3, 1.0f),
                     TG_RESULTS(&y)));
    cr_assert_eq(y, 8);
    check_works(tg_call(tg_onnx_function(m), TG_ARGS((int64_t)30, 1.0f),
                     TG_RESULTS(&y)));
    cr_assert_eq(y, 128);
    tg_onnx_model_release(m);
    session_end(&s);
}

/* -- Local functions ------------------------------------------------------- */

Test(onnx, a_local_function_takes_attributes)
{
    session s;
    session_begin(&s);
    for (int i = 0; i < 2; i++) {
        const proto bytes = function_model(i);
        tg_onnx_model *m = parse(s.ctx, &bytes, NULL);
        float y = 0;
        check_works(tg_call(tg_onnx_function(m), TG_ARGS(-4.0f), TG_RESULTS(&y)));
        cr_assert_eq(y, i ? -1 : -2, "%g", (double)y);
        tg_onnx_model_release(m);
    }
    session_end(&s);
}

/* -- Quantised numbers ----------------------------------------------------- */

static void check_multiplies_bytes(tg_onnx_model *m)
{
    char *text = tg_function_text(tg_onnx_function(m), TG_TEXT_GRAPH);
    cr_assert_not_null(strstr(text, " bytes"), "%s", text);
    tg_text_free(text);
}

/* The products of bytes are the CPU's; zero points are taken off the sums. */
Test(onnx, products_of_bytes_have_their_zero_points_taken_off)
{
    enum { M = 3, K = 7, N = 5 };
    session s;
    uint8_t x[M][K], p[M];
    int8_t w[K][N], q[N];
    for (int i = 0; i < M * K; i++)
        x[i / K][i % K] = (uint8_t)(37 * i + 5);
    for (int i = 0; i < K * N; i++)
        w[i / N][i % N] = (int8_t)(53 * i - 100);
    for (int i = 0; i < M; i++)
        p[i] = (uint8_t)(255 - 90 * i);
    for (int i = 0; i < N; i++)
        q[i] = (int8_t)(50 * i - 128);
    session_begin(&s);
    const proto bytes = integer_product(M, K, N);
    tg_onnx_model *m = parse(s.ctx, &bytes, NULL);
    tg_tensor *of_x = tg_tensor_copy(s.ctx, x, TG_U8, TG_DIMS(M, K));
    tg_tensor *of_w = tg_tensor_copy(s.ctx, w, TG_I8, TG_DIMS(K, N));
    tg_tensor *of_p = tg_tensor_copy(s.ctx, p, TG_U8, TG_DIMS(M));
    tg_tensor *of_q = tg_tensor_copy(s.ctx, q, TG_I8, TG_DIMS(N));
    tg_tensor *y = NULL;
    check_works(tg_call(tg_onnx_function(m), TG_ARGS(of_x, of_w, of_p, of_q),
                        TG_RESULTS(&y)));
    const int32_t *result = tg_tensor_data(y);
    for (int i = 0; i < M; i++)
        for (int j = 0; j < N; j++) {
            int32_t sum = 0;
            for (int k = 0; k < K; k++)
                sum += (x[i][k] - p[i]) * (w[k][j] - q[j]);
            cr_assert_eq(result[i * N + j], sum);
        }
    check_multiplies_bytes(m);
    tg_tensor_release(y);
    tg_tensor_release(of_q);
    tg_tensor_release(of_p);
    tg_tensor_release(of_w);
    tg_tensor_release(of_x);
    tg_onnx_model_release(m);
    session_end(&s);
}

enum { CHANNELS = 3, SIDE = 5, FILTERS = 4, WINDOW = 3, N_WINDOWS = 2 };

/* One result of the convolution; what the windows cover outside of the image is
   the zero point. */
static int32_t convolved(const uint8_t *x, const int8_t *w, int p, int q,
                         int row, int column)
{
    int32_t sum = 0;
    for (int c = 0; c < CHANNELS; c++)
        for (int i = 0; i < WINDOW; i++)
            for (int j = 0; j < WINDOW; j++) {
                const int y = 2 * row - 1 + i, z = 2 * column - 1 + j;
                if (y >= 0 && z >= 0)
                    sum += (x[(c * SIDE + y) * SIDE + z] - p) *
                           (w[(c * WINDOW + i) * WINDOW + j] - q);
            }
    return sum;
}

Test(onnx, convolutions_of_bytes_are_products_of_bytes)
{
    enum { OF_X = CHANNELS * SIDE * SIDE, OF_W = CHANNELS * WINDOW * WINDOW };
    session s;
    uint8_t x[OF_X];
    int8_t w[FILTERS][OF_W], q[FILTERS] = {-128, 3, 0, 127};
    for (int i = 0; i < OF_X; i++)
        x[i] = (uint8_t)(37 * i + 5);
    for (int i = 0; i < FILTERS * OF_W; i++)
        w[i / OF_W][i % OF_W] = (int8_t)(53 * i - 100);
    session_begin(&s);
    const proto bytes =
        integer_convolution(DIMS(1, CHANNELS, SIDE, SIDE),
                            DIMS(FILTERS, CHANNELS, WINDOW, WINDOW));
    tg_onnx_model *m = parse(s.ctx, &bytes, NULL);
    tg_tensor *of_x = tg_tensor_copy(s.ctx, x, TG_U8,
                                     TG_DIMS(1, CHANNELS, SIDE, SIDE));
    tg_tensor *of_w = tg_tensor_copy(
        s.ctx, w, TG_I8, TG_DIMS(FILTERS, CHANNELS, WINDOW, WINDOW));
    tg_tensor *of_q = tg_tensor_copy(s.ctx, q, TG_I8, TG_DIMS(FILTERS));
    tg_tensor *y = NULL;
    check_works(tg_call(tg_onnx_function(m),
                        TG_ARGS(of_x, of_w, (uint8_t)200, of_q),
                        TG_RESULTS(&y)));
    cr_assert_eq(tg_tensor_dims(y)[1], FILTERS);
    cr_assert_eq(tg_tensor_dims(y)[2], N_WINDOWS);
    const int32_t *result = tg_tensor_data(y);
    for (int f = 0; f < FILTERS; f++)
        for (int i = 0; i < N_WINDOWS; i++)
            for (int j = 0; j < N_WINDOWS; j++)
                cr_assert_eq(result[(f * N_WINDOWS + i) * N_WINDOWS + j],
                             convolved(x, w[f], 200, q[f], i, j));
    check_multiplies_bytes(m);
    tg_tensor_release(y);
    tg_tensor_release(of_q);
    tg_tensor_release(of_w);
    tg_tensor_release(of_x);
    tg_onnx_model_release(m);
    session_end(&s);
}

/* -- Random numbers -------------------------------------------------------- */

Test(onnx, random_numbers_differ_between_calls_unless_seeded)
{
    session s;
    session_begin(&s);
    for (int is_seeded = 0; is_seeded < 2; is_seeded++) {
        proto g = {.n = 0};
        proto draw = node("RandomUniformLike", "x", "y");
        if (is_seeded)
            set_float(&draw, "seed", 1);
        add_node(&g, &draw);
        add_in(&g, "x", MESSAGE_F32, 0, NULL);
        add_out(&g, "y");
        const proto bytes = model(&g, 13);
        tg_onnx_model *m = parse(s.ctx, &bytes, NULL);
        float a = 0, b = 0;
        check_works(tg_call(tg_onnx_function(m), TG_ARGS(0.0f), TG_RESULTS(&a)));
        check_works(tg_call(tg_onnx_function(m), TG_ARGS(0.0f), TG_RESULTS(&b)));
        cr_assert_eq(a == b, is_seeded);
        tg_onnx_model_release(m);
    }
    session_end(&s);
}
