/* SPDX-License-Identifier: MIT */
/*
 * random_graph_values.c - elements: edge cases of their dtype, small numbers,
 * random bits.
 */
#include <math.h>
#include <string.h>

#include "random/random_graph.h"

int64_t rg_count(const rg_type *type)
{
    int64_t count = 1;
    for (int i = 0; i < type->rank; i++)
        count *= type->dims[i];
    return count;
}

size_t rg_size(const rg_type *type)
{
    return (size_t)(rg_count(type) * tgi_dtype_bytes(type->dtype));
}

tg_dtype rg_take_dtype(rg_bytes *bytes, unsigned classes)
{
    tg_dtype allowed[TGI_DTYPES];
    int n = 0;
    for (int i = 0; i < TGI_DTYPES; i++)
        if (tgi_dtype_is_valid(i) && tgi_dtype_is(i, rg_classes(classes)))
            allowed[n++] = (tg_dtype)i;
    return allowed[rg_below(bytes, n)];
}

/* -- Filling --------------------------------------------------------------- */

/* clang-format off */
static const double float_edges[] = {
    /* The values most likely to break rewrite rules. */
    0.0, -0.0, (double)NAN, 0.0, -0.0, (double)NAN, -0.0, (double)NAN,
    1.0, -1.0, 0.5, -0.5, 2.0, 1.5, -2.5, 3.0, 3.14159, 0.1,
    255.0, 256.0, -129.0, 16777217.0, 1e10, 88.8, -104.0, 709.9, -745.2,
    1e-45, -1e-45, 5e-324, 0x1p-126, 0x1p-1022, 0x1p31, -0x1p31, 0x1p63,
    0x1p64, 0x1p127, -0x1p127, 3.4e38, 1e308, -1e308,
    (double)INFINITY, -(double)INFINITY, (double)NAN,
};

static const uint64_t integer_edges[] = {
    0, 1, 2, 3, 7, 8, 31, 32, 63, 64, 0x7f, 0x80, 0xff, 0x7fff, 0x8000, 0xffff,
    0x7fffffff, 0x80000000, 0xffffffff, INT64_MAX, 1ull << 63, ~0ull, ~1ull,
    ~0x7full, ~0x7fffull, ~0x7fffffffull,
};
/* clang-format on */

#define N_OF(array) (sizeof(array) / sizeof((array)[0]))

enum { EDGES, SMALL, ANY_BITS, UNIT };

static double float_element(int manner, uint64_t random)
{
    switch (manner) {
    case EDGES:
        return float_edges[random % N_OF(float_edges)];
    case SMALL: /* and zeros of either sign */
        return (random & 1 << 20 ? -0.5 : 0.5) * (double)(random % 9);
    default:
        return (double)(random >> 11) * 0x1p-52 - 1;
    }
}

static uint64_t integer_element(int manner, uint64_t random)
{
    switch (manner) {
    case EDGES:
        return integer_edges[random % N_OF(integer_edges)];
    case SMALL:
    case UNIT:
        return (uint64_t)(int64_t)(random % 9) - (manner == SMALL ? 2 : 0);
    default:
        return random;
    }
}

static void fill_element(tg_dtype dtype, int manner, uint64_t random,
                         void *element)
{
    size_t bytes = tg_dtype_bytes(dtype);
    if (dtype == TG_BOOL) {
        *(char *)element = random & 1;
    } else if (!tgi_dtype_is(dtype, TGI_CLASS_REAL) || manner == ANY_BITS) {
        uint64_t bits = integer_element(manner, random);
        memcpy(element, &bits, bytes);
    } else if (tgi_dtype_is(dtype, TGI_CLASS_HALF)) {
        uint16_t bits =
            tgi_half_from_double(dtype, float_element(manner, random));
        memcpy(element, &bits, bytes);
    } else if (dtype == TG_F32) {
        float value = (float)float_element(manner, random);
        memcpy(element, &value, bytes);
    } else {
        double value = float_element(manner, random);
        memcpy(element, &value, bytes);
    }
}

enum { MANY = 128 };

/* With many elements, special values are rare, or all sums would be NaN. */
static int manner_of_many(tg_dtype dtype, int manner, int64_t n,
                          uint64_t random)
{
    bool is_strange = manner == EDGES || manner == ANY_BITS;
    return n > MANY && is_strange && tgi_dtype_is(dtype, TGI_CLASS_REAL) &&
                   (random >> 40) % (uint64_t)n > 0
               ? UNIT
               : manner;
}

void rg_fill(tg_dtype dtype, uint64_t seed, void *data, int64_t n)
{
    int manner = (int)(seed % 4);
    size_t bytes = tg_dtype_bytes(dtype);
    for (int64_t i = 0; i < n; i++) {
        uint64_t random = rg_random(&seed);
        fill_element(dtype, manner_of_many(dtype, manner, n, random), random,
                     (char *)data + (size_t)i * bytes);
    }
}

/* -- Plain numbers --------------------------------------------------------- */

tg_operand rg_number(tg_dtype dtype, const void *element)
{
    tgi_number number = tgi_dtype_load(dtype, element);
    tg_operand operand =
        tg_in_blank(number.kind == TGI_NUMBER_INT    ? TG_OPERAND_INT
                    : number.kind == TGI_NUMBER_UINT ? TG_OPERAND_UINT
                                                     : TG_OPERAND_FLOAT,
                    rg_number_dtype(dtype));
    if (number.kind == TGI_NUMBER_INT)
        operand.as.i = number.as.i;
    else if (number.kind == TGI_NUMBER_UINT)
        operand.as.u = number.as.u;
    else
        operand.as.f = number.as.f;
    return operand;
}
