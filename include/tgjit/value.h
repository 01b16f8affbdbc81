/* SPDX-License-Identifier: MIT */
/*
 * value.h - values of a trace, and operands, the arguments of operations.
 *
 * An operand is a value, a variable (its current contents), a tensor (copied as
 * a constant) or a plain C number.
 *
 * A number passed as an argument of the function (f(x, 0.1), also TG_STATIC) is
 * a scalar of its C type: float is f32, double f64, int32_t i32, and so on.
 * Combined with a tensor, a variable or a value computed from them, it takes
 * their dtype. A literal in the callback takes the dtype of any other operand,
 * including arguments: tg_mul(x, 2) has the dtype of x. An elementwise
 * operation on numbers alone returns a number. "Plain numbers" in
 * docs/NUMERICS.md has the complete rule.
 *
 * Float dtypes round. A number that a dtype cannot hold (300 as i8, -1 as u8,
 * 0.5 or NaN as an integer, 1e300 as f32) fails with TG_ERROR_DTYPE: a literal
 * while tracing, an argument at the call.
 */
#ifndef TGJIT_VALUE_H
#define TGJIT_VALUE_H

#include "base.h"
#include "map.h"
#include "variable.h"

TG_BEGIN_DECLS

/*
 * A node of the graph being traced. Using it outside its trace is an error
 * (TG_ERROR_TRACE), not undefined behaviour. All zero is the invalid value.
 */
typedef struct tg_value {
    uint32_t node;
    uint32_t trace;
} tg_value;

static inline bool tg_is_valid(tg_value value)
{
    return value.trace != 0;
}

/* Return TG_DTYPE_NONE or -1 if the value does not belong to the trace. */
TG_API tg_dtype tg_value_dtype(tg_value value);
TG_API int tg_value_rank(tg_value value);

/*
 * Extent of one axis (negative axes count from the last). An extent that is
 * unknown until the call is returned as a symbol, a negative number for which
 * tg_dim_is_known is false. It can be passed to tg_reshape, tg_broadcast and
 * other functions that take extents.
 */
TG_API int64_t tg_value_dim(tg_value value, int axis);

static inline bool tg_dim_is_known(int64_t dim)
{
    return dim >= 0;
}

/*
 * Arithmetic of extents of the current trace, known or not, for the shapes of
 * results. tg_dim_sub may not be negative at the call; tg_dim_div rounds down
 * and is 0 if b is. Return INT64_MIN, which is not an extent, if an operand is
 * none, without a trace, or on overflow.
 */
TG_API int64_t tg_dim_add(int64_t a, int64_t b);
TG_API int64_t tg_dim_sub(int64_t a, int64_t b);
TG_API int64_t tg_dim_mul(int64_t a, int64_t b);
TG_API int64_t tg_dim_div(int64_t a, int64_t b);
TG_API int64_t tg_dim_max(int64_t a, int64_t b);
TG_API int64_t tg_dim_min(int64_t a, int64_t b);

/* Names a value in dumps and messages, unless it has a name; returns it. */
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

/* Created by TG_IN and the functions below. The members are private. */
typedef struct tg_operand {
    uint8_t kind;
    uint8_t dtype;     /* dtype of the C number */
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

/* An argument is only read. */
static inline tg_operand tg_in_const_tensor(const tg_tensor *x)
{
    return tg_in_tensor((tg_tensor *)(uintptr_t)x);
}

/* Selected for every other type; a call of it does not compile. */
#ifndef __cplusplus
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wstrict-prototypes"
tg_operand tg_in_unsupported_type(TG_ANYTHING) TG_COMPILE_ERROR(
    "not an operand: pass a tg_value, tg_variable *, tg_tensor *, number, "
    "string, tg_value_of(variable) or tg_bundle_of(type, bundle)");
/* Selected instead of a function that is called without TG_ARGS. */
void *tg_args_expected(TG_ANYTHING)
    TG_COMPILE_ERROR("not a list of arguments: pass TG_ARGS(...)");
#pragma GCC diagnostic pop
#endif

/* The contents of a variable, passed as a tensor that cannot be assigned. */
static inline tg_operand tg_value_of(tg_variable *variable)
{
    tg_operand operand =
        tg_in_blank(TG_OPERAND_VARIABLE_VALUE, TG_DTYPE_NONE);
    operand.as.variable = variable;
    return operand;
}

/* A bundle, passed as one argument. */
static inline tg_operand tg_bundle_of(const tg_bundle_type *type,
                                      const void *bundle)
{
    tg_operand operand = tg_in_blank(TG_OPERAND_BUNDLE, TG_DTYPE_NONE);
    operand.as.bundle = bundle;
    operand.bundle_type = type;
    return operand;
}

/*
 * Assigns a tensor or a plain number to a variable, as tg_assign does in a
 * trace: the tensor has the dtype and shape of the variable, or is a scalar,
 * which fills it; a number must be representable in the dtype.
 */
TG_API tg_status tg_variable_assign_at(tg_variable *variable, tg_operand value,
                                       tg_site site);

/* Implements TG_STATIC: a number or string that is part of the signature. */
static inline tg_operand tg_make_static(tg_operand operand)
{
    operand.is_static = true;
    return operand;
}

TG_END_DECLS

#ifndef __cplusplus

/* From here on compilers omit the expansions of macros from their messages. */
#pragma GCC system_header

/*
 * TG_IN(x): converts x to an operand, by its type. The expansion contains x
 * once; a second copy for _Generic would double the text at every level of
 * nesting. __COUNTER__ gives nested expansions distinct names.
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
            const tg_tensor *: tg_in_const_tensor, \
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
            double: tg_in_f64, \
            default: tg_in_unsupported_type)(tmp); \
    })

/* Expands to two arguments: an array of up to 32 operands, and its length.
   TG_ARGS() passes none. */
#define TG_ARGS(...) \
    TG_ARRAY(tg_operand, TG_IN, __VA_ARGS__), (size_t)TG_COUNT(__VA_ARGS__)

/* The function, if TG_ARGS or an array of operands stands first among the other
   arguments; else tg_args_expected. */
#define TG_WITH_ARGS(function, ...) \
    TG_WITH_ARGS_(function, __VA_ARGS__ __VA_OPT__(, ) 0, )
#define TG_WITH_ARGS_(function, args, ...) \
    __builtin_choose_expr(TG_IS_ARGS(args), function, tg_args_expected)
#define TG_IS_ARGS(x) \
    _Generic((x), \
        const tg_operand *: 1, \
        tg_operand *: 1, \
        void *: 1, \
        default: 0)

#define tg_variable_assign(variable, value) \
    tg_variable_assign_at(variable, TG_IN(value), TG_HERE)

/* A number or string whose value is part of the signature of the call. */
#define TG_STATIC(x) tg_make_static(TG_IN(x))

/* Expands to two arguments, rank and extents: TG_DIMS(64, 1024). */
#define TG_DIMS(...) \
    (int)TG_LENGTH(int64_t, __VA_ARGS__), \
        TG_ARRAY(int64_t, TG_ITSELF, __VA_ARGS__)
#define TG_SCALAR 0, NULL

/* Expands to two arguments, a count and axis numbers: TG_PERM(1, 0). */
#define TG_PERM(...) \
    (int)(sizeof((const int[]){__VA_ARGS__}) / sizeof(int)), \
        (const int[]){__VA_ARGS__}

#else /* __cplusplus */

#include <initializer_list>

/* Does in C++ what TG_IN does in C; has the layout of its base. */
struct tg_in : tg_operand {
    tg_in(tg_value x) : tg_operand(tg_in_value(x)) {}
    tg_in(const tg_operand &x) : tg_operand(x) {}
    tg_in(tg_variable *x) : tg_operand(tg_in_variable(x)) {}
    tg_in(const tg_tensor *x) : tg_operand(tg_in_const_tensor(x)) {}
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

/* An argument with the location of the call it is passed to, for functions
   whose other arguments are a list of any length. */
template <typename type> struct tg_located {
    type value;
    tg_site site;
    tg_located(type x, tg_site here = TG_HERE) : value(x), site(here) {}
};

using tg_ins = std::initializer_list<tg_in>;
using tg_dims = std::initializer_list<int64_t>;

inline tg_operand TG_STATIC(tg_in x)
{
    return tg_make_static(x);
}
inline tg_status tg_variable_assign(tg_variable *variable, tg_in value,
                                    tg_site site = TG_HERE)
{
    return tg_variable_assign_at(variable, value, site);
}
inline tg_variable *tg_variable_create(tg_context *ctx, const char *name,
                                       tg_dtype dtype, tg_dims dims,
                                       tg_initial initial)
{
    return tg_variable_create(ctx, name, dtype, (int)dims.size(), dims.begin(),
                              initial);
}
inline tg_variable *
tg_variable_create_with(tg_context *ctx, const char *name, tg_dtype dtype,
                        tg_dims dims, tg_initial initial,
                        const tg_variable_options *options)
{
    return tg_variable_create_with(ctx, name, dtype, (int)dims.size(),
                                   dims.begin(), initial, options);
}
#define TG_ARGS(...) {__VA_ARGS__}
#define TG_DIMS(...) tg_dims{__VA_ARGS__}
#define TG_SCALAR tg_dims{}
#define TG_PERM(...) std::initializer_list<int>{__VA_ARGS__}

#endif /* __cplusplus */

#endif /* TGJIT_VALUE_H */
