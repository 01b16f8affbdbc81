/* SPDX-License-Identifier: MIT */
/*
 * ulp.h - modules of tests/ulp/ulp, which measures the errors of elementary
 * functions.
 */
#ifndef TGI_TEST_ULP_H
#define TGI_TEST_ULP_H

#include <mpfr.h>
#include <stdbool.h>
#include <stdint.h>

#include "ir/op.h"

/* -- ulp_reference.c: exact values ----------------------------------------- */

typedef void ulp_exact(mpfr_t y, const mpfr_t a, const mpfr_t b);

typedef struct ulp_function {
    int op;
    int arity;
    double bound[2]; /* of f32, f64: see ulp_bound */
    double (*quick_1)(double a);
    double (*quick_2)(double a, double b);
    ulp_exact *exact;
} ulp_function;

#define ULP_FUNCTIONS_MAX 64
extern const ulp_function ulp_functions[ULP_FUNCTIONS_MAX];
extern const int ulp_n_functions;

/* NULL if the op has no bound. */
const ulp_function *ulp_function_of(int op);
/* True if the op must have a bound. */
bool ulp_function_is_wanted(int op);
double ulp_bound(const ulp_function *f, int dtype);
/* The uncertainty of quick errors. If the bound is 0 they are exact: such a
   function has the same value in any type. */
double ulp_uncertainty(const ulp_function *f, int dtype);

/* Per-thread MPFR variables. */
typedef struct ulp_numbers {
    mpfr_t a, b, y, difference;
} ulp_numbers;
void ulp_numbers_init(ulp_numbers *numbers);
void ulp_numbers_deinit(ulp_numbers *numbers);

/*
 * Error of a result in ulp of the correctly rounded one. Infinite if NaN, Inf,
 * zero or the sign of a zero is wrong. Quick errors, for f32 here and for f64
 * in ulp_wide.c, are uncertain, even infinite ones.
 */
double ulp_error_quick(const ulp_function *f, double given,
                       const double *operands);
double ulp_error_wide(const ulp_function *f, double given,
                      const double *operands);
double ulp_error_exact(const ulp_function *f, int dtype, double given,
                       const double *operands, ulp_numbers *numbers);

/* -- ulp_many.c: f32 functions of one operand, vectorised ------------------ */

typedef struct ulp_many {
    void (*kernel)(int64_t n, const float *x, float *out);
    /* Computes quick errors; returns how many exceed the limit. */
    int64_t (*errors)(int64_t n, const float *x, const float *given,
                      double limit, double *out);
} ulp_many;

/* For any CPU, and for those with AVX2 and FMA. NULL for two operands. */
const ulp_many *ulp_many_plain(int op);
const ulp_many *ulp_many_vector(int op);

/* -- ulp_inputs.c: test inputs --------------------------------------------- */

/*
 * The operands with number `index`: special values first (for two operands all
 * pairs, for one also hard angles), then random ones of several kinds. They
 * depend only on the index.
 */
void ulp_input(int dtype, int arity, uint64_t index, double *operands);
uint64_t ulp_n_specials(int dtype, int arity);

/* -- ulp_angles.c: arguments nearest to multiples of pi/2 ------------------ */

/* Must be called before the others. */
void ulp_angles_init(void);
uint64_t ulp_n_angles(int dtype);
double ulp_angle(int dtype, uint64_t index);

/* -- ulp_sweep.c: the worst error over many inputs ------------------------- */

typedef struct ulp_result {
    uint64_t n;
    double worst;
    double given;
    double where[2];
    bool is_exhaustive; /* all inputs were tested */
    bool is_doubtful;   /* a quick method is wrong at `where`: not valid */
} ulp_result;

#define ULP_THREADS_MAX 256

/*
 * Tests special values and n random inputs; for f32 with one operand, also
 * every stride-th bit pattern, or only all of these if the stride is 1. False
 * if memory or threads are not available.
 *
 * f32 functions of one operand are run by `many` (not NULL then). Every 1024th
 * input, or each of few inputs, is also run by the library's kernel and by the
 * scalar functions: bits must be equal, and quick errors must agree. For other
 * functions, as many quick errors must agree with the exact ones.
 */
bool ulp_sweep(const ulp_function *f, int dtype, uint64_t stride, uint64_t n,
               int threads, const ulp_many *many, ulp_result *result);

/* Runs the library's kernel on n contiguous elements. */
void ulp_run_kernel(const ulp_function *f, int dtype, int64_t n, void *a,
                    void *b, void *out);

/* -- ulp_numpy.c: NumPy's validation sets ---------------------------------- */

/* Counts files that pass and fail; missing files are ignored. */
void ulp_check_numpy(const char *folder, int *passed, int *failed);

/* -- ulp_cost.c ------------------------------------------------------------ */

/* Prints primitives and nanoseconds per element for every function and type. */
void ulp_print_cost(void);

#endif /* TGI_TEST_ULP_H */
