/* SPDX-License-Identifier: MIT */
/*
 * fpenv.h - the floating-point mode that defines all results: round to
 * nearest, denormals preserved, exceptions masked. The register is written
 * only if it differs, because a write stalls the pipeline.
 */
#ifndef TGI_FPENV_H
#define TGI_FPENV_H

#include <stdint.h>

/* x86: the control bits of MXCSR (DAZ, six exception masks, rounding, FTZ; the
   other bits are sticky flags), and their values in our mode. */
#define TGI_MXCSR_CONTROL 0xffc0u
#define TGI_MXCSR_MODE 0x1f80u

/* AArch64: those of FPCR (AHP, DN, FZ, rounding, FZ16, six exception traps,
   NEP, AH, FIZ; the rest is reserved). */
#define TGI_FPCR_CONTROL 0x07c89f07u
#define TGI_FPCR_MODE 0u

/* The register with the mode; elsewhere than on x86 and AArch64 the rounding
   direction. */
#ifdef __SSE__
#define TGI_FPENV_CONTROL TGI_MXCSR_CONTROL
#define TGI_FPENV_MODE TGI_MXCSR_MODE
static inline uint32_t tgi_fpenv_read(void)
{
    return __builtin_ia32_stmxcsr();
}
#else
#ifdef __aarch64__
#define TGI_FPENV_CONTROL TGI_FPCR_CONTROL
#define TGI_FPENV_MODE TGI_FPCR_MODE
#else
#define TGI_FPENV_CONTROL UINT32_MAX
#define TGI_FPENV_MODE tgi_fpenv_nearest()
uint32_t tgi_fpenv_nearest(void);
#endif
uint32_t tgi_fpenv_read(void);
#endif

/* Replaces the control bits by those of `mode`. */
void tgi_fpenv_write(uint32_t mode);

static inline int tgi_fpenv_is_ours(uint32_t mode)
{
    return ((mode ^ TGI_FPENV_MODE) & TGI_FPENV_CONTROL) == 0;
}

/* Sets the mode; returns the previous one, for tgi_fpenv_end. The code in
   between must leave the mode as it is: after a function of the program, which
   may change it, tgi_fpenv_begin is called again (host.c). */
static inline uint32_t tgi_fpenv_begin(void)
{
    const uint32_t saved = tgi_fpenv_read();
    if (!tgi_fpenv_is_ours(saved))
        tgi_fpenv_write(TGI_FPENV_MODE);
    return saved;
}

/* Does not read the register, which takes 6 ns. */
static inline void tgi_fpenv_end(uint32_t saved)
{
    if (!tgi_fpenv_is_ours(saved))
        tgi_fpenv_write(saved);
}

#endif /* TGI_FPENV_H */
