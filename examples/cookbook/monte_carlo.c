/* SPDX-License-Identifier: MIT */
/*
 * monte_carlo.c - the price of a European call option by simulation, next to
 * the formula of Black and Scholes. Random numbers are operations: the same
 * seed gives the same price interpreted, compiled, and with any number of
 * threads.
 */
#include "compare.h"

enum { PATHS = 1 << 20 };
#define SPOT 100.0f
#define STRIKE 105.0f
#define RATE 0.03f
#define VOLATILITY 0.2f
#define YEARS 1.5f

static void price(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    const tg_value normal =
        tg_random_normal(in[0], TG_F32, TG_DIMS(PATHS));
    const float drift = (RATE - VOLATILITY * VOLATILITY / 2) * YEARS;
    const float spread = VOLATILITY * sqrtf(YEARS);
    const tg_value end =
        tg_mul(tg_exp(tg_add(tg_mul(normal, spread), drift)), SPOT);
    const tg_value gain = tg_max(tg_sub(end, STRIKE), 0);
    tg_return(t, tg_mul(tg_mean(gain, TG_ALL_AXES), expf(-RATE * YEARS)));
}

/* -- Plain C --------------------------------------------------------------- */

/* The same with the generator of C programs that are in a hurry (xorshift), and
   pairs of normal numbers by Box and Muller. */
static float plain_price;

static uint32_t next(uint32_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 17;
    return *state ^= *state << 5;
}

static void plain_simulate(void)
{
    const float drift = (RATE - VOLATILITY * VOLATILITY / 2) * YEARS;
    const float spread = VOLATILITY * sqrtf(YEARS);
    uint32_t state = 12345;
    double sum = 0;
    for (int i = 0; i < PATHS; i += 2) {
        const float u = ((float)(next(&state) >> 8) + 0.5f) * 0x1p-24f;
        const float angle = (float)(next(&state) >> 8) * (6.2831853f * 0x1p-24f);
        const float radius = sqrtf(-2 * logf(u));
        const float a = SPOT * expf(drift + spread * radius * cosf(angle));
        const float b = SPOT * expf(drift + spread * radius * sinf(angle));
        sum += (double)(fmaxf(a - STRIKE, 0) + fmaxf(b - STRIKE, 0));
    }
    plain_price = (float)(sum / PATHS) * expf(-RATE * YEARS);
}

/* What both approach. */
static double formula(void)
{
    const double spread = (double)VOLATILITY * sqrt((double)YEARS);
    const double d1 = (log((double)SPOT / (double)STRIKE) +
                       (double)RATE * (double)YEARS) / spread + spread / 2;
    const double d2 = d1 - spread;
    return (double)SPOT * (1 + erf(d1 / sqrt(2))) / 2 -
           (double)STRIKE * exp(-(double)RATE * (double)YEARS) *
               (1 + erf(d2 / sqrt(2))) / 2;
}

int main(void)
{
    TG_AUTO(tg_context) ctx = one_thread();
    TG_AUTO(tg_function) f = tg_function_create(ctx, price, NULL, NULL);
    TG_AUTO(tg_tensor) out = NULL;
    check(f);
    TG_AUTO(tg_bound) b = tg_bind(f, TG_ARGS((uint64_t)42), TG_RESULTS(&out));
    check(b);
    compare("option, a million paths", b, plain_simulate, tg_tensor_data(out),
            &plain_price, 1, 0.1);
    printf("simulated %.4f, formula %.4f\n", (double)*tg_tensor_f32(out),
           formula());
    return 0;
}
