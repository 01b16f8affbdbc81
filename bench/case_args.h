/* SPDX-License-Identifier: MIT */
/*
 * case_args.h - what a case's function of the library is called with: tensors
 * and variables, as the case says.
 */
#ifndef BENCH_CASE_ARGS_H
#define BENCH_CASE_ARGS_H

#include "tensor_case.h"

typedef struct case_args {
    tg_group *group; /* of the variables, if there are any */
    tg_tensor *tensors[KERNEL_INPUTS];
    tg_variable *variables[KERNEL_INPUTS];
    tg_operand operands[KERNEL_INPUTS];
    tg_spec specs[KERNEL_INPUTS]; /* what a trace for them is asked by */
    size_t n;
} case_args;

/* Numbers for all inputs, NULL where there are no more: KERNEL_INPUTS in all.
   False if there is no memory; release in either case. */
bool case_data_create(const tensor_case *what, const case_size *size,
                      input_kind kind, void **out_data);
void case_data_release(void **data);

/* Tensors stand upon `data`, variables have a copy. False, with tg_error, on
   failure; deinit in either case. */
bool case_args_init(case_args *out_args, tg_context *ctx,
                    const tensor_case *what, const case_size *size,
                    void *const *data);
void case_args_deinit(case_args *args);

#endif /* BENCH_CASE_ARGS_H */
