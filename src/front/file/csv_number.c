/* SPDX-License-Identifier: MIT */
/*
 * csv_number.c - see csv_number.h. Floats of few digits, which is most of them,
 * are one exact integer times or through one exact power of ten, so that a
 * single rounding gives the right bits (Clinger's fast path); all others go to
 * strtod.
 */
#include "front/file/csv_number.h"

#include <fenv.h>
#include <locale.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/dtype.h"
#include "base/fpenv.h"

/* -- Floating-point mode --------------------------------------------------- */

/* strtod looks at the x87's rounding mode, the fast path at that of SSE. */
tgi_number_mode tgi_number_mode_begin(void)
{
    tgi_number_mode mode = {.rounding = fegetround()};
    mode.control = tgi_fpenv_begin();
    fesetround(FE_TONEAREST);
    return mode;
}

void tgi_number_mode_end(tgi_number_mode mode)
{
    fesetround(mode.rounding);
    tgi_fpenv_end(mode.control);
}

/* -- Integers and bools ---------------------------------------------------- */

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool read_integer(tg_dtype dtype, const char *text, size_t n,
                         void *out_element)
{
    const bool is_negative = *text == '-';
    size_t i = is_negative || *text == '+';
    uint64_t magnitude = 0;
    if (i == n)
        return false;
    for (; i < n; i++)
        if (!is_digit(text[i]) ||
            __builtin_mul_overflow(magnitude, 10, &magnitude) ||
            __builtin_add_overflow(magnitude, (uint64_t)(text[i] - '0'),
                                   &magnitude))
            return false;
    if (is_negative && magnitude > (uint64_t)INT64_MAX + 1)
        return false;
    const tgi_number number =
        is_negative
            ? (tgi_number){TGI_NUMBER_INT, {.i = (int64_t)(0 - magnitude)}}
            : (tgi_number){TGI_NUMBER_UINT, {.u = magnitude}};
    return tgi_dtype_store(dtype, number, out_element);
}

static bool read_bool(const char *text, void *out_element)
{
    static const char *const words[] = {"0", "1", "false", "true"};
    for (int i = 0; i < 4; i++)
        if (strcasecmp(text, words[i]) == 0) {
            *(uint8_t *)out_element = i % 2;
            return true;
        }
    return false;
}

/* -- Floats ---------------------------------------------------------------- */

/* A decimal: digits * 10^exponent, if its digits are few. */
typedef struct decimal {
    uint64_t digits;
    int64_t exponent;
    bool is_negative, is_exact;
} decimal;

/* Adds digits; `scale` is the change of the exponent for each. */
static size_t read_digits(const char *text, decimal *d, int scale)
{
    size_t n = 0;
    for (; is_digit(text[n]); n++) {
        const uint64_t digit = (uint64_t)(text[n] - '0');
        if (d->digits > (UINT64_MAX - digit) / 10)
            d->is_exact = false;
        d->digits = d->digits * 10 + digit;
        d->exponent += scale;
    }
    return n;
}

/* False if the text is not [+-] digits [. digits] [e [+-] digits]. */
static bool read_decimal(const char *text, size_t n, decimal *out)
{
    const char *end = text + n;
    decimal d = {.is_negative = *text == '-', .is_exact = true};
    text += *text == '-' || *text == '+';
    size_t n_digits = read_digits(text, &d, 0);
    text += n_digits;
    if (*text == '.') {
        const size_t n_fraction = read_digits(++text, &d, -1);
        text += n_fraction;
        n_digits += n_fraction;
    }
    if (n_digits == 0)
        return false;
    if (*text == 'e' || *text == 'E') {
        decimal e = {.is_negative = text[1] == '-', .is_exact = true};
        text += 1 + (text[1] == '-' || text[1] == '+');
        const size_t n_exponent = read_digits(text, &e, 0);
        if (n_exponent == 0)
            return false;
        text += n_exponent;
        d.is_exact &= e.is_exact && e.digits < 1000;
        if (d.is_exact)
            d.exponent += e.is_negative ? -(int64_t)e.digits
                                        : (int64_t)e.digits;
    }
    *out = d;
    return text == end;
}

static bool is_word(const char *text)
{
    static const char *const words[] = {"nan", "inf", "infinity"};
    text += *text == '-' || *text == '+';
    for (int i = 0; i < 3; i++)
        if (strcasecmp(text, words[i]) == 0)
            return true;
    return false;
}

/* Independent of the program's locale. */
static locale_t c_locale(void)
{
    static _Atomic(locale_t) cached;
    locale_t locale = cached;
    if (!locale)
        cached = locale = newlocale(LC_ALL_MASK, "C", (locale_t)0);
    return locale;
}

static bool read_f64(const char *text, const decimal *d, bool is_named,
                     void *out_element)
{
    static const double powers[] = {
        1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9,  1e10, 1e11,
        1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
    double number;
    if (!is_named && d->is_exact && d->digits <= (uint64_t)1 << 53 &&
        d->exponent >= -22 && d->exponent <= 22) {
        number = (double)d->digits;
        number = d->exponent < 0 ? number / powers[-d->exponent]
                                 : number * powers[d->exponent];
        number = d->is_negative ? -number : number;
    } else {
        number = strtod_l(text, NULL, c_locale());
    }
    memcpy(out_element, &number, sizeof(number));
    return is_named || isfinite(number);
}

static bool read_f32(const char *text, const decimal *d, bool is_named,
                     void *out_element)
{
    static const float powers[] = {1e0f, 1e1f, 1e2f, 1e3f, 1e4f, 1e5f,
                                   1e6f, 1e7f, 1e8f, 1e9f, 1e10f};
    float number;
    if (!is_named && d->is_exact && d->digits <= (uint64_t)1 << 24 &&
        d->exponent >= -10 && d->exponent <= 10) {
        number = (float)d->digits;
        number = d->exponent < 0 ? number / powers[-d->exponent]
                                 : number * powers[d->exponent];
        number = d->is_negative ? -number : number;
    } else {
        number = strtof_l(text, NULL, c_locale());
    }
    memcpy(out_element, &number, sizeof(number));
    return is_named || isfinite(number);
}

bool tgi_csv_number(tg_dtype dtype, const char *text, size_t n,
                    void *out_element)
{
    decimal d = {0};
    if (n == 0)
        return false;
    if (dtype == TG_BOOL)
        return read_bool(text, out_element);
    if (tgi_dtype_is(dtype, TGI_CLASS_INT))
        return read_integer(dtype, text, n, out_element);
    const bool is_named = is_word(text);
    if (!is_named && !read_decimal(text, n, &d))
        return false;
    return dtype == TG_F64 ? read_f64(text, &d, is_named, out_element)
                           : read_f32(text, &d, is_named, out_element);
}
