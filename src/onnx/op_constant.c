/* SPDX-License-Identifier: MIT */
/*
 * op_constant.c - constants, and tensors with a pattern.
 */
#include <math.h>
#include <string.h>

#include "onnx_known.h"

/* -- Constant -------------------------------------------------------------- */

static void out_numbers(const tgi_onnx_call *c, tg_dtype dtype, int rank,
                        size_t n, const void *data)
{
    tgi_onnx_array *array;
    if (tgi_onnx_array_copy(&c->frame->shared->arena, dtype, rank,
                            (const int64_t[]){(int64_t)n}, data, &array))
        tgi_onnx_fail(c, TG_ERROR_OUT_OF_MEMORY, "out of memory");
    else
        tgi_onnx_out_array(c, 0, array);
}

/* Reads a tensor attribute; NULL, with the trace failed, on errors. */
static const tgi_onnx_array *read_tensor(const tgi_onnx_call *c,
                                         const Onnx__TensorProto *tensor)
{
    tgi_onnx_arena *arena = &c->frame->shared->arena;
    tgi_onnx_array *array = tgi_onnx_alloc(arena, 1, sizeof(*array));
    const tg_status status =
        array ? tgi_onnx_array_read(arena, tensor, NULL, (tg_site){NULL, 0},
                                    array, NULL)
              : TG_ERROR_OUT_OF_MEMORY;
    if (status)
        tgi_onnx_fail(c, status, "%s", tg_error(NULL));
    return status ? NULL : array;
}

void tgi_onnx_build_constant(const tgi_onnx_call *c)
{
    const Onnx__AttributeProto *a;
    if ((a = tgi_onnx_attribute(c, "value")) && a->t) {
        const tgi_onnx_array *array = read_tensor(c, a->t);
        if (array)
            tgi_onnx_out_array(c, 0, array);
    } else if ((a = tgi_onnx_attribute(c, "value_float"))) {
        out_numbers(c, TG_F32, 0, 1, &a->f);
    } else if ((a = tgi_onnx_attribute(c, "value_floats"))) {
        out_numbers(c, TG_F32, 1, a->n_floats, a->floats ? a->floats : &a->f);
    } else if ((a = tgi_onnx_attribute(c, "value_int"))) {
        out_numbers(c, TG_I64, 0, 1, &a->i);
    } else if ((a = tgi_onnx_attribute(c, "value_ints"))) {
        out_numbers(c, TG_I64, 1, a->n_ints, a->ints ? a->ints : &a->i);
    } else {
        tgi_onnx_fail(c, TG_ERROR_UNSUPPORTED,
                      "constants of strings or sparse tensors are unsupported");
    }
}

/* -- Patterns -------------------------------------------------------------- */

void tgi_onnx_build_constant_of_shape(const tgi_onnx_call *c)
{
    const Onnx__AttributeProto *a = tgi_onnx_attribute(c, "value");
    tgi_onnx_extents shape;
    int64_t dims[TG_MAX_RANK];
    if (!tgi_onnx_known_extents(c, 0, &shape))
        return;
    if (shape.n > TG_MAX_RANK) {
        tgi_onnx_fail(c, TG_ERROR_UNSUPPORTED, "%zu axes; the maximum is %d",
                      shape.n, TG_MAX_RANK);
        return;
    }
    for (size_t i = 0; i < shape.n; i++)
        dims[i] = shape.e[i].n;
    tg_value x;
    if (a && a->t) {
        const tgi_onnx_array *array = read_tensor(c, a->t);
        if (!array)
            return;
        if (array->count != 1) {
            tgi_onnx_fail(c, TG_ERROR_FILE, "the value is not one number");
            return;
        }
        x = tg_constant_at(array->dtype, 0, NULL, array->data, c->site);
    } else {
        x = tg_scalar_at(TG_F32, tg_in_f32(0), c->site);
    }
    tgi_onnx_out(c, 0, tg_broadcast_at(TG_IN(x), (int)shape.n, dims, c->site));
}

/* The dtype that an attribute names, or `otherwise`. */
static tg_dtype dtype_attribute(const tgi_onnx_call *c, tg_dtype otherwise)
{
    const int32_t code = (int32_t)tgi_onnx_int(c, "dtype", 0);
    const tg_dtype dtype = code ? tgi_onnx_dtype(code) : otherwise;
    if (!dtype)
        tgi_onnx_fail(c, TG_ERROR_UNSUPPORTED, "dtype %s is unsupported",
                      tgi_onnx_dtype_name(code));
    return dtype;
}

void tgi_onnx_build_eye_like(const tgi_onnx_call *c)
{
    const tg_value x = tgi_onnx_in(c, 0);
    const tg_dtype dtype = dtype_attribute(c, tg_value_dtype(x));
    if (!tgi_onnx_failed(c))
        tgi_onnx_out(c, 0,
                     tg_eye_at(dtype, tg_value_dim(x, 0), tg_value_dim(x, 1),
                               tgi_onnx_int(c, "k", 0), c->site));
}

/* start, start + delta, … before limit. The limit may be a symbol. */
void tgi_onnx_build_range(const tgi_onnx_call *c)
{
    tgi_onnx_extents start, limit, delta;
    tgi_onnx_extent n;
    const tgi_onnx_array *known[3] = {tgi_onnx_try_known(c, 0),
                                      tgi_onnx_try_known(c, 1),
                                      tgi_onnx_try_known(c, 2)};
    if (!(known[0] && known[1] && known[2]) &&
        tgi_onnx_try_extents(c, 0, &start) &&
        tgi_onnx_try_extents(c, 1, &limit) &&
        tgi_onnx_try_extents(c, 2, &delta) && !delta.e[0].is_symbol &&
        delta.e[0].n == 1 &&
        tgi_onnx_extent_sub(limit.e[0], start.e[0], c->site, &n)) {
        const tg_value count = tg_iota_at(start.dtype, 1, &n.n, 0, c->site);
        const tg_value from = tgi_onnx_in(c, 0);
        tgi_onnx_out(c, 0,
                     F2(add, count, tg_reshape_at(TG_IN(from), 0, NULL,
                                                  c->site)));
        return;
    }
    const double from = tgi_onnx_known_float(c, 0);
    const double to = tgi_onnx_known_float(c, 1);
    const double step = tgi_onnx_known_float(c, 2);
    if (tgi_onnx_failed(c))
        return;
    if (step == 0 || !isfinite(from) || !isfinite(to) || !isfinite(step))
        tgi_onnx_fail(c, TG_ERROR_INVALID_ARGUMENT, "from %g to %g by %g", from,
                      to, step);
    else
        tgi_onnx_out(c, 0,
                     tg_arange_at(known[0]->dtype, from, to, step, c->site));
}

/* values[1] at the index, which may be negative, and values[0] elsewhere. */
void tgi_onnx_build_one_hot(const tgi_onnx_call *c)
{
    const tg_value values = tgi_onnx_in(c, 2);
    const int rank = tgi_onnx_in_rank(c, 0) + 1;
    const int64_t depth = tgi_onnx_known_int(c, 1);
    const int axis = tgi_onnx_axis(c, tgi_onnx_int(c, "axis", -1), rank);
    int64_t dims[TG_MAX_RANK];
    if (rank > TG_MAX_RANK)
        tgi_onnx_fail(c, TG_ERROR_UNSUPPORTED, "%d axes; the maximum is %d",
                      rank, TG_MAX_RANK);
    if (tgi_onnx_failed(c))
        return;
    tg_value at = tg_cast_at(TG_IN(tgi_onnx_in(c, 0)), TG_I64, c->site);
    const tg_value n = tg_scalar_at(TG_I64, tg_in_i64(depth), c->site);
    const tg_value zero = tg_scalar_at(TG_I64, tg_in_i64(0), c->site);
    at = F3(select, F2(lt, at, zero), F2(add, at, n), at);
    at = tg_expand_dims_at(TG_IN(at), axis, c->site);
    tgi_onnx_dims(at, dims);
    dims[axis] = depth;
    const tg_value is_on =
        F2(eq, at, tg_iota_at(TG_I64, rank, dims, axis, c->site));
    tg_value both[2];
    tg_unstack_at(TG_IN(values), 0, both, 2, c->site);
    tgi_onnx_out(c, 0, F3(select, is_on, both[1], both[0]));
}
