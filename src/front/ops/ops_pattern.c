/* SPDX-License-Identifier: MIT */
/*
 * ops_pattern.c - constants with a pattern: ranges, and matrices that depend on
 * the distance from the diagonal. All are computed from positions, so that they
 * take no memory where they fuse.
 */
#include <math.h>

#include "build/build_formula.h"
#include "front/trace/trace_state.h"
#include "tgjit/ops_shape.h"

/* -- Ranges ---------------------------------------------------------------- */

/* False, and an error, if the dtype cannot hold a number. */
static bool holds(tgi_builder *b, tg_dtype dtype, double number)
{
    return tgi_build_number(
               b, dtype, TG_F64,
               (tgi_number){TGI_NUMBER_FLOAT, {.f = number}}) != 0;
}

static tgi_ref build_range(tgi_builder *b, tg_dtype dtype, double start,
                           double stop, double step)
{
    if (!tgi_dtype_is_valid((int)dtype) || dtype == TG_BOOL)
        return tgi_build_fail(b, TG_ERROR_DTYPE, NULL, 0,
                              "needs a number type, not %s",
                              tg_dtype_name(dtype));
    if (!isfinite(start) || !isfinite(stop) || !isfinite(step) || step == 0)
        return tgi_build_fail(b, TG_ERROR_INVALID_ARGUMENT, NULL, 0,
                              "invalid range from %g to %g by %g", start, stop,
                              step);
    const double count = ceil((stop - start) / step);
    if (count >= 0x1p62)
        return tgi_build_fail(b, TG_ERROR_OVERFLOW, NULL, 0,
                              "the range from %g to %g by %g is too long",
                              start, stop, step);
    const tgi_dim n = count > 0 ? (tgi_dim)count : 0;
    /* Negative steps of unsigned types wrap to the right elements. */
    const bool is_negated =
        tgi_dtype_is((int)dtype, TGI_CLASS_UINT) && step < 0;
    /* Positions are not rounded to halves, nor is the step. */
    const bool is_half = tgi_dtype_is((int)dtype, TGI_CLASS_HALF);
    const double last = n ? start + (double)(n - 1) * step : start;
    if (!holds(b, dtype, start) ||
        !holds(b, dtype, is_negated ? -step : step))
        return 0;
    /* Integers beyond 2^63 may have been rounded out of range. */
    const bool is_exact =
        !tgi_dtype_is((int)dtype, TGI_CLASS_INT) || fabs(last) < 0x1p63;
    if (is_exact && !holds(b, dtype, last))
        return 0;
    tgi_ref position = tgi_build_iota(b, is_half ? TG_F32 : dtype, 1, &n, 0);
    tgi_ref size = tgi_build_number_like(b, position, fabs(step));
    tgi_ref signed_step =
        is_negated ? size : tgi_build_number_like(b, position, step);
    tgi_ref first = tgi_build_number_like(b, position, start);
    tgi_ref moved = MUL(position, signed_step);
    tgi_ref range = is_negated ? SUB(first, moved) : ADD(moved, first);
    return tgi_build_narrow(b, range, dtype);
}

tg_value tg_arange_at(tg_dtype dtype, double start, double stop, double step,
                      tg_site site)
{
    tgi_operation o;
    tgi_ref result = 0;
    if (tgi_operation_begin(&o, "arange", site))
        result = build_range(&o.b, dtype, start, stop, step);
    return tgi_operation_end(&o, result);
}

static tgi_ref build_linspace(tgi_builder *b, tgi_ref *ends, int64_t n)
{
    if (!ends[0] || !ends[1] || !tgi_build_unify(b, ends, 2) ||
        !tgi_build_require_float(b, ends[0]))
        return 0;
    if (tgi_graph_shape(b->graph, ends[0])->rank ||
        tgi_graph_shape(b->graph, ends[1])->rank)
        return tgi_build_fail(b, TG_ERROR_SHAPE, ends, 2,
                              "start and stop are not scalars");
    const tg_dtype dtype = (tg_dtype)tgi_graph_node(b->graph, ends[0])->dtype;
    const tgi_dim dims[] = {n};
    if (!tgi_build_shape(b, 1, dims))
        return 0;
    if (n < 2)
        return tgi_build_broadcast(b, ends[0], 1, dims);
    tgi_ref position = tgi_build_iota(b, dtype, 1, dims, 0);
    tgi_ref last = tgi_build_number_like(b, position, (double)(n - 1));
    tgi_ref step = DIV(SUB(ends[1], ends[0]), last);
    tgi_ref inside = ADD(MUL(position, step), ends[0]);
    return SELECT(EQ(position, last), ends[1], inside);
}

tg_value tg_linspace_at(tg_operand start, tg_operand stop, int64_t n,
                        tg_site site)
{
    tgi_operation o;
    tgi_ref result = 0;
    if (tgi_operation_begin_wide(&o, "linspace", site)) {
        tgi_ref ends[2];
        ends[0] = tgi_operation_operand(&o, start);
        ends[1] = tgi_operation_operand(&o, stop);
        result = build_linspace(&o.b, ends, n);
    }
    return tgi_operation_end(&o, result);
}

/* -- Diagonals ------------------------------------------------------------- */

/* Column - row of the last two extents, as i64. It is compared with a diagonal,
   not reduced by it: the difference need not fit. */
static tgi_ref distance(tgi_builder *b, const tgi_dim sides[2])
{
    tgi_ref column = tgi_build_iota(b, TG_I64, 2, sides, 1);
    tgi_ref row = column ? tgi_build_iota(b, TG_I64, 2, sides, 0) : 0;
    return SUB(column, row);
}

static tgi_ref number_of_diagonal(tgi_builder *b, int64_t diagonal)
{
    return tgi_build_number(b, TG_I64, TG_I64,
                            (tgi_number){TGI_NUMBER_INT, {.i = diagonal}});
}

tg_value tg_eye_at(tg_dtype dtype, int64_t n_rows, int64_t n_columns,
                   int64_t diagonal, tg_site site)
{
    tgi_operation o;
    tgi_ref result = 0;
    if (tgi_operation_begin(&o, "eye", site)) {
        tgi_builder *b = &o.b;
        tgi_ref d = distance(b, (tgi_dim[]){n_rows, n_columns});
        result =
            tgi_build_cast(b, EQ(d, number_of_diagonal(b, diagonal)), dtype);
    }
    return tgi_operation_end(&o, result);
}

tg_value tg_triangle_at(int64_t n_rows, int64_t n_columns, int64_t diagonal,
                        tg_site site)
{
    tgi_operation o;
    tgi_ref result = 0;
    if (tgi_operation_begin(&o, "triangle", site)) {
        tgi_builder *b = &o.b;
        tgi_ref d = distance(b, (tgi_dim[]){n_rows, n_columns});
        result = LE(d, number_of_diagonal(b, diagonal));
    }
    return tgi_operation_end(&o, result);
}

static tg_value build_triangle_of(const char *name, bool is_lower,
                                  tg_operand operand, int64_t diagonal,
                                  tg_site site)
{
    tgi_operation o;
    tgi_ref result = 0;
    if (tgi_operation_begin(&o, name, site)) {
        tgi_builder *b = &o.b;
        tgi_ref x = tgi_operation_operand(&o, operand);
        if (x && tgi_graph_shape(b->graph, x)->rank < 2)
            x = tgi_build_fail(b, TG_ERROR_SHAPE, &x, 1, "needs two axes");
        if (x) {
            const tgi_shape *shape = tgi_graph_shape(b->graph, x);
            tgi_ref d = distance(b, &shape->dims[shape->rank - 2]);
            tgi_ref end = number_of_diagonal(b, diagonal);
            tgi_ref is_kept = is_lower ? LE(d, end) : LE(end, d);
            result = SELECT(is_kept, x, tgi_build_number_like(b, x, 0));
        }
    }
    return tgi_operation_end(&o, result);
}

tg_value tg_tril_at(tg_operand x, int64_t diagonal, tg_site site)
{
    return build_triangle_of("tril", true, x, diagonal, site);
}

tg_value tg_triu_at(tg_operand x, int64_t diagonal, tg_site site)
{
    return build_triangle_of("triu", false, x, diagonal, site);
}
