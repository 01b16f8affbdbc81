/* SPDX-License-Identifier: MIT */
/*
 * kernel_elementwise.c - kernels of elementwise ops, generated from op.def and
 * the recipes: a table by dtype and op.
 */
#include "interp/kernel.h"
#include "interp/kernel_rows.h"
#include "recipe/op_family.h"
#include "recipe/scalar.h"
#include "runtime/walk.h"

static tg_status run_loop(const tgi_kernel_args *args, int n_operands,
                          tgi_inner_loop *loop)
{
    const tgi_view *views[TGI_WALK_VIEWS] = {&args->out};
    for (int i = 0; i < n_operands; i++)
        views[1 + i] = &args->in[i];
    tgi_walk_views(1 + n_operands, views, loop, NULL);
    return TG_OK;
}

#define TEMPLATE "interp/kernel_elementwise_type.h"
#include "recipe/recipe_each.h"

static tgi_kernel *const *const tables[TGI_DTYPES] = {
#define DTYPE(ID, ...) [TG_##ID] = kernels_##ID,
#include "base/dtype.def"
#undef DTYPE
};

tgi_kernel *tgi_kernel_elementwise(int op, int in_dtype, int out_dtype)
{
    /* Comparisons are selected by the dtype of their operands, other ops by
       that of the result (operand 0 of SELECT is bool). */
    bool compares = tgi_op_table[op].result == TGI_RESULT_BOOL;
    tgi_kernel *const *table = tables[compares ? in_dtype : out_dtype];
    return table ? table[op] : NULL;
}
