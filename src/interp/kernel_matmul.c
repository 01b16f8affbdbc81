/* SPDX-License-Identifier: MIT */
/*
 * kernel_matmul.c - kernel of MATMUL. The order of roundings is defined: k
 * ascends within k-blocks of K_BLOCK steps, each k-block accumulates from 0,
 * and the sums of k-blocks are added in ascending order.
 *
 * If one operand is a vector at run time and k is the last axis of the other
 * one, a fast loop runs along k. The order is then that of a sum
 * (reduce_tree.h), whose lanes start from 0 and accumulate products by fma.
 */
#include <string.h>

#include "interp/kernel.h"
#include "interp/kernel_rows.h"
#include "recipe/byte_products.h"
#include "recipe/reduce_tree.h"
#include "recipe/scalar.h"
#include "runtime/walk.h"
#include "tgjit/ops.h"

enum {
    K_BLOCK = 256,
    COLUMNS = 32 /* computed together; does not change bits */
};

/* One matmul [m,k] x [k,n]; strides in bytes, the result is dense. */
typedef struct matmul {
    int64_t m, n, k;
    int64_t a_row, a_column, b_row, b_column;
    bool is_dot; /* computed as a sum along k */
} matmul;

/* The batch axes of an operand, broadcast to those of the result. */
static tgi_view batch_view(const tgi_view *matrix, const tgi_view *out)
{
    tgi_view batch = {.data = matrix->data,
                      .dtype = matrix->dtype,
                      .rank = (int8_t)(out->rank - 2)};
    int missing = out->rank - matrix->rank;
    for (int axis = 0; axis < batch.rank; axis++) {
        batch.dims[axis] = out->dims[axis];
        if (axis >= missing && matrix->dims[axis - missing] != 1)
            batch.strides[axis] = matrix->strides[axis - missing];
    }
    return batch;
}

/* A matmul of bytes, whose order makes no difference. */
static void multiply_bytes(tgi_run run)
{
    const matmul *p = run.user;
    for (int64_t i = 0; i < run.n; i++) {
        int32_t *out = (int32_t *)(run.data[0] + i * run.strides[0]);
        const char *a = run.data[1] + i * run.strides[1];
        const char *b = run.data[2] + i * run.strides[2];
        memset(out, 0, (size_t)(p->m * p->n) * sizeof(*out));
        for (int64_t row = 0; row < p->m; row++, out += p->n)
            for (int64_t k = 0; k < p->k; k++) {
                const int32_t x = *(const int32_t *)(a + row * p->a_row +
                                                     k * p->a_column);
                const char *from = b + k * p->b_row;
                for (int64_t j = 0; j < p->n; j++)
                    out[j] = tgi_add_byte_products(
                        x, *(const int32_t *)(from + j * p->b_column), out[j]);
            }
    }
}

static tg_status run_matmul(const tgi_kernel_args *args, tgi_inner_loop *loop)
{
    const tgi_attr_matmul *attr = args->node->attr;
    const tgi_view *a = &args->in[0], *b = &args->in[1], *out = &args->out;
    int64_t bytes = tgi_dtype_bytes(out->dtype);
    /* Axes of rows and columns. */
    int a_flip = (attr->flags & TG_TRANSPOSE_A) != 0;
    int b_flip = (attr->flags & TG_TRANSPOSE_B) != 0;
    int a_row = a->rank - 2 + a_flip, a_column = a->rank - 1 - a_flip;
    int b_row = b->rank - 2 + b_flip, b_column = b->rank - 1 - b_flip;
    matmul p = {.m = a->dims[a_row],
                .n = b->dims[b_column],
                .k = a->dims[a_column],
                .a_row = a->strides[a_row] * bytes,
                .a_column = a->strides[a_column] * bytes,
                .b_row = b->strides[b_row] * bytes,
                .b_column = b->strides[b_column] * bytes};
    p.is_dot = (p.n == 1 && !a_flip) || (p.m == 1 && b_flip);
    tgi_view batch[] = {batch_view(out, out), batch_view(a, out),
                        batch_view(b, out)};
    tgi_walk_views(3, (const tgi_view *[]){&batch[0], &batch[1], &batch[2]},
                   attr->flags & TG_MATMUL_BYTES ? multiply_bytes : loop, &p);
    return TG_OK;
}

#define TEMPLATE "interp/kernel_matmul_type.h"
#include "recipe/recipe_each.h"

static tgi_kernel *const kernels[TGI_DTYPES] = {
#define DTYPE(ID, ...) [TG_##ID] = kernel_MATMUL_##ID,
#include "base/dtype.def"
#undef DTYPE
};

tgi_kernel *tgi_kernel_matmul(int dtype)
{
    return kernels[dtype];
}
