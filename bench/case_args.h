/* SPDX-License-Identifier: MIT */
/*
 * case_args.h - the arguments with which a case calls the library: tensors and
 * variables.
 */
#ifndef BENCH_CASE_ARGS_H
#define BENCH_CASE_ARGS_H

#include "tensor_case.h"

typedef struct case_args {
    tg_group *group; /* of the variables; NULL if there are none */
    tg_tensor *tensors[KERNEL_INPUTS];
    tg_variable *variables[KERNEL_INPUTS];
    tg_operand operands[KERNEL_INPUTS];
    tg_spec specs[KERNEL_INPUTS]; /* for tg_function_concrete */
    size_t n;
} case_args;

/* Creates the data of all inputs; out_data has KERNEL_INPUTS elements, NULL
   after the last input. False if out of memory; release in either case. */
bool case_data_create(const tensor_case *what, const case_size *size,
                      input_kind kind, void **out_data);
void case_data_release(void **data);

/* Tensors wrap `data`, variables copy it. False, with tg_error, on failure;
   deinit in either case. */
bool case_args_init(case_args *out_args, tg_context *ctx,
                    const tensor_case *what, const case_size *size,
                    void *const *data);
void case_args_deinit(case_args *args);

#endif /* BENCH_CASE_ARGS_H */
