/* SPDX-License-Identifier: MIT */
/*
 * main.c - ahead-of-time compilation, part 2: a program that links the object
 * written by export.c and needs neither libtgjit nor LLVM.
 *
 *     ./export smooth && cc main.c smooth.o && ./a.out
 */
#include <stdio.h>

#include "smooth.h"

int main(void)
{
    /* The variable is in memory of this program. */
    float mean[4] = {0}, loudest;
    for (int i = 1; i <= 3; i++) {
        const float signal[] = {8, 16, 4, (float)i};
        smooth(signal, 0.5f, mean, &loudest);
        printf("%g %g %g %g, at most %g\n", mean[0], mean[1], mean[2],
               mean[3], loudest);
    }
    return 0;
}
