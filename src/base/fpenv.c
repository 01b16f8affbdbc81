/* SPDX-License-Identifier: MIT */
/*
 * fpenv.c - the floating-point mode: the control bits of MXCSR (x86) or FPCR
 * (AArch64). The sticky flags are preserved. Elsewhere only the rounding
 * direction, as <fenv.h> has no portable access to the rest.
 */
#include "base/fpenv.h"

#if defined(__SSE__)

static void write_register(uint32_t value)
{
    __builtin_ia32_ldmxcsr(value);
}

#elif defined(__aarch64__)

uint32_t tgi_fpenv_read(void)
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

#else

#include <fenv.h>

uint32_t tgi_fpenv_nearest(void)
{
    return FE_TONEAREST;
}

uint32_t tgi_fpenv_read(void)
{
    return (uint32_t)fegetround();
}

static void write_register(uint32_t value)
{
    fesetround((int)value);
}

#endif

void tgi_fpenv_write(uint32_t mode)
{
    const uint32_t control = TGI_FPENV_CONTROL;
    write_register((tgi_fpenv_read() & ~control) | (mode & control));
}
