/* SPDX-License-Identifier: MIT */
/*
 * csv_number.h - text to elements, the same on every machine: no locale, and
 * correctly rounded whatever the caller's rounding mode.
 */
#ifndef TGI_CSV_NUMBER_H
#define TGI_CSV_NUMBER_H

#include <stdbool.h>
#include <stddef.h>

#include "tgjit/base.h"

/* The caller's floating-point mode, put aside while numbers are read. */
typedef struct tgi_number_mode {
    int rounding;
    unsigned control;
} tgi_number_mode;

tgi_number_mode tgi_number_mode_begin(void);
void tgi_number_mode_end(tgi_number_mode mode);

/* Writes the element that n bytes of text, terminated, are: false if they are
   not a number, or one that the type does not hold. */
bool tgi_csv_number(tg_dtype dtype, const char *text, size_t n,
                    void *out_element);

#endif /* TGI_CSV_NUMBER_H */
