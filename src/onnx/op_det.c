/* SPDX-License-Identifier: MIT */
/*
 * op_det.c - Det by elimination with partial pivoting. A step replaces n x n
 * matrices by n-1 x n-1 ones, so that n must be known and small.
 */
#include "onnx_run.h"

enum { MAX_ORDER = 64 };

/* Element i of an axis, without the axis. */
static tg_value element(const tgi_onnx_call *c, tg_value x, int axis, int64_t i)
{
    return tg_squeeze_at(
        TG_IN(tg_slice_at(TG_IN(x), axis, i, i + 1, 1, c->site)),
        tg_axes_of(1, &axis), c->site);
}

/* Divides the determinant of m[batch, n, n] by the pivot of its first column,
   which is returned with the sign of the exchange of rows, and m becomes the
   matrix that is left. */
static tg_value eliminate(const tgi_onnx_call *c, tg_value *m, int64_t n)
{
    const tg_value zero = tgi_onnx_scalar_like(c, *m, 0);
    const tg_value one = tgi_onnx_scalar_like(c, *m, 1);
    const tg_value column = element(c, *m, 2, 0);
    const tg_value at = tg_expand_dims_at(
        TG_IN(tg_argmax_at(TG_IN(F1(abs, column)), 1, c->site)), 1, c->site);
    const tg_value is_pivot =
        F2(eq, at, tg_iota_at(TG_I64, 2, (const int64_t[]){1, n}, 1, c->site));
    const tg_value mask = tg_expand_dims_at(TG_IN(is_pivot), 2, c->site);
    const int rows = 1;
    const tg_value row = tg_sum_at(TG_IN(F3(select, mask, *m, zero)),
                                   tg_axes_of(1, &rows), c->site);
    const tg_value pivot = element(c, row, 1, 0);
    /* The first row takes the place of the pivot's. */
    const tg_value first = tg_slice_at(TG_IN(*m), 1, 0, 1, 1, c->site);
    const tg_value rest = tg_slice_at(TG_IN(F3(select, mask, first, *m)), 1, 1,
                                      n, 1, c->site);
    const tg_value divisor =
        F3(select, F2(eq, pivot, zero), one, pivot);
    const tg_value factor =
        F2(div, element(c, rest, 2, 0),
           tg_expand_dims_at(TG_IN(divisor), 1, c->site));
    const tg_value right = tg_slice_at(TG_IN(row), 1, 1, n, 1, c->site);
    *m = F2(sub, tg_slice_at(TG_IN(rest), 2, 1, n, 1, c->site),
            F2(mul, tg_expand_dims_at(TG_IN(factor), 2, c->site),
               tg_expand_dims_at(TG_IN(right), 1, c->site)));
    return F3(select, element(c, is_pivot, 1, 0), pivot, F1(neg, pivot));
}

void tgi_onnx_build_det(const tgi_onnx_call *c)
{
    const tg_value x = tgi_onnx_in(c, 0);
    const int rank = tgi_onnx_in_rank(c, 0);
    int64_t dims[TG_MAX_RANK];
    tgi_onnx_dims(x, dims);
    if (tgi_onnx_failed(c))
        return;
    const int64_t n = rank < 2 ? -1 : dims[rank - 1];
    if (n < 1 || n > MAX_ORDER || dims[rank - 2] != n) {
        tgi_onnx_fail(c, TG_ERROR_UNSUPPORTED,
                      "the operand is not square, or has unknown or more than "
                      "%d rows",
                      MAX_ORDER);
        return;
    }
    tg_value m = tg_reshape_at(TG_IN(x), 3, (const int64_t[]){-1, n, n},
                               c->site);
    tg_value det = tgi_onnx_scalar_like(c, x, 1);
    for (int64_t k = n; k > 1; k--)
        det = F2(mul, det, eliminate(c, &m, k));
    det = F2(mul, det, element(c, element(c, m, 2, 0), 1, 0));
    tgi_onnx_out(c, 0, tg_reshape_at(TG_IN(det), rank - 2, dims, c->site));
}
