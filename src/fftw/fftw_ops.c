/* SPDX-License-Identifier: MIT */
/*
 * fftw_ops.c - the operations of fftw.h. The transformed axes are moved to the
 * end; a real transform of several axes is that of one axis, and a complex one
 * of the others.
 *
 * Gradients. The transposed map of a complex transform is the one with the
 * opposite sign. That of real to complex adds up half of the spectrum, so it is
 * complex to real of elements that are halved, but for those that have no
 * mirror image; complex to real is the reverse.
 */
#include "fftw_host.h"
#include "tgjit/extend.h"
#include "tgjit/fftw.h"
#include "tgjit/ops_conv.h"
#include "tgjit/ops_shape.h"

static const tg_value invalid = {0, 0};
static const tg_site no_site = {NULL, 0};

#define V tg_in_value

/* -- Host calls ------------------------------------------------------------ */

static tg_value transform(const char *name, tg_value x, tgi_fftw_call call,
                          int rank, const int64_t *dims, tg_site site);

/* x along its last axes. */
static tg_value transform_complex(const char *name, tg_value x, bool is_inverse,
                                  int n_axes, int divisor, tg_site site)
{
    int64_t dims[TG_MAX_RANK];
    const int rank = tg_value_rank(x);
    for (int i = 0; i < rank; i++)
        dims[i] = tg_value_dim(x, i);
    return transform(name, x,
                     (tgi_fftw_call){is_inverse ? TGI_FFTW_INVERSE
                                                : TGI_FFTW_FORWARD,
                                     n_axes, divisor},
                     rank, dims, site);
}

static tg_value transform_to_complex(const char *name, tg_value x, int divisor,
                                     tg_site site)
{
    int64_t dims[TG_MAX_RANK + 1];
    const int rank = tg_value_rank(x);
    for (int i = 0; i < rank; i++)
        dims[i] = tg_value_dim(x, i);
    dims[rank - 1] = tg_dim_add(tg_dim_div(dims[rank - 1], 2), 1);
    dims[rank] = 2;
    return transform(name, x, (tgi_fftw_call){TGI_FFTW_TO_COMPLEX, 1, divisor},
                     rank + 1, dims, site);
}

static tg_value transform_to_real(const char *name, tg_value x, int64_t n,
                                  int divisor, tg_site site)
{
    int64_t dims[TG_MAX_RANK];
    const int rank = tg_value_rank(x) - 1;
    for (int i = 0; i < rank - 1; i++)
        dims[i] = tg_value_dim(x, i);
    dims[rank - 1] = n;
    return transform(name, x, (tgi_fftw_call){TGI_FFTW_TO_REAL, 1, divisor},
                     rank, dims, site);
}

/* -- Gradients ------------------------------------------------------------- */

/* `weight` for the elements that have a mirror image in a spectrum of n
   elements, else 1: [n / 2 + 1, 1]. */
static tg_value mirror_weights(tg_dtype dtype, tg_value n, int64_t n_bins,
                               double weight)
{
    const int64_t dims[] = {n_bins, 1};
    const tg_value k = tg_iota_at(TG_I64, 2, dims, 0, no_site);
    const tg_value twice = tg_mul_at(V(k), tg_in_i64(2), no_site);
    const tg_value is_first = tg_eq_at(V(k), tg_in_i64(0), no_site);
    const tg_value is_middle = tg_eq_at(V(twice), V(n), no_site);
    const tg_value is_alone = tg_or_at(V(is_first), V(is_middle), no_site);
    const tg_value alone = tg_scalar_at(dtype, tg_in_f64(1), no_site);
    return tg_select_at(V(is_alone), V(alone), tg_in_f64(weight), no_site);
}

static void transform_back(tg_trace *t, const tg_value *in, void *user)
{
    const tgi_fftw_call call = tgi_fftw_call_of(user);
    const tg_value x = in[0], gradient = in[2];
    const tg_dtype dtype = tg_value_dtype(x);
    tg_value result = invalid;
    switch (call.kind) {
    case TGI_FFTW_FORWARD:
    case TGI_FFTW_INVERSE:
        result = transform_complex("fft", gradient,
                                   call.kind == TGI_FFTW_FORWARD, call.n_axes,
                                   call.divisor, no_site);
        break;
    case TGI_FFTW_TO_COMPLEX: {
        const tg_value n = tg_extent_at(V(x), -1, no_site);
        const tg_value weights =
            mirror_weights(dtype, n, tg_value_dim(gradient, -2), 0.5);
        const tg_value halved = tg_mul_at(V(gradient), V(weights), no_site);
        result = transform_to_real("rfft", halved, tg_value_dim(x, -1),
                                   call.divisor, no_site);
        break;
    }
    case TGI_FFTW_TO_REAL: {
        const tg_value n = tg_extent_at(V(gradient), -1, no_site);
        const tg_value spectrum =
            transform_to_complex("irfft", gradient, call.divisor, no_site);
        const tg_value weights =
            mirror_weights(dtype, n, tg_value_dim(spectrum, -2), 2);
        int64_t dims[TG_MAX_RANK];
        const int rank = tg_value_rank(x);
        for (int i = 0; i < rank; i++)
            dims[i] = tg_value_dim(x, i);
        /* Its extents may have other names. */
        result = tg_reshape_at(
            V(tg_mul_at(V(spectrum), V(weights), no_site)), rank, dims,
            no_site);
        break;
    }
    }
    tg_return_at(t, (tg_operand[]){V(result)}, 1, no_site);
}

static tg_value transform(const char *name, tg_value x, tgi_fftw_call call,
                          int rank, const int64_t *dims, tg_site site)
{
    if (rank > TG_MAX_RANK)
        return tg_op_fail(TG_ERROR_SHAPE, site,
                          "%s: the result has more than %d axes", name,
                          TG_MAX_RANK);
    const tg_host_op op = {.struct_bytes = sizeof(op),
                           .name = name,
                           .function = tgi_fftw_transform,
                           .backward = transform_back,
                           .user = tgi_fftw_user(call),
                           .maps_leading_axes = true};
    const tg_operand operand = V(x);
    const tg_host_spec spec = {tg_value_dtype(x), rank, dims};
    tg_value result = invalid;
    if (tg_is_valid(x))
        tg_host_op_at(&op, &operand, 1, &spec, &result, 1, site);
    return result;
}

/* -- Axes ------------------------------------------------------------------ */

/* The operand, and the order of its axes in which the transformed ones, as
   listed, follow the others. */
typedef struct arranged {
    tg_value x;
    int rank;   /* without the axis of a complex tensor */
    int n_axes; /* transformed */
    int perm[TG_MAX_RANK];
    bool is_complex;
} arranged;

static bool fail_axis(const char *name, int axis, int rank, tg_site site)
{
    tg_op_fail(TG_ERROR_SHAPE, site,
               "%s: axis %d is listed twice, or not one of the %d axes of the "
               "operand",
               name, axis, rank);
    return false;
}

/* Lists the axes: those that are not transformed, then the others. */
static bool arrange_axes(const char *name, tg_axes axes, arranged *a,
                         tg_site site)
{
    bool is_listed[TG_MAX_RANK] = {false};
    const int n = axes.n < 0 ? a->rank : axes.n;
    int listed[TG_MAX_RANK];
    if (n > a->rank || n == 0)
        return fail_axis(name, 0, a->rank, site);
    for (int i = 0; i < n; i++) {
        int axis = axes.n < 0 ? i : axes.axis[i];
        axis += axis < 0 ? a->rank : 0;
        if (axis < 0 || axis >= a->rank || is_listed[axis])
            return fail_axis(name, axes.n < 0 ? i : axes.axis[i], a->rank,
                             site);
        is_listed[axis] = true;
        listed[i] = axis;
    }
    int at = 0;
    for (int i = 0; i < a->rank; i++)
        if (!is_listed[i])
            a->perm[at++] = i;
    for (int i = 0; i < n; i++)
        a->perm[at++] = listed[i];
    a->n_axes = n;
    return true;
}

/* x with its axes in that order, or back; `is_complex` tells about x. */
static tg_value permute(const arranged *a, tg_value x, bool is_complex,
                        bool is_back, tg_site site)
{
    int perm[TG_MAX_RANK + 1];
    bool is_identity = true;
    for (int i = 0; i < a->rank; i++) {
        perm[is_back ? a->perm[i] : i] = is_back ? i : a->perm[i];
        is_identity &= a->perm[i] == i;
    }
    perm[a->rank] = a->rank;
    return is_identity || !tg_is_valid(x)
               ? x
               : tg_transpose_at(V(x), a->rank + is_complex, perm, site);
}

static bool arrange(const char *name, tg_operand operand, bool is_complex,
                    tg_axes axes, unsigned norm, arranged *a, tg_site site)
{
    *a = (arranged){.x = tg_op_operand(name, operand, site),
                    .is_complex = is_complex};
    if (!tg_is_valid(a->x))
        return false;
    const tg_dtype dtype = tg_value_dtype(a->x);
    a->rank = tg_value_rank(a->x) - is_complex;
    if (dtype != TG_F32 && dtype != TG_F64)
        tg_op_fail(TG_ERROR_DTYPE, site, "%s: needs f32 or f64, not %s", name,
                   tg_dtype_name(dtype));
    else if (a->rank < 1 || (is_complex && tg_value_dim(a->x, -1) != 2))
        tg_op_fail(TG_ERROR_SHAPE, site,
                   is_complex ? "%s: a complex operand needs a last axis of "
                                "extent 2, and axes before it"
                              : "%s: the operand has no axes",
                   name);
    else if (norm > TG_FFT_FORWARD)
        tg_op_fail(TG_ERROR_INVALID_ARGUMENT, site,
                   "%s: %u is not a tg_fft_norm", name, norm);
    else if (arrange_axes(name, axes, a, site)) {
        a->x = permute(a, a->x, is_complex, false, site);
        return tg_is_valid(a->x);
    }
    return false;
}

/* -- Operations ------------------------------------------------------------ */

/* The divisor of a transform in one direction. */
static int divisor_of(tg_fft_norm norm, bool is_inverse)
{
    return norm == TG_FFT_ORTHO                   ? 1
           : is_inverse == (norm == TG_FFT_BACKWARD) ? 2
                                                     : 0;
}

static tg_value complex_transform(const char *name, tg_operand x, tg_axes axes,
                                  tg_fft_norm norm, bool is_inverse,
                                  tg_site site)
{
    arranged a;
    if (!arrange(name, x, true, axes, norm, &a, site))
        return invalid;
    const tg_value y = transform_complex(name, a.x, is_inverse, a.n_axes,
                                         divisor_of(norm, is_inverse), site);
    return permute(&a, y, true, true, site);
}

tg_value tg_fft_at(tg_operand x, tg_axes axes, tg_fft_norm norm, tg_site site)
{
    return complex_transform("fft", x, axes, norm, false, site);
}

tg_value tg_ifft_at(tg_operand x, tg_axes axes, tg_fft_norm norm, tg_site site)
{
    return complex_transform("ifft", x, axes, norm, true, site);
}

/* The complex transform of the listed axes but the last. */
static tg_value transform_others(const char *name, const arranged *a,
                                 tg_value x, bool is_inverse, int divisor,
                                 tg_site site)
{
    if (a->n_axes == 1 || !tg_is_valid(x))
        return x;
    /* The last axis changes places with those before it. */
    arranged moved = {.rank = a->rank};
    const int first = a->rank - a->n_axes;
    for (int i = 0; i < a->rank; i++)
        moved.perm[i] = i < first    ? i
                        : i == first ? a->rank - 1
                                     : i - 1;
    x = permute(&moved, x, true, false, site);
    if (tg_is_valid(x))
        x = transform_complex(name, x, is_inverse, a->n_axes - 1, divisor,
                              site);
    return permute(&moved, x, true, true, site);
}

tg_value tg_rfft_at(tg_operand x, tg_axes axes, tg_fft_norm norm, tg_site site)
{
    arranged a;
    if (!arrange("rfft", x, false, axes, norm, &a, site))
        return invalid;
    const int divisor = divisor_of(norm, false);
    tg_value y = transform_to_complex("rfft", a.x, divisor, site);
    y = transform_others("rfft", &a, y, false, divisor, site);
    return permute(&a, y, true, true, site);
}

/* x with n_bins elements along its last but one axis. */
static tg_value fit_bins(tg_value x, int64_t n_bins, tg_site site)
{
    const int64_t have = tg_value_dim(x, -2);
    if (have == n_bins)
        return x;
    if (!tg_dim_is_known(have) || !tg_dim_is_known(n_bins)) {
        int64_t dims[TG_MAX_RANK];
        const int rank = tg_value_rank(x);
        for (int i = 0; i < rank; i++)
            dims[i] = i == rank - 2 ? n_bins : tg_value_dim(x, i);
        return tg_reshape_at(V(x), rank, dims, site);
    }
    return have > n_bins
               ? tg_slice_at(V(x), -2, 0, n_bins, 1, site)
               : tg_pad_at(V(x), -2, 0, n_bins - have, tg_in_f64(0), site);
}

tg_value tg_irfft_at(tg_operand x, int64_t n, tg_axes axes, tg_fft_norm norm,
                     tg_site site)
{
    arranged a;
    if (!arrange("irfft", x, true, axes, norm, &a, site))
        return invalid;
    if (tg_dim_is_known(n) && n < 1)
        return tg_op_fail(TG_ERROR_SHAPE, site,
                          "irfft: the result has %lld elements", (long long)n);
    const int divisor = divisor_of(norm, true);
    tg_value y = fit_bins(a.x, tg_dim_add(tg_dim_div(n, 2), 1), site);
    y = transform_others("irfft", &a, y, true, divisor, site);
    y = tg_is_valid(y) ? transform_to_real("irfft", y, n, divisor, site) : y;
    return permute(&a, y, false, true, site);
}

/* -- Short-time transforms ------------------------------------------------- */

/* x padded with zeros to n elements along its last axis. */
static tg_value pad_pieces(tg_value x, int64_t n, tg_site site)
{
    const int64_t length = tg_value_dim(x, -1);
    if (n == 0 || n == length)
        return x;
    if (tg_dim_is_known(length) && tg_dim_is_known(n) && n < length)
        return tg_op_fail(TG_ERROR_SHAPE, site,
                          "stft: the window has %lld elements, but n is %lld",
                          (long long)length, (long long)n);
    return tg_pad_at(V(x), -1, 0, tg_dim_sub(n, length), tg_in_f64(0), site);
}

tg_value tg_stft_at(tg_operand signal, tg_operand window, int64_t hop,
                    int64_t n, bool is_two_sided, tg_site site)
{
    const tg_value x = tg_op_operand("stft", signal, site);
    const tg_value w = tg_op_operand("stft", window, site);
    if (!tg_is_valid(x) || !tg_is_valid(w))
        return invalid;
    if (tg_value_rank(w) != 1 || tg_value_rank(x) < 1 || hop < 1)
        return tg_op_fail(TG_ERROR_SHAPE, site,
                          "stft: needs a vector as window, a signal with an "
                          "axis of time and a positive hop, not %d axes, %d "
                          "axes and %lld",
                          tg_value_rank(w), tg_value_rank(x), (long long)hop);
    const int axis = tg_value_rank(x) - 1;
    const int64_t size = tg_value_dim(w, 0), one = 1;
    tg_value pieces =
        tg_windows_at(V(x), 1, &axis, &size, &hop, &one, site);
    pieces = tg_mul_at(V(pieces), V(w), site);
    pieces = tg_is_valid(pieces) ? pad_pieces(pieces, n, site) : pieces;
    if (!tg_is_valid(pieces))
        return invalid;
    const tg_axes last = tg_axes_of(1, &(int){-1});
    if (!is_two_sided)
        return tg_rfft_at(V(pieces), last, TG_FFT_BACKWARD, site);
    const tg_value column = tg_expand_dims_at(V(pieces), -1, site);
    const tg_value both =
        tg_pad_at(V(column), -1, 0, 1, tg_in_f64(0), site);
    return tg_fft_at(V(both), last, TG_FFT_BACKWARD, site);
}
