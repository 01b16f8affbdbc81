/* SPDX-License-Identifier: MIT */
/*
 * plain_roof.c - kernels that approach the limits of the machine (roof.h). Each
 * returns the units of its work: flops, or bytes read and written. Threads have
 * parts of the memory.
 */
#include <string.h>

#include "expert/share.h"
#include "peers.h"

/* Enough chains to hide the latency of an FMA in two units. */
enum { CHAINS = 10, ROUNDS = 1000 };

#define FMA_KERNEL(name, type) \
    typedef type name##_vector \
        __attribute__((vector_size(__BIGGEST_ALIGNMENT__))); \
    double name(void *memory, size_t bytes, int64_t times) \
    { \
        const double lanes = sizeof(name##_vector) / sizeof(type); \
        double flops = 0, sink = 0; \
        (void)memory, (void)bytes; \
        _Pragma("omp parallel reduction(+ : flops, sink)") \
        { \
            name##_vector x[CHAINS], by = {0}, plus = {0}; \
            by += (type)0.999; \
            plus += (type)0.001; \
            for (int i = 0; i < CHAINS; i++) \
                x[i] = plus * (type)i; \
            for (int64_t k = 0; k < times * ROUNDS; k++) \
                for (int i = 0; i < CHAINS; i++) \
                    x[i] = x[i] * by + plus; \
            for (int i = 0; i < CHAINS; i++) \
                sink += (double)x[i][0]; \
            flops += 2.0 * CHAINS * lanes * (double)(times * ROUNDS); \
        } \
        return sink > -1 ? flops : 0; \
    }

FMA_KERNEL(plain_roof_fma_f32, float)
FMA_KERNEL(plain_roof_fma_f64, double)

/* Keeps the compiler from merging passes over the same memory. */
#define MEMORY_MAY_CHANGE() __asm__ volatile("" ::: "memory")

double plain_roof_read(void *memory, size_t bytes, int64_t times)
{
    const float *all = memory;
    const int64_t n = (int64_t)(bytes / sizeof(*all));
    float sum = 0;
#pragma omp parallel reduction(+ : sum)
    {
        const share mine = share_of(n);
        for (int64_t k = 0; k < times; k++) {
            for (int64_t i = mine.begin; i < mine.end; i++)
                sum += all[i];
            MEMORY_MAY_CHANGE();
        }
    }
    return sum > -1 ? (double)n * sizeof(*all) * (double)times : 0;
}

/* From the first half of each part to the second. */
double plain_roof_copy(void *memory, size_t bytes, int64_t times)
{
    const int64_t n = (int64_t)(bytes / 128);
#pragma omp parallel
    {
        const share mine = share_of(n);
        char *from = (char *)memory + 128 * mine.begin;
        const size_t half = (size_t)(mine.end - mine.begin) * 64;
        for (int64_t k = 0; k < times; k++) {
            memcpy(from + half, from, half);
            MEMORY_MAY_CHANGE();
        }
    }
    return (double)n * 128 * (double)times;
}

/* y += a x, whose bytes are those of x once and y twice. */
double plain_roof_update(void *memory, size_t bytes, int64_t times)
{
    const int64_t n = (int64_t)(bytes / 128);
#pragma omp parallel
    {
        const share mine = share_of(n);
        const int64_t half = (mine.end - mine.begin) * 16;
        const float *restrict x = (float *)memory + 32 * mine.begin;
        float *restrict y = (float *)memory + 32 * mine.begin + half;
        for (int64_t k = 0; k < times; k++) {
            for (int64_t i = 0; i < half; i++)
                y[i] += 1e-9f * x[i];
            MEMORY_MAY_CHANGE();
        }
    }
    return (double)n * 192 * (double)times;
}
