/* SPDX-License-Identifier: MIT */
/*
 * main.c - ahead of time, the second half: a program that uses what export.c
 * has written, and needs neither libtgjit nor LLVM.
 *
 *     ./export smooth && cc main.c smooth.o && ./a.out
 */
#include <stdio.h>

#include "smooth.h"

int main(void)
{
    /* The variable is memory of this program. */
    float mean[4] = {0}, loudest;
    for (int i = 1; i <= 3; i++) {
        const float signal[] = {8, 16, 4, (float)i};
        smooth(signal, 0.5f, mean, &loudest);
        printf("%g %g %g %g, at most %g\n", mean[0], mean[1], mean[2],
               mean[3], loudest);
    }
    return 0;
}
