/* SPDX-License-Identifier: MIT */
/*
 * kernel_scan.c - kernel of LINEAR_SCAN.
 */
#include "interp/kernel.h"
#include "interp/kernel_rows.h"
#include "recipe/scalar.h"
#include "runtime/walk.h"

/* The scanned axis; strides in bytes: of the result, a and b. */
typedef struct scan {
    int64_t n, stride[3];
    bool starts_at_one;
} scan;

static tg_status run_scan(const tgi_kernel_args *args, tgi_inner_loop *loop)
{
    const tgi_attr_scan *attr = args->node->attr;
    tgi_view views[] = {args->out, args->in[0], args->in[1]};
    const int64_t bytes = tgi_dtype_bytes(args->out.dtype);
    scan s = {.n = args->out.dims[attr->axis],
              .starts_at_one = attr->starts_at_one != 0};
    /* One point per scan. */
    for (int i = 0; i < 3; i++) {
        s.stride[i] = views[i].strides[attr->axis] * bytes;
        views[i].dims[attr->axis] = s.n > 0;
    }
    tgi_walk_views(3, (const tgi_view *[]){&views[0], &views[1], &views[2]},
                   loop, &s);
    return TG_OK;
}

#define TEMPLATE "interp/kernel_scan_type.h"
#include "recipe/recipe_each.h"

static tgi_kernel *const kernels[TGI_DTYPES] = {
#define DTYPE(ID, ...) [TG_##ID] = kernel_SCAN_##ID,
#include "base/dtype.def"
#undef DTYPE
};

tgi_kernel *tgi_kernel_scan(int dtype)
{
    return kernels[dtype];
}
