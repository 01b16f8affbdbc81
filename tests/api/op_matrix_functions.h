/* SPDX-License-Identifier: MIT */
/*
 * op_matrix_functions.h - functions composed of operations, by the names that
 * the cases of tests/op_matrix have.
 */
#ifndef TGI_TEST_OP_MATRIX_FUNCTIONS_H
#define TGI_TEST_OP_MATRIX_FUNCTIONS_H

#include "api/op_matrix.h"
#include "tgjit.h"

/* Traces the function of a case. */
typedef tg_value apply_function(const op_case *c, const tg_operand *in);

typedef struct named_function {
    const char *name; /* NULL ends the list */
    apply_function *apply;
} named_function;

extern const named_function matrix_functions[];

static inline int int_list(const op_case *c, const char *key, int numbers[])
{
    int64_t wide[MAX_NUMBERS];
    const int n = attribute_list(c, key, wide);
    for (int i = 0; i < n; i++)
        numbers[i] = (int)wide[i];
    return n;
}

static inline tg_axes axes_of(const op_case *c)
{
    int axes[MAX_NUMBERS];
    const int n = int_list(c, "axes", axes);
    const tg_axes result = tg_axes_of((size_t)n, axes);
    return attribute_or_0(c, "keep") ? tg_keep(result) : result;
}

#endif /* TGI_TEST_OP_MATRIX_FUNCTIONS_H */
