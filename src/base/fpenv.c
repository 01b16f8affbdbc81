/* SPDX-License-Identifier: MIT */
/*
 * fpenv.c - the floating-point mode: the control bits of MXCSR (x86) or FPCR
 * (AArch64). The sticky flags are preserved. Elsewhere only the rounding
 * direction, as <fenv.h> has no portable access to the rest.
 */
#include "base/fpenv.h"

#if defined(__SSE__) || defined(__aarch64__)

#ifdef __SSE__

#include <xmmintrin.h>

enum { CONTROL = TGI_MXCSR_CONTROL, MODE = TGI_MXCSR_MODE };

static uint32_t read_register(void)
{
    return _mm_getcsr();
}

static void write_register(uint32_t value)
{
    _mm_setcsr(value);
}

#else

enum { CONTROL = TGI_FPCR_CONTROL, MODE = TGI_FPCR_MODE };

static uint32_t read_register(void)
{
    uint64_t value;
    __asm__ volatile("mrs %0, fpcr" : "=r"(value));
    return (uint32_t)value;
}

/* "memory" keeps loads and stores, and with them arithmetic, in order. */
static void write_register(uint32_t value)
{
    __asm__ volatile("msr fpcr, %0" : : "r"((uint64_t)value) : "memory");
}

#endif

static void set_control_bits(uint32_t current, uint32_t wanted)
{
    if (((current ^ wanted) & CONTROL) != 0)
        write_register((current & ~(uint32_t)CONTROL) | (wanted & CONTROL));
}

uint32_t tgi_fpenv_begin(void)
{
    const uint32_t saved = read_register();
    set_control_bits(saved, MODE);
    return saved;
}

void tgi_fpenv_end(uint32_t saved)
{
    set_control_bits(read_register(), saved);
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
