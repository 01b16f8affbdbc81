/* SPDX-License-Identifier: MIT */
/*
 * kernel_elementwise_type.h - template of kernel_elementwise.c: loops and
 * kernels of one dtype, and its table by op.
 */

/* -- A loop and a kernel for each op that takes this dtype ----------------- */

#define OPERANDS_1(ID) AT(T, 1)
#define OPERANDS_2(ID) AT(T, 1), AT(T, 2)
#define OPERANDS_3(ID) AT(FIRST(ID), 1), AT(T, 2), AT(T, 3)

#define DEFINE(ID, n_operands, OUT) \
    static void LOOP(ID)(tgi_run run) \
    { \
        for (int64_t i = 0; i < run.n; i++) \
            AT(OUT, 0) = R(ID)(OPERANDS_##n_operands(ID)); \
    } \
    static tg_status KERNEL(ID)(const tgi_kernel_args *args) \
    { \
        return run_loop(args, n_operands, LOOP(ID)); \
    }

#define DEFINE_SAME(ID, n_operands) DEFINE(ID, n_operands, T)
#define DEFINE_BOOL(ID, n_operands) DEFINE(ID, n_operands, scalar_BOOL)

#define ROW_1(ID, result) DEFINE_##result(ID, 1)
#define ROW_2(ID, result) DEFINE_##result(ID, 2)
#define ROW_3(ID, result) DEFINE_##result(ID, 3)
#define ROW_REDUCE(ID, result)
#define ROW_NONE(ID, result)

#define OP(ID, name, cls, arity, types, result, ...) \
    WHEN(TAKES(types), CAT(ROW_, FAMILY_##cls)(ID, result))
#include "ir/op.def"

/* -- Table by op ----------------------------------------------------------- */

#undef DEFINE
#define DEFINE(ID, n_operands, OUT) [TGI_OP_##ID] = KERNEL(ID),

static tgi_kernel *const TABLE[TGI_OPS] = {
#include "ir/op.def"
};

#undef OP
#undef OPERANDS_1
#undef OPERANDS_2
#undef OPERANDS_3
#undef DEFINE
#undef DEFINE_SAME
#undef DEFINE_BOOL
#undef ROW_1
#undef ROW_2
#undef ROW_3
#undef ROW_REDUCE
#undef ROW_NONE
