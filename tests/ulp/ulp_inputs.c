/* SPDX-License-Identifier: MIT */
/*
 * ulp_inputs.c - test inputs: special values, all exponents, and values near
 * the points where recipes switch methods: multiples of pi/4 and log(2)/2,
 * powers of 2 and of its roots, and thresholds of Inf, 0, 1 and denormal
 * results.
 */
#include <math.h>
#include <string.h>

#include "support/support_random.h"
#include "ulp/ulp.h"

static const double specials[] = {
    0,          -0.0,        0x1p-1074,  -0x1p-1074,     0x1p-149, -0x1p-149,
    0x1p-1022,  -0x1p-1022,  0x1p-126,   -0x1p-126,      0x1p-30,  -0x1p-60,
    0.25,       0.5,         -0.5,       0x1.fffffep-1,  1,        -1,
    0x1.fffffffffffffp-1,    0x1.000002p0,               0x1.0000000000001p0,
    1.5,        2,           -2,         3,              -3,       4,
    0x1.921fb54442d18p0,     0x1.921fb6p0,               0x1.62e42fefa39efp-1,
    10,         100,         -100,       1024,           -1075,    0x1p24,
    0x1p52,     0x1p53,      -0x1p31,    0x1p63,         1e22,     1e38,
    -1e38,      0x1p127,     0x1.fffffep127,             -0x1.fffffep127,
    0x1p1023,   0x1.fffffffffffffp1023,                  -0x1p1000,
    HUGE_VAL,   -HUGE_VAL,   (double)NAN};
enum { SPECIALS = sizeof(specials) / sizeof(specials[0]) };

/* Thresholds of overflow, underflow and saturation, of both types. */
static const double thresholds[] = {
    709.782712893384,  -745.133219101941, -708.396418532264, 88.7228391,
    -103.972084,       -87.3365448,       1024,              -1074,
    -1022,             128,               -149,              -126,
    710.475860073944,  89.4159863,        19.0615474653985,  9.01091339,
    5.9215871957945,   3.8325068,         27.2260121011456,  26.5432583545,
    10.0545,           9.1945,            -38.4857,          -37.5194,
    -14.1711,          -13.0,             36.7368005696771,  16.6355324,
    -36.7368,          -16.6355,          0.9375,            1.25,
    0.625,             0.414213562373,    2.414213562373,    0.346573590279973,
    1,                 0.5,               2,                 0.4375};
enum { THRESHOLDS = sizeof(thresholds) / sizeof(thresholds[0]) };

uint64_t ulp_n_specials(int dtype, int arity)
{
    return arity == 1 ? SPECIALS + ulp_n_angles(dtype) : SPECIALS * SPECIALS;
}

/* Moves a number by up to 64 ulp. */
static double near_to(uint64_t *state, int dtype, double x)
{
    const int step = random_below(state, 129) - 64;
    if (dtype == TG_F32) {
        const float element = (float)x;
        uint32_t bits;
        float moved;
        memcpy(&bits, &element, sizeof(bits));
        bits += (uint32_t)step;
        memcpy(&moved, &bits, sizeof(moved));
        return (double)moved;
    }
    uint64_t bits;
    memcpy(&bits, &x, sizeof(bits));
    bits += (uint64_t)(int64_t)step;
    memcpy(&x, &bits, sizeof(x));
    return x;
}

static double any_bits(uint64_t *state, int dtype)
{
    const uint64_t bits = random_next(state);
    if (dtype == TG_F32) {
        const uint32_t half = (uint32_t)bits;
        float element;
        memcpy(&element, &half, sizeof(element));
        return (double)element;
    }
    double element;
    memcpy(&element, &bits, sizeof(element));
    return element;
}

/* Below 1, either sign. */
static double any_fraction(uint64_t *state)
{
    return ((double)(random_next(state) >> 11) * 0x1p-52) - 1;
}

static double power_of_2(uint64_t *state, int lowest, int highest)
{
    return ldexp(1, lowest + random_below(state, highest - lowest + 1));
}

static double one_operand(uint64_t *state, int dtype)
{
    static const double factors[] = {1, 0x1.6a09e667f3bcdp-1, 2 / 3.0, 1.5};
    const double sign = random_below(state, 2) ? 1 : -1;
    const int range = dtype == TG_F32 ? 127 : 1023;
    switch (random_below(state, 8)) {
    case 0:
    case 1:
        return any_bits(state, dtype);
    case 2:
        return any_fraction(state) * power_of_2(state, -30, 12);
    case 3:
        return any_fraction(state) * 40;
    case 4:
        return near_to(state, dtype,
                       sign * M_PI_4 *
                           floor(random_below(state, 64) + 1 +
                                 any_fraction(state) *
                                     power_of_2(state, 0, 40)));
    case 5:
        return near_to(state, dtype,
                       M_LN2 / 2 * (random_below(state, 4400) - 2200));
    case 6:
        return near_to(state, dtype,
                       sign * factors[random_below(state, 4)] *
                           power_of_2(state, -range, range));
    default:
        return near_to(state, dtype,
                       sign * thresholds[random_below(state, THRESHOLDS)]);
    }
}

/* Two related operands. */
static void two_operands(uint64_t *state, int dtype, double *operands)
{
    const double limit = dtype == TG_F32 ? 155 : 1080;
    double a = one_operand(state, dtype), b = one_operand(state, dtype);
    switch (random_below(state, 8)) {
    case 0:
        break;
    case 1: /* a^b is in range, if a > 0 */
    case 2:
        a = fabs(any_fraction(state)) * power_of_2(state, -20, 20);
        b = any_fraction(state) * limit / log2(a);
        break;
    case 3:
        a = 1 + any_fraction(state) * power_of_2(state, -24, 0);
        b = any_fraction(state) * limit / log2(fabs(a));
        break;
    case 4: /* small integer powers and their halves */
        a = any_fraction(state) * power_of_2(state, -4, 6);
        b = (random_below(state, 401) - 200) * 0.5;
        break;
    case 5: /* nearly equal */
        b = near_to(state, dtype, a) * (random_below(state, 2) ? 1 : -1);
        break;
    case 6: /* of similar magnitude */
        b = a * any_fraction(state) * power_of_2(state, -30, 30);
        break;
    default:
        a = any_fraction(state) * 8;
        b = any_fraction(state) * 8;
        break;
    }
    operands[0] = a;
    operands[1] = b;
}

void ulp_input(int dtype, int arity, uint64_t index, double *operands)
{
    const bool is_special = index < ulp_n_specials(dtype, arity);
    if (is_special && arity == 1 && index >= SPECIALS) {
        operands[0] = ulp_angle(dtype, index - SPECIALS);
    } else if (is_special) {
        operands[0] = specials[index % SPECIALS];
        operands[1] = specials[index / SPECIALS];
    } else {
        uint64_t state = index;
        if (arity == 1)
            operands[0] = one_operand(&state, dtype);
        else
            two_operands(&state, dtype, operands);
    }
    for (int k = 0; dtype == TG_F32 && k < arity; k++)
        operands[k] = (double)(float)operands[k];
}
