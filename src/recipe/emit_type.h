/* SPDX-License-Identifier: MIT */
/*
 * emit_type.h - template of emit.c, expanded per element type: wrappers that
 * give recipes a uniform signature, and the tables of elementwise ops and of
 * reductions (by op) and of casts (by target type).
 */
#define EMIT_FUNCTION(ID) CAT4(emit_, ID, _, DT)
#define OPERANDS_1 in[0]
#define OPERANDS_2 in[0], in[1]
#define OPERANDS_3 in[0], in[1], in[2]

#define DEFINE(ID, n) \
    static tgi_emitted EMIT_FUNCTION(ID)(tgi_emitter * e, \
                                         const tgi_emitted *in) \
    { \
        return R(ID)(e, OPERANDS_##n); \
    }
#define ROW_1(ID) DEFINE(ID, 1)
#define ROW_2(ID) DEFINE(ID, 2)
#define ROW_3(ID) DEFINE(ID, 3)
#define ROW_REDUCE(ID)
#define ROW_NONE(ID)
#define OP(ID, name, cls, arity, types, ...) \
    WHEN(TAKES(types), CAT(ROW_, FAMILY_##cls)(ID))
#include "ir/op.def"

#undef DEFINE
#define DEFINE(ID, n) [TGI_OP_##ID] = EMIT_FUNCTION(ID),
static tgi_emit_recipe *const CAT(recipes_, DT)[TGI_OPS] = {
#include "ir/op.def"
};

#undef DEFINE
#undef OP
#undef ROW_REDUCE
#undef ROW_1
#undef ROW_2
#undef ROW_3
#define ROW_1(ID, result)
#define ROW_2(ID, result)
#define ROW_3(ID, result)
#undef ROW_NONE
#define ROW_NONE(ID, result)

/* -- Reductions ------------------------------------------------------------ */

#define START_OF(ID) CAT4(emit_start_, ID, _, DT)
#define EMPTY_OF(ID) CAT4(emit_empty_, ID, _, DT)
#define DEFINE_STEP(ID, n) \
    static tgi_emitted EMIT_FUNCTION(ID)(tgi_emitter * e, \
                                         const tgi_emitted *in) \
    { \
        return R(ID)(e, OPERANDS_##n); \
    }
#define DEFINE_ENDS(ID, start, empty) \
    static tgi_emitted START_OF(ID)(tgi_emitter * e) \
    { \
        return start; \
    } \
    static tgi_emitted EMPTY_OF(ID)(tgi_emitter * e) \
    { \
        return empty; \
    }
#define DEFINE_SAME(ID) \
    DEFINE_STEP(ID, 2) \
    DEFINE_ENDS(ID, CAT4(start_, ID, _, DT)(e), CAT4(empty_, ID, _, DT)(e))
#define DEFINE_I64(ID) DEFINE_STEP(ID, 2)
#define ROW_REDUCE(ID, result) DEFINE_##result(ID)
#define OP(ID, name, cls, arity, types, result, ...) \
    WHEN(TAKES(types), CAT(ROW_, FAMILY_##cls)(ID, result))
#include "ir/op.def"
WHEN(TAKES(NUM), DEFINE_STEP(MATMUL, 3) DEFINE_ENDS(MATMUL, K(0), K(0)))

#undef DEFINE_SAME
#undef DEFINE_I64
#define DEFINE_SAME(ID) \
    [TGI_OP_##ID] = {EMIT_FUNCTION(ID), START_OF(ID), EMPTY_OF(ID)},
#define DEFINE_I64(ID) [TGI_OP_##ID] = {.step = EMIT_FUNCTION(ID)},
static const struct reduction CAT(reductions_, DT)[TGI_OPS] = {
#include "ir/op.def"
    WHEN(TAKES(NUM), DEFINE_SAME(MATMUL))
};

#undef START_OF
#undef EMPTY_OF
#undef DEFINE_STEP
#undef DEFINE_ENDS
#undef DEFINE_SAME
#undef DEFINE_I64

/* -- Casts ----------------------------------------------------------------- */

#define NAMED(prefix, TO) CAT4(prefix, DT, _to_, TO)
#define DTYPE(TO, name, type, cls) \
    static tgi_emitted NAMED(cast_, TO)(tgi_emitter * e, tgi_emitted x) \
    { \
        return CAT4(CAST_, CLASS, _, cls)(TO, x); \
    } \
    static tgi_emitted NAMED(bitcast_, TO)(EMITTER, tgi_emitted x) \
    { \
        return CAT4(BITCAST_, CLASS, _, cls)(TO, x); \
    }
#include "base/dtype.def"
#undef DTYPE
static emit_cast *const CAT(casts_, DT)[TGI_DTYPES] = {
#define DTYPE(TO, ...) [TG_##TO] = NAMED(cast_, TO),
#include "base/dtype.def"
#undef DTYPE
};
static emit_cast *const CAT(bitcasts_, DT)[TGI_DTYPES] = {
#define DTYPE(TO, ...) [TG_##TO] = NAMED(bitcast_, TO),
#include "base/dtype.def"
#undef DTYPE
};

#undef NAMED
#undef OP
#undef EMIT_FUNCTION
#undef OPERANDS_1
#undef OPERANDS_2
#undef OPERANDS_3
#undef ROW_1
#undef ROW_2
#undef ROW_3
#undef ROW_REDUCE
#undef ROW_NONE
