/* SPDX-License-Identifier: MIT */
/*
 * fpenv.c - the floating-point mode. On x86, the control bits of MXCSR; the
 * sticky flags are preserved. Elsewhere only the rounding direction, as
 * <fenv.h> has no portable access to the rest.
 */
#include "base/fpenv.h"

#ifdef __SSE__

#include <xmmintrin.h>

static void set_control_bits(uint32_t current, uint32_t wanted)
{
    if (((current ^ wanted) & TGI_FPENV_CONTROL) != 0)
        _mm_setcsr((current & ~TGI_FPENV_CONTROL) |
                   (wanted & TGI_FPENV_CONTROL));
}

uint32_t tgi_fpenv_begin(void)
{
    const uint32_t saved = _mm_getcsr();
    set_control_bits(saved, TGI_FPENV_MODE);
    return saved;
}

void tgi_fpenv_end(uint32_t saved)
{
    set_control_bits(_mm_getcsr(), saved);
}

#else

#include <fenv.h>

uint32_t tgi_fpenv_begin(void)
{
    const int saved = fegetround();
    if (saved != FE_TONEAREST)
        fesetround(FE_TONEAREST);
    return (uint32_t)saved;
}

void tgi_fpenv_end(uint32_t saved)
{
    if ((int)saved != FE_TONEAREST)
        fesetround((int)saved);
}

#endif
