/* SPDX-License-Identifier: MIT */
/*
 * black_scholes.c - prices of European calls and puts, in one pass. Inputs:
 * price, strike, years; scalars: rate, volatility.
 */
#include <string.h>

#include "peers.h"
#include "recipes_f64.h"

typedef struct market {
    double drift, minus_rate, volatility;
} market;

typedef struct prices {
    wide_f64 call, put;
} prices;

/* (1 + erf(x / sqrt 2)) / 2 */
INLINE wide_f64 normal_cdf(wide_f64 x)
{
    return fma_f64(D(0.5), erf_f64(mul_f64(x, D(0x1.6a09e667f3bcdp-1))),
                   D(0.5));
}

INLINE prices price(wide_f64 spot, wide_f64 strike, wide_f64 years,
                           market m)
{
    const wide_f64 root = sqrt_f64(years);
    const wide_f64 spread = mul_f64(D(m.volatility), root);
    const wide_f64 moneyness = log_f64(div_f64(spot, strike));
    const wide_f64 d1 =
        div_f64(fma_f64(D(m.drift), years, moneyness), spread);
    const wide_f64 d2 = fnma_f64(D(m.volatility), root, d1);
    const wide_f64 n1 = normal_cdf(d1), n2 = normal_cdf(d2);
    const wide_f64 owed =
        mul_f64(strike, exp_f64(mul_f64(D(m.minus_rate), years)));
    return (prices){
        .call = fms_f64(spot, n1, mul_f64(owed, n2)),
        .put = fms_f64(owed, sub_f64(D(1), n2),
                       mul_f64(spot, sub_f64(D(1), n1))),
    };
}

void expert_black_scholes(const kernel_buffers *b)
{
    const double *spot = b->in[0], *strike = b->in[1], *years = b->in[2];
    double *call = b->out[0], *put = b->out[1];
    const double rate = *(const double *)b->in[3];
    const double volatility = *(const double *)b->in[4];
    const market m = {
        .drift = __builtin_fma(volatility * 0.5, volatility, rate),
        .minus_rate = -rate,
        .volatility = volatility,
    };
    const int64_t whole = b->count / WIDE_F64 * WIDE_F64;
    const size_t left = (size_t)(b->count - whole) * sizeof(*spot);

#pragma omp parallel for
    for (int64_t i = 0; i < whole; i += WIDE_F64) {
        const prices p = price(load_f64(spot + i), load_f64(strike + i),
                               load_f64(years + i), m);
        store_f64(call + i, p.call);
        store_f64(put + i, p.put);
    }
    if (left) {
        double last[3][WIDE_F64] = {{0}};
        memcpy(last[0], spot + whole, left);
        memcpy(last[1], strike + whole, left);
        memcpy(last[2], years + whole, left);
        const prices p = price(load_f64(last[0]), load_f64(last[1]),
                               load_f64(last[2]), m);
        store_f64(last[0], p.call);
        store_f64(last[1], p.put);
        memcpy(call + whole, last[0], left);
        memcpy(put + whole, last[1], left);
    }
}
