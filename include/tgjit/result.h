/* SPDX-License-Identifier: MIT */
/*
 * result.h - where the results of a call go.
 *
 * TG_RESULTS takes one address per result, or NULL to discard it:
 *
 *     tg_tensor *y = NULL;
 *     float loss;
 *     tg_call(f, TG_ARGS(x), TG_RESULTS(&y, &loss));
 *
 * &y, of a tg_tensor *: if it is NULL, the call stores a new tensor there,
 * which the caller owns; else the tensor must have the dtype and shape of the
 * result and is overwritten. TG_FRESH(&y): as &y, but a tensor of another dtype
 * or shape is released and replaced by a new one, as for a short last batch.
 *
 * &loss, of a C number: receives a result of one element and of the dtype of
 * that C type; any other result is a TG_ERROR_DTYPE or TG_ERROR_SHAPE.
 */
#ifndef TGJIT_RESULT_H
#define TGJIT_RESULT_H

#include "base.h"
#include "half.h"
#include "map.h"

TG_BEGIN_DECLS

typedef enum tg_result_kind {
    TG_RESULT_NONE = 0,
    TG_RESULT_TENSOR = 1,
    TG_RESULT_NUMBER = 2
} tg_result_kind;

/* Created by TG_OUT and the functions below. The members are private. */
typedef struct tg_result {
    uint8_t kind;
    uint8_t dtype; /* dtype of the C number */
    bool is_fresh; /* TG_FRESH */
    union {
        tg_tensor **tensor;
        void *number;
    } as;
} tg_result;

static inline tg_result tg_out_number(void *number, tg_dtype dtype)
{
    tg_result result;
    result.kind = number ? TG_RESULT_NUMBER : TG_RESULT_NONE;
    result.dtype = (uint8_t)dtype;
    result.is_fresh = false;
    result.as.number = number;
    return result;
}

static inline tg_result tg_out_tensor(tg_tensor **tensor)
{
    tg_result result = tg_out_number(NULL, TG_DTYPE_NONE);
    result.kind = tensor ? TG_RESULT_TENSOR : TG_RESULT_NONE;
    result.as.tensor = tensor;
    return result;
}

/* A result slot whose tensor is replaced if it does not fit. */
static inline tg_result tg_out_fresh(tg_tensor **tensor)
{
    tg_result result = tg_out_tensor(tensor);
    result.is_fresh = true;
    return result;
}
#define TG_FRESH(address) tg_out_fresh(address)

#define TG_DEFINE_OUT(name, type, dtype) \
    static inline tg_result tg_out_##name(type *x) \
    { \
        return tg_out_number(x, dtype); \
    }

TG_DEFINE_OUT(none, void, TG_DTYPE_NONE)
TG_DEFINE_OUT(bool, bool, TG_BOOL)
TG_DEFINE_OUT(char, char, TG_I8)
TG_DEFINE_OUT(i8, signed char, TG_I8)
TG_DEFINE_OUT(i16, short, TG_I16)
TG_DEFINE_OUT(i32, int, TG_I32)
TG_DEFINE_OUT(long, long, TG_I64)
TG_DEFINE_OUT(long_long, long long, TG_I64)
TG_DEFINE_OUT(u8, unsigned char, TG_U8)
TG_DEFINE_OUT(u16, unsigned short, TG_U16)
TG_DEFINE_OUT(u32, unsigned, TG_U32)
TG_DEFINE_OUT(ulong, unsigned long, TG_U64)
TG_DEFINE_OUT(ulong_long, unsigned long long, TG_U64)
TG_DEFINE_OUT(f16, tg_f16, TG_F16)
TG_DEFINE_OUT(bf16, tg_bf16, TG_BF16)
TG_DEFINE_OUT(f32, float, TG_F32)
TG_DEFINE_OUT(f64, double, TG_F64)
#undef TG_DEFINE_OUT

static inline tg_result tg_out_result(tg_result result)
{
    return result;
}

/* Selected for every other type; a call of it does not compile. */
#ifndef __cplusplus
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wstrict-prototypes"
tg_result tg_out_unsupported_type(TG_ANYTHING) TG_COMPILE_ERROR(
    "not a result slot: pass the address of a tg_tensor * or of a C number, "
    "TG_FRESH(&tensor), or NULL");
/* Selected instead of functions that are called without TG_RESULTS, or without
   TG_ARGS and TG_RESULTS. */
tg_status tg_results_expected(TG_ANYTHING)
    TG_COMPILE_ERROR("not a list of results: pass TG_RESULTS(...)");
tg_status tg_lists_expected(TG_ANYTHING) TG_COMPILE_ERROR(
    "not lists of arguments and results: pass TG_ARGS(...), TG_RESULTS(...)");
void *tg_bind_lists_expected(TG_ANYTHING) TG_COMPILE_ERROR(
    "not lists of arguments and results: pass TG_ARGS(...), TG_RESULTS(...)");
#pragma GCC diagnostic pop
#endif

TG_END_DECLS

#ifndef __cplusplus

/* From here on compilers omit the expansions of macros from their messages. */
#pragma GCC system_header

/* TG_OUT(x): converts an address to a result slot, by its type. */
#define TG_OUT(x) \
    _Generic((x), \
        tg_result: tg_out_result, \
        tg_tensor **: tg_out_tensor, \
        void *: tg_out_none, \
        _Bool *: tg_out_bool, \
        char *: tg_out_char, \
        signed char *: tg_out_i8, \
        short *: tg_out_i16, \
        int *: tg_out_i32, \
        long *: tg_out_long, \
        long long *: tg_out_long_long, \
        unsigned char *: tg_out_u8, \
        unsigned short *: tg_out_u16, \
        unsigned *: tg_out_u32, \
        unsigned long *: tg_out_ulong, \
        unsigned long long *: tg_out_ulong_long, \
        tg_f16 *: tg_out_f16, \
        tg_bf16 *: tg_out_bf16, \
        float *: tg_out_f32, \
        double *: tg_out_f64, \
        default: tg_out_unsupported_type)(x)

/* Expands to two arguments: an array of up to 32 slots, and its length. */
#define TG_RESULTS(...) \
    TG_ARRAY(tg_result, TG_OUT, __VA_ARGS__), (size_t)TG_COUNT(__VA_ARGS__)

/* The function, if TG_RESULTS stands first among the other arguments. */
#define TG_WITH_RESULTS(function, ...) \
    TG_WITH_RESULTS_(function, __VA_ARGS__ __VA_OPT__(, ) 0, )
#define TG_WITH_RESULTS_(function, results, ...) \
    __builtin_choose_expr(TG_IS_RESULTS(results), function, \
                          tg_results_expected)
/* The function, if TG_ARGS and then TG_RESULTS stand there; else `other`. */
#define TG_WITH_LISTS(function, other, ...) \
    TG_WITH_LISTS_(function, other, __VA_ARGS__ __VA_OPT__(, ) 0, 0, 0, )
#define TG_WITH_LISTS_(function, other, args, n_args, results, ...) \
    __builtin_choose_expr(TG_IS_ARGS(args) && TG_IS_RESULTS(results), \
                          function, other)
#define TG_IS_RESULTS(x) \
    _Generic((x), \
        const tg_result *: 1, \
        tg_result *: 1, \
        void *: 1, \
        default: 0)

#else /* __cplusplus */

#include <cstddef>
#include <initializer_list>

/* Does in C++ what TG_OUT does in C; has the layout of its base. */
struct tg_out : tg_result {
    tg_out(const tg_result &x) : tg_result(x) {}
    tg_out(tg_tensor **x) : tg_result(tg_out_tensor(x)) {}
    tg_out(std::nullptr_t) : tg_result(tg_out_tensor(nullptr)) {}
    tg_out(bool *x) : tg_result(tg_out_bool(x)) {}
    tg_out(char *x) : tg_result(tg_out_char(x)) {}
    tg_out(signed char *x) : tg_result(tg_out_i8(x)) {}
    tg_out(short *x) : tg_result(tg_out_i16(x)) {}
    tg_out(int *x) : tg_result(tg_out_i32(x)) {}
    tg_out(long *x) : tg_result(tg_out_long(x)) {}
    tg_out(long long *x) : tg_result(tg_out_long_long(x)) {}
    tg_out(unsigned char *x) : tg_result(tg_out_u8(x)) {}
    tg_out(unsigned short *x) : tg_result(tg_out_u16(x)) {}
    tg_out(unsigned *x) : tg_result(tg_out_u32(x)) {}
    tg_out(unsigned long *x) : tg_result(tg_out_ulong(x)) {}
    tg_out(unsigned long long *x) : tg_result(tg_out_ulong_long(x)) {}
    tg_out(tg_f16 *x) : tg_result(tg_out_f16(x)) {}
    tg_out(tg_bf16 *x) : tg_result(tg_out_bf16(x)) {}
    tg_out(float *x) : tg_result(tg_out_f32(x)) {}
    tg_out(double *x) : tg_result(tg_out_f64(x)) {}
};
static_assert(sizeof(tg_out) == sizeof(tg_result), "tg_out adds no members");

using tg_outs = std::initializer_list<tg_out>;
#define TG_RESULTS(...) {__VA_ARGS__}

#endif /* __cplusplus */

#endif /* TGJIT_RESULT_H */
