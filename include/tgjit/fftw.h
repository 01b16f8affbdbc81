/* SPDX-License-Identifier: MIT */
/*
 * fftw.h - discrete Fourier transforms through FFTW: operations on the host
 * (docs/LINEAR_ALGEBRA.md). In the library libtgjit-fftw, which is built if
 * FFTW is installed: pkg-config --cflags --libs tgjit-fftw.
 *
 * A complex tensor has a last axis of extent 2, the real and the imaginary
 * part; numbers of axes do not count it. f32 and f64; extents may be unknown.
 * All operations have gradients.
 */
#ifndef TGJIT_FFTW_H
#define TGJIT_FFTW_H

#include "ops.h"

TG_BEGIN_DECLS

/* What the sums are divided by, for n elements. */
typedef enum tg_fft_norm {
    TG_FFT_BACKWARD = 0, /* the inverse: n */
    TG_FFT_ORTHO = 1,    /* both: sqrt(n) */
    TG_FFT_FORWARD = 2   /* the forward transform: n */
} tg_fft_norm;

/* Complex to complex, along axes: sum(x[j] exp(-2 pi i j k / n)), and its
   inverse. */
TG_API tg_value tg_fft_at(tg_operand x, tg_axes axes, tg_fft_norm norm,
                          tg_site site);
TG_API tg_value tg_ifft_at(tg_operand x, tg_axes axes, tg_fft_norm norm,
                           tg_site site);

/*
 * The transform of a real tensor: of the last axis in `axes`, of extent n, the
 * first n / 2 + 1 elements, which determine the others. tg_irfft is the
 * inverse, with n elements along that axis: it takes n / 2 + 1 elements of x,
 * and zeros if x has fewer.
 */
TG_API tg_value tg_rfft_at(tg_operand x, tg_axes axes, tg_fft_norm norm,
                           tg_site site);
TG_API tg_value tg_irfft_at(tg_operand x, int64_t n, tg_axes axes,
                            tg_fft_norm norm, tg_site site);

/*
 * Short-time transform of a real signal […, time]: of the products of `window`
 * (a vector) with pieces of its length, every `hop` elements, padded with zeros
 * to n elements (0: not padded). […, pieces, n / 2 + 1, 2], or with all n
 * elements if is_two_sided.
 */
TG_API tg_value tg_stft_at(tg_operand signal, tg_operand window, int64_t hop,
                           int64_t n, bool is_two_sided, tg_site site);

TG_END_DECLS

#ifndef __cplusplus
#define tg_fft(x, axes) tg_fft_at(TG_IN(x), axes, TG_FFT_BACKWARD, TG_HERE)
#define tg_fft_with(x, axes, norm) tg_fft_at(TG_IN(x), axes, norm, TG_HERE)
#define tg_ifft(x, axes) tg_ifft_at(TG_IN(x), axes, TG_FFT_BACKWARD, TG_HERE)
#define tg_ifft_with(x, axes, norm) tg_ifft_at(TG_IN(x), axes, norm, TG_HERE)
#define tg_rfft(x, axes) tg_rfft_at(TG_IN(x), axes, TG_FFT_BACKWARD, TG_HERE)
#define tg_rfft_with(x, axes, norm) tg_rfft_at(TG_IN(x), axes, norm, TG_HERE)
#define tg_irfft(x, n, axes) \
    tg_irfft_at(TG_IN(x), n, axes, TG_FFT_BACKWARD, TG_HERE)
#define tg_irfft_with(x, n, axes, norm) \
    tg_irfft_at(TG_IN(x), n, axes, norm, TG_HERE)
#define tg_stft(signal, window, hop, n, is_two_sided) \
    tg_stft_at(TG_IN(signal), TG_IN(window), hop, n, is_two_sided, TG_HERE)
#else
inline tg_value tg_fft(tg_in x, tg_axes axes, tg_fft_norm norm = TG_FFT_BACKWARD,
                       tg_site site = TG_HERE)
{
    return tg_fft_at(x, axes, norm, site);
}
inline tg_value tg_ifft(tg_in x, tg_axes axes,
                        tg_fft_norm norm = TG_FFT_BACKWARD,
                        tg_site site = TG_HERE)
{
    return tg_ifft_at(x, axes, norm, site);
}
inline tg_value tg_rfft(tg_in x, tg_axes axes,
                        tg_fft_norm norm = TG_FFT_BACKWARD,
                        tg_site site = TG_HERE)
{
    return tg_rfft_at(x, axes, norm, site);
}
inline tg_value tg_irfft(tg_in x, int64_t n, tg_axes axes,
                         tg_fft_norm norm = TG_FFT_BACKWARD,
                         tg_site site = TG_HERE)
{
    return tg_irfft_at(x, n, axes, norm, site);
}
inline tg_value tg_stft(tg_in signal, tg_in window, int64_t hop, int64_t n,
                        bool is_two_sided, tg_site site = TG_HERE)
{
    return tg_stft_at(signal, window, hop, n, is_two_sided, site);
}
#endif

#endif /* TGJIT_FFTW_H */
