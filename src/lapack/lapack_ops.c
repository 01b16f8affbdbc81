/* SPDX-License-Identifier: MIT */
/*
 * lapack_ops.c - the operations of lapack.h: they check the types of their
 * operands, and call the host.
 */
#include "lapack_gradient.h"
#include "lapack_host.h"
#include "tgjit/extend.h"
#include "tgjit/lapack.h"
#include "tgjit/ops_shape.h"

static const tg_value invalid = {0, 0};

/* -- Operands -------------------------------------------------------------- */

typedef struct shape {
    int rank;
    int64_t dims[TG_MAX_RANK];
} shape;

static shape shape_of(tg_value x)
{
    shape s = {.rank = tg_value_rank(x)};
    for (int i = 0; i < s.rank; i++)
        s.dims[i] = tg_value_dim(x, i);
    return s;
}

/* x with the extent `wanted` at an axis, which an unknown extent is checked
   for at the call; invalid and an error if it differs. */
static tg_value with_extent(const char *name, tg_value x, int axis,
                            int64_t wanted, tg_site site)
{
    shape s = shape_of(x);
    const int64_t extent = s.dims[axis];
    if (extent == wanted)
        return x;
    if (tg_dim_is_known(extent) && tg_dim_is_known(wanted))
        return tg_op_fail(TG_ERROR_SHAPE, site,
                          "%s: axis %d has extent %lld instead of %lld", name,
                          axis, (long long)extent, (long long)wanted);
    s.dims[axis] = wanted;
    return tg_reshape_at(tg_in_value(x), s.rank, s.dims, site);
}

static tg_value take(const char *name, tg_operand operand, tg_site site)
{
    const tg_value x = tg_op_operand(name, operand, site);
    const tg_dtype dtype = tg_value_dtype(x);
    if (tg_is_valid(x) && dtype != TG_F32 && dtype != TG_F64)
        return tg_op_fail(TG_ERROR_DTYPE, site,
                          "%s: needs an f32 or f64 matrix, not %s", name,
                          tg_dtype_name(dtype));
    return x;
}

static tg_value take_matrix(const char *name, tg_operand operand, tg_site site)
{
    const tg_value x = take(name, operand, site);
    const int rank = tg_value_rank(x);
    if (tg_is_valid(x) && rank < 2)
        return tg_op_fail(TG_ERROR_SHAPE, site,
                          "%s: a matrix has at least 2 axes, not %d", name,
                          rank);
    return x;
}

static tg_value take_square(const char *name, tg_operand operand, tg_site site)
{
    const tg_value x = take_matrix(name, operand, site);
    return tg_is_valid(x) ? with_extent(name, x, tg_value_rank(x) - 1,
                                        tg_value_dim(x, -2), site)
                          : x;
}

/* -- Host calls ------------------------------------------------------------ */

/* The shape of x without its last two axes, and `n` others instead. */
static shape with_last(tg_value x, int n, int64_t first, int64_t second)
{
    shape s = shape_of(x);
    s.rank += n - 2;
    if (n > 0)
        s.dims[s.rank - n] = first;
    if (n > 1)
        s.dims[s.rank - 1] = second;
    return s;
}

static void call_host(const char *name, tg_host_function *function,
                      tg_callback *backward, unsigned flags,
                      const tg_value *in, size_t n_in, const shape *shapes,
                      tg_value *out, size_t n_out, tg_site site)
{
    const tg_host_op op = {.struct_bytes = sizeof(op),
                           .name = name,
                           .function = function,
                           .backward = backward,
                           .user = (void *)(uintptr_t)flags,
                           .maps_leading_axes = true};
    tg_operand operands[2];
    tg_host_spec specs[3];
    for (size_t i = 0; i < n_in; i++)
        operands[i] = tg_in_value(in[i]);
    for (size_t i = 0; i < n_out; i++)
        specs[i] = (tg_host_spec){tg_value_dtype(in[0]), shapes[i].rank,
                                  shapes[i].dims};
    tg_host_op_at(&op, operands, n_in, specs, out, n_out, site);
}

/* A function of a square matrix with a result of n of its axes. */
static tg_value of_square(const char *name, tg_host_function *function,
                          tg_callback *backward, tg_operand operand, int n,
                          tg_site site)
{
    const tg_value a = take_square(name, operand, site);
    tg_value y = invalid;
    if (tg_is_valid(a)) {
        const int64_t extent = tg_value_dim(a, -1);
        const shape s = with_last(a, n, extent, extent);
        call_host(name, function, backward, 0, &a, 1, &s, &y, 1, site);
    }
    return y;
}

tg_value tg_cholesky_at(tg_operand a, tg_site site)
{
    return of_square("cholesky", tgi_lapack_cholesky, tgi_gradient_cholesky, a,
                     2, site);
}

tg_value tg_inverse_at(tg_operand a, tg_site site)
{
    return of_square("inverse", tgi_lapack_inverse, tgi_gradient_inverse, a, 2,
                     site);
}

tg_value tg_det_at(tg_operand a, tg_site site)
{
    return of_square("det", tgi_lapack_det, tgi_gradient_det, a, 0, site);
}

tg_value tgi_cofactors(tg_value a)
{
    return of_square("det", tgi_lapack_cofactors, tgi_gradient_cofactors,
                     tg_in_value(a), 2, (tg_site){NULL, 0});
}

tg_slogdet_results tg_slogdet_at(tg_operand operand, tg_site site)
{
    const tg_value a = take_square("slogdet", operand, site);
    tg_value out[2] = {invalid, invalid};
    if (tg_is_valid(a)) {
        const shape s = with_last(a, 0, 0, 0);
        call_host("slogdet", tgi_lapack_slogdet, tgi_gradient_slogdet, 0, &a,
                  1, (shape[]){s, s}, out, 2, site);
    }
    return (tg_slogdet_results){out[0], out[1]};
}

/* -- Systems of equations -------------------------------------------------- */

/* Broadcasts the batch axes of *a and *b, whose ranks may differ. */
static void broadcast_batch(tg_value *a, tg_value *b, tg_site site)
{
    shape shapes[] = {shape_of(*a), shape_of(*b)};
    tg_value *values[] = {a, b};
    const int rank = shapes[0].rank > shapes[1].rank ? shapes[0].rank
                                                     : shapes[1].rank;
    shape target = {.rank = rank};
    for (int i = 0; i < rank - 2; i++) {
        const int at[] = {i - rank + shapes[0].rank, i - rank + shapes[1].rank};
        const int64_t x = at[0] < 0 ? 1 : shapes[0].dims[at[0]];
        const int64_t y = at[1] < 0 ? 1 : shapes[1].dims[at[1]];
        /* A known extent other than 1 is the result. */
        target.dims[i] = x == 1 || (y != 1 && tg_dim_is_known(y)) ? y : x;
    }
    for (int k = 0; k < 2; k++) {
        bool is_same = shapes[k].rank == rank;
        for (int i = 0; is_same && i < rank - 2; i++)
            is_same = shapes[k].dims[i] == target.dims[i];
        for (int i = 0; i < 2; i++)
            target.dims[rank - 2 + i] = shapes[k].dims[shapes[k].rank - 2 + i];
        if (!is_same)
            *values[k] = tg_broadcast_at(tg_in_value(*values[k]), rank,
                                         target.dims, site);
    }
}

static tg_value solve(const char *name, tg_host_function *function,
                      tg_callback *backward, unsigned flags, tg_operand left,
                      tg_operand right, tg_site site)
{
    tg_value in[2] = {take_square(name, left, site), invalid}, x = invalid;
    if (tg_is_valid(in[0]))
        in[1] = take(name, right, site);
    if (!tg_is_valid(in[1]))
        return invalid;
    if (tg_value_dtype(in[0]) != tg_value_dtype(in[1]))
        return tg_op_fail(TG_ERROR_DTYPE, site,
                          "%s: dtypes %s and %s differ; convert one with "
                          "tg_cast",
                          name, tg_dtype_name(tg_value_dtype(in[0])),
                          tg_dtype_name(tg_value_dtype(in[1])));
    const bool is_vector =
        tg_value_rank(in[1]) == 1 && tg_value_rank(in[0]) == 2;
    if (is_vector)
        in[1] = tg_expand_dims_at(tg_in_value(in[1]), -1, site);
    else if (tg_value_rank(in[1]) < 2)
        return tg_op_fail(TG_ERROR_SHAPE, site,
                          "%s: the right-hand side of a batch has at least 2 "
                          "axes, not %d",
                          name, tg_value_rank(in[1]));
    in[1] = with_extent(name, in[1], tg_value_rank(in[1]) - 2,
                        tg_value_dim(in[0], -1), site);
    if (!tg_is_valid(in[1]))
        return invalid;
    broadcast_batch(&in[0], &in[1], site);
    if (!tg_is_valid(in[0]) || !tg_is_valid(in[1]))
        return invalid;
    const shape s = shape_of(in[1]);
    call_host(name, function, backward, flags, in, 2, &s, &x, 1, site);
    return is_vector && tg_is_valid(x)
               ? tg_squeeze_at(tg_in_value(x), tg_axes_of(1, &(int){-1}), site)
               : x;
}

tg_value tg_solve_at(tg_operand a, tg_operand b, tg_site site)
{
    return solve("solve", tgi_lapack_solve, tgi_gradient_solve, 0, a, b, site);
}

tg_value tg_triangular_solve_at(tg_operand a, tg_operand b, unsigned flags,
                                tg_site site)
{
    if (flags & ~7u)
        return tg_op_fail(TG_ERROR_INVALID_ARGUMENT, site,
                          "triangular_solve: %u are not tg_triangular_flags",
                          flags);
    return solve("triangular_solve", tgi_lapack_triangular_solve,
                 tgi_gradient_triangular_solve, flags, a, b, site);
}

/* -- Factors --------------------------------------------------------------- */

tg_qr_results tg_qr_at(tg_operand operand, tg_site site)
{
    const tg_value a = take_matrix("qr", operand, site);
    tg_value out[2] = {invalid, invalid};
    if (tg_is_valid(a)) {
        const int64_t m = tg_value_dim(a, -2), n = tg_value_dim(a, -1);
        const int64_t k = m == n ? m : tg_dim_min(m, n);
        call_host("qr", tgi_lapack_qr, tgi_gradient_qr, 0, &a, 1,
                  (shape[]){with_last(a, 2, m, k), with_last(a, 2, k, n)}, out,
                  2, site);
    }
    return (tg_qr_results){out[0], out[1]};
}

tg_svd_results tg_svd_at(tg_operand operand, tg_site site)
{
    const tg_value a = take_matrix("svd", operand, site);
    tg_value out[3] = {invalid, invalid, invalid};
    if (tg_is_valid(a)) {
        const int64_t m = tg_value_dim(a, -2), n = tg_value_dim(a, -1);
        const int64_t k = m == n ? m : tg_dim_min(m, n);
        call_host("svd", tgi_lapack_svd, tgi_gradient_svd, 0, &a, 1,
                  (shape[]){with_last(a, 2, m, k), with_last(a, 1, k, 0),
                            with_last(a, 2, k, n)},
                  out, 3, site);
    }
    return (tg_svd_results){out[0], out[1], out[2]};
}

tg_eigh_results tg_eigh_at(tg_operand operand, tg_site site)
{
    const tg_value a = take_square("eigh", operand, site);
    tg_value out[2] = {invalid, invalid};
    if (tg_is_valid(a)) {
        const int64_t n = tg_value_dim(a, -1);
        call_host("eigh", tgi_lapack_eigh, tgi_gradient_eigh, 0, &a, 1,
                  (shape[]){with_last(a, 1, n, 0), with_last(a, 2, n, n)}, out,
                  2, site);
    }
    return (tg_eigh_results){out[0], out[1]};
}
