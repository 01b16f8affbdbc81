/* SPDX-License-Identifier: MIT */
/*
 * gradient_formulas.h - formulas and small networks whose expected derivatives
 * were computed by PyTorch. tests/gradients/make_expected.py has the same
 * formulas in the same order and documents their inputs.
 */
#ifndef TGI_TEST_GRADIENT_FORMULAS_H
#define TGI_TEST_GRADIENT_FORMULAS_H

#include "tgjit.h"

/* Computes the target of the derivatives from the inputs. */
typedef tg_value formula_function(const tg_value *in);

/* The same of a layer, whose variables are the last inputs. */
typedef tg_value layer_function(const tg_value *in, tg_variable *const *v);

typedef struct formula {
    const char *name; /* NULL ends a list */
    formula_function *of;
    /* Factor on the usual f32 bound, for derivatives that grow or cancel
       more than the function itself. 0: 1. */
    double f32_bounds;
    layer_function *layer; /* in place of `of`, or NULL */
    size_t n_variables;
} formula;

#define FORMULA(name) {#name, name, 0, NULL, 0}
#define FORMULA_ROUGH(name, times) {#name, name, times, NULL, 0}
#define LAYER(name, n_variables) {#name, NULL, 0, name, n_variables}
#define LAYER_ROUGH(name, n_variables, times) \
    {#name, NULL, times, name, n_variables}
#define FORMULAS_END {NULL, NULL, 0, NULL, 0}

/* One list per file of tests/gradients. */
extern const formula elementwise_formulas[], shapes_formulas[],
    reductions_formulas[], products_formulas[], networks_formulas[],
    loops_formulas[], training_formulas[], convolutions_formulas[],
    layers_formulas[], functions_formulas[];

/* x * x * x */
static inline tg_value cube(tg_value x)
{
    return tg_mul(tg_square(x), x);
}

#endif /* TGI_TEST_GRADIENT_FORMULAS_H */
