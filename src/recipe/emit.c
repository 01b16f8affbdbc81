/* SPDX-License-Identifier: MIT */
/*
 * emit.c - all recipes expanded over an emitter, in tables by dtype and op.
 */
#include "recipe/emit.h"

#include "recipe/emit_primitives.h"
#include "recipe/op_family.h"
#include "recipe/recipe_cast.h"

const tgi_primitive_info tgi_primitive_table[TGI_PRIMITIVES] = {
#define PRIMITIVE(ID, n, gives) \
    [TGI_PRIMITIVE_##ID] = {#ID, n, TGI_PRIMITIVE_GIVES_##gives},
#include "recipe/primitive.def"
#undef PRIMITIVE
};

struct reduction {
    tgi_emit_recipe *step;
    tgi_emit_constant *start, *empty;
};

typedef tgi_emitted emit_cast(tgi_emitter *e, tgi_emitted x);

#define TEMPLATE "recipe/emit_type.h"
#include "recipe/recipe_each.h"

static tgi_emit_recipe *const *const recipes[TGI_DTYPES] = {
#define DTYPE(ID, ...) [TG_##ID] = recipes_##ID,
#include "base/dtype.def"
#undef DTYPE
};

tgi_emit_recipe *tgi_emit_recipe_of(int op, tg_dtype dtype)
{
    return tgi_dtype_is_valid((int)dtype) ? recipes[dtype][op] : NULL;
}

static const struct reduction *const reductions[TGI_DTYPES] = {
#define DTYPE(ID, ...) [TG_##ID] = reductions_##ID,
#include "base/dtype.def"
#undef DTYPE
};

static const struct reduction no_reduction;

static const struct reduction *reduction_of(int op, tg_dtype dtype)
{
    return tgi_dtype_is_valid((int)dtype) ? &reductions[dtype][op]
                                          : &no_reduction;
}

tgi_emit_recipe *tgi_emit_step_of(int op, tg_dtype dtype)
{
    return reduction_of(op, dtype)->step;
}

tgi_emit_constant *tgi_emit_start_of(int op, tg_dtype dtype)
{
    return reduction_of(op, dtype)->start;
}

tgi_emit_constant *tgi_emit_empty_of(int op, tg_dtype dtype)
{
    return reduction_of(op, dtype)->empty;
}

tgi_emitted tgi_emit_scale(tgi_emitter *e, tg_dtype dtype, tgi_emitted x,
                           tgi_emitted sum)
{
    return dtype == TG_F32 ? part_scale_by_factors_F32(e, x, sum)
                           : part_scale_by_factors_F64(e, x, sum);
}

tgi_emitted tgi_emit_narrow(tgi_emitter *e, tg_dtype half, tgi_emitted x)
{
    return CONVERT_FROM(TG_U32, TG_U16,
                        half == TG_F16 ? part_narrow_F16_F32(e, x)
                                       : part_narrow_BF16_F32(e, x));
}

tgi_emitted tgi_emit_widen(tgi_emitter *e, tg_dtype half, tgi_emitted x)
{
    const tgi_emitted bits = CONVERT_FROM(TG_U16, TG_U32, x);
    return half == TG_F16 ? part_widen_F16_F32(e, bits)
                          : part_widen_BF16_F32(e, bits);
}

static emit_cast *const *const casts[TGI_DTYPES] = {
#define DTYPE(ID, ...) [TG_##ID] = casts_##ID,
#include "base/dtype.def"
#undef DTYPE
};

static emit_cast *const *const bitcasts[TGI_DTYPES] = {
#define DTYPE(ID, ...) [TG_##ID] = bitcasts_##ID,
#include "base/dtype.def"
#undef DTYPE
};

tgi_emitted tgi_emit_cast(tgi_emitter *e, int op, tg_dtype from, tg_dtype to,
                          tgi_emitted x)
{
    return (op == TGI_OP_BITCAST ? bitcasts : casts)[from][to](e, x);
}
