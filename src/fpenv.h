/* SPDX-License-Identifier: MIT */
/*
 * fpenv.h - the floating-point mode our numbers are defined under: round to
 * nearest, denormals kept, exceptions masked. Checked first and written only
 * if it differs (a write stalls the pipeline). The one place that knows MXCSR.
 */
#ifndef TGI_FPENV_H
#define TGI_FPENV_H

#include <stdint.h>

/* Sets the mode; returns what to hand to tgi_fpenv_end. */
uint32_t tgi_fpenv_begin(void);
void tgi_fpenv_end(uint32_t saved);

#endif /* TGI_FPENV_H */
