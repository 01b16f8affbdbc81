/* SPDX-License-Identifier: MIT */
/* test_fpenv.c - the floating-point mode is set inside and restored after. */
#include "base/fpenv.h"

#include <fenv.h>
#include <float.h>

#include "support/support.h"

/* volatile prevents constant folding, which assumes the default mode. */
static volatile float one = 1, three = 3, smallest = FLT_MIN;

Test(fpenv, rounds_to_nearest_whatever_the_host_does)
{
    const float nearest = one / three;
    const int modes[] = {FE_UPWARD, FE_DOWNWARD, FE_TOWARDZERO, FE_TONEAREST};
    for (int i = 0; i < 4; i++) {
        fesetround(modes[i]);
        const float up = -one / three, down = one / three;
        const uint32_t saved = tgi_fpenv_begin();
        const float inside = one / three, inside_negative = -one / three;
        tgi_fpenv_end(saved);
        const float up_again = -one / three, down_again = one / three;
        const int mode = fegetround();
        fesetround(FE_TONEAREST);
        cr_assert_eq(inside, nearest);
        cr_assert_eq(inside_negative, -nearest);
        cr_assert_eq(mode, modes[i]);
        cr_assert_eq(up, up_again);
        cr_assert_eq(down, down_again);
    }
}

#ifdef __SSE__

#include <xmmintrin.h>

Test(fpenv, keeps_denormals_whatever_the_host_does)
{
    const uint32_t plain = _mm_getcsr();
    _mm_setcsr(plain | 0x8040); /* FTZ and DAZ */
    const float flushed = smallest / 4;
    const uint32_t saved = tgi_fpenv_begin();
    const float preserved = smallest / 4;
    tgi_fpenv_end(saved);
    const float flushed_again = smallest / 4;
    const uint32_t after = _mm_getcsr();
    _mm_setcsr(plain);
    cr_assert_eq(flushed, 0);
    cr_assert_eq(flushed_again, 0);
    cr_assert_eq(preserved * 4, smallest);
    cr_assert_eq(after & 0xffc0, (plain | 0x8040) & 0xffc0);
}

Test(fpenv, traps_of_the_host_stay_shut_inside)
{
    static volatile float zero = 0;
    const uint32_t plain = _mm_getcsr();
    _mm_setcsr(plain & ~0x1f80u); /* all unmasked */
    const uint32_t saved = tgi_fpenv_begin();
    const float infinite = one / zero;
    tgi_fpenv_end(saved);
    const uint32_t after = _mm_getcsr();
    _mm_setcsr(plain);
    cr_assert_gt(infinite, FLT_MAX);
    cr_assert_eq(after & 0x1f80, 0);
}

Test(fpenv, nothing_is_written_where_the_mode_is_right)
{
    const uint32_t plain = _mm_getcsr();
    const uint32_t saved = tgi_fpenv_begin();
    cr_assert_eq(_mm_getcsr() & 0xffc0, plain & 0xffc0);
    tgi_fpenv_end(saved);
    cr_assert_eq(_mm_getcsr() & 0xffc0, plain & 0xffc0);
}

#endif
