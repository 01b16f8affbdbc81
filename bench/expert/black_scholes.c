/* SPDX-License-Identifier: MIT */
/*
 * black_scholes.c - prices of European calls and puts. Inputs: price, strike,
 * years; scalars: rate, volatility.
 *
 * Two loops over a chunk that stays in L1. A single loop body would exceed the
 * reorder buffer, so that iterations would not overlap and latency would
 * dominate.
 */
#include <string.h>

#include "peers.h"
#include "recipes_f64.h"

enum { CHUNK = 256 };

typedef struct market {
    double drift, minus_rate, volatility;
} market;

typedef struct contracts {
    const double *spot, *strike, *years;
    double *call, *put;
} contracts;

/* (1 + erf(x / sqrt 2)) / 2 */
INLINE wide_f64 normal_cdf(wide_f64 x)
{
    return fma_f64(D(0.5), erf_f64(mul_f64(x, D(0x1.6a09e667f3bcdp-1))),
                   D(0.5));
}

/* d1 and d2 of n contracts, a multiple of WIDE_F64. */
static void find_distances(contracts c, int64_t n, market m, double *d1,
                           double *d2)
{
    for (int64_t i = 0; i < n; i += WIDE_F64) {
        const wide_f64 years = load_f64(c.years + i);
        const wide_f64 root = sqrt_f64(years);
        const wide_f64 spread = mul_f64(D(m.volatility), root);
        const wide_f64 moneyness = log_f64(
            div_f64(load_f64(c.spot + i), load_f64(c.strike + i)));
        const wide_f64 distance =
            div_f64(fma_f64(D(m.drift), years, moneyness), spread);
        store_f64(d1 + i, distance);
        store_f64(d2 + i, fnma_f64(D(m.volatility), root, distance));
    }
}

static void find_prices(contracts c, int64_t n, market m, const double *d1,
                        const double *d2)
{
    for (int64_t i = 0; i < n; i += WIDE_F64) {
        const wide_f64 spot = load_f64(c.spot + i);
        const wide_f64 n1 = normal_cdf(load_f64(d1 + i));
        const wide_f64 n2 = normal_cdf(load_f64(d2 + i));
        const wide_f64 owed = mul_f64(
            load_f64(c.strike + i),
            exp_f64(mul_f64(D(m.minus_rate), load_f64(c.years + i))));
        store_f64(c.call + i, fms_f64(spot, n1, mul_f64(owed, n2)));
        store_f64(c.put + i,
                  fms_f64(owed, sub_f64(D(1), n2),
                          mul_f64(spot, sub_f64(D(1), n1))));
    }
}

/* Up to CHUNK contracts. */
static void price(contracts c, int64_t n, market m)
{
    _Alignas(64) double d1[CHUNK], d2[CHUNK];
    find_distances(c, n, m, d1, d2);
    find_prices(c, n, m, d1, d2);
}

/* Fewer than WIDE_F64 contracts. */
static void price_last(contracts c, int64_t n, market m)
{
    double padded[5][WIDE_F64] = {{0}};
    const size_t bytes = (size_t)n * sizeof(padded[0][0]);
    memcpy(padded[0], c.spot, bytes);
    memcpy(padded[1], c.strike, bytes);
    memcpy(padded[2], c.years, bytes);
    price((contracts){padded[0], padded[1], padded[2], padded[3], padded[4]},
          WIDE_F64, m);
    memcpy(c.call, padded[3], bytes);
    memcpy(c.put, padded[4], bytes);
}

static contracts contracts_at(const kernel_buffers *b, int64_t i)
{
    return (contracts){
        .spot = (const double *)b->in[0] + i,
        .strike = (const double *)b->in[1] + i,
        .years = (const double *)b->in[2] + i,
        .call = (double *)b->out[0] + i,
        .put = (double *)b->out[1] + i,
    };
}

void expert_black_scholes(const kernel_buffers *b)
{
    const double rate = *(const double *)b->in[3];
    const double volatility = *(const double *)b->in[4];
    const market m = {
        .drift = __builtin_fma(volatility * 0.5, volatility, rate),
        .minus_rate = -rate,
        .volatility = volatility,
    };
    const int64_t whole = b->count / WIDE_F64 * WIDE_F64;

#pragma omp parallel for
    for (int64_t i = 0; i < whole; i += CHUNK)
        price(contracts_at(b, i), whole - i < CHUNK ? whole - i : CHUNK, m);
    if (whole < b->count)
        price_last(contracts_at(b, whole), b->count - whole, m);
}
