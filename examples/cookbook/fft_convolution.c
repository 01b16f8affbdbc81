/* SPDX-License-Identifier: MIT */
/*
 * fft_convolution.c - a long filter by Fourier transforms: the product of two
 * spectra is the spectrum of the convolution. Needs libtgjit-fftw.
 */
#include "compare.h"

#include <tgjit/fftw.h>

enum { N = 16384, TAPS = 2048 };

/* The product of complex tensors. */
static tg_value complex_product(tg_value a, tg_value b)
{
    tg_value x[2], y[2];
    tg_unstack(a, -1, x, 2);
    tg_unstack(b, -1, y, 2);
    return tg_stack(
        -1, tg_sub(tg_mul(x[0], y[0]), tg_mul(x[1], y[1])),
        tg_add(tg_mul(x[0], y[1]), tg_mul(x[1], y[0])));
}

/* Receives a signal and a filter, which wrap around. */
static void convolve(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    const tg_value taps = tg_pad(in[1], 0, 0, N - TAPS, 0);
    const tg_value spectrum = complex_product(tg_rfft(in[0], TG_AXES(0)),
                                              tg_rfft(taps, TG_AXES(0)));
    tg_return(t, tg_irfft(spectrum, N, TG_AXES(0)));
}

/* -- Plain C --------------------------------------------------------------- */

static float signal[N], taps[TAPS], plain[N];

static void plain_convolve(void)
{
    memset(plain, 0, sizeof(plain));
    for (int k = 0; k < TAPS; k++) {
        for (int i = k; i < N; i++)
            plain[i] += taps[k] * signal[i - k];
        for (int i = 0; i < k; i++)
            plain[i] += taps[k] * signal[i - k + N];
    }
}

int main(void)
{
    for (int i = 0; i < N; i++)
        signal[i] = random_number() - 0.5f;
    for (int i = 0; i < TAPS; i++)
        taps[i] = random_number() / TAPS;
    TG_AUTO(tg_context) ctx = one_thread();
    TG_AUTO(tg_function) f = tg_function_create(ctx, convolve, NULL, NULL);
    TG_AUTO(tg_tensor) x = tg_tensor_wrap(ctx, signal, TG_F32, TG_DIMS(N));
    TG_AUTO(tg_tensor) w = tg_tensor_wrap(ctx, taps, TG_F32, TG_DIMS(TAPS));
    TG_AUTO(tg_tensor) out = NULL;
    check(f && x && w);
    TG_AUTO(tg_bound) b = tg_bind(f, TG_ARGS(x, w), TG_RESULTS(&out));
    check(b);
    compare("filter of 2048 taps, 16384 samples", b, plain_convolve,
            tg_tensor_data(out), plain, N, 1e-3);
    return 0;
}
