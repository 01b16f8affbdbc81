/* SPDX-License-Identifier: MIT */
/*
 * ulp_angles.c - the arguments nearest to multiples of pi/2, where an inexact
 * range reduction of sin, cos and tan has the largest error. m 2^e is near a
 * multiple if m times 2^e 2/pi is near an integer; of all m below a limit, the
 * nearest is the denominator of a convergent of that number's continued
 * fraction.
 */
#include <assert.h>
#include <math.h>

#include "ulp/ulp.h"

enum {
    EXPONENTS_MAX = 1024,
    BITS = 1400,      /* of 2/pi: the exponent and the fraction */
    REST_BITS = 256,  /* of the fraction: twice those of a number */
};

typedef struct format {
    int digits;
    int lowest, highest; /* exponents of 1 and of the largest m */
} format;

static const format formats[2] = {{24, -24, 104}, {53, -53, 970}};
static double angles[2][2 * EXPONENTS_MAX];

static int n_exponents(const format *f)
{
    return f->highest - f->lowest + 1;
}

/* The last two denominators below 2^digits. Overwrites x. */
static void last_denominators(mpfr_t x, int digits, uint64_t found[2])
{
    const uint64_t limit = UINT64_C(1) << digits;
    uint64_t before = 0, last = 1;
    mpfr_frac(x, x, MPFR_RNDN);
    while (!mpfr_zero_p(x)) {
        mpfr_ui_div(x, 1, x, MPFR_RNDN);
        if (mpfr_cmp_ui(x, (limit - 1 - before) / last + 1) >= 0)
            break;
        const uint64_t next = mpfr_get_ui(x, MPFR_RNDD) * last + before;
        before = last;
        last = next;
        mpfr_frac(x, x, MPFR_RNDN);
    }
    found[0] = before;
    found[1] = last;
}

void ulp_angles_init(void)
{
    mpfr_t two_over_pi, x, rest;
    mpfr_inits2(BITS, two_over_pi, x, (mpfr_ptr)NULL);
    mpfr_init2(rest, REST_BITS);
    mpfr_const_pi(two_over_pi, MPFR_RNDN);
    mpfr_ui_div(two_over_pi, 2, two_over_pi, MPFR_RNDN);
    for (int type = 0; type < 2; type++) {
        const format *f = &formats[type];
        assert(n_exponents(f) <= EXPONENTS_MAX);
        for (int i = 0; i < n_exponents(f); i++) {
            uint64_t found[2];
            mpfr_mul_2si(x, two_over_pi, f->lowest + i, MPFR_RNDN);
            mpfr_frac(x, x, MPFR_RNDN);
            mpfr_set(rest, x, MPFR_RNDN);
            last_denominators(rest, f->digits, found);
            for (int k = 0; k < 2; k++)
                angles[type][2 * i + k] =
                    ldexp((double)found[k], f->lowest + i);
        }
    }
    mpfr_clears(two_over_pi, x, rest, (mpfr_ptr)NULL);
    mpfr_free_cache();
}

uint64_t ulp_n_angles(int dtype)
{
    return 2 * (uint64_t)n_exponents(&formats[dtype == TG_F64]);
}

double ulp_angle(int dtype, uint64_t index)
{
    return angles[dtype == TG_F64][index];
}
