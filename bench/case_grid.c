/* SPDX-License-Identifier: MIT */
/*
 * case_grid.c - a stencil and a transpose.
 */
#include "cases.h"

/* -- jacobi ---------------------------------------------------------------- */

/* End of the inner points, shifted by `by`. Counted from the end, because the
   extent may be unknown. */
static int64_t slice_stop(int by)
{
    return by == 1 ? TG_END : by - 1;
}

/* The inner points, shifted down and to the right. */
static tg_value shifted(tg_value x, int down, int right)
{
    const tg_value rows = tg_slice(x, 0, 1 + down, slice_stop(down), 1);
    return tg_slice(rows, 1, 1 + right, slice_stop(right), 1);
}

static void trace_jacobi(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    const tg_value x = in[0];
    const tg_value vertical = tg_add(shifted(x, -1, 0), shifted(x, 1, 0));
    const tg_value horizontal = tg_add(shifted(x, 0, -1), shifted(x, 0, 1));
    const tg_value inner = tg_mul(tg_add(vertical, horizontal), 0.25f);
    tg_return(t, tg_pad(tg_pad(inner, 1, 1, 1, 0), 0, 1, 1, 0));
}

const tensor_case jacobi_case = {
    .callback = trace_jacobi,
    .kernels = BY_HAND(jacobi),
    .inputs = {INPUT(TG_F32, SHAPE_WHOLE, -1, 1)},
    .results = {{TG_F32, SHAPE_WHOLE}},
    .absolute = 1e-6,
    .expression = "jacobi",
    .engines = ENGINES_LOOP,
};

const case_size jacobi_sizes[] = {
    SIZE_TIMED("2048x2048", 2048, 2048),
    SIZE_CHECKED("3x3", 3, 3),
    SIZE_CHECKED("5x37", 5, 37),
    SIZES_END,
};

/* -- transpose ------------------------------------------------------------- */

static void trace_transpose(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    tg_return(t, tg_transpose(in[0], TG_PERM(1, 0)));
}

const tensor_case transpose_case = {
    .callback = trace_transpose,
    .kernels = BY_HAND(transpose),
    .inputs = {INPUT(TG_F32, SHAPE_WHOLE, -1, 1)},
    .results = {{TG_F32, SHAPE_TRANSPOSED}},
    .expression = "transpose",
    .engines = ENGINES_LOOP,
};

const case_size transpose_sizes[] = {
    SIZE_TIMED("4096x4096", 4096, 4096),
    SIZE_CHECKED("3x5", 3, 5),
    SIZE_CHECKED("33x50", 33, 50),
    SIZES_END,
};
