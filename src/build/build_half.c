/* SPDX-License-Identifier: MIT */
/*
 * build_half.c - f16 and bf16. Nodes move halves and cast them from and to f32
 * and f64; every other op computes in f32, and its result is rounded once. The
 * casts are nodes, so gradients, passes, fusion, the interpreter and compiled
 * code have no rules for halves, and rounding does not depend on fusion.
 */
#include "build/build.h"

bool tgi_build_is_half(const tgi_builder *b, tgi_ref x)
{
    return x && tgi_dtype_is(tgi_graph_node(b->graph, x)->dtype,
                             TGI_CLASS_HALF);
}

tgi_ref tgi_build_widen(tgi_builder *b, tgi_ref x)
{
    return tgi_build_is_half(b, x) ? tgi_build_cast(b, x, TG_F32) : x;
}

tgi_ref tgi_build_narrow(tgi_builder *b, tgi_ref x, tg_dtype dtype)
{
    return tgi_dtype_is((int)dtype, TGI_CLASS_HALF)
               ? tgi_build_cast(b, x, dtype)
               : x;
}

/*
 * A 64-bit integer with at most 41 significant bits that a half rounds as it
 * does x. Of a large one, the last 24 bits are replaced by one that says whether
 * they are 0: halves have 11 bits.
 */
static tgi_ref shorten(tgi_builder *b, tgi_ref x)
{
    tgi_ref low =
        tgi_build_2(b, TGI_OP_AND, x, tgi_build_number_like(b, x, 0xffffff));
    tgi_ref zero = tgi_build_number_like(b, x, 0);
    tgi_ref is_zero = tgi_build_2(b, TGI_OP_EQ, low, zero);
    tgi_ref sticky = tgi_build_3(b, TGI_OP_SELECT, is_zero, zero,
                                 tgi_build_number_like(b, x, 0x800000));
    tgi_ref high = tgi_build_2(b, TGI_OP_XOR, x, low);
    tgi_ref rounded = tgi_build_2(b, TGI_OP_OR, high, sticky);
    tgi_ref size = tgi_build_1(b, TGI_OP_ABS, x);
    tgi_ref is_small = tgi_build_2(b, TGI_OP_LT, size,
                                   tgi_build_number_like(b, x, 0x1p40));
    return tgi_build_3(b, TGI_OP_SELECT, is_small, x, rounded);
}

tgi_ref tgi_build_cast_step(tgi_builder *b, tgi_ref x, tg_dtype dtype)
{
    const int from = tgi_graph_node(b->graph, x)->dtype;
    if (tgi_dtype_casts_to(from, (int)dtype))
        return x;
    /* f32 holds all halves and integers of 16 bits, f64 those of 32. */
    const int64_t bytes = tgi_dtype_bytes(from);
    if (bytes == 8)
        x = shorten(b, x);
    return tgi_build_cast(b, x, bytes <= 2 ? TG_F32 : TG_F64);
}
