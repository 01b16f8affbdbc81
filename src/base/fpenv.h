/* SPDX-License-Identifier: MIT */
/*
 * fpenv.h - the floating-point mode our numbers are defined under: round to
 * nearest, denormals kept, exceptions masked. Checked first and written only
 * if it differs (a write stalls the pipeline). The one place that knows MXCSR.
 */
#ifndef TGI_FPENV_H
#define TGI_FPENV_H

#include <stdint.h>

/* On x86, of MXCSR: what is a mode (DAZ, six masks, rounding, FTZ; the rest are
   sticky flags), and ours: all masked, to nearest, nothing flushed. */
#define TGI_FPENV_CONTROL 0xffc0u
#define TGI_FPENV_MODE 0x1f80u

/* Sets the mode; returns what to hand to tgi_fpenv_end. */
uint32_t tgi_fpenv_begin(void);
void tgi_fpenv_end(uint32_t saved);

#endif /* TGI_FPENV_H */
