/* SPDX-License-Identifier: MIT */
/*
 * op_signal.c - windows, Fourier transforms and mel filters. A transform is a
 * product with the matrix of cosines and sines, whose angles are reduced in
 * integers; complex numbers are pairs on the last axis.
 */
#include <math.h>

#include "onnx_known.h"

static const double two_pi = 6.283185307179586476925286766559;

/* -- Windows --------------------------------------------------------------- */

/* Sum of weight[k] * cos(k * angle), where the angle runs over a period. */
static void build_window(const tgi_onnx_call *c, const double *weight, int n)
{
    const int32_t code = (int32_t)tgi_onnx_int(c, "output_datatype", 1);
    const tg_dtype dtype = tgi_onnx_dtype(code);
    const int64_t size = tgi_onnx_known_int(c, 0);
    if (!dtype || size < 0)
        tgi_onnx_fail(c, TG_ERROR_UNSUPPORTED, "dtype %s, size %lld",
                      tgi_onnx_dtype_name(code), (long long)size);
    if (tgi_onnx_failed(c))
        return;
    const int64_t period = tgi_onnx_int(c, "periodic", 1) ? size : size - 1;
    const tg_value at = tg_iota_at(TG_F64, 1, &size, 0, c->site);
    tg_value y = tg_scalar_at(TG_F64, tg_in_f64(weight[0]), c->site);
    for (int k = 1; k < n; k++) {
        const tg_value step = tg_scalar_at(
            TG_F64, tg_in_f64(two_pi * k / (double)(period > 0 ? period : 1)),
            c->site);
        const tg_value w =
            tg_scalar_at(TG_F64, tg_in_f64(weight[k]), c->site);
        y = F2(add, y, F2(mul, w, F1(cos, F2(mul, at, step))));
    }
    tgi_onnx_out(c, 0, tg_cast_at(TG_IN(y), dtype, c->site));
}

void tgi_onnx_build_hann_window(const tgi_onnx_call *c)
{
    build_window(c, (const double[]){0.5, -0.5}, 2);
}

void tgi_onnx_build_hamming_window(const tgi_onnx_call *c)
{
    build_window(c, (const double[]){25.0 / 46, -21.0 / 46}, 2);
}

void tgi_onnx_build_blackman_window(const tgi_onnx_call *c)
{
    build_window(c, (const double[]){0.42, -0.5, 0.08}, 3);
}

/* -- Fourier transforms ---------------------------------------------------- */

/* cos or sin of 2 pi row * column / n, for `rows` frequencies. */
static tg_value waves(const tgi_onnx_call *c, tg_dtype dtype, int64_t n,
                      int64_t rows, bool is_sin)
{
    const int64_t dims[] = {rows, n};
    const tg_value product =
        F2(mul, tg_iota_at(TG_I64, 2, dims, 0, c->site),
           tg_iota_at(TG_I64, 2, dims, 1, c->site));
    const tg_value turn =
        F2(rem, product, tg_scalar_at(TG_I64, tg_in_i64(n), c->site));
    const tg_value angle =
        F2(mul, tg_cast_at(TG_IN(turn), TG_F64, c->site),
           tg_scalar_at(TG_F64, tg_in_f64(two_pi / (double)n), c->site));
    return tg_cast_at(TG_IN(is_sin ? F1(sin, angle) : F1(cos, angle)), dtype,
                      c->site);
}

static tg_value times(const tgi_onnx_call *c, tg_value x, tg_value w)
{
    return tg_matmul_with_at(TG_IN(x), TG_IN(w), TG_TRANSPOSE_B, c->site);
}

/* Transforms the last axis of n elements of re and im (invalid: zero) to `rows`
   frequencies; pairs on a new last axis. */
static tg_value transform(const tgi_onnx_call *c, tg_value re, tg_value im,
                          int64_t n, int64_t rows, bool is_inverse)
{
    const tg_dtype dtype = tg_value_dtype(re);
    const tg_value cosines = waves(c, dtype, n, rows, false);
    tg_value sines = waves(c, dtype, n, rows, true);
    if (is_inverse)
        sines = F1(neg, sines);
    tg_value out_re = times(c, re, cosines);
    tg_value out_im = F1(neg, times(c, re, sines));
    if (tg_is_valid(im)) {
        out_re = F2(add, out_re, times(c, im, sines));
        out_im = F2(add, out_im, times(c, im, cosines));
    }
    const tg_operand parts[] = {TG_IN(out_re), TG_IN(out_im)};
    const tg_value pairs = tg_stack_at(-1, parts, 2, c->site);
    return is_inverse
               ? F2(div, pairs, tgi_onnx_scalar_like(c, pairs, (double)n))
               : pairs;
}

/* x [..., 1 or 2] as its real and imaginary parts. */
static void split_complex(const tgi_onnx_call *c, tg_value x, tg_value *re,
                          tg_value *im)
{
    tg_value parts[2] = {{0, 0}, {0, 0}};
    const int64_t n = tg_value_dim(x, -1);
    if (n != 1 && n != 2)
        tgi_onnx_fail(c, TG_ERROR_SHAPE, "the last axis holds no numbers");
    else
        tg_unstack_at(TG_IN(x), -1, parts, (size_t)n, c->site);
    *re = parts[0];
    *im = parts[1];
}

static tg_value swap_with_last(const tgi_onnx_call *c, tg_value x, int axis)
{
    int perm[TG_MAX_RANK];
    const int rank = tg_value_rank(x);
    if (rank < 1 || !tg_is_valid(x))
        return x;
    for (int i = 0; i < rank; i++)
        perm[i] = i;
    perm[axis] = rank - 1;
    perm[rank - 1] = axis;
    return tg_transpose_at(TG_IN(x), rank, perm, c->site);
}

/* Cuts or extends the last axis to n elements. */
static tg_value fit(const tgi_onnx_call *c, tg_value x, int64_t n)
{
    const int64_t has = tg_value_dim(x, -1);
    if (!tg_is_valid(x) || has == n)
        return x;
    return has > n ? tg_slice_at(TG_IN(x), -1, 0, n, 1, c->site)
                   : tg_pad_at(TG_IN(x), -1, 0, n - has,
                               TG_IN(tgi_onnx_scalar_like(c, x, 0)), c->site);
}

enum { MAX_LENGTH = 1 << 14 };

/* The length that input i gives, or else `extent`; 0 with the trace failed. */
static int64_t length(const tgi_onnx_call *c, size_t i, int64_t extent)
{
    const int64_t n = tgi_onnx_has(c, i) ? tgi_onnx_known_int(c, i) : extent;
    if (tgi_onnx_failed(c))
        return 0;
    if (n < 1 || n > MAX_LENGTH) {
        tgi_onnx_fail(c, TG_ERROR_UNSUPPORTED,
                      "a transform of unknown length, or of more than %d",
                      MAX_LENGTH);
        return 0;
    }
    return n;
}

void tgi_onnx_build_dft(const tgi_onnx_call *c)
{
    const tg_value x = tgi_onnx_in(c, 0);
    const int rank = tgi_onnx_in_rank(c, 0);
    const bool is_inverse = tgi_onnx_int(c, "inverse", 0);
    const bool is_onesided = tgi_onnx_int(c, "onesided", 0);
    const int64_t given = c->opset < 20           ? tgi_onnx_int(c, "axis", 1)
                          : tgi_onnx_has(c, 2) ? tgi_onnx_known_int(c, 2)
                                                  : -2;
    const int axis = tgi_onnx_axis(c, given, rank);
    tg_value re, im;
    if (tgi_onnx_failed(c))
        return;
    if (axis == rank - 1) {
        tgi_onnx_fail(c, TG_ERROR_SHAPE, "the last axis holds the numbers");
        return;
    }
    if (is_inverse && is_onesided) {
        tgi_onnx_fail(c, TG_ERROR_UNSUPPORTED, "an inverse one-sided transform");
        return;
    }
    const int64_t n = length(c, 1, tg_value_dim(x, axis));
    if (!n)
        return;
    split_complex(c, x, &re, &im);
    re = fit(c, swap_with_last(c, re, axis), n);
    im = fit(c, swap_with_last(c, im, axis), n);
    const tg_value y = transform(c, re, im, n, is_onesided ? n / 2 + 1 : n,
                                 is_inverse);
    if (tgi_onnx_failed(c))
        return;
    int perm[TG_MAX_RANK];
    for (int i = 0; i < rank; i++)
        perm[i] = i;
    perm[axis] = rank - 2;
    perm[rank - 2] = axis;
    tgi_onnx_out(c, 0, tg_transpose_at(TG_IN(y), rank, perm, c->site));
}

/* Transforms of frames of the signal, `step` elements apart. */
void tgi_onnx_build_stft(const tgi_onnx_call *c)
{
    tg_value re, im, signal = tgi_onnx_in(c, 0);
    const int64_t step = tgi_onnx_known_int(c, 1);
    if (tgi_onnx_in_rank(c, 0) == 2)
        signal = tg_expand_dims_at(TG_IN(signal), -1, c->site);
    const int64_t of_window =
        tgi_onnx_has(c, 2) ? tg_value_dim(tgi_onnx_in(c, 2), 0)
                           : tg_value_dim(signal, 1);
    const int64_t n = length(c, 3, of_window);
    if (!n)
        return;
    if (step < 1) {
        tgi_onnx_fail(c, TG_ERROR_INVALID_ARGUMENT, "step %lld",
                      (long long)step);
        return;
    }
    split_complex(c, signal, &re, &im);
    tg_value *parts[] = {&re, &im};
    for (int i = 0; i < 2; i++) {
        if (!tg_is_valid(*parts[i]))
            continue;
        *parts[i] = tg_windows_at(TG_IN(*parts[i]), 1, (const int[]){1}, &n,
                                  &step, NULL, c->site);
        if (tgi_onnx_has(c, 2))
            *parts[i] = F2(mul, *parts[i], tgi_onnx_in(c, 2));
    }
    const bool is_onesided = tgi_onnx_int(c, "onesided", 1);
    tgi_onnx_out(c, 0, transform(c, re, im, n, is_onesided ? n / 2 + 1 : n,
                                 false));
}

/* -- Mel filters ----------------------------------------------------------- */

static double to_mel(double hertz)
{
    return 2595 * log10(1 + hertz / 700);
}

/*
 * Triangles on the mel scale [frequencies, bins]. Bin i rises from edge i to
 * edge i + 1, and falls to edge i + 2; edges are frequencies of the transform.
 */
void tgi_onnx_build_mel_weight_matrix(const tgi_onnx_call *c)
{
    const int64_t n_bins = tgi_onnx_known_int(c, 0);
    const int64_t n = tgi_onnx_known_int(c, 1);
    const int64_t rate = tgi_onnx_known_int(c, 2);
    const double low = to_mel(tgi_onnx_known_float(c, 3));
    const double high = to_mel(tgi_onnx_known_float(c, 4));
    const int32_t code = (int32_t)tgi_onnx_int(c, "output_datatype", 1);
    const tg_dtype dtype = tgi_onnx_dtype(code);
    if (tgi_onnx_failed(c))
        return;
    if (n_bins < 1 || n < 1 || n > MAX_LENGTH || n_bins > MAX_LENGTH ||
        rate < 1 || !dtype) {
        tgi_onnx_fail(c, TG_ERROR_UNSUPPORTED,
                      "%lld bins, length %lld, rate %lld, dtype %s",
                      (long long)n_bins, (long long)n, (long long)rate,
                      tgi_onnx_dtype_name(code));
        return;
    }
    const int64_t n_rows = n / 2 + 1;
    tgi_onnx_arena *arena = &c->frame->shared->arena;
    double *all =
        tgi_onnx_alloc(arena, (size_t)(n_rows * n_bins), sizeof(*all));
    int64_t *edges =
        tgi_onnx_alloc(arena, (size_t)n_bins + 2, sizeof(*edges));
    if (!all || !edges) {
        tgi_onnx_fail(c, TG_ERROR_OUT_OF_MEMORY, "out of memory");
        return;
    }
    for (int64_t i = 0; i < n_bins + 2; i++) {
        const double mel =
            low + (double)i * ((high - low) / (double)(n_bins + 2));
        const double hertz = 700 * (pow(10, mel / 2595) - 1);
        const double at = floor((double)(n + 1) * hertz / (double)rate);
        edges[i] = at < 0 ? 0 : at > (double)n_rows ? n_rows : (int64_t)at;
    }
    for (int64_t i = 0; i < n_bins; i++) {
        const int64_t from = edges[i], top = edges[i + 1], end = edges[i + 2];
        for (int64_t row = from; row < end && row < n_rows; row++)
            all[row * n_bins + i] =
                row < top ? (double)(row - from) / (double)(top - from)
                          : (double)(end - row) / (double)(end - top);
        if (top < n_rows)
            all[top * n_bins + i] = 1;
    }
    const tg_value x = tg_constant_at(
        TG_F64, 2, (const int64_t[]){n_rows, n_bins}, all, c->site);
    tgi_onnx_out(c, 0, tg_cast_at(TG_IN(x), dtype, c->site));
}
