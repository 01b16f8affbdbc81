/* SPDX-License-Identifier: MIT */
/*
 * kernel_cast.c - kernels of CAST and BITCAST: tables by source and destination
 * dtype.
 */
#include "interp/kernel.h"
#include "interp/kernel_rows.h"
#include "recipe/recipe_cast.h"
#include "recipe/scalar.h"
#include "runtime/walk.h"

static tg_status run_loop(const tgi_kernel_args *args, tgi_inner_loop *loop)
{
    const tgi_view *views[] = {&args->out, &args->in[0]};
    tgi_walk_views(2, views, loop, NULL);
    return TG_OK;
}

#define TEMPLATE "interp/kernel_cast_type.h"
#include "recipe/recipe_each.h"

static tgi_kernel *const *const casts[TGI_DTYPES] = {
#define DTYPE(ID, ...) [TG_##ID] = casts_##ID,
#include "base/dtype.def"
#undef DTYPE
};

static tgi_kernel *const *const bitcasts[TGI_DTYPES] = {
#define DTYPE(ID, ...) [TG_##ID] = bitcasts_##ID,
#include "base/dtype.def"
#undef DTYPE
};

tgi_kernel *tgi_kernel_cast(int op, int from, int to)
{
    tgi_kernel *const *table =
        op == TGI_OP_BITCAST ? bitcasts[from] : casts[from];
    return table ? table[to] : NULL;
}
