/* SPDX-License-Identifier: MIT */
/*
 * fftw_host.h - the host functions: transforms of the last axes, and of the
 * axis of 2 after them, for every index of the other axes.
 */
#ifndef TGI_FFTW_HOST_H
#define TGI_FFTW_HOST_H

#include "fftw_plan.h"
#include "tgjit/host.h"

/* `user` as an integer. */
typedef struct tgi_fftw_call {
    tgi_fftw_kind kind;
    int n_axes; /* 1 unless complex to complex */
    int divisor; /* of the results: 0: 1, 1: sqrt(n), 2: n */
} tgi_fftw_call;

static inline void *tgi_fftw_user(tgi_fftw_call c)
{
    return (void *)(uintptr_t)((unsigned)c.kind | (unsigned)c.divisor << 2 |
                               (unsigned)c.n_axes << 4);
}

static inline tgi_fftw_call tgi_fftw_call_of(const void *user)
{
    const uintptr_t bits = (uintptr_t)user;
    return (tgi_fftw_call){(tgi_fftw_kind)(bits & 3), (int)(bits >> 4),
                           (int)(bits >> 2 & 3)};
}

tg_host_function tgi_fftw_transform;

#endif /* TGI_FFTW_HOST_H */
