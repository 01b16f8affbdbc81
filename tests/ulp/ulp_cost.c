/* SPDX-License-Identifier: MIT */
/*
 * ulp_cost.c - the cost of functions: primitives per element, an estimate for
 * compiled code, and the time of the interpreter's kernel.
 */
#include <stdio.h>
#include <time.h>

#include "support/emit_eval.h"
#include "ulp/ulp.h"

enum { ELEMENTS = 4096, REPEATS = 200 };

static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec * 1e9 + (double)time.tv_nsec;
}

/* The fastest run's time per element; operands are in (0, 1) or (1, 2). */
static double nanoseconds(const ulp_function *f, int dtype)
{
    static union {
        float f32[ELEMENTS];
        double f64[ELEMENTS];
    } x, out;
    const double base = tgi_op_table[f->op].domain == TGI_DOMAIN_ABOVE_1;
    for (int i = 0; i < ELEMENTS; i++) {
        const double element = base + (i + 1) / (ELEMENTS + 2.0);
        if (dtype == TG_F32)
            x.f32[i] = (float)element;
        else
            x.f64[i] = element;
    }
    double best = 0;
    for (int i = 0; i < REPEATS; i++) {
        const double begin = now();
        ulp_run_kernel(f, dtype, ELEMENTS, &x, &x, &out);
        const double time = (now() - begin) / ELEMENTS;
        if (i == 0 || time < best)
            best = time;
    }
    return best;
}

void ulp_print_cost(void)
{
    static recording r;
    puts("function  type  primitives  ns");
    for (int i = 0; i < ulp_n_functions; i++)
        for (int dtype = TG_F32; dtype <= TG_F64; dtype++) {
            const ulp_function *f = &ulp_functions[i];
            const bool is_recorded =
                recording_of_op(&r, f->op, (tg_dtype)dtype);
            printf("%-9s %s  %10d  %.1f\n", tgi_op_table[f->op].name,
                   tg_dtype_name((tg_dtype)dtype),
                   is_recorded ? recording_primitives(&r) : -1,
                   nanoseconds(f, dtype));
        }
}
