/* SPDX-License-Identifier: MIT */
/*
 * value.h - values of a trace, and operands: what an operation accepts.
 *
 * An operation takes values, variables (their current contents), tensors
 * (copied as constants) and plain C numbers alike.
 *
 * A number that is an argument of the function (f(x, 0.1), also TG_STATIC) is
 * a scalar of its own C type: float is f32, double f64, bool, int32_t i32 and
 * so on. Beside a tensor, a variable or a value computed from them it takes
 * their element type. A literal in the callback takes the type of every other
 * operand, arguments too: tg_mul(x, 2) has the type of x. An elementwise
 * operation on numbers alone gives a number; docs/NUMERICS.md, "Plain numbers",
 * has the whole rule.
 *
 * A number that the type cannot hold (300 as i8, -1 as u8, 0.5 or NaN as an
 * integer, 1e300 as f32) is a TG_ERROR_DTYPE that names both, while tracing
 * for a literal, at the call for an argument. Float types round.
 */
#ifndef TGJIT_VALUE_H
#define TGJIT_VALUE_H

#include "base.h"
#include "map.h"
#include "variable.h"

TG_BEGIN_DECLS

/*
 * A node of the graph that is being traced. Good only in its own trace; any
 * other use is an error, not a crash. All zero is the invalid value.
 */
typedef struct tg_value {
    uint32_t node;
    uint32_t trace;
} tg_value;

static inline bool tg_is_valid(tg_value value)
{
    return value.trace != 0;
}

/* Type of a value; TG_DTYPE_NONE or -1 if the value is not of this trace. */
TG_API tg_dtype tg_value_dtype(tg_value value);
TG_API int tg_value_rank(tg_value value);

/*
 * Extent of one axis (negative axes count from the last). An extent that is
 * unknown until the call comes back as a number for which tg_dim_is_known
 * fails; it may be handed to tg_reshape, tg_broadcast and the like as it is.
 */
TG_API int64_t tg_value_dim(tg_value value, int axis);

static inline bool tg_dim_is_known(int64_t dim)
{
    return dim >= 0;
}

/* Names a value, for dumps and messages; returns it. The first name stays. */
TG_API tg_value tg_name(tg_value value, const char *name);

/* -- Operands -------------------------------------------------------------- */

typedef enum tg_operand_kind {
    TG_OPERAND_VALUE = 0,
    TG_OPERAND_VARIABLE = 1,
    TG_OPERAND_VARIABLE_VALUE = 2,
    TG_OPERAND_TENSOR = 3,
    TG_OPERAND_BUNDLE = 4,
    TG_OPERAND_INT = 5,
    TG_OPERAND_UINT = 6,
    TG_OPERAND_FLOAT = 7,
    TG_OPERAND_STRING = 8
} tg_operand_kind;

/* Made by TG_IN and the functions below; its members are not an interface. */
typedef struct tg_operand {
    uint8_t kind;
    uint8_t dtype;     /* of the C number */
    bool is_static;    /* TG_STATIC */
    union {
        tg_value value;
        tg_variable *variable;
        tg_tensor *tensor;
        const void *bundle;
        const char *string;
        int64_t i;
        uint64_t u;
        double f;
    } as;
    const tg_bundle_type *bundle_type;
} tg_operand;

static inline tg_operand tg_in_blank(tg_operand_kind kind, tg_dtype dtype)
{
    tg_operand operand;
    operand.kind = (uint8_t)kind;
    operand.dtype = (uint8_t)dtype;
    operand.is_static = false;
    operand.as.u = 0;
    operand.bundle_type = NULL;
    return operand;
}

#define TG_DEFINE_IN(name, type, member, kind, dtype) \
    static inline tg_operand tg_in_##name(type x) \
    { \
        tg_operand operand = tg_in_blank(kind, dtype); \
        operand.as.member = x; \
        return operand; \
    }

TG_DEFINE_IN(value, tg_value, value, TG_OPERAND_VALUE, TG_DTYPE_NONE)
TG_DEFINE_IN(variable, tg_variable *, variable, TG_OPERAND_VARIABLE,
             TG_DTYPE_NONE)
TG_DEFINE_IN(tensor, tg_tensor *, tensor, TG_OPERAND_TENSOR, TG_DTYPE_NONE)
TG_DEFINE_IN(string, const char *, string, TG_OPERAND_STRING, TG_DTYPE_NONE)
TG_DEFINE_IN(bool, bool, u, TG_OPERAND_UINT, TG_BOOL)
TG_DEFINE_IN(i8, int8_t, i, TG_OPERAND_INT, TG_I8)
TG_DEFINE_IN(i16, int16_t, i, TG_OPERAND_INT, TG_I16)
TG_DEFINE_IN(i32, int32_t, i, TG_OPERAND_INT, TG_I32)
TG_DEFINE_IN(i64, int64_t, i, TG_OPERAND_INT, TG_I64)
TG_DEFINE_IN(u8, uint8_t, u, TG_OPERAND_UINT, TG_U8)
TG_DEFINE_IN(u16, uint16_t, u, TG_OPERAND_UINT, TG_U16)
TG_DEFINE_IN(u32, uint32_t, u, TG_OPERAND_UINT, TG_U32)
TG_DEFINE_IN(u64, uint64_t, u, TG_OPERAND_UINT, TG_U64)
TG_DEFINE_IN(f64, double, f, TG_OPERAND_FLOAT, TG_F64)
#undef TG_DEFINE_IN

static inline tg_operand tg_in_f32(float x)
{
    tg_operand operand = tg_in_blank(TG_OPERAND_FLOAT, TG_F32);
    operand.as.f = (double)x;
    return operand;
}

static inline tg_operand tg_in_operand(tg_operand operand)
{
    return operand;
}

/* The contents of a variable, as a tensor the callee cannot assign. */
static inline tg_operand tg_value_of(tg_variable *variable)
{
    tg_operand operand =
        tg_in_blank(TG_OPERAND_VARIABLE_VALUE, TG_DTYPE_NONE);
    operand.as.variable = variable;
    return operand;
}

/* A struct of variables as one argument. */
static inline tg_operand tg_bundle_of(const tg_bundle_type *type,
                                      const void *bundle)
{
    tg_operand operand = tg_in_blank(TG_OPERAND_BUNDLE, TG_DTYPE_NONE);
    operand.as.bundle = bundle;
    operand.bundle_type = type;
    return operand;
}

/* For TG_STATIC: a number or string that is part of the signature. */
static inline tg_operand tg_make_static(tg_operand operand)
{
    operand.is_static = true;
    return operand;
}

TG_END_DECLS

#ifndef __cplusplus

/*
 * TG_IN(x): the operand for x, chosen by its type. The argument stands once
 * in the expansion: naming it in _Generic and again in the call would double
 * the text at every level of nesting. The counter keeps nested ones apart.
 */
#define TG_IN(x) TG_IN_(x, TG_MAP_CAT(tgi_in_, __COUNTER__))
#define TG_IN_(x, tmp) \
    __extension__({ \
        __auto_type tmp = (x); \
        _Generic(tmp, \
            tg_value: tg_in_value, \
            tg_operand: tg_in_operand, \
            tg_variable *: tg_in_variable, \
            tg_tensor *: tg_in_tensor, \
            char *: tg_in_string, \
            const char *: tg_in_string, \
            _Bool: tg_in_bool, \
            char: tg_in_i8, \
            signed char: tg_in_i8, \
            short: tg_in_i16, \
            int: tg_in_i32, \
            long: tg_in_i64, \
            long long: tg_in_i64, \
            unsigned char: tg_in_u8, \
            unsigned short: tg_in_u16, \
            unsigned int: tg_in_u32, \
            unsigned long: tg_in_u64, \
            unsigned long long: tg_in_u64, \
            float: tg_in_f32, \
            double: tg_in_f64)(tmp); \
    })

/* Two arguments, an array of operands and its length, from up to 32. */
#define TG_ARGS(...) \
    (const tg_operand[]){TG_MAP(TG_IN, __VA_ARGS__)}, \
        (size_t)TG_COUNT(__VA_ARGS__)
#define TG_NO_ARGS NULL, (size_t)0

/* A number or string whose value is part of the call's signature. */
#define TG_STATIC(x) tg_make_static(TG_IN(x))

/* Two arguments, rank and extents: TG_DIMS(64, 1024). */
#define TG_DIMS(...) \
    (int)(sizeof((const int64_t[]){__VA_ARGS__}) / sizeof(int64_t)), \
        (const int64_t[]){__VA_ARGS__}
#define TG_SCALAR 0, NULL

/* Two arguments, a count and axis numbers: TG_PERM(1, 0). */
#define TG_PERM(...) \
    (int)(sizeof((const int[]){__VA_ARGS__}) / sizeof(int)), \
        (const int[]){__VA_ARGS__}

#else /* __cplusplus */

#include <initializer_list>

/* The same choice by constructors; adds nothing to the layout. */
struct tg_in : tg_operand {
    tg_in(tg_value x) : tg_operand(tg_in_value(x)) {}
    tg_in(const tg_operand &x) : tg_operand(x) {}
    tg_in(tg_variable *x) : tg_operand(tg_in_variable(x)) {}
    tg_in(tg_tensor *x) : tg_operand(tg_in_tensor(x)) {}
    tg_in(const char *x) : tg_operand(tg_in_string(x)) {}
    tg_in(bool x) : tg_operand(tg_in_bool(x)) {}
    tg_in(char x) : tg_operand(tg_in_i8((int8_t)x)) {}
    tg_in(signed char x) : tg_operand(tg_in_i8(x)) {}
    tg_in(short x) : tg_operand(tg_in_i16(x)) {}
    tg_in(int x) : tg_operand(tg_in_i32(x)) {}
    tg_in(long x) : tg_operand(tg_in_i64(x)) {}
    tg_in(long long x) : tg_operand(tg_in_i64((int64_t)x)) {}
    tg_in(unsigned char x) : tg_operand(tg_in_u8(x)) {}
    tg_in(unsigned short x) : tg_operand(tg_in_u16(x)) {}
    tg_in(unsigned int x) : tg_operand(tg_in_u32(x)) {}
    tg_in(unsigned long x) : tg_operand(tg_in_u64(x)) {}
    tg_in(unsigned long long x) : tg_operand(tg_in_u64((uint64_t)x)) {}
    tg_in(float x) : tg_operand(tg_in_f32(x)) {}
    tg_in(double x) : tg_operand(tg_in_f64(x)) {}
};
static_assert(sizeof(tg_in) == sizeof(tg_operand), "tg_in adds no members");

using tg_ins = std::initializer_list<tg_in>;
using tg_dims = std::initializer_list<int64_t>;

inline tg_operand TG_STATIC(tg_in x)
{
    return tg_make_static(x);
}
#define TG_ARGS(...) {__VA_ARGS__}
#define TG_NO_ARGS {}

#endif /* __cplusplus */

#endif /* TGJIT_VALUE_H */
