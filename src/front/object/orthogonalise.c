/* SPDX-License-Identifier: MIT */
/*
 * orthogonalise.c - orthonormal matrices from random ones, by modified
 * Gram-Schmidt. Each vector is orthogonalised twice, which keeps the result
 * orthogonal to rounding accuracy; its diagonal of R is positive, so that the
 * result is uniformly distributed. Plain loops in f64, compiled without
 * contraction: the same bits on every machine.
 */
#include <math.h>

#include "front/object/initialiser.h"

/* Vectors of `n` elements, `step` apart; vector v begins at v * next. */
typedef struct vectors {
    double *data;
    int64_t n, step, next;
} vectors;

static double dot(const vectors *v, int64_t a, int64_t b)
{
    double sum = 0;
    for (int64_t i = 0; i < v->n; i++)
        sum += v->data[a * v->next + i * v->step] *
               v->data[b * v->next + i * v->step];
    return sum;
}

/* vector += factor * other */
static void add_scaled(const vectors *v, int64_t vector, double factor,
                       int64_t other)
{
    for (int64_t i = 0; i < v->n; i++)
        v->data[vector * v->next + i * v->step] +=
            factor * v->data[other * v->next + i * v->step];
}

static void scale_vector(const vectors *v, int64_t vector, double factor)
{
    for (int64_t i = 0; i < v->n; i++)
        v->data[vector * v->next + i * v->step] *= factor;
}

bool tgi_orthogonalise(double *matrix, int64_t rows, int64_t columns,
                       double gain)
{
    const bool is_tall = rows >= columns;
    const vectors v = is_tall ? (vectors){matrix, rows, columns, 1}
                              : (vectors){matrix, columns, 1, columns};
    const int64_t n_vectors = is_tall ? columns : rows;
    for (int64_t a = 0; a < n_vectors; a++) {
        for (int sweep = 0; sweep < 2; sweep++)
            for (int64_t b = 0; b < a; b++)
                add_scaled(&v, a, -dot(&v, a, b), b);
        const double length = sqrt(dot(&v, a, a));
        if (!(length > 0))
            return false;
        scale_vector(&v, a, 1 / length);
    }
    for (int64_t a = 0; a < n_vectors; a++)
        scale_vector(&v, a, gain);
    return true;
}
