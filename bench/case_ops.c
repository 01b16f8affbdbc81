/* SPDX-License-Identifier: MIT */
/*
 * case_ops.c - the cases of ops.def.
 */
#include "cases.h"

const case_size ops_sizes[] = {
    {"1000x1000", 1000, 1000, 0, 0, SIZE_ON_REQUEST},
    SIZE_CHECKED("7x37", 7, 37),
    SIZES_END,
};

const case_size ops_long_sizes[] = {
    {"1e6", 0, 1000000, 0, 0, SIZE_ON_REQUEST},
    SIZE_CHECKED("700", 0, 700),
    SIZES_END,
};

/* -- Callbacks ------------------------------------------------------------- */

#define TRACE(name, ...) \
    static void trace_##name(tg_trace *t, const tg_value *in, void *user) \
    { \
        const tg_value x = in[0], y = in[1]; \
        (void)y; \
        (void)user; \
        tg_return(t, __VA_ARGS__); \
    }
#define UNARY(name, low, high, loop, ...) TRACE(name, __VA_ARGS__)
#define BINARY(name, low, high, other_low, other_high, loop, ...) \
    TRACE(name, __VA_ARGS__)
#define OTHER(name, inputs, shape, ...) TRACE(name, __VA_ARGS__)
#define LONG OTHER
#include "ops.def"
#undef UNARY
#undef BINARY
#undef OTHER
#undef LONG

/* -- Cases ----------------------------------------------------------------- */

#define IN_ANY (INPUT(TG_F32, SHAPE_WHOLE, -9, 9))
#define IN_POSITIVE (INPUT(TG_F32, SHAPE_WHOLE, 0, 1))
#define IN_NEAR_1 (INPUT(TG_F32, SHAPE_WHOLE, 0.99, 1.01))
#define IN_SCAN \
    (INPUT(TG_F32, SHAPE_WHOLE, -1, 1), INPUT(TG_F32, SHAPE_WHOLE, -0.9, 0.9))
#define IN_INDEX \
    (INPUT(TG_F32, SHAPE_WHOLE, -9, 9), INPUT_INDEX(SHAPE_WHOLE, 37))
#define IN_CLASS (INPUT_INDEX(SHAPE_WHOLE, 8))

#define LIST(...) {__VA_ARGS__}
/* `in` is a list in parentheses; the last argument is the shape, with commas. */
#define OPS_CASE(name, in, is_fast, ...) \
    const tensor_case ops_##name##_case = { \
        .callback = trace_##name, \
        .kernels = {[BACKEND_C] = plain_ops_##name, \
                    [BACKEND_C_STRICT] = strict_ops_##name}, \
        .inputs = LIST in, \
        .results = {{TG_F32, __VA_ARGS__}}, \
        .absolute = 2e-5, \
        .relative = 2e-5, \
        .has_known_sizes = true, \
        .has_fast_accuracy = is_fast, \
    };
#define UNARY(name, low, high, loop, ...) \
    OPS_CASE(name, (INPUT(TG_F32, SHAPE_WHOLE, low, high)), false, SHAPE_WHOLE)
#define UNARY_FAST(name, low, high, loop, ...) \
    OPS_CASE(name, (INPUT(TG_F32, SHAPE_WHOLE, low, high)), true, SHAPE_WHOLE)
#define OPS_CASE_2(name, low, high, other_low, other_high, is_fast) \
    OPS_CASE(name, \
             (INPUT(TG_F32, SHAPE_WHOLE, low, high), \
              INPUT(TG_F32, SHAPE_WHOLE, other_low, other_high)), \
             is_fast, SHAPE_WHOLE)
#define BINARY(name, low, high, other_low, other_high, loop, ...) \
    OPS_CASE_2(name, low, high, other_low, other_high, false)
#define BINARY_FAST(name, low, high, other_low, other_high, loop, ...) \
    OPS_CASE_2(name, low, high, other_low, other_high, true)
#define OTHER(name, in, shape, ...) OPS_CASE(name, in, false, shape)
#define LONG OTHER
#include "ops.def"
