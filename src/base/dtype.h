/* SPDX-License-Identifier: MIT */
/*
 * dtype.h - properties of element types (dtype.def), and conversion between
 * elements and C numbers.
 */
#ifndef TGI_DTYPE_H
#define TGI_DTYPE_H

#include <stdbool.h>
#include <stdint.h>

#include "tgjit/half.h"

#define TGI_DTYPES 16 /* tables indexed by tg_dtype have this size */

typedef enum tgi_dtype_class {
    TGI_CLASS_NONE = 0,
    TGI_CLASS_BOOL = 1,
    TGI_CLASS_SINT = 2,
    TGI_CLASS_UINT = 4,
    TGI_CLASS_FLOAT = 8,
    /* Floats of 16 bits. Elements are moved, and cast from and to f32 and f64;
       arithmetic is that of f32 (src/build/build_half.c). */
    TGI_CLASS_HALF = 16,
    /* Sets of classes, for the op table. */
    TGI_CLASS_INT = TGI_CLASS_SINT | TGI_CLASS_UINT,
    TGI_CLASS_NUM = TGI_CLASS_INT | TGI_CLASS_FLOAT,
    TGI_CLASS_BITS = TGI_CLASS_INT | TGI_CLASS_BOOL,
    TGI_CLASS_ANY = TGI_CLASS_NUM | TGI_CLASS_BOOL,
    TGI_CLASS_STORED = TGI_CLASS_ANY | TGI_CLASS_HALF,
    TGI_CLASS_NUM_HALF = TGI_CLASS_NUM | TGI_CLASS_HALF,
    /* All that a user calls floats. */
    TGI_CLASS_REAL = TGI_CLASS_FLOAT | TGI_CLASS_HALF
} tgi_dtype_class;

typedef struct tgi_dtype_info {
    const char *name; /* NULL: unused number */
    uint8_t bytes;
    uint8_t cls; /* tgi_dtype_class */
} tgi_dtype_info;

extern const tgi_dtype_info tgi_dtype_table[TGI_DTYPES];

static inline bool tgi_dtype_is_valid(int dtype)
{
    return dtype > 0 && dtype < TGI_DTYPES && tgi_dtype_table[dtype].name;
}

static inline int64_t tgi_dtype_bytes(int dtype)
{
    return tgi_dtype_table[dtype].bytes;
}

static inline bool tgi_dtype_is(int dtype, unsigned classes)
{
    return (tgi_dtype_table[dtype].cls & classes) != 0;
}

/* True if one CAST converts `from` to `to`; other casts from and to halves are
   composed of several. */
static inline bool tgi_dtype_casts_to(int from, int to)
{
    return from == to ||
           (tgi_dtype_is(from, TGI_CLASS_HALF)
                ? to == TG_F32
                : !tgi_dtype_is(to, TGI_CLASS_HALF) ||
                      tgi_dtype_is(from, TGI_CLASS_FLOAT));
}

/* The signed integer type of the same size. */
static inline tg_dtype tgi_signed_like(int dtype)
{
    const int64_t bytes = tgi_dtype_bytes(dtype);
    return bytes == 1   ? TG_I8
           : bytes == 2 ? TG_I16
           : bytes == 4 ? TG_I32
                        : TG_I64;
}

/* The half nearest to a number, ties to even: rounded once. */
uint16_t tgi_half_from_double(int dtype, double value);
float tgi_half_to_float(int dtype, uint16_t bits);

/* Makes every NaN of n elements the positive quiet one. The NaN of an invalid
   operation is negative on some machines. */
void tgi_dtype_unify_nans(tg_dtype dtype, void *data, int64_t n);

/* A C number. */
typedef enum tgi_number_kind {
    TGI_NUMBER_INT,
    TGI_NUMBER_UINT,
    TGI_NUMBER_FLOAT
} tgi_number_kind;

typedef struct tgi_number {
    tgi_number_kind kind;
    union {
        int64_t i;
        uint64_t u;
        double f;
    } as;
} tgi_number;

/*
 * Converts a number to an element. False if `dtype` cannot represent it: out of
 * range, or an integer type and a fraction. Rounding to a float type succeeds.
 * `out_element` must hold 8 bytes.
 */
bool tgi_dtype_store(int dtype, tgi_number number, void *out_element);

/* Converts an element to a number. */
tgi_number tgi_dtype_load(int dtype, const void *element);

/* True if tgi_dtype_store to `to` succeeds for every element of `from`. */
bool tgi_dtype_holds_all(int to, int from);

/*
 * Promotion of two plain numbers: a float type wins over an integer type, the
 * one of the larger range of two float types wins, two integer types give the smallest type that
 * holds both, and any type wins over bool. TG_DTYPE_NONE for u64 and a signed
 * type.
 */
tg_dtype tgi_dtype_promote(int a, int b);

/* "300", "0.1" or "nan"; returns `buf`. */
const char *tgi_number_format(tgi_number number, char *buf, size_t n);

/* Shortest text that parses to the same element ("1.5", "nan", "true");
   returns its length. */
int tgi_dtype_format(int dtype, const void *element, char *buf, size_t n);

#endif /* TGI_DTYPE_H */
