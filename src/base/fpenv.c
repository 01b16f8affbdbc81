/* SPDX-License-Identifier: MIT */
/*
 * fpenv.c - the floating-point mode. On x86 it is the control half of MXCSR;
 * the six sticky flags below it are nobody's mode and are let be. Elsewhere
 * the rounding direction, which is all that <fenv.h> can name.
 */
#include "base/fpenv.h"

#ifdef __SSE__

#include <xmmintrin.h>

static void set_mode(uint32_t now, uint32_t wanted)
{
    if (((now ^ wanted) & TGI_FPENV_CONTROL) != 0)
        _mm_setcsr((now & ~TGI_FPENV_CONTROL) |
                   (wanted & TGI_FPENV_CONTROL));
}

uint32_t tgi_fpenv_begin(void)
{
    const uint32_t now = _mm_getcsr();
    set_mode(now, TGI_FPENV_MODE);
    return now;
}

void tgi_fpenv_end(uint32_t saved)
{
    set_mode(_mm_getcsr(), saved);
}

#else

#include <fenv.h>

uint32_t tgi_fpenv_begin(void)
{
    const int now = fegetround();
    if (now != FE_TONEAREST)
        fesetround(FE_TONEAREST);
    return (uint32_t)now;
}

void tgi_fpenv_end(uint32_t saved)
{
    if ((int)saved != FE_TONEAREST)
        fesetround((int)saved);
}

#endif
