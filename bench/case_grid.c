/* SPDX-License-Identifier: MIT */
/*
 * case_grid.c - stencils and a transpose.
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

/* -- heat_2d: one step of the heat equation, written in four ways ---------- */

/* What a step adds to the elements `here`. */
static tg_value heat_change(tg_value up, tg_value down, tg_value left,
                            tg_value right, tg_value here)
{
    const tg_value around = tg_add(tg_add(up, down), tg_add(left, right));
    return tg_mul(tg_sub(around, tg_mul(here, 4)), HEAT_RATE);
}

/* The same for the inner points. */
static tg_value heat_inner_change(tg_value x)
{
    return heat_change(shifted(x, -1, 0), shifted(x, 1, 0), shifted(x, 0, -1),
                       shifted(x, 0, 1), shifted(x, 0, 0));
}

static void trace_heat_pad(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    const tg_value change = heat_inner_change(in[0]);
    tg_return(t, tg_add(in[0], tg_pad_axes(change, TG_DIMS(1, 1),
                                           TG_DIMS(1, 1), 0)));
}

static tg_value heat_inner(tg_value x)
{
    return tg_add(shifted(x, 0, 0), heat_inner_change(x));
}

static void trace_heat_update(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    tg_return(t, tg_dynamic_update_slice_axes(in[0], heat_inner(in[0]),
                                              TG_ARGS(1, 1)));
}

static void trace_heat_concat(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    const tg_value x = in[0], between = tg_slice(x, 0, 1, slice_stop(0), 1);
    const tg_value left = tg_slice(between, 1, 0, 1, 1);
    const tg_value right = tg_slice(between, 1, -1, TG_END, 1);
    tg_return(t, tg_concat(0, tg_slice(x, 0, 0, 1, 1),
                           tg_concat(1, left, heat_inner(x), right),
                           tg_slice(x, 0, -1, TG_END, 1)));
}

/* On a torus. */
static void trace_heat_roll(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    const tg_value x = in[0];
    tg_return(t, tg_add(x, heat_change(tg_roll(x, 0, 1), tg_roll(x, 0, -1),
                                       tg_roll(x, 1, 1), tg_roll(x, 1, -1),
                                       x)));
}

#define HEAT_CASE(form, plain) \
    { \
        .callback = trace_heat_##form, .kernels = {[BACKEND_C] = plain}, \
        .inputs = {INPUT(TG_F32, SHAPE_WHOLE, -1, 1)}, \
        .results = {{TG_F32, SHAPE_WHOLE}}, .absolute = 1e-5, \
    }

const tensor_case heat_2d_pad_case = HEAT_CASE(pad, plain_heat_2d);
const tensor_case heat_2d_update_case = HEAT_CASE(update, plain_heat_2d);
const tensor_case heat_2d_concat_case = HEAT_CASE(concat, plain_heat_2d);
const tensor_case heat_2d_roll_case = HEAT_CASE(roll, plain_heat_2d_torus);

/* -- heat_3d: one step of the heat equation, the border is zero ------------ */

/* The inner points, shifted along one axis. */
static tg_value shifted_along(tg_value x, int axis, int by)
{
    for (int i = 0; i < 3; i++) {
        const int at = i == axis ? by : 0;
        x = tg_slice(x, i, 1 + at, slice_stop(at), 1);
    }
    return x;
}

static void trace_heat_3d(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    const tg_value x = in[0], here = shifted_along(x, 0, 0);
    tg_value pairs[3];
    for (int axis = 0; axis < 3; axis++)
        pairs[axis] =
            tg_add(shifted_along(x, axis, -1), shifted_along(x, axis, 1));
    const tg_value around = tg_add(tg_add(pairs[0], pairs[1]), pairs[2]);
    tg_value next =
        tg_add(here, tg_mul(tg_sub(around, tg_mul(here, 6)), HEAT_RATE));
    for (int axis = 0; axis < 3; axis++)
        next = tg_pad(next, axis, 1, 1, 0);
    tg_return(t, next);
}

const tensor_case heat_3d_case = {
    .callback = trace_heat_3d,
    .kernels = {[BACKEND_C] = plain_heat_3d},
    .inputs = {INPUT(TG_F32, SHAPE_WHOLE, -1, 1)},
    .results = {{TG_F32, SHAPE_WHOLE}},
    .absolute = 1e-5,
};

const case_size heat_3d_sizes[] = {
    SIZE_PRODUCT("128x128x128", 128, 128, 0, 128, SIZE_BY_DEFAULT),
    SIZE_PRODUCT("3x3x3", 3, 3, 0, 3, SIZE_IN_CHECK),
    SIZE_PRODUCT("5x7x37", 5, 7, 0, 37, SIZE_IN_CHECK),
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
