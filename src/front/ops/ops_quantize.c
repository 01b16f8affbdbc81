/* SPDX-License-Identifier: MIT */
/*
 * ops_quantize.c - quantisation, and products of 8-bit integers.
 *
 * A product of 8-bit integers is a MATMUL of bytes, of unsigned by signed ones,
 * for which newer CPUs have instructions. Operands of the other dtypes are moved
 * by 128, and sums along k make up for that; all of it is exact, modulo 2^32.
 */
#include "tgjit/ops_quantize.h"

#include "build/build_formula.h"
#include "front/trace/trace_state.h"

/* -- Quantisation ---------------------------------------------------------- */

/* A parameter in a shape that broadcasts to x: as it is if it is a scalar, else
   along the axis. */
static tgi_ref along_axis(tgi_builder *b, tgi_ref x, tgi_ref parameter,
                          int axis)
{
    const tgi_shape *shape = tgi_graph_shape(b->graph, parameter);
    if (shape->rank == 0)
        return parameter;
    axis = tgi_build_axis(b, x, axis);
    if (axis < 0)
        return 0;
    const tgi_shape *whole = tgi_graph_shape(b->graph, x);
    if (shape->rank > 1 ||
        !tgi_build_check(b, TGI_CHECK_EQUAL, shape->dims[0], whole->dims[axis],
                         "scales and positions along the axis"))
        return tgi_build_fail(b, TG_ERROR_SHAPE,
                              (tgi_ref[]){x, parameter}, 2,
                              "scale and zero point are neither scalars nor "
                              "vectors along axis %d",
                              axis);
    tgi_dim dims[TG_MAX_RANK] = {shape->dims[0]};
    for (int i = 1; i < whole->rank - axis; i++)
        dims[i] = 1;
    return tgi_build_reshape(b, parameter, whole->rank - axis, dims);
}

static int dtype_of(const tgi_builder *b, tgi_ref x)
{
    return tgi_graph_node(b->graph, x)->dtype;
}

static bool is_integer_of(int dtype, int64_t max_bytes)
{
    return tgi_dtype_is(dtype, TGI_CLASS_INT) &&
           tgi_dtype_bytes(dtype) <= max_bytes;
}

/* Saturates: the cast of a float does. */
static tgi_ref round_to(tgi_builder *b, tgi_ref quotient, tgi_ref zero_point,
                        tg_dtype dtype)
{
    if (!quotient || !zero_point)
        return 0;
    tgi_ref zero = tgi_build_cast(b, zero_point, dtype_of(b, quotient));
    return tgi_build_cast(b, ADD(BUILD_1(ROUND, quotient), zero), dtype);
}

tg_value tg_quantize_at(tg_operand operand, tg_operand scale,
                        tg_operand zero_point, int axis, tg_site site)
{
    tgi_operation o;
    tgi_ref result = 0;
    if (tgi_operation_begin_wide(&o, "quantize", site)) {
        tgi_builder *b = &o.b;
        tgi_ref x =
            tgi_build_require_float(b, tgi_operation_operand(&o, operand));
        tgi_ref step = tgi_operation_operand(&o, scale);
        tgi_ref zero = tgi_operation_operand(&o, zero_point);
        if (zero && (tgi_build_weakness(b, zero) ||
                     !is_integer_of(dtype_of(b, zero), 2)))
            zero = tgi_build_fail(b, TG_ERROR_DTYPE, &zero, 1,
                                  "the zero point must have dtype i8, u8, i16 "
                                  "or u16");
        if (x && step && zero) {
            step = along_axis(b, x, step, axis);
            tgi_ref at = step ? along_axis(b, x, zero, axis) : 0;
            if (at)
                result = round_to(b, DIV(x, step), at,
                                  (tg_dtype)dtype_of(b, zero));
        }
    }
    return tgi_operation_end(&o, result);
}

tg_value tg_dequantize_at(tg_operand operand, tg_operand scale,
                          tg_operand zero_point, int axis, tg_site site)
{
    tgi_operation o;
    tgi_ref result = 0;
    if (tgi_operation_begin_wide(&o, "dequantize", site)) {
        tgi_builder *b = &o.b;
        tgi_ref x = tgi_operation_operand(&o, operand);
        tgi_ref step =
            tgi_build_require_float(b, tgi_operation_operand(&o, scale));
        tgi_ref zero = tgi_operation_operand(&o, zero_point);
        if (x && zero)
            zero = tgi_build_adapt(b, zero, dtype_of(b, x));
        if (x && !is_integer_of(dtype_of(b, x), 2) && dtype_of(b, x) != TG_I32)
            x = tgi_build_fail(b, TG_ERROR_DTYPE, &x, 1,
                               "needs i8, u8, i16, u16 or i32");
        if (x && step && zero) {
            step = along_axis(b, x, step, axis);
            zero = step ? along_axis(b, x, zero, axis) : 0;
            /* Differences of i32 need not fit in i32. */
            const tg_dtype wide = dtype_of(b, x) == TG_I32 ? TG_I64 : TG_I32;
            tgi_ref distance = zero ? SUB(tgi_build_cast(b, x, wide),
                                          tgi_build_cast(b, zero, wide))
                                    : 0;
            if (distance)
                result = MUL(tgi_build_cast(b, distance, dtype_of(b, step)),
                             step);
        }
    }
    return tgi_operation_end(&o, result);
}

tg_value tg_quantize_dynamic_at(tg_operand operand, tg_value *out_scale,
                                tg_value *out_zero_point, tg_site site)
{
    tgi_operation o;
    tgi_ref result = 0;
    if (out_scale)
        *out_scale = (tg_value){0, 0};
    if (out_zero_point)
        *out_zero_point = (tg_value){0, 0};
    if (tgi_operation_begin(&o, "quantize_dynamic", site)) {
        tgi_builder *b = &o.b;
        const tg_axes all = {.n = -1};
        tgi_ref x =
            tgi_build_require_float(b, tgi_operation_operand(&o, operand));
        x = x ? tgi_build_widen(b, x) : 0;
        tgi_ref zero = tgi_build_number_like(b, x, 0);
        tgi_ref one = tgi_build_number_like(b, x, 1);
        tgi_ref low = tgi_build_reduce(b, TGI_OP_REDUCE_MIN, x, all);
        tgi_ref high = tgi_build_reduce(b, TGI_OP_REDUCE_MAX, x, all);
        low = MIN(low, zero);
        tgi_ref range = SUB(MAX(high, zero), low);
        tgi_ref scale = DIV(range, tgi_build_number_like(b, x, 255));
        scale = SELECT(EQ(range, zero), one, scale);
        tgi_ref at = tgi_build_cast(b, BUILD_1(ROUND, DIV(NEG(low), scale)),
                                    TG_U8);
        result = x && scale ? round_to(b, DIV(x, scale), at, TG_U8) : 0;
        if (result && out_scale)
            *out_scale = tgi_operation_end(&o, scale);
        if (result && out_zero_point)
            *out_zero_point = tgi_operation_end(&o, at);
    }
    return tgi_operation_end(&o, result);
}

/* -- Products of 8-bit integers -------------------------------------------- */

enum { BYTES = 4, OFFSET = 128 };

/* An operand: its elements as u8 if it is the first one, else as i8. Elements
   of the other dtype are moved by OFFSET. */
typedef struct product_operand {
    tgi_ref x;
    int axis; /* of k */
    bool is_first, is_moved;
} product_operand;

/* Words of four elements along k, a multiple of four. */
static tgi_ref pack_bytes(tgi_builder *b, const product_operand *operand,
                          int64_t k)
{
    tgi_ref words = 0;
    for (int i = 0; i < BYTES; i++) {
        const tgi_ref byte = tgi_build_cast(
            b, tgi_build_slice(b, operand->x, operand->axis, i, k, BYTES),
            TG_U8);
        tgi_ref word = byte ? tgi_build_cast(b, byte, TG_I32) : 0;
        if (i && word)
            word = BUILD_2(SHL, word, tgi_build_number_like(b, word, 8 * i));
        words = i && word ? BUILD_2(OR, words, word) : word;
        if (!words)
            return 0;
    }
    /* Moving a byte by OFFSET flips its highest bit. */
    return operand->is_moved
               ? BUILD_2(XOR, words,
                         tgi_build_number_like(b, words, (int32_t)0x80808080))
               : words;
}

/* OFFSET times the sums of an operand along k, as they are added to the
   result, which has the axis of k, of extent 1, if `keeps_axis`. */
static tgi_ref scaled_sums(tgi_builder *b, const product_operand *operand,
                           bool keeps_axis)
{
    const tgi_ref wide = tgi_build_cast(b, operand->x, TG_I32);
    const tg_axes axes = {
        .n = 1, .axis = {(int8_t)operand->axis}, .keep = keeps_axis};
    const tgi_ref sum = wide ? tgi_build_reduce(b, TGI_OP_SUM, wide, axes) : 0;
    return sum ? MUL(sum, tgi_build_number_like(b, sum, OFFSET)) : 0;
}

/*
 * With a' = a + 128 where a is moved and b' = b - 128 where b is, a product is
 *
 *     sum a b = sum a' b' - 128 sum b'  + 128 sum a
 *                           if a moves    if b moves
 *
 * and sum b' is sum b - 128 k if b moves too.
 */
static tgi_ref multiply_bytes(tgi_builder *b, product_operand *operand,
                              int64_t k)
{
    const int ranks[] = {tgi_graph_shape(b->graph, operand[0].x)->rank,
                         tgi_graph_shape(b->graph, operand[1].x)->rank};
    const int64_t padded = (k + BYTES - 1) / BYTES * BYTES;
    tgi_ref words[2];
    for (int i = 0; i < 2; i++) {
        tgi_ref x = operand[i].x;
        if (padded != k)
            x = tgi_build_pad(b, x, operand[i].axis, 0, padded - k,
                              tgi_build_number_like(b, x, 0));
        if (!x)
            return 0;
        operand[i].x = x;
        words[i] = pack_bytes(b, &operand[i], padded);
    }
    tgi_ref result =
        words[0] && words[1]
            ? tgi_build_matmul(b, words[0], words[1], TG_MATMUL_BYTES)
            : 0;
    if (result && operand[0].is_moved)
        result = SUB(result, scaled_sums(b, &operand[1], ranks[0] > 1));
    if (result && operand[1].is_moved)
        result = ADD(result, scaled_sums(b, &operand[0], ranks[1] > 1));
    const int32_t rest = (int32_t)(uint32_t)(OFFSET * OFFSET * padded);
    if (result && operand[0].is_moved && operand[1].is_moved)
        result = ADD(result, tgi_build_number_like(b, result, rest));
    return result;
}

static tgi_ref build_product(tgi_builder *b, const tgi_ref *in)
{
    for (int i = 0; i < 2; i++)
        if (!in[i])
            return 0;
    for (int i = 0; i < 2; i++)
        if (!is_integer_of(dtype_of(b, in[i]), 1))
            return tgi_build_fail(b, TG_ERROR_DTYPE, in, 2,
                                  "needs operands of i8 or u8");
    const int ranks[] = {tgi_graph_shape(b->graph, in[0])->rank,
                         tgi_graph_shape(b->graph, in[1])->rank};
    product_operand operand[] = {
        {.x = in[0],
         .axis = ranks[0] - 1,
         .is_moved = dtype_of(b, in[0]) == TG_I8},
        {.x = in[1],
         .axis = ranks[1] > 1 ? ranks[1] - 2 : 0,
         .is_moved = dtype_of(b, in[1]) == TG_U8}};
    if (ranks[0] && ranks[1]) {
        const tgi_dim k =
            tgi_graph_shape(b->graph, in[0])->dims[operand[0].axis];
        if (tgi_dim_is_known(k) && k > 0 &&
            tgi_graph_shape(b->graph, in[1])->dims[operand[1].axis] == k)
            return multiply_bytes(b, operand, k);
    }
    return tgi_build_matmul(b, tgi_build_cast(b, in[0], TG_I32),
                            tgi_build_cast(b, in[1], TG_I32),
                            TG_MATMUL_PLAIN);
}

tg_value tg_matmul_integer_at(tg_operand left, tg_operand right, tg_site site)
{
    tgi_operation o;
    tgi_ref result = 0;
    if (tgi_operation_begin(&o, "matmul_integer", site)) {
        tgi_ref in[2];
        in[0] = tgi_operation_operand(&o, left);
        in[1] = in[0] ? tgi_operation_operand(&o, right) : 0;
        result = build_product(&o.b, in);
    }
    return tgi_operation_end(&o, result);
}
