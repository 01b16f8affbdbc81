/* SPDX-License-Identifier: MIT */
/*
 * inputs.c - see inputs.h.
 */
#include "inputs.h"

#include <math.h>
#include <stdlib.h>
#include <sys/mman.h>

void *memory_create(size_t bytes)
{
    enum { LINE = 64, HUGE_PAGE = 2 << 20 };
    const size_t align = bytes >= HUGE_PAGE ? HUGE_PAGE : LINE;
    void *memory = NULL;
    if (posix_memalign(&memory, align, bytes ? bytes : 1))
        return NULL;
#ifdef MADV_HUGEPAGE
    if (align == HUGE_PAGE)
        (void)madvise(memory, bytes, MADV_HUGEPAGE);
#endif
    return memory;
}

/* splitmix64 of seed and position. */
static uint64_t random_bits(uint64_t seed, int64_t position)
{
    uint64_t z = (seed << 48) + ((uint64_t)position + 1) *
                                    UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

static void set_element(void *data, tg_dtype dtype, int64_t i, double value)
{
    if (dtype == TG_F64)
        ((double *)data)[i] = value;
    else
        ((float *)data)[i] = (float)value;
}

void fill_uniform(void *data, tg_dtype dtype, int64_t count, uint64_t seed,
                  double low, double high)
{
    for (int64_t i = 0; i < count; i++) {
        const double unit = (double)(random_bits(seed, i) >> 11) * 0x1p-53;
        set_element(data, dtype, i, low + (high - low) * unit);
    }
}

void fill_harsh(void *data, tg_dtype dtype, int64_t count, uint64_t seed)
{
    /* Values that determine the result of a whole row are rare, so that some
       rows contain none. */
    static const double rare[] = {
        (double)NAN, HUGE_VAL, -HUGE_VAL, 0x1p127, -0x1p127, 0x1p1000,
    };
    static const double frequent[] = {
        0.0,   -0.0,   0x1p-149, -0x1p-130, 0x1p-1060, -0x1p-1070,
        1e-30, -1e-30, 88.5,     -87.0,     -103.5,    -745.0,
        18.0,  -18.0,  1.0,      -1.0,      9.0,       -0x1p-20,
    };
    const uint64_t n_rare = sizeof(rare) / sizeof(rare[0]);
    const uint64_t n_frequent = sizeof(frequent) / sizeof(frequent[0]);
    for (int64_t i = 0; i < count; i++) {
        const uint64_t bits = random_bits(seed + 100, i), choice = bits >> 32;
        if (bits % 400 == 0)
            set_element(data, dtype, i, rare[choice % n_rare]);
        else if (bits % 6 == 0)
            set_element(data, dtype, i, frequent[choice % n_frequent]);
    }
}
