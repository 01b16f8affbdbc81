/* SPDX-License-Identifier: MIT */
/*
 * ops_signal.c - windows of signal processing.
 */
#include "tgjit/ops_signal.h"

#include "build/build_formula.h"
#include "front/trace/trace_state.h"

/* factor * cos(angle). */
static tgi_ref build_term(tgi_builder *b, double factor, tgi_ref angle)
{
    return MUL(tgi_build_f64(b, factor), BUILD_1(COS, angle));
}

static tgi_ref build_window(tgi_builder *b, int64_t n, tg_window_kind kind,
                            const double *a)
{
    const double turn = 6.283185307179586476925;
    tgi_ref k = tgi_build_iota(b, TG_F64, 1, &n, 0);
    if (!k)
        return 0;
    tgi_ref period = tgi_build_cast(b, tgi_build_extent(b, n), TG_F64);
    if (kind == TG_WINDOW_SYMMETRIC)
        period = SUB(period, tgi_build_f64(b, 1));
    tgi_ref angle = DIV(MUL(k, tgi_build_f64(b, turn)), period);
    tgi_ref window = SUB(tgi_build_f64(b, a[0]), build_term(b, a[1], angle));
    if (a[2] != 0)
        window = ADD(window,
                     build_term(b, a[2], MUL(angle, tgi_build_f64(b, 2))));
    return SELECT(LT(tgi_build_f64(b, 0), period), window,
                  tgi_build_f64(b, 1));
}

tg_value tg_cosine_window_at(tg_dtype dtype, int64_t n, tg_window_kind kind,
                             double a0, double a1, double a2, tg_site site)
{
    tgi_operation o;
    tgi_ref window = 0;
    if (tgi_operation_begin(&o, "cosine_window", site)) {
        if (dtype != TG_F32 && dtype != TG_F64)
            tgi_build_fail(&o.b, TG_ERROR_DTYPE, NULL, 0,
                           "needs a float type, not %s", tg_dtype_name(dtype));
        else if (kind != TG_WINDOW_PERIODIC && kind != TG_WINDOW_SYMMETRIC)
            tgi_build_fail(&o.b, TG_ERROR_INVALID_ARGUMENT, NULL, 0,
                           "%d is not a tg_window_kind", (int)kind);
        else
            window = tgi_build_cast(
                &o.b, build_window(&o.b, n, kind, (double[]){a0, a1, a2}),
                dtype);
    }
    return tgi_operation_end(&o, window);
}
