/* SPDX-License-Identifier: MIT */
/*
 * ops_signal.h - windows of signal processing, as vectors. tg_stft (fftw.h)
 * takes them.
 */
#ifndef TGJIT_OPS_SIGNAL_H
#define TGJIT_OPS_SIGNAL_H

#include "ops.h"

TG_BEGIN_DECLS

typedef enum tg_window_kind {
    TG_WINDOW_PERIODIC = 0, /* for spectra: element n would be the first */
    TG_WINDOW_SYMMETRIC = 1 /* for filters: the last is the first */
} tg_window_kind;

/*
 * a0 - a1 cos(2 pi k / m) + a2 cos(4 pi k / m) for k = 0 … n - 1, where m is n,
 * or n - 1 if symmetric; 1 if m is 0. Computed in f64.
 */
TG_API tg_value tg_cosine_window_at(tg_dtype dtype, int64_t n,
                                    tg_window_kind kind, double a0, double a1,
                                    double a2, tg_site site);

TG_END_DECLS

/* 1/2, 1/2; 0.54, 0.46; 0.42, 0.5, 0.08. */
#ifndef __cplusplus
#define tg_cosine_window(dtype, n, kind, a0, a1, a2) \
    tg_cosine_window_at(dtype, n, kind, a0, a1, a2, TG_HERE)
#define tg_hann_window(dtype, n, kind) \
    tg_cosine_window(dtype, n, kind, 0.5, 0.5, 0.0)
#define tg_hamming_window(dtype, n, kind) \
    tg_cosine_window(dtype, n, kind, 0.54, 0.46, 0.0)
#define tg_blackman_window(dtype, n, kind) \
    tg_cosine_window(dtype, n, kind, 0.42, 0.5, 0.08)
#else
inline tg_value tg_cosine_window(tg_dtype dtype, int64_t n, tg_window_kind kind,
                                 double a0, double a1, double a2,
                                 tg_site site = TG_HERE)
{
    return tg_cosine_window_at(dtype, n, kind, a0, a1, a2, site);
}
inline tg_value tg_hann_window(tg_dtype dtype, int64_t n, tg_window_kind kind,
                               tg_site site = TG_HERE)
{
    return tg_cosine_window_at(dtype, n, kind, 0.5, 0.5, 0, site);
}
inline tg_value tg_hamming_window(tg_dtype dtype, int64_t n,
                                  tg_window_kind kind, tg_site site = TG_HERE)
{
    return tg_cosine_window_at(dtype, n, kind, 0.54, 0.46, 0, site);
}
inline tg_value tg_blackman_window(tg_dtype dtype, int64_t n,
                                   tg_window_kind kind, tg_site site = TG_HERE)
{
    return tg_cosine_window_at(dtype, n, kind, 0.42, 0.5, 0.08, site);
}
#endif

#endif /* TGJIT_OPS_SIGNAL_H */
