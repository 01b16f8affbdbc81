/* SPDX-License-Identifier: MIT */
/* vector_widths.h - for tests at several vector widths: those of the host. */
#ifndef TGI_TEST_VECTOR_WIDTHS_H
#define TGI_TEST_VECTOR_WIDTHS_H

#include "target/target.h"

/* The width that the host has instead of `bits`: the same, or 256 for 512. */
static inline int host_vector_bits(int bits)
{
    tgi_target target;
    tgi_target_init(NULL, 0, &target);
    return bits > (int)target.max_vector_bits ? (int)target.max_vector_bits
                                              : bits;
}

#endif /* TGI_TEST_VECTOR_WIDTHS_H */
