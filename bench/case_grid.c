/* SPDX-License-Identifier: MIT */
/*
 * case_grid.c - cases about the places of elements: neighbours, and turned
 * matrices.
 */
#include "cases.h"

/* -- jacobi ---------------------------------------------------------------- */

/* One before the last but `by`: counted from the end, as extents may not be
   known. */
static int64_t stop(int by)
{
    return by == 1 ? TG_END : by - 1;
}

/* Points 1 + down, 1 + right of all inner points. */
static tg_value moved(tg_value x, int down, int right)
{
    const tg_value some = tg_slice(x, 0, 1 + down, stop(down), 1);
    return tg_slice(some, 1, 1 + right, stop(right), 1);
}

static void trace_jacobi(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    const tg_value x = in[0];
    const tg_value vertical = tg_add(moved(x, -1, 0), moved(x, 1, 0));
    const tg_value horizontal = tg_add(moved(x, 0, -1), moved(x, 0, 1));
    const tg_value inner = tg_mul(tg_add(vertical, horizontal), 0.25f);
    tg_return(t, tg_pad(tg_pad(inner, 1, 1, 1, 0), 0, 1, 1, 0));
}

const tensor_case jacobi_case = {
    .callback = trace_jacobi,
    .kernels = BY_HAND(jacobi),
    .inputs = {INPUT(TG_F32, SHAPE_WHOLE, -1, 1)},
    .results = {{TG_F32, SHAPE_WHOLE}},
    .absolute = 1e-6,
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
    .results = {{TG_F32, SHAPE_TURNED}},
};

const case_size transpose_sizes[] = {
    SIZE_TIMED("4096x4096", 4096, 4096),
    SIZE_CHECKED("3x5", 3, 5),
    SIZE_CHECKED("33x50", 33, 50),
    SIZES_END,
};
