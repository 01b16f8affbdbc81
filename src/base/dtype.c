/* SPDX-License-Identifier: MIT */
/*
 * dtype.c - the table of element types, and conversion between elements,
 * numbers and text. Elements may be unaligned, hence memcpy. Conversions use
 * the floating-point mode of fpenv.h, whatever mode the caller has set; the
 * functions that convert are noinline, so that the compiler cannot move them
 * across the change of mode.
 */
#include "base/dtype.h"

#include <fenv.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fpenv.h"

const tgi_dtype_info tgi_dtype_table[TGI_DTYPES] = {
#define DTYPE(ID, name, type, class) \
    [TG_##ID] = {#name, sizeof(type), TGI_CLASS_##class},
#include "base/dtype.def"
#undef DTYPE
};

size_t tg_dtype_bytes(tg_dtype dtype)
{
    return tgi_dtype_is_valid((int)dtype) ? tgi_dtype_table[dtype].bytes : 0;
}

const char *tg_dtype_name(tg_dtype dtype)
{
    return tgi_dtype_is_valid((int)dtype) ? tgi_dtype_table[dtype].name : "?";
}

/* -- NaN ------------------------------------------------------------------- */

void tgi_dtype_unify_nans(tg_dtype dtype, void *data, int64_t n)
{
    if (dtype == TG_F32) {
        float *floats = data;
        for (int64_t i = 0; i < n; i++)
            if (isnan(floats[i]))
                floats[i] = NAN;
    } else if (dtype == TG_F64) {
        double *doubles = data;
        for (int64_t i = 0; i < n; i++)
            if (isnan(doubles[i]))
                doubles[i] = (double)NAN;
    } else if (tgi_dtype_is((int)dtype, TGI_CLASS_HALF)) {
        uint16_t *halves = data;
        for (int64_t i = 0; i < n; i++)
            if (isnan(tgi_half_to_float((int)dtype, halves[i])))
                halves[i] = dtype == TG_F16 ? 0x7e00 : 0x7fc0;
    }
}

/* -- Halves ---------------------------------------------------------------- */

/*
 * Rounds to odd: an inexact float gets the last bit 1, so that it is no tie,
 * and on the same side of every tie, of a type of at most 22 bits.
 */
static float to_odd_float(double value)
{
    const float nearest = (float)value;
    uint32_t bits;
    float odd;
    memcpy(&bits, &nearest, sizeof(bits));
    if (isnan(value) || (double)nearest == value || bits & 1)
        return nearest;
    bits += fabs((double)nearest) > fabs(value) ? UINT32_MAX : 1;
    memcpy(&odd, &bits, sizeof(odd));
    return odd;
}

uint16_t tgi_half_from_double(int dtype, double value)
{
    const float odd = to_odd_float(value);
    return dtype == TG_F16 ? tg_f16_from_float(odd).bits
                           : tg_bf16_from_float(odd).bits;
}

float tgi_half_to_float(int dtype, uint16_t bits)
{
    return dtype == TG_F16 ? tg_f16_to_float((tg_f16){bits})
                           : tg_bf16_to_float((tg_bf16){bits});
}

/* -- Numbers to elements --------------------------------------------------- */

/* An integer of 65 bits: sign and magnitude. */
typedef struct integer {
    bool is_negative;
    uint64_t magnitude;
} integer;

/* False if the number is not an integer, or its magnitude exceeds 64 bits. */
static bool to_integer(tgi_number number, integer *out)
{
    switch (number.kind) {
    case TGI_NUMBER_INT:
        out->is_negative = number.as.i < 0;
        out->magnitude = out->is_negative ? 0 - (uint64_t)number.as.i
                                          : (uint64_t)number.as.i;
        return true;
    case TGI_NUMBER_UINT:
        *out = (integer){false, number.as.u};
        return true;
    case TGI_NUMBER_FLOAT:
        /* NaN fails both comparisons. */
        if (!(fabs(number.as.f) < 0x1p64) ||
            !(trunc(number.as.f) == number.as.f))
            return false;
        *out = (integer){number.as.f < 0, (uint64_t)fabs(number.as.f)};
        return true;
    }
    return false;
}

static bool integer_fits(int dtype, integer value)
{
    unsigned bits = 8u * tgi_dtype_table[dtype].bytes;
    switch (tgi_dtype_table[dtype].cls) {
    case TGI_CLASS_BOOL:
        return value.magnitude == 0 ||
               (value.magnitude == 1 && !value.is_negative);
    case TGI_CLASS_UINT:
        return value.magnitude == 0 ||
               (!value.is_negative &&
                value.magnitude <= UINT64_MAX >> (64 - bits));
    default: {
        const uint64_t bound = (uint64_t)1 << (bits - 1);
        return value.magnitude < bound + value.is_negative;
    }
    }
}

static double to_double(tgi_number number)
{
    return number.kind == TGI_NUMBER_INT    ? (double)number.as.i
           : number.kind == TGI_NUMBER_UINT ? (double)number.as.u
                                            : number.as.f;
}

/* Rounds once: integers are not converted to double first. */
static float to_float(tgi_number number)
{
    return number.kind == TGI_NUMBER_INT    ? (float)number.as.i
           : number.kind == TGI_NUMBER_UINT ? (float)number.as.u
                                            : (float)number.as.f;
}

/* To a double that a half rounds as it does the number. Of large integers, of
   which halves have few bits, the last 24 are replaced by one that says whether
   they are 0. */
static double to_half_source(tgi_number number)
{
    integer value;
    if (number.kind == TGI_NUMBER_FLOAT || !to_integer(number, &value))
        return to_double(number);
    const uint64_t low = 0xffffff;
    if (value.magnitude >> 40)
        value.magnitude = (value.magnitude & ~low) |
                          (value.magnitude & low ? 0x800000 : 0);
    const double magnitude = (double)value.magnitude;
    return value.is_negative ? -magnitude : magnitude;
}

__attribute__((noinline)) static bool
store_element(int dtype, tgi_number number, void *out_element)
{
    if (!tgi_dtype_is_valid(dtype))
        return false;
    if (dtype == TG_F64) {
        double value = to_double(number);
        memcpy(out_element, &value, sizeof value);
        return true;
    }
    if (dtype == TG_F32) {
        /* A finite number must not round to infinity. */
        if (number.kind == TGI_NUMBER_FLOAT && isfinite(number.as.f) &&
            fabs(number.as.f) >= 0x1.ffffffp127)
            return false;
        float value = to_float(number);
        memcpy(out_element, &value, sizeof value);
        return true;
    }
    if (tgi_dtype_is(dtype, TGI_CLASS_HALF)) {
        const double source = to_half_source(number);
        const uint16_t bits = tgi_half_from_double(dtype, source);
        memcpy(out_element, &bits, sizeof(bits));
        return !isfinite(source) || isfinite(tgi_half_to_float(dtype, bits));
    }
    integer value;
    if (!to_integer(number, &value) || !integer_fits(dtype, value))
        return false;
    uint64_t bits = value.is_negative ? 0 - value.magnitude : value.magnitude;
    switch (dtype) {
#define DTYPE(ID, name, type, class) \
    case TG_##ID: { \
        type element = (type)bits; \
        memcpy(out_element, &element, sizeof element); \
        return true; \
    }
#include "base/dtype.def"
#undef DTYPE
    }
    return false;
}

bool tgi_dtype_store(int dtype, tgi_number number, void *out_element)
{
    const uint32_t mode = tgi_fpenv_begin();
    const bool is_stored = store_element(dtype, number, out_element);
    tgi_fpenv_end(mode);
    return is_stored;
}

/* -- Promotion ------------------------------------------------------------- */

bool tgi_dtype_holds_all(int to, int from)
{
    const tgi_dtype_info *t = &tgi_dtype_table[to];
    const tgi_dtype_info *f = &tgi_dtype_table[from];
    if (to == from || f->cls == TGI_CLASS_BOOL)
        return true;
    /* 65535 rounds to 65536, which f16 does not have. */
    if (to == TG_F16)
        return f->bytes == 1 || from == TG_I16;
    if (to == TG_BF16)
        return from == TG_F16 || f->cls & TGI_CLASS_INT;
    if (t->cls == TGI_CLASS_FLOAT)
        return f->cls != TGI_CLASS_FLOAT || t->bytes > f->bytes;
    if (f->cls == TGI_CLASS_HALF)
        return false;
    if (t->cls == TGI_CLASS_BOOL || f->cls == TGI_CLASS_FLOAT)
        return false;
    /* A wider integer type holds a narrower one, unless it is unsigned and the
       narrower one signed. */
    return t->bytes > f->bytes &&
           (t->cls == f->cls || t->cls == TGI_CLASS_SINT);
}

tg_dtype tgi_dtype_promote(int a, int b)
{
    if (tgi_dtype_holds_all(a, b))
        return (tg_dtype)a;
    if (tgi_dtype_holds_all(b, a))
        return (tg_dtype)b;
    if (tgi_dtype_is(a, TGI_CLASS_REAL) || tgi_dtype_is(b, TGI_CLASS_REAL))
        return TG_F32; /* a half, and an integer out of its range */
    /* A signed type and an unsigned one that is at least as wide. */
    static const tg_dtype next_signed[] = {
        [1] = TG_I16, [2] = TG_I32, [4] = TG_I64, [8] = TG_DTYPE_NONE};
    const int64_t x = tgi_dtype_bytes(a), y = tgi_dtype_bytes(b);
    return next_signed[x > y ? x : y];
}

/* -- Text ------------------------------------------------------------------ */

const char *tgi_number_format(tgi_number number, char *buf, size_t n)
{
    switch (number.kind) {
    case TGI_NUMBER_INT:
        snprintf(buf, n, "%" PRIi64, number.as.i);
        return buf;
    case TGI_NUMBER_UINT:
        snprintf(buf, n, "%" PRIu64, number.as.u);
        return buf;
    default:
        tgi_dtype_format(TG_F64, &number.as.f, buf, n);
        return buf;
    }
}

/* Replaces the locale's decimal separator, of one or more bytes, by a point. */
static void unlocalize(char *text)
{
    char *to = text;
    bool has_point = false;
    for (const char *from = text; *from; from++) {
        if (strchr("0123456789+-einfa", *from))
            *to++ = *from;
        else if (!has_point)
            *to++ = '.', has_point = true;
    }
    *to = '\0';
}

static double parse_as(int dtype, const char *text)
{
    if (dtype == TG_F32)
        return (double)strtof(text, NULL);
    const double value = strtod(text, NULL);
    return dtype == TG_F64
               ? value
               : (double)tgi_half_to_float(dtype,
                                           tgi_half_from_double(dtype, value));
}

/* The fewest digits that parse to the same number; integers of up to 16 digits
   have no exponent. */
static int format_float(double value, int dtype, char *buf, size_t n)
{
    char text[64];
    if (isnan(value))
        return snprintf(buf, n, "nan");
    for (int digits = 1; digits <= 17; digits++) {
        snprintf(text, sizeof text, "%.*g", digits, value);
        if (parse_as(dtype, text) == value)
            break;
    }
    if (strchr(text, 'e') && fabs(value) >= 1 && fabs(value) < 1e16)
        snprintf(text, sizeof text, "%.0f", value);
    unlocalize(text);
    return snprintf(buf, n, "%s", text);
}

__attribute__((noinline)) static int
format_element(int dtype, const void *element, char *buf, size_t n)
{
    switch (dtype) {
#define DTYPE(ID, name, type, class) \
    case TG_##ID: { \
        type value; \
        memcpy(&value, element, sizeof value); \
        return FORMAT_##class(value); \
    }
#define FORMAT_BOOL(value) snprintf(buf, n, (value) ? "true" : "false")
#define FORMAT_SINT(value) snprintf(buf, n, "%" PRIi64, (int64_t)(value))
#define FORMAT_UINT(value) snprintf(buf, n, "%" PRIu64, (uint64_t)(value))
#define FORMAT_FLOAT(value) \
    format_float((double)(value), dtype, buf, n)
#define FORMAT_HALF(value) FORMAT_FLOAT(tgi_half_to_float(dtype, value))
#include "base/dtype.def"
#undef DTYPE
    }
    return snprintf(buf, n, "?");
}

int tgi_dtype_format(int dtype, const void *element, char *buf, size_t n)
{
    const uint32_t mode = tgi_fpenv_begin();
    /* printf and strtod need not take the rounding mode from MXCSR. */
    const int rounding = fegetround();
    fesetround(FE_TONEAREST);
    const int length = format_element(dtype, element, buf, n);
    fesetround(rounding);
    tgi_fpenv_end(mode);
    return length;
}

/* -- Elements to numbers --------------------------------------------------- */

__attribute__((noinline)) static tgi_number load_element(int dtype,
                                                         const void *element)
{
    tgi_number number = {TGI_NUMBER_INT, {.i = 0}};
    switch (dtype) {
#define DTYPE(ID, name, type, class) \
    case TG_##ID: { \
        type value; \
        memcpy(&value, element, sizeof value); \
        LOAD_##class(value); \
        break; \
    }
#define LOAD_BOOL(value) LOAD_UINT(value)
#define LOAD_SINT(value) number.kind = TGI_NUMBER_INT, number.as.i = (value)
#define LOAD_UINT(value) number.kind = TGI_NUMBER_UINT, number.as.u = (value)
#define LOAD_FLOAT(value) \
    number.kind = TGI_NUMBER_FLOAT, number.as.f = (double)(value)
#define LOAD_HALF(value) LOAD_FLOAT(tgi_half_to_float(dtype, value))
#include "base/dtype.def"
#undef DTYPE
    }
    return number;
}

tgi_number tgi_dtype_load(int dtype, const void *element)
{
    const uint32_t mode = tgi_fpenv_begin();
    const tgi_number number = load_element(dtype, element);
    tgi_fpenv_end(mode);
    return number;
}
