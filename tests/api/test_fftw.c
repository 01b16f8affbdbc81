/* SPDX-License-Identifier: MIT */
/*
 * test_fftw.c - Fourier transforms against sums of their definition, along any
 * axes, interpreted and compiled, with known and unknown extents; gradients
 * against differences; batches, threads and failures.
 */
#include "tgjit/fftw.h"

#include <pthread.h>

#include "support/finite_differences.h"

static double element(int64_t i)
{
    return sin(1.3 * (double)i + 0.2) + 0.1 * (double)(i % 7);
}

static tg_tensor *make(session *s, tg_dtype dtype, int rank,
                       const int64_t *dims)
{
    tg_tensor *x = tg_tensor_create(s->ctx, dtype, rank, dims, tg_zeros());
    cr_assert_not_null(x);
    for (int64_t i = 0; i < tg_tensor_count(x); i++)
        if (dtype == TG_F32)
            ((float *)tg_tensor_data(x))[i] = (float)element(i);
        else
            ((double *)tg_tensor_data(x))[i] = element(i);
    return x;
}

static double at(tg_tensor *x, int64_t i)
{
    return tg_tensor_dtype(x) == TG_F32
               ? (double)((const float *)tg_tensor_data(x))[i]
               : ((const double *)tg_tensor_data(x))[i];
}

/* -- The definition -------------------------------------------------------- */

/* Transforms [outer, n, inner, 2] in place. */
static void transform_axis(double *x, int64_t outer, int64_t n, int64_t inner,
                           double sign)
{
    double *sums = calloc((size_t)(2 * n), sizeof(*sums));
    for (int64_t o = 0; o < outer; o++)
        for (int64_t i = 0; i < inner; i++) {
            double *first = x + 2 * (o * n * inner + i);
            for (int64_t k = 0; k < n; k++) {
                sums[2 * k] = sums[2 * k + 1] = 0;
                for (int64_t j = 0; j < n; j++) {
                    const double angle = sign * 6.283185307179586 *
                                         (double)(j * k % n) / (double)n;
                    const double *e = first + 2 * j * inner;
                    sums[2 * k] += e[0] * cos(angle) - e[1] * sin(angle);
                    sums[2 * k + 1] += e[0] * sin(angle) + e[1] * cos(angle);
                }
            }
            for (int64_t k = 0; k < n; k++) {
                first[2 * k * inner] = sums[2 * k];
                first[2 * k * inner + 1] = sums[2 * k + 1];
            }
        }
    free(sums);
}

typedef struct plan {
    tg_axes axes;
    tg_fft_norm norm;
    bool is_inverse;
    int64_t n; /* of irfft */
} plan;

static void apply_fft(tg_trace *t, const tg_value *in, void *user)
{
    const plan *p = user;
    tg_return(t, p->is_inverse ? tg_ifft_with(in[0], p->axes, p->norm)
                               : tg_fft_with(in[0], p->axes, p->norm));
}

static tg_tensor *call_plan(session *s, tg_callback *callback, plan *p,
                            tg_policy policy, tg_tensor *x)
{
    tg_function_options options = TG_FUNCTION_OPTIONS_INIT;
    options.policy = policy;
    tg_function *f = tg_function_create(s->ctx, callback, p, &options);
    tg_tensor *y = call_one(f, TG_ARGS(x));
    tg_function_release(f);
    return y;
}

static void check_close(int line, tg_tensor *is, const double *want)
{
    const double bound = tg_tensor_dtype(is) == TG_F32 ? 5e-5 : 1e-12;
    for (int64_t i = 0; i < tg_tensor_count(is); i++)
        cr_assert_lt(fabs(at(is, i) - want[i]), bound * (1 + fabs(want[i])),
                     "line %d: element %lld is %.9g, not %.9g", line,
                     (long long)i, at(is, i), want[i]);
}

/* [3, 5, 4] complex along the axes of the mask. */
static void check_complex(session *s, tg_axes axes, unsigned mask,
                          tg_dtype dtype, tg_policy policy)
{
    const int64_t dims[] = {3, 5, 4};
    for (int k = 0; k < 6; k++) {
        plan p = {axes, (tg_fft_norm)(k / 2), k % 2, 0};
        tg_tensor *x = make(s, dtype, TG_DIMS(3, 5, 4, 2));
        tg_tensor *y = call_plan(s, apply_fft, &p, policy, x);
        double want[120], n = 1;
        for (int i = 0; i < 120; i++)
            want[i] = at(x, i);
        for (int axis = 0; axis < 3; axis++) {
            int64_t outer = 1, inner = 1;
            for (int i = 0; i < 3; i++) {
                outer *= i < axis ? dims[i] : 1;
                inner *= i > axis ? dims[i] : 1;
            }
            if (!(mask >> axis & 1))
                continue;
            transform_axis(want, outer, dims[axis], inner, k % 2 ? 1 : -1);
            n *= (double)dims[axis];
        }
        const double factor = p.norm == TG_FFT_ORTHO ? 1 / sqrt(n)
                              : (p.norm == TG_FFT_BACKWARD) == (k % 2 == 1)
                                  ? 1 / n
                                  : 1;
        for (int i = 0; i < 120; i++)
            want[i] *= factor;
        check_close(__LINE__, y, want);
        tg_tensor_release(x);
        tg_tensor_release(y);
    }
}

static void check_complex_transforms(session *s)
{
    EACH_POLICY(policy)
    {
        check_complex(s, TG_AXES(-1), 4, TG_F64, policy);
        check_complex(s, TG_AXES(0), 1, TG_F32, policy);
        check_complex(s, TG_AXES(2, 0), 5, TG_F64, policy);
        check_complex(s, TG_ALL_AXES, 7, TG_F64, policy);
    }
}

Test(fftw, complex_transforms_are_the_sums_of_their_definition)
{
    in_both(check_complex_transforms);
}

/* -- Real transforms ------------------------------------------------------- */

/* The difference of a real transform and half of the complex one, and of its
   inverse and the operand. */
static void real_errors(tg_trace *t, const tg_value *in, void *user)
{
    const plan *p = user;
    const tg_value x = in[0];
    const tg_value zeros = tg_sub(x, x);
    const tg_value all =
        tg_fft_with(tg_stack(-1, x, zeros), p->axes, p->norm);
    const tg_value half = tg_rfft_with(x, p->axes, p->norm);
    const int last = p->axes.n < 0 ? -1 : p->axes.axis[p->axes.n - 1];
    const int axis = last < 0 ? last - 1 : last;
    const tg_value part =
        tg_slice(all, axis, 0, tg_value_dim(half, axis), 1);
    const tg_value back = tg_irfft_with(
        half, tg_value_dim(x, last), p->axes, p->norm);
    tg_return(t, tg_add(tg_sum(tg_abs(tg_sub(half, part)), TG_ALL_AXES),
                        tg_sum(tg_abs(tg_sub(back, x)), TG_ALL_AXES)));
}

static void check_real_transforms(session *s)
{
    static const int64_t shapes[][3] = {{3, 4, 6}, {2, 3, 5}, {2, 1, 1}};
    const tg_axes axes[] = {TG_AXES(-1), TG_AXES(0), TG_AXES(1, 2),
                            TG_AXES(2, 0), TG_ALL_AXES};
    EACH_POLICY(policy)
    for (int i = 0; i < 3; i++)
        for (int k = 0; k < 5; k++)
            for (int norm = 0; norm < 3; norm++) {
                plan p = {axes[k], (tg_fft_norm)norm, false, 0};
                tg_tensor *x = make(s, TG_F64, 3, shapes[i]);
                tg_tensor *y = call_plan(s, real_errors, &p, policy, x);
                check_close(__LINE__, y, (const double[]){0});
                tg_tensor_release(x);
                tg_tensor_release(y);
            }
}

Test(fftw, real_transforms_are_half_of_complex_ones_and_have_inverses)
{
    in_both(check_real_transforms);
}

static void resized_inverse(tg_trace *t, const tg_value *in, void *user)
{
    const plan *p = user;
    tg_return(t, tg_irfft(tg_rfft(in[0], TG_AXES(-1)), p->n, TG_AXES(-1)));
}

Test(fftw, inverses_take_or_add_elements)
{
    session s;
    session_begin(&s);
    tg_tensor *x = f32_vector(s.ctx, 1, 1, 1, 1);
    for (int64_t n = 2; n <= 8; n += 6) {
        plan p = {.n = n};
        tg_tensor *y = call_plan(&s, resized_inverse, &p, TG_EXACT, x);
        cr_assert_eq(tg_tensor_count(y), n);
        for (int64_t i = 0; i < n; i++)
            cr_assert_eq(at(y, i), 4.0 / (double)n);
        tg_tensor_release(y);
    }
    tg_tensor_release(x);
    session_end(&s);
}

/* -- Short-time transforms ------------------------------------------------- */

static void short_time(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    const tg_value window = tg_hann_window(TG_F64, 6, TG_WINDOW_PERIODIC);
    tg_return(t, tg_stft(in[0], window, 3, 8, false),
              tg_stft(in[0], window, 3, 8, true), window);
}

Test(fftw, short_time_transforms_are_those_of_windowed_pieces)
{
    session s;
    session_begin(&s);
    tg_function *f = tg_function_create(s.ctx, short_time, NULL, NULL);
    tg_tensor *x = make(&s, TG_F64, TG_DIMS(2, 14)), *y[3] = {0};
    check_works(tg_call(f, TG_ARGS(x), TG_RESULTS(&y[0], &y[1], &y[2])));
    cr_assert_eq(tg_tensor_count(y[0]), 2 * 3 * 5 * 2);
    cr_assert_eq(tg_tensor_count(y[1]), 2 * 3 * 8 * 2);
    for (int k = 0; k < 6; k++)
        cr_assert_float_eq(at(y[2], k), 0.5 - 0.5 * cos(6.283185307179586 * k /
                                                        6), 1e-15);
    for (int piece = 0; piece < 6; piece++) {
        double want[16] = {0};
        for (int k = 0; k < 6; k++)
            want[2 * k] = at(x, piece / 3 * 14 + piece % 3 * 3 + k) *
                          at(y[2], k);
        transform_axis(want, 1, 8, 1, -1);
        for (int k = 0; k < 16; k++) {
            cr_assert_float_eq(at(y[1], piece * 16 + k), want[k], 1e-12);
            if (k < 10)
                cr_assert_float_eq(at(y[0], piece * 10 + k), want[k], 1e-12);
        }
    }
    for (int i = 0; i < 3; i++)
        tg_tensor_release(y[i]);
    tg_tensor_release(x);
    tg_function_release(f);
    session_end(&s);
}

/* -- Gradients ------------------------------------------------------------- */

/* Squares, so that the gradient depends on the operand. */
static size_t differentiate_complex(tg_value x, tg_value *out)
{
    out[0] = tg_square(tg_fft(x, TG_AXES(0, 1)));
    out[1] = tg_square(tg_ifft_with(x, TG_AXES(1), TG_FFT_ORTHO));
    return 2;
}

static size_t differentiate_real(tg_value x, tg_value *out)
{
    out[0] = tg_square(tg_rfft(x, TG_AXES(-1)));
    out[1] = tg_square(tg_rfft_with(x, TG_AXES(2, 0), TG_FFT_FORWARD));
    return 2;
}

static size_t differentiate_inverse(tg_value x, tg_value *out)
{
    const int64_t n = tg_value_dim(x, 1);
    out[0] = tg_square(tg_irfft(x, tg_dim_mul(tg_dim_sub(n, 1), 2),
                                TG_AXES(0, 1)));
    return 1;
}

static size_t differentiate_odd_inverse(tg_value x, tg_value *out)
{
    out[0] = tg_square(tg_irfft_with(x, 5, TG_AXES(-1), TG_FFT_ORTHO));
    return 1;
}

static void check_gradients(session *s)
{
    double data[60];
    for (int i = 0; i < 60; i++)
        data[i] = element(i);
    EACH_POLICY(policy) {
        check_gradient(s->ctx, differentiate_complex, 1, policy, data,
                       TG_DIMS(3, 4, 2));
        check_gradient(s->ctx, differentiate_real, 1, policy, data,
                       TG_DIMS(2, 2, 6));
        check_gradient(s->ctx, differentiate_real, 1, policy, data,
                       TG_DIMS(3, 2, 5));
        check_gradient(s->ctx, differentiate_inverse, 1, policy, data,
                       TG_DIMS(3, 4, 2));
    }
    check_gradient(s->ctx, differentiate_odd_inverse, 1, TG_EXACT, data,
                   TG_DIMS(2, 3, 2));
    check_gradient(s->ctx, differentiate_real, 2, TG_EXACT, data,
                   TG_DIMS(2, 2, 6));
    check_gradient(s->ctx, differentiate_complex, 2, TG_EXACT, data,
                   TG_DIMS(3, 4, 2));
}

Test(fftw, gradients_equal_differences)
{
    in_both(check_gradients);
}

/* -- Batches and threads --------------------------------------------------- */

Test(fftw, a_batch_has_the_bits_of_single_transforms)
{
    session s;
    session_begin(&s);
    plan p = {.axes = TG_AXES(-1)};
    for (int64_t n = 1; n < 140; n += 6) {
        tg_tensor *x = make(&s, TG_F32, TG_DIMS(5, n, 2));
        tg_tensor *y = call_plan(&s, apply_fft, &p, TG_EXACT, x);
        for (int i = 0; i < 5; i++) {
            const size_t bytes = (size_t)n * 2 * sizeof(float);
            const char *row = (const char *)tg_tensor_data(x) + i * bytes;
            tg_tensor *one =
                tg_tensor_copy(s.ctx, row, TG_F32, TG_DIMS(n, 2));
            tg_tensor *z = call_plan(&s, apply_fft, &p, TG_EXACT, one);
            cr_assert_eq(memcmp(tg_tensor_data(z),
                                (const char *)tg_tensor_data(y) + i * bytes,
                                bytes),
                         0, "n = %lld, row %d", (long long)n, i);
            tg_tensor_release(one);
            tg_tensor_release(z);
        }
        tg_tensor_release(x);
        tg_tensor_release(y);
    }
    session_end(&s);
}

/* Transforms of more sizes than the cache holds. */
static void *transform_sizes(void *user)
{
    session *s = user;
    for (int64_t n = 2; n < 100; n++) {
        plan p = {.axes = TG_AXES(-1)};
        tg_tensor *x = make(s, TG_F64, TG_DIMS(n, 2));
        tg_tensor *y = call_plan(s, apply_fft, &p, TG_EXACT, x);
        double *want = malloc((size_t)n * 2 * sizeof(*want));
        for (int64_t i = 0; i < 2 * n; i++)
            want[i] = at(x, i);
        transform_axis(want, 1, n, 1, -1);
        check_close(__LINE__, y, want);
        free(want);
        tg_tensor_release(x);
        tg_tensor_release(y);
    }
    return NULL;
}

Test(fftw, threads_plan_and_transform_at_once)
{
    session s;
    session_begin_with(&s, (tg_context_options){.jit = "off"});
    pthread_t threads[3];
    for (int i = 0; i < 3; i++)
        cr_assert_eq(pthread_create(&threads[i], NULL, transform_sizes, &s),
                     0);
    for (int i = 0; i < 3; i++)
        pthread_join(threads[i], NULL);
    session_end(&s);
}

/* -- Failures -------------------------------------------------------------- */

static tg_status call_fft(session *s, tg_tensor *x, tg_axes axes,
                          tg_policy policy)
{
    plan p = {.axes = axes};
    tg_tensor *y = NULL;
    tg_function_options options = TG_FUNCTION_OPTIONS_INIT;
    options.policy = policy;
    tg_function *f = tg_function_create(s->ctx, apply_fft, &p, &options);
    const tg_status status = tg_call(f, TG_ARGS(x), TG_RESULTS(&y));
    tg_tensor_release(y);
    tg_function_release(f);
    return status;
}

Test(fftw, failures_name_the_operation)
{
    session s;
    session_begin(&s);
    tg_tensor *x = make(&s, TG_F32, TG_DIMS(3, 2));
    tg_tensor *real = make(&s, TG_F32, TG_DIMS(3, 3));
    tg_tensor *none = make(&s, TG_F32, TG_DIMS(1, 0, 2));
    tg_tensor *integers =
        tg_tensor_create(s.ctx, TG_I32, TG_DIMS(2, 2), tg_zeros());
    check_fails(call_fft(&s, x, TG_AXES(1), TG_EXACT), TG_ERROR_SHAPE,
                "fft: axis 1", "test_fftw.c:");
    check_fails(call_fft(&s, none, TG_AXES(0, 0), TG_EXACT), TG_ERROR_SHAPE,
                "fft: axis 0 is listed twice");
    check_fails(call_fft(&s, real, TG_AXES(0), TG_EXACT), TG_ERROR_SHAPE,
                "fft: a complex operand", "extent 2");
    check_fails(call_fft(&s, integers, TG_AXES(0), TG_EXACT), TG_ERROR_DTYPE,
                "fft: needs f32 or f64, not i32");
    check_fails(call_fft(&s, none, TG_AXES(1), TG_EXACT), TG_ERROR_CALLBACK,
                "fft: an axis of 0 elements");
    tg_tensor_release(x);
    tg_tensor_release(real);
    tg_tensor_release(none);
    tg_tensor_release(integers);
    session_end(&s);
}
