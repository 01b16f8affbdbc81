/* SPDX-License-Identifier: MIT */
/*
 * kernel_cast.c - kernels of CAST: a table by the type from and the type to.
 */
#include "kernel.h"
#include "kernel_rows.h"
#include "recipe_cast.h"
#include "scalar.h"
#include "walk.h"

static tg_status run_loop(const tgi_kernel_args *args, tgi_loop *loop)
{
    const tgi_view *views[] = {&args->out, &args->in[0]};
    tgi_walk_views(2, views, loop, NULL);
    return TG_OK;
}

#define TEMPLATE "kernel_cast_type.h"
#include "recipe_each.h"

static tgi_kernel *const *const tables[TGI_DTYPES] = {
#define DTYPE(ID, ...) [TG_##ID] = kernels_##ID,
#include "dtype.def"
#undef DTYPE
};

tgi_kernel *tgi_kernel_cast(int from, int to)
{
    return tables[from] ? tables[from][to] : NULL;
}
