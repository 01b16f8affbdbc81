/* SPDX-License-Identifier: MIT */
/*
 * test_conv.c - windows, convolutions and pooling through the public interface:
 * values by hand, shapes of every padding, unknown extents, sums of windows,
 * gradients against differences, and errors. sweep-conv checks bits.
 */
#include <float.h>
#include <math.h>

#include "support/modes.h"

/* -- Calls ----------------------------------------------------------------- */

/* 1, 2, 3, … in a tensor of this shape. */
static tg_tensor *counted(tg_context *ctx, int rank, const int64_t *dims)
{
    tg_tensor *x = tg_tensor_create(ctx, TG_F32, rank, dims, tg_zeros());
    cr_assert_not_null(x, "%s", tg_error(NULL));
    float *data = tg_tensor_data(x);
    for (int64_t i = 0; i < tg_tensor_count(x); i++)
        data[i] = (float)(i + 1);
    return x;
}

/* The result for counted operands; w_rank 0: there is one operand. */
static tg_tensor *run(session *s, tg_callback *callback, int x_rank,
                      const int64_t *x_dims, int w_rank,
                      const int64_t *w_dims)
{
    tg_function *f = tg_function_create(s->ctx, callback, NULL, NULL);
    tg_tensor *x = counted(s->ctx, x_rank, x_dims);
    tg_tensor *w = w_rank ? counted(s->ctx, w_rank, w_dims) : NULL;
    tg_tensor *y = w ? call_one(f, TG_ARGS(x, w)) : call_one(f, TG_ARGS(x));
    tg_tensor_release(x);
    tg_tensor_release(w);
    tg_function_release(f);
    return y;
}

static void check_shape_at(int line, const tg_tensor *y, int rank,
                           const int64_t *dims)
{
    cr_assert_eq(tg_tensor_rank(y), rank, "line %d", line);
    for (int i = 0; i < rank; i++)
        cr_assert_eq(tg_tensor_dims(y)[i], dims[i], "line %d: axis %d is %lld",
                     line, i, (long long)tg_tensor_dims(y)[i]);
}

#define check_shape(y, ...) check_shape_at(__LINE__, y, TG_DIMS(__VA_ARGS__))

#define CALLBACK(name, expression) \
    static void name(tg_trace *t, const tg_value *in, void *user) \
    { \
        (void)user; \
        tg_return(t, expression); \
    }

/* -- Values by hand -------------------------------------------------------- */

CALLBACK(valid, tg_conv(in[0], in[1]))
CALLBACK(without_options,
         tg_conv_at(TG_IN(in[0]), TG_IN(in[1]), -1, NULL, TG_HERE))
CALLBACK(same, tg_conv(in[0], in[1], .padding = TG_PADDING_SAME))
CALLBACK(same_by_two, tg_conv(in[0], in[1], .padding = TG_PADDING_SAME,
                              .stride = {2, 2}))
CALLBACK(explicit_padding,
         tg_conv(in[0], in[1], .padding = TG_PADDING_EXPLICIT, .low = {2},
                 .high = {1}))
CALLBACK(dilated, tg_conv(in[0], in[1], .dilation = {2}))
CALLBACK(in_groups, tg_conv(in[0], in[1], .groups = 2))
CALLBACK(channels_first, tg_conv2d(in[0], in[1], .layout = TG_CHANNELS_FIRST))
CALLBACK(batched, tg_conv(in[0], in[1], .batch = 1))
CALLBACK(transposed, tg_conv_transpose(in[0], in[1], .stride = {2}))

Test(conv, values_by_hand)
{
    session s;
    session_begin(&s);
    /* [1 2 3 4 5] by [1 2] */
    check_f32(run(&s, valid, TG_DIMS(1, 5, 1), TG_DIMS(2, 1, 1)), 5, 8, 11,
              14);
    check_f32(run(&s, without_options, TG_DIMS(1, 5, 1), TG_DIMS(2, 1, 1)), 5,
              8, 11, 14);
    check_f32(run(&s, same, TG_DIMS(1, 5, 1), TG_DIMS(2, 1, 1)), 5, 8, 11, 14,
              5);
    check_f32(run(&s, same, TG_DIMS(1, 3, 1), TG_DIMS(3, 1, 1)), 8, 14, 8);
    check_f32(run(&s, same_by_two, TG_DIMS(1, 5, 1), TG_DIMS(3, 1, 1)), 8, 20,
              14);
    check_f32(run(&s, explicit_padding, TG_DIMS(1, 3, 1), TG_DIMS(2, 1, 1)), 0,
              2, 5, 8, 3);
    check_f32(run(&s, dilated, TG_DIMS(1, 5, 1), TG_DIMS(2, 1, 1)), 7, 10, 13);
    /* Two channels are summed; two groups are not. */
    check_f32(run(&s, valid, TG_DIMS(1, 2, 2), TG_DIMS(1, 2, 1)), 5, 11);
    check_f32(run(&s, in_groups, TG_DIMS(1, 2, 2), TG_DIMS(1, 1, 2)), 1, 4, 3,
              8);
    /* 2 x 2 of 3 x 3 */
    check_f32(run(&s, valid, TG_DIMS(1, 3, 3, 1), TG_DIMS(2, 2, 1, 1)), 37, 47,
              67, 77);
    check_f32(run(&s, channels_first, TG_DIMS(1, 1, 3, 3),
                  TG_DIMS(1, 1, 2, 2)),
              37, 47, 67, 77);
    /* Every example has its filter. */
    check_f32(run(&s, batched, TG_DIMS(2, 1, 2, 1), TG_DIMS(2, 1, 1, 1)), 1, 2,
              6, 8);
    check_f32(run(&s, transposed, TG_DIMS(1, 2, 1), TG_DIMS(3, 1, 1)), 1, 2, 5,
              4, 6);
    session_end(&s);
}

CALLBACK(maxima, tg_max_pool(in[0], .window = {2}))
CALLBACK(overlapping, tg_max_pool(in[0], .window = {3}, .stride = {1},
                                  .padding = TG_PADDING_SAME))
CALLBACK(means, tg_avg_pool(in[0], .window = {2}, .padding = TG_PADDING_SAME))
CALLBACK(means_of_all, tg_avg_pool(in[0], .window = {2},
                                   .padding = TG_PADDING_SAME,
                                   .counts_padding = true))
CALLBACK(sums, tg_lp_pool(in[0], .window = {2}, .p = 1))
CALLBACK(norms, tg_lp_pool(in[0], .window = {2}))
CALLBACK(all_maxima, tg_global_max_pool(in[0], TG_CHANNELS_LAST))
CALLBACK(all_means, tg_global_avg_pool(in[0], TG_CHANNELS_FIRST))

Test(conv, pooling_by_hand)
{
    session s;
    session_begin(&s);
    check_f32(run(&s, maxima, TG_DIMS(1, 5, 1), 0, NULL), 2, 4);
    check_f32(run(&s, overlapping, TG_DIMS(1, 4, 1), 0, NULL), 2, 3, 4, 4);
    check_f32(run(&s, means, TG_DIMS(1, 3, 1), 0, NULL), 1.5f, 3);
    check_f32(run(&s, means_of_all, TG_DIMS(1, 3, 1), 0, NULL), 1.5f, 1.5f);
    check_f32(run(&s, sums, TG_DIMS(1, 4, 1), 0, NULL), 3, 7);
    check_f32(run(&s, norms, TG_DIMS(1, 4, 1), 0, NULL), sqrtf(5), 5);
    check_f32(run(&s, all_maxima, TG_DIMS(2, 2, 2), 0, NULL), 3, 4, 7, 8);
    check_f32(run(&s, all_means, TG_DIMS(1, 2, 3), 0, NULL), 2, 5);
    session_end(&s);
}

CALLBACK(windows_of_both,
         tg_windows(in[0], 2, (const int[]){1, 0}, (const int64_t[]){2, 1},
                    (const int64_t[]){1, 2}, NULL))

Test(conv, windows_are_in_the_order_of_their_axes)
{
    session s;
    session_begin(&s);
    tg_tensor *y = run(&s, windows_of_both, TG_DIMS(3, 3), 0, NULL);
    check_shape(y, 2, 2, 2, 1);
    check_f32(y, 1, 2, 2, 3, 7, 8, 8, 9);
    session_end(&s);
}

/* -- Extents --------------------------------------------------------------- */

Test(conv, one_trace_serves_all_extents)
{
    session s;
    session_begin(&s);
    tg_function *f = tg_function_create(
        s.ctx, same_by_two, NULL,
        TG_SIGNATURE(TG_SPEC(TG_F32, TG_UNKNOWN, TG_UNKNOWN, TG_UNKNOWN, 2),
                     TG_SPEC(TG_F32, 3, 3, 2, 4)));
    tg_tensor *w = counted(s.ctx, TG_DIMS(3, 3, 2, 4));
    for (int64_t n = 0; n < 4; n++)
        for (int64_t height = 1; height < 6; height++) {
            tg_tensor *x = counted(s.ctx, TG_DIMS(n, height, 7, 2));
            tg_tensor *y = call_one(f, TG_ARGS(x, w));
            check_shape(y, n, (height + 1) / 2, 4, 4);
            tg_tensor_release(x);
            tg_tensor_release(y);
        }
    cr_assert_eq(tg_function_trace_count(f), 1);
    tg_tensor_release(w);
    tg_function_release(f);
    session_end(&s);
}

Test(conv, windows_that_exceed_an_unknown_extent_fail_the_call)
{
    session s;
    session_begin(&s);
    tg_function *f = tg_function_create(
        s.ctx, valid, NULL,
        TG_SIGNATURE(TG_SPEC(TG_F32, 1, TG_UNKNOWN, 1),
                     TG_SPEC(TG_F32, 3, 1, 1)));
    tg_tensor *w = counted(s.ctx, TG_DIMS(3, 1, 1)), *y = NULL;
    tg_tensor *few = counted(s.ctx, TG_DIMS(1, 2, 1));
    tg_tensor *enough = counted(s.ctx, TG_DIMS(1, 3, 1));
    check_fails(tg_call(f, TG_ARGS(few, w), TG_RESULTS(&y)), TG_ERROR_SHAPE,
                "conv", "elements of a window");
    check_f32(call_one(f, TG_ARGS(enough, w)), 14);
    tg_tensor_release(few);
    tg_tensor_release(enough);
    tg_tensor_release(w);
    tg_function_release(f);
    session_end(&s);
}

/* -- Against windows and a matrix product ---------------------------------- */

/* in: images [n, h, w, c], filters [3, 3, c, f] */
static void explicit_product(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    static const int axes[] = {1, 2};
    static const int64_t sizes[] = {3, 3};
    const int64_t c = tg_value_dim(in[0], 3), f = tg_value_dim(in[1], 3);
    /* [n, h, w, c, 3, 3] */
    const tg_value windows = tg_windows(in[0], 2, axes, sizes, NULL, NULL);
    const tg_value rows = tg_reshape(
        tg_transpose(windows, TG_PERM(0, 1, 2, 4, 5, 3)),
        TG_DIMS(tg_value_dim(windows, 0), tg_value_dim(windows, 1),
                tg_value_dim(windows, 2), 9 * c));
    const tg_value product =
        tg_matmul(rows, tg_reshape(in[1], TG_DIMS(9 * c, f)));
    const tg_value magnitudes =
        tg_matmul(tg_abs(rows), tg_abs(tg_reshape(in[1], TG_DIMS(9 * c, f))));
    tg_return(t, tg_conv2d(in[0], in[1]), product, magnitudes);
}

Test(conv, equals_an_explicit_product_within_the_bound)
{
    session s;
    session_begin(&s);
    tg_function *f = tg_function_create(s.ctx, explicit_product, NULL, NULL);
    tg_tensor *x = tg_tensor_create(s.ctx, TG_F32, TG_DIMS(2, 9, 8, 40),
                                    tg_normal(0, 1));
    tg_tensor *w = tg_tensor_create(s.ctx, TG_F32, TG_DIMS(3, 3, 40, 19),
                                    tg_normal(0, 1));
    tg_tensor *y[3] = {NULL};
    check_works(tg_call(f, TG_ARGS(x, w), TG_RESULTS(&y[0], &y[1], &y[2])));
    check_shape(y[0], 2, 7, 6, 19);
    const float *a = tg_tensor_data(y[0]), *b = tg_tensor_data(y[1]);
    const float *magnitude = tg_tensor_data(y[2]);
    const double bound = 2 * 360 * (double)(FLT_EPSILON / 2);
    for (int64_t i = 0; i < tg_tensor_count(y[0]); i++)
        cr_assert_leq(fabs((double)a[i] - (double)b[i]),
                      bound * (double)magnitude[i]);
    for (int i = 0; i < 3; i++)
        tg_tensor_release(y[i]);
    tg_tensor_release(x);
    tg_tensor_release(w);
    tg_function_release(f);
    session_end(&s);
}

/* -- Large filters --------------------------------------------------------- */

CALLBACK(relu_of_conv,
         tg_relu(tg_add(tg_conv2d(in[0], in[1], .padding = TG_PADDING_SAME),
                        in[2])))

/* Every other element: all of them exceed the outcome. */
static void note_result(outcome *out, tg_tensor *y)
{
    const float *data = tg_tensor_data(y);
    for (int64_t i = 0; i < tg_tensor_count(y); i += 2)
        note(out, &data[i], sizeof(data[i]));
    tg_tensor_release(y);
}

/* 11 rows of 13 pixels, 525 KB of filters: work items have six and five rows,
   which share each k-block of filters, and 64 columns, of which the last item
   has 50. The filters of a variable are packed in panels. */
static void few_pixels(session *s, outcome *out)
{
    tg_function *f = tg_function_create(s->ctx, relu_of_conv, NULL, NULL);
    tg_tensor *x = tg_tensor_create(s->ctx, TG_F32, TG_DIMS(1, 11, 13, 128),
                                    tg_normal(0, 1));
    tg_tensor *w = tg_tensor_create(s->ctx, TG_F32, TG_DIMS(3, 3, 128, 114),
                                    tg_normal(0, 1));
    tg_tensor *bias =
        tg_tensor_create(s->ctx, TG_F32, TG_DIMS(114), tg_normal(0, 1));
    tg_variable *v = tg_variable_create(
        s->ctx, "filters", TG_F32, TG_DIMS(3, 3, 128, 114), tg_normal(0, 1));
    tg_tensor *y = call_one(f, TG_ARGS(x, w, bias));
    tg_tensor *z = call_one(f, TG_ARGS(x, v, bias));
    note_result(out, y);
    note_result(out, z);
    tg_variable_release(v);
    tg_tensor_release(bias);
    tg_tensor_release(w);
    tg_tensor_release(x);
    tg_function_release(f);
}

Test(conv, image_rows_that_share_filters_have_the_same_bits)
{
    check_modes(few_pixels);
}

/* Notes relu_of_conv of an image of 2 x `height` x `width` pixels. */
static void note_layer(session *s, outcome *out, int64_t height, int64_t width,
                       int64_t channels, int64_t n_filters)
{
    tg_function *f = tg_function_create(s->ctx, relu_of_conv, NULL, NULL);
    tg_tensor *x =
        tg_tensor_create(s->ctx, TG_F32, TG_DIMS(2, height, width, channels),
                         tg_normal(0, 1));
    tg_tensor *w =
        tg_tensor_create(s->ctx, TG_F32, TG_DIMS(3, 3, channels, n_filters),
                         tg_normal(0, 1));
    tg_tensor *bias =
        tg_tensor_create(s->ctx, TG_F32, TG_DIMS(n_filters), tg_normal(0, 1));
    note_result(out, call_one(f, TG_ARGS(x, w, bias)));
    tg_tensor_release(bias);
    tg_tensor_release(w);
    tg_tensor_release(x);
    tg_function_release(f);
}

/* Rows of a window are 144 contiguous elements, in runs of 16 steps of k; the
   last of two k-blocks has 11 of them. */
static void short_runs(session *s, outcome *out)
{
    note_layer(s, out, 9, 8, 48, 64);
}

/* 164 KB of filters in panels, of which the last has seven columns. With
   registers of 512 bits, micro-kernels of two heights run through three
   k-blocks, the last of 64 steps. */
static void blocks_in_rows(session *s, outcome *out)
{
    note_layer(s, out, 7, 27, 64, 71);
}

Test(conv, k_blocks_inside_of_rows_have_the_same_bits)
{
    check_modes(blocks_in_rows);
}

Test(conv, runs_of_channels_have_the_same_bits)
{
    check_modes(short_runs);
}

/* -- Gradients ------------------------------------------------------------- */

/* A smooth scalar of both operands. */
static tg_value loss_of(tg_value x, tg_value w)
{
    const tg_value y = tg_conv2d(x, w, .stride = {2, 1}, .dilation = {1, 2},
                                 .padding = TG_PADDING_SAME);
    const tg_value pooled = tg_avg_pool(y, .window = {2, 2});
    return tg_sum(tg_square(tg_sin(pooled)), TG_ALL_AXES);
}

CALLBACK(loss, loss_of(in[0], in[1]))

static void gradients(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    tg_value g[2];
    tg_gradients(loss_of(in[0], in[1]), in, 2, g);
    tg_return(t, g[0], g[1]);
}

/* The gradient with respect to x of half the squared norm of the gradient with
   respect to w: of second order. */
static void second_order(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    const tg_value g = tg_gradient(loss_of(in[0], in[1]), in[1]);
    const tg_value norm = tg_mul(0.5, tg_sum(tg_square(g), TG_ALL_AXES));
    tg_return(t, norm, tg_gradient(norm, in[0]));
}

static double scalar_of(tg_function *f, tg_tensor *x, tg_tensor *w)
{
    double y;
    check_works(tg_call(f, TG_ARGS(x, w), TG_RESULTS(&y)));
    return y;
}

/* Compares a gradient with central differences of f, by one of x and w. */
static void check_differences(tg_function *f, tg_tensor *x, tg_tensor *w,
                              tg_tensor *by, const tg_tensor *gradient)
{
    const double h = 1e-5;
    double *data = tg_tensor_data(by);
    for (int64_t i = 0; i < tg_tensor_count(by); i++) {
        const double saved = data[i];
        data[i] = saved + h;
        const double above = scalar_of(f, x, w);
        data[i] = saved - h;
        const double below = scalar_of(f, x, w);
        data[i] = saved;
        cr_assert_float_eq(tg_tensor_f64(gradient)[i], (above - below) / 2 / h,
                           1e-7);
    }
}

CALLBACK(first_of_second_order,
         tg_mul(0.5, tg_sum(tg_square(tg_gradient(loss_of(in[0], in[1]),
                                                  in[1])),
                            TG_ALL_AXES)))

Test(conv, gradients_are_limits_of_differences)
{
    session s;
    session_begin(&s);
    tg_function *f = tg_function_create(s.ctx, loss, NULL, NULL);
    tg_function *g = tg_function_create(s.ctx, gradients, NULL, NULL);
    tg_function *h = tg_function_create(s.ctx, first_of_second_order, NULL,
                                        NULL);
    tg_function *second = tg_function_create(s.ctx, second_order, NULL, NULL);
    tg_tensor *x = tg_tensor_create(s.ctx, TG_F64, TG_DIMS(2, 5, 6, 2),
                                    tg_normal(0, 1));
    tg_tensor *w = tg_tensor_create(s.ctx, TG_F64, TG_DIMS(3, 2, 2, 3),
                                    tg_normal(0, 1));
    tg_tensor *by_x = NULL, *by_w = NULL, *twice = NULL;
    double norm;
    check_works(tg_call(g, TG_ARGS(x, w), TG_RESULTS(&by_x, &by_w)));
    check_differences(f, x, w, x, by_x);
    check_differences(f, x, w, w, by_w);
    check_works(tg_call(second, TG_ARGS(x, w), TG_RESULTS(&norm, &twice)));
    cr_assert_float_eq(norm, scalar_of(h, x, w), 1e-12);
    check_differences(h, x, w, x, twice);
    tg_tensor_release(by_x);
    tg_tensor_release(by_w);
    tg_tensor_release(twice);
    tg_tensor_release(x);
    tg_tensor_release(w);
    tg_function_release(f);
    tg_function_release(g);
    tg_function_release(h);
    tg_function_release(second);
    session_end(&s);
}

/* Elements that are equal, and the largest of their window. */
static void gradient_of_ties(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    tg_return(t, tg_gradient(tg_sum(tg_max_pool(in[0], .window = {2}),
                                    TG_ALL_AXES),
                             in[0]));
}

static void gradient_of_maxima(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    tg_value direct = tg_reduce_max(tg_reshape(in[0], TG_DIMS(2, 2)),
                                    TG_AXES(1));
    tg_return(t, tg_gradient(tg_sum(direct, TG_ALL_AXES), in[0]));
}

Test(conv, ties_of_a_window_are_those_of_a_maximum)
{
    session s;
    session_begin(&s);
    tg_function *f = tg_function_create(s.ctx, gradient_of_ties, NULL, NULL);
    tg_function *g = tg_function_create(s.ctx, gradient_of_maxima, NULL, NULL);
    tg_tensor *x = tg_tensor_copy(s.ctx, (float[]){7, 7, 1, 2}, TG_F32,
                                  TG_DIMS(1, 4, 1));
    tg_tensor *wanted = call_one(g, TG_ARGS(x));
    check_f32_at(__LINE__, call_one(f, TG_ARGS(x)), tg_tensor_f32(wanted), 4);
    tg_tensor_release(wanted);
    tg_tensor_release(x);
    tg_function_release(f);
    tg_function_release(g);
    session_end(&s);
}

/* -- Errors ---------------------------------------------------------------- */

static int line;
#define AT(expression) (line = TG_HERE.line, (expression))

static void check_refused(tg_callback *callback, tg_status wanted,
                          const char *op, const char *piece)
{
    session s;
    session_begin(&s);
    const tg_spec specs[] = {
        tg_spec_tensor(TG_F32, TG_DIMS(2, 9, 9, 4)),
        tg_spec_tensor(TG_F32, TG_DIMS(3, 3, 4, 6)),
        tg_spec_tensor(TG_F64, TG_DIMS(3, 3, 4, 6)),
        tg_spec_tensor(TG_F32, TG_DIMS(2)),
        tg_spec_tensor(TG_F32, TG_DIMS(1, 1, 1, 1, 1, 1, 1, 1)),
        tg_spec_tensor(TG_BOOL, TG_DIMS(2, 9, 9, 4)),
        tg_spec_tensor(TG_I32, TG_DIMS(2, 9, 9, 4)),
    };
    tg_function *f = tg_function_create(s.ctx, callback, NULL, NULL);
    cr_assert_null(
        tg_function_concrete(f, specs, sizeof specs / sizeof *specs));
    char begin[256];
    snprintf(begin, sizeof begin, "%s:%d: %s: ", __FILE__, line, op);
    check_record_at(line, wanted, (const char *const[]){begin, piece, NULL});
    tg_function_release(f);
    session_end(&s);
}

#define REFUSED(name, wanted, op, piece, expression) \
    static void trace_##name(tg_trace *t, const tg_value *in, void *user) \
    { \
        const tg_value x = in[0], w = in[1], w64 = in[2], v = in[3], \
                       all = in[4], b = in[5], i = in[6]; \
        (void)x, (void)w, (void)w64, (void)v, (void)all, (void)b, (void)i; \
        (void)user; \
        const tg_value result = (expression); \
        cr_assert_not(tg_is_valid(result)); \
        tg_return(t, result); \
    } \
    Test(conv, refuses_##name) \
    { \
        check_refused(trace_##name, wanted, op, piece); \
    }

#define SHAPE TG_ERROR_SHAPE
#define INVALID TG_ERROR_INVALID_ARGUMENT
#define DTYPE TG_ERROR_DTYPE

REFUSED(images_of_another_rank, SHAPE, "conv", "needs 3 axes, but has 4",
        AT(tg_conv1d(x, w)))
REFUSED(vectors, SHAPE, "conv", "f32[2]", AT(tg_conv(v, v)))
REFUSED(filters_of_another_rank, SHAPE, "conv", "differ in rank",
        AT(tg_conv(x, v)))
REFUSED(other_channels, SHAPE, "conv", "f32[2,9,9,4] x f32[3,3,2,6]",
        AT(tg_conv(x, tg_slice(w, 2, 0, 2, 1))))
REFUSED(other_channels_of_padded_images, SHAPE, "conv",
        "f32[2,9,9,4] x f32[3,3,2,6]: the operand has 4 channels, the filters "
        "are for 2",
        AT(tg_conv(x, tg_slice(w, 2, 0, 2, 1), .padding = TG_PADDING_SAME)))
REFUSED(other_channels_of_groups, SHAPE, "conv",
        "f32[2,9,9,4] x f32[3,3,4,6]: each of 2 groups has 2 channels of the "
        "operand, the filters are for 4",
        AT(tg_conv(x, w, .groups = 2, .padding = TG_PADDING_SAME)))
REFUSED(other_dtypes, DTYPE, "conv", "f64", AT(tg_conv(x, w64)))
REFUSED(bools, DTYPE, "conv", "bool", AT(tg_conv(b, b)))
REFUSED(groups_that_do_not_divide, SHAPE, "conv", "divisible into 3 groups",
        AT(tg_conv(x, w, .groups = 3)))
REFUSED(negative_groups, INVALID, "conv", "-1 groups",
        AT(tg_conv(x, w, .groups = -1)))
REFUSED(large_windows, SHAPE, "conv", "a window of 11 elements",
        AT(tg_conv(x, w, .dilation = {5})))
REFUSED(negative_strides, INVALID, "conv", "stride -2",
        AT(tg_conv(x, w, .stride = {1, -2})))
REFUSED(negative_dilations, INVALID, "conv", "dilation -1",
        AT(tg_conv(x, w, .dilation = {-1})))
REFUSED(negative_padding, INVALID, "conv", "padding of 0 and -1",
        AT(tg_conv(x, w, .padding = TG_PADDING_EXPLICIT, .high = {-1})))
REFUSED(unknown_padding, INVALID, "conv", "padding 7",
        AT(tg_conv(x, w, .padding = (tg_padding)7)))
REFUSED(unknown_layouts, INVALID, "conv", "layout 5",
        AT(tg_conv(x, w, .layout = (tg_layout)5)))
REFUSED(unknown_layouts_of_pooling, INVALID, "max_pool", "layout 5",
        AT(tg_max_pool(x, .layout = (tg_layout)5)))
REFUSED(unknown_layouts_of_global_pooling, INVALID, "global_avg_pool",
        "layout 5", AT(tg_global_avg_pool(x, (tg_layout)5)))
REFUSED(batch_axes_of_groups, INVALID, "conv", "batch axes",
        AT(tg_conv(x, w, .batch = 1, .groups = 2)))
REFUSED(negative_batch, SHAPE, "conv", "axes", AT(tg_conv(x, w, .batch = -1)))
REFUSED(groups_of_too_many_axes, TG_ERROR_UNSUPPORTED, "conv", "axes",
        AT(tg_conv(tg_concat(7, all, all), all, .groups = 2)))
REFUSED(transposes_with_excess_padding, INVALID, "conv_transpose",
        "exceeds the window",
        AT(tg_conv_transpose(x, tg_transpose(w, TG_PERM(0, 1, 3, 2)),
                             .padding = TG_PADDING_EXPLICIT, .low = {3})))
REFUSED(windows_of_no_elements, SHAPE, "windows", "a window of 0 elements",
        AT(tg_windows(x, 1, (int[]){1}, (int64_t[]){0}, NULL, NULL)))
REFUSED(windows_of_negative_size, SHAPE, "windows", "a window of -5 elements",
        AT(tg_windows(x, 1, (int[]){1}, (int64_t[]){-5}, NULL, NULL)))
REFUSED(windows_twice, INVALID, "windows", "twice",
        AT(tg_windows(x, 2, ((int[]){1, -3}), ((int64_t[]){2, 2}), NULL,
                      NULL)))
REFUSED(windows_without_axes, INVALID, "windows", "NULL",
        AT(tg_windows(x, 1, NULL, NULL, NULL, NULL)))
REFUSED(too_many_windows, SHAPE, "windows", "maximum rank",
        AT(tg_windows(all, 1, (int[]){1}, (int64_t[]){1}, NULL, NULL)))
REFUSED(negative_windows, INVALID, "max_pool", "a window of -2 elements",
        AT(tg_max_pool(x, .window = {-2})))
REFUSED(pooling_of_vectors, SHAPE, "max_pool", "f32[2]", AT(tg_max_pool(v)))
REFUSED(means_of_integers, DTYPE, "avg_pool", "i32", AT(tg_avg_pool(i)))
REFUSED(negative_exponents, INVALID, "lp_pool", "-1",
        AT(tg_lp_pool(x, .p = -1)))
REFUSED(global_pooling_of_vectors, SHAPE, "global_max_pool", "f32[2]",
        AT(tg_global_max_pool(v, TG_CHANNELS_LAST)))
