/* SPDX-License-Identifier: MIT */
/*
 * gradient_formulas.h - formulas and small networks whose expected derivatives
 * were computed by PyTorch. tests/gradients/make_expected.py has the same
 * formulas in the same order and documents their inputs.
 */
#ifndef TGI_TEST_GRADIENT_FORMULAS_H
#define TGI_TEST_GRADIENT_FORMULAS_H

#include "tgjit.h"

/* From its inputs to the value that derivatives are asked of. */
typedef tg_value formula_function(const tg_value *in);

typedef struct formula {
    const char *name; /* NULL ends a list */
    formula_function *of;
    /* In f32 so many times the usual bound: derivatives that grow or cancel
       as the function itself does not. 0: once. */
    double f32_bounds;
} formula;

#define FORMULA(name) {#name, name, 0}
#define FORMULA_ROUGH(name, times) {#name, name, times}
#define FORMULAS_END {NULL, NULL, 0}

/* By file of tests/gradients. */
extern const formula elementwise_formulas[], shapes_formulas[],
    reductions_formulas[], products_formulas[], networks_formulas[],
    loops_formulas[];

/* x * x * x */
static inline tg_value cube(tg_value x)
{
    return tg_mul(tg_square(x), x);
}

#endif /* TGI_TEST_GRADIENT_FORMULAS_H */
