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

/* Sets the mode; returns the previous one, for tgi_fpenv_end. */
uint32_t tgi_fpenv_begin(void);
void tgi_fpenv_end(uint32_t saved);

#endif /* TGI_FPENV_H */
