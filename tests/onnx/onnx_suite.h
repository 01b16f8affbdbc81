/* SPDX-License-Identifier: MIT */
/* onnx_suite.h - what the files of onnx-suite share. */
#ifndef TGI_TEST_ONNX_SUITE_H
#define TGI_TEST_ONNX_SUITE_H

#include "tgjit/onnx.h"

enum { SUITE_MAX = 32 }; /* inputs or outputs of a test */

typedef enum suite_outcome {
    SUITE_NOT_RUN = 0, /* the process ended before */
    SUITE_PASSED,
    SUITE_FAILED,
    SUITE_UNSUPPORTED
} suite_outcome;

/* The result of one folder, in memory that the processes share. */
typedef struct suite_result {
    suite_outcome outcome;
    bool is_close; /* all within 1e-5 */
    bool has_weights;
    bool is_tiled; /* repeated with tiled inputs */
    char op[32], dtype[8], message[400];
} suite_result;

typedef struct suite_options {
    bool interprets, compiles;
} suite_options;

/* Runs the test of a folder. */
void suite_run(const char *folder, const suite_options *options,
               suite_result *result);

/* Repeats the test of an elementwise operator with its inputs tiled: `in` are
   those of the test, `out` what the interpreter returned. */
void suite_run_tiled(const char *path, tg_tensor *const *in, size_t n_in,
                     tg_tensor *const *out, size_t n_out, bool compiles,
                     suite_result *result);

/* Sets outcome and message; false. */
bool suite_fail(suite_result *result, suite_outcome outcome,
                const char *format, ...) TG_PRINTF(3, 4);

/* Fails with the last error: unsupported, or a failure. */
bool suite_fail_error(suite_result *result, const char *what);

/*
 * Compares a result with the expected one: dtype and shape, and elements within
 * the tolerances; with relative = absolute = 0 bits, except those of NaNs.
 */
bool suite_is_equal(const tg_tensor *x, const tg_tensor *expected,
                    double relative, double absolute);

#endif /* TGI_TEST_ONNX_SUITE_H */
