/* SPDX-License-Identifier: MIT */
/*
 * build_random.c - uniform and normal random numbers, built from random words
 * by graph operations, so that all back ends give the same bits. Each element
 * uses its own words, so a stream can be drawn in parts.
 *
 *   uniform  the upper 24 (53) bits of a word (two words) times 2^-24 (2^-53),
 *            of which f16 has the upper 11 and bf16 the upper 8
 *   normal   sqrt(-2 log u) cos(2 pi v), u in (0, 1], v in [0, 1) from the
 *            lower and the upper half of an element's words
 */
#include "base/error.h"
#include "build/build.h"

int64_t tgi_random_words(tg_dtype dtype, bool is_normal)
{
    return (dtype == TG_F64 ? 2 : 1) * (is_normal ? 2 : 1);
}

static tgi_ref float_constant(tgi_builder *b, tg_dtype dtype, double value)
{
    return tgi_build_number(b, dtype, dtype,
                            (tgi_number){TGI_NUMBER_FLOAT, {.f = value}});
}

static tgi_ref uint_constant(tgi_builder *b, tg_dtype dtype, uint64_t value)
{
    return tgi_build_number(b, dtype, dtype,
                            (tgi_number){TGI_NUMBER_UINT, {.u = value}});
}

/* The upper 24 or 53 bits plus `offset`, times 2^-24 or 2^-53: in [0, 1) for
   offset 0, in (0, 1] for offset 1. */
static tgi_ref unit_interval(tgi_builder *b, tg_dtype dtype, tgi_ref bits,
                             int offset)
{
    bool is_double = dtype == TG_F64;
    tg_dtype word_dtype = is_double ? TG_U64 : TG_U32;
    tgi_ref upper =
        tgi_build_2(b, TGI_OP_SHR, bits,
                    uint_constant(b, word_dtype, is_double ? 11 : 8));
    upper = tgi_build_2(b, TGI_OP_ADD, upper,
                        uint_constant(b, word_dtype, (uint64_t)offset));
    tgi_ref unit = float_constant(b, dtype, is_double ? 0x1p-53 : 0x1p-24);
    return tgi_build_2(b, TGI_OP_MUL, tgi_build_cast(b, upper, dtype), unit);
}

/* The two halves of the words of normal numbers: u32 pairs from u64 elements
   (f32), or u64 pairs from an array of shape [n, 2] (f64). */
static void split_words(tgi_builder *b, tg_dtype dtype, tgi_ref key,
                        tgi_ref offset, int rank, const int64_t *dims,
                        tgi_ref *out_low, tgi_ref *out_high)
{
    *out_low = *out_high = 0;
    if (dtype == TG_F32) {
        tgi_ref both =
            tgi_build_random_bits(b, TG_U64, key, offset, rank, dims);
        *out_low = tgi_build_cast(b, both, TG_U32);
        *out_high = tgi_build_cast(
            b, tgi_build_2(b, TGI_OP_SHR, both, uint_constant(b, TG_U64, 32)),
            TG_U32);
        return;
    }
    tgi_shape_ref shape = tgi_build_shape(b, rank, dims);
    if (!shape)
        return;
    tgi_dims *table = b->graph->dims;
    tgi_dim count =
        tgi_build_dim(b, tgi_dim_product(table, tgi_shape_of(table, shape)));
    if (count == TGI_DIM_NONE)
        return;
    tgi_ref both = tgi_build_random_bits(b, TG_U64, key, offset, 2,
                                         (int64_t[]){count, 2});
    *out_low = tgi_build_reshape(b, tgi_build_slice(b, both, 1, 0, 1, 1), rank,
                                 dims);
    *out_high = tgi_build_reshape(b, tgi_build_slice(b, both, 1, 1, 2, 1),
                                  rank, dims);
}

/* Uniform numbers keep as many bits as a half has below 1, so that none rounds
   to 1. */
static tgi_ref build_halves(tgi_builder *b, bool is_normal, tg_dtype dtype,
                            tgi_ref key, tgi_ref offset, int rank,
                            const int64_t *dims)
{
    tgi_ref x = tgi_build_random(b, is_normal, TG_F32, key, offset, rank, dims);
    if (!is_normal) {
        const double steps = dtype == TG_F16 ? 0x1p11 : 0x1p8;
        x = tgi_build_2(b, TGI_OP_MUL, x, tgi_build_number_like(b, x, steps));
        x = tgi_build_1(b, TGI_OP_FLOOR, x);
        x = tgi_build_2(b, TGI_OP_MUL, x,
                        tgi_build_number_like(b, x, 1 / steps));
    }
    return x ? tgi_build_narrow(b, x, dtype) : 0;
}

tgi_ref tgi_build_random(tgi_builder *b, bool is_normal, tg_dtype dtype,
                         tgi_ref key, tgi_ref offset, int rank,
                         const int64_t *dims)
{
    if (!key || !offset)
        return 0;
    if (tgi_dtype_is((int)dtype, TGI_CLASS_HALF))
        return build_halves(b, is_normal, dtype, key, offset, rank, dims);
    if (dtype != TG_F32 && dtype != TG_F64)
        return tgi_build_fail(b, TG_ERROR_DTYPE, NULL, 0,
                              "the dtype must be f16, bf16, f32 or f64, not %s",
                              tg_dtype_name(dtype));
    if (!is_normal)
        return unit_interval(
            b, dtype,
            tgi_build_random_bits(b, dtype == TG_F64 ? TG_U64 : TG_U32, key,
                                  offset, rank, dims),
            0);

    tgi_ref low, high;
    split_words(b, dtype, key, offset, rank, dims, &low, &high);
    /* One node per statement: C does not define the order in which arguments
       are evaluated, but the graph must not depend on the C compiler. */
    tgi_ref factor = float_constant(b, dtype, -2);
    tgi_ref radius = tgi_build_1(
        b, TGI_OP_SQRT,
        tgi_build_2(b, TGI_OP_MUL,
                    tgi_build_1(b, TGI_OP_LOG,
                                unit_interval(b, dtype, low, 1)),
                    factor));
    tgi_ref turn = float_constant(b, dtype, 6.283185307179586476925);
    tgi_ref angle = tgi_build_2(b, TGI_OP_MUL,
                                unit_interval(b, dtype, high, 0), turn);
    return tgi_build_2(b, TGI_OP_MUL, radius,
                       tgi_build_1(b, TGI_OP_COS, angle));
}
