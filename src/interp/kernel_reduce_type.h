/* SPDX-License-Identifier: MIT */
/*
 * kernel_reduce_type.h - template of kernel_reduce.c: reductions of one dtype,
 * and their table by op.
 */

/* -- Reductions to a value ------------------------------------------------- */

/* One expansion per op of op.def; the table below does not compile if one is
   missing. */
#if TAKES(NUM)
#define ID SUM
#include "interp/kernel_reduce_tree.h"
#define ID PROD
#include "interp/kernel_reduce_tree.h"
#endif
#if TAKES(ANY)
#define ID REDUCE_MAX
#include "interp/kernel_reduce_tree.h"
#define ID REDUCE_MIN
#include "interp/kernel_reduce_tree.h"
#endif
#define DEFINE_SAME(ID)

/* -- Reductions to a position ---------------------------------------------- */

/* The loop runs over results, and along the reduced axis for each. */
#define DEFINE_I64(ID) \
    static void LOOP(ID)(tgi_run run) \
    { \
        const arg_axis *axis = run.user; \
        for (int64_t i = 0; i < run.n; i++) { \
            const char *next = &AT(char, 1); \
            T best = *(const T *)next; \
            int64_t position = 0; \
            for (int64_t k = 1; k < axis->n; k++) { \
                T x = *(const T *)(next += axis->stride); \
                if (R(ID)(best, x)) { \
                    best = x; \
                    position = k; \
                } \
            } \
            AT(int64_t, 0) = position; \
        } \
    } \
    static tg_status KERNEL(ID)(const tgi_kernel_args *args) \
    { \
        return run_arg_reduce(args, LOOP(ID)); \
    }

#define ROW_1(ID, result)
#define ROW_2(ID, result)
#define ROW_3(ID, result)
#define ROW_REDUCE(ID, result) DEFINE_##result(ID)
#define ROW_NONE(ID, result)

#define OP(ID, name, cls, arity, types, result, ...) \
    WHEN(TAKES(types), CAT(ROW_, FAMILY_##cls)(ID, result))
#include "ir/op.def"

/* -- Table by op ----------------------------------------------------------- */

#undef ROW_REDUCE
#define ROW_REDUCE(ID, result) [TGI_OP_##ID] = KERNEL(ID),

static tgi_kernel *const TABLE[TGI_OPS] = {
#include "ir/op.def"
};

#undef OP
#undef DEFINE_SAME
#undef DEFINE_I64
#undef ROW_1
#undef ROW_2
#undef ROW_3
#undef ROW_REDUCE
#undef ROW_NONE
