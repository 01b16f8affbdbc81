/* SPDX-License-Identifier: MIT */
/*
 * case_args.c - see case_args.h.
 */
#include "case_args.h"

#include <stdlib.h>
#include <string.h>

#include "inputs.h"

bool case_data_create(const tensor_case *what, const case_size *size,
                      input_kind kind, void **out_data)
{
    memset(out_data, 0, KERNEL_INPUTS * sizeof(*out_data));
    for (size_t i = 0; i < KERNEL_INPUTS && what->inputs[i].dtype; i++) {
        const tensor_input *input = &what->inputs[i];
        const extents shape = extents_of(size, input->shape);
        out_data[i] = memory_create(tg_dtype_bytes(input->dtype) *
                                    (size_t)shape.count);
        if (!out_data[i])
            return false;
        fill_uniform(out_data[i], input->dtype, shape.count, i, input->low,
                     input->high);
        if (kind == INPUTS_HARSH && shape.rank && !input->is_index)
            fill_harsh(out_data[i], input->dtype, shape.count, i);
    }
    return true;
}

void case_data_release(void **data)
{
    for (size_t i = 0; i < KERNEL_INPUTS; i++)
        free(data[i]);
}

/* All variables share one group, as those of a model would. */
static bool make_variable(case_args *args, tg_context *ctx, size_t i,
                          const tensor_input *input, extents shape,
                          const void *data)
{
    if (!args->group)
        args->group = tg_group_create(ctx);
    if (!args->group)
        return false;
    tg_variable_options options = TG_VARIABLE_OPTIONS_INIT;
    options.group = args->group;
    args->variables[i] = tg_variable_create_with(
        ctx, NULL, input->dtype, shape.rank, shape.dims, tg_from_data(data),
        &options);
    args->operands[i] = tg_in_variable(args->variables[i]);
    args->specs[i] = tg_spec_variable(input->dtype, shape.rank, shape.dims);
    return args->variables[i] != NULL;
}

static bool make_tensor(case_args *args, tg_context *ctx, size_t i,
                        const tensor_input *input, extents shape, void *data)
{
    args->tensors[i] =
        tg_tensor_wrap(ctx, data, input->dtype, shape.rank, shape.dims);
    args->operands[i] = tg_in_tensor(args->tensors[i]);
    args->specs[i] = tg_spec_tensor(input->dtype, shape.rank, shape.dims);
    return args->tensors[i] != NULL;
}

bool case_args_init(case_args *out_args, tg_context *ctx,
                    const tensor_case *what, const case_size *size,
                    void *const *data)
{
    memset(out_args, 0, sizeof(*out_args));
    for (size_t i = 0; i < KERNEL_INPUTS && what->inputs[i].dtype; i++) {
        const tensor_input *input = &what->inputs[i];
        const extents shape = extents_of(size, input->shape);
        if (!(input->is_variable
                  ? make_variable(out_args, ctx, i, input, shape, data[i])
                  : make_tensor(out_args, ctx, i, input, shape, data[i])))
            return false;
        out_args->n = i + 1;
    }
    return true;
}

void case_args_deinit(case_args *args)
{
    for (size_t i = 0; i < KERNEL_INPUTS; i++) {
        tg_tensor_release(args->tensors[i]);
        tg_variable_release(args->variables[i]);
    }
    tg_group_release(args->group);
}
