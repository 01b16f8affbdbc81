/* SPDX-License-Identifier: MIT */
/*
 * ulp.h - the parts of tests/ulp/ulp, the program that measures how far functions
 * of floats are from the exact value.
 */
#ifndef TGI_TEST_ULP_H
#define TGI_TEST_ULP_H

#include <mpfr.h>
#include <stdbool.h>
#include <stdint.h>

#include "ir/op.h"

/* -- ulp_reference.c: what the exact value is ------------------------------ */

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

/* NULL if there is no bound for it. */
const ulp_function *ulp_function_of(int op);
/* Whether there has to be one. */
bool ulp_function_is_wanted(int op);
double ulp_bound(const ulp_function *f, int dtype);
/* How far off quick errors may be. Where the bound is 0 they are exact: such a
   function is the same in any type. */
double ulp_uncertainty(const ulp_function *f, int dtype);

/* Numbers of its own for each thread. */
typedef struct ulp_numbers {
    mpfr_t a, b, y, difference;
} ulp_numbers;
void ulp_numbers_init(ulp_numbers *numbers);
void ulp_numbers_deinit(ulp_numbers *numbers);

/*
 * Error of a result in units in the last place of the correctly rounded one.
 * Infinite if NaN, Inf, zero or the sign of a zero are not what they must be.
 * Quick ones are uncertain, also where they are infinite: one for f32 and, in
 * ulp_wide.c, one for f64.
 */
double ulp_error_quick(const ulp_function *f, double given,
                       const double *operands);
double ulp_error_wide(const ulp_function *f, double given,
                      const double *operands);
double ulp_error_exact(const ulp_function *f, int dtype, double given,
                       const double *operands, ulp_numbers *numbers);

/* -- ulp_many.c: f32 functions of one operand by many ---------------------- */

typedef struct ulp_many {
    void (*kernel)(int64_t n, const float *x, float *out);
    /* Quick errors of results, and how many are above the limit. */
    int64_t (*errors)(int64_t n, const float *x, const float *given,
                      double limit, double *out);
} ulp_many;

/* For any machine, and for those with AVX2 and FMA. NULL if it takes two. */
const ulp_many *ulp_many_plain(int op);
const ulp_many *ulp_many_vector(int op);

/* -- ulp_inputs.c: where to look ------------------------------------------- */

/*
 * Operands number `index`: special values first (of two operands every pair,
 * of one hard angles too), then random ones of several kinds. They depend on
 * nothing but the index.
 */
void ulp_input(int dtype, int arity, uint64_t index, double *operands);
uint64_t ulp_n_specials(int dtype, int arity);

/* -- ulp_angles.c: those nearest to multiples of pi/2 ---------------------- */

/* Before all others. */
void ulp_angles_init(void);
uint64_t ulp_n_angles(int dtype);
double ulp_angle(int dtype, uint64_t index);

/* -- ulp_sweep.c: looking at many ------------------------------------------ */

typedef struct ulp_result {
    uint64_t n;
    double worst;
    double given;
    double where[2];
    bool is_exhaustive; /* all there are */
    bool is_doubtful;   /* a quick way is wrong at `where`: nothing counts */
} ulp_result;

#define ULP_THREADS_MAX 256

/*
 * Over special values and n random inputs; f32 with one operand: over every
 * stride-th of all bits too, or if the stride is 1 over these alone. False if
 * memory or threads cannot be had.
 *
 * f32 with one operand is run by `many` (not NULL then), and every 1024th
 * input, of few inputs every one, by the library's kernel and by the scalar
 * functions, too: bits must be the same, and quick errors agree. Of all others
 * as many quick errors must agree with the exact ones.
 */
bool ulp_sweep(const ulp_function *f, int dtype, uint64_t stride, uint64_t n,
               int threads, const ulp_many *many, ulp_result *result);

/* Runs the library's kernel over n packed elements. */
void ulp_run_kernel(const ulp_function *f, int dtype, int64_t n, void *a,
                    void *b, void *out);

/* -- ulp_numpy.c: NumPy's validation sets ---------------------------------- */

/* Counts files that pass and fail; those not there do not count. */
void ulp_check_numpy(const char *folder, int *passed, int *failed);

/* -- ulp_cost.c ------------------------------------------------------------ */

/* Prints words and nanoseconds per element of every function and type. */
void ulp_print_cost(void);

#endif /* TGI_TEST_ULP_H */
