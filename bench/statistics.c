/* SPDX-License-Identifier: MIT */
/*
 * statistics.c - see statistics.h.
 */
#include "statistics.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static int compare_doubles(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* -- One sample ------------------------------------------------------------ */

typedef struct summary {
    double best, median, mean, deviation;
} summary;

/* Sorts x. */
static summary summary_of(double *x, size_t n)
{
    qsort(x, n, sizeof(*x), compare_doubles);
    summary s = {.best = x[0], .median = (x[(n - 1) / 2] + x[n / 2]) / 2};
    for (size_t i = 0; i < n; i++)
        s.mean += x[i] / (double)n;
    for (size_t i = 0; i < n && n > 1; i++)
        s.deviation += (x[i] - s.mean) * (x[i] - s.mean) / (double)(n - 1);
    s.deviation = sqrt(s.deviation);
    return s;
}

/*
 * The largest k such that the median lies between the k-th smallest and the
 * k-th largest of n numbers with a probability of at least 95 %. The number of
 * them below the median is binomial, n trials of 1/2.
 */
static size_t median_order(size_t n)
{
    double chance = pow(0.5, (double)n), tail = 0;
    size_t k = 0;
    while (k < n / 2) {
        tail += chance; /* of k or fewer */
        if (tail > 0.025)
            break;
        chance *= (double)(n - k) / (double)(k + 1);
        k++;
    }
    return k ? k : 1;
}

statistics row_statistics(const row *r)
{
    const size_t n = r->n_repetitions;
    statistics s;
    memset(&s, 0, sizeof(s));
    double *x = n ? malloc(n * sizeof(*x)) : NULL;
    if (!x)
        return s;
    for (size_t i = 0; i < n; i++)
        x[i] = r->repetitions[i].cpu;
    const summary cpu = summary_of(x, n);
    for (size_t i = 0; i < n; i++)
        x[i] = r->repetitions[i].real;
    const summary real = summary_of(x, n);
    const size_t k = median_order(n);
    s.median_low = x[k - 1];
    s.median_high = x[n - k];
    free(x);
    s.best = (repetition){real.best, cpu.best};
    s.median = (repetition){real.median, cpu.median};
    s.mean = (repetition){real.mean, cpu.mean};
    s.deviation = (repetition){real.deviation, cpu.deviation};
    return s;
}

double row_best(const row *r)
{
    double best = 0;
    if (r->state != ROW_MEASURED)
        return 0;
    for (size_t i = 0; i < r->n_repetitions; i++)
        if (!i || r->repetitions[i].real < best)
            best = r->repetitions[i].real;
    return best;
}

/* -- Rows of a group ------------------------------------------------------- */

const row *rows_best_peer(const row *rows, size_t n_rows)
{
    const row *best = NULL;
    for (size_t i = 0; i < n_rows; i++)
        if (row_best(&rows[i]) > 0 && !backend_is_library(rows[i].which) &&
            (!best || row_best(&rows[i]) < row_best(best)))
            best = &rows[i];
    return best;
}

double row_peer_ratio(const row *r, const row *peer)
{
    if (!peer || r->state != ROW_MEASURED || !backend_is_jit(r->which))
        return 0;
    return row_best(r) / row_best(peer);
}

/* -- Two samples ----------------------------------------------------------- */

typedef struct observation {
    double value;
    bool is_x;
} observation;

static int compare_observations(const void *a, const void *b)
{
    return compare_doubles(&((const observation *)a)->value,
                           &((const observation *)b)->value);
}

double mann_whitney(const double *x, size_t n_x, const double *y, size_t n_y)
{
    const size_t n = n_x + n_y;
    observation *all = n_x && n_y ? malloc(n * sizeof(*all)) : NULL;
    if (!all)
        return 1;
    for (size_t i = 0; i < n; i++)
        all[i] = i < n_x ? (observation){x[i], true}
                         : (observation){y[i - n_x], false};
    qsort(all, n, sizeof(*all), compare_observations);
    double rank_sum = 0, ties = 0;
    for (size_t begin = 0, end; begin < n; begin = end) {
        end = begin + 1;
        while (end < n && !(all[begin].value < all[end].value))
            end++;
        const double t = (double)(end - begin);
        const double rank = (double)(begin + end + 1) / 2;
        for (size_t i = begin; i < end; i++)
            rank_sum += all[i].is_x ? rank : 0;
        ties += t * t * t - t;
    }
    free(all);
    const double a = (double)n_x, b = (double)n_y, both = a + b;
    const double u = rank_sum - a * (a + 1) / 2;
    const double variance =
        a * b / 12 * (both + 1 - ties / (both * (both - 1)));
    const double away = fabs(u - a * b / 2) - 0.5;
    if (!(variance > 0) || away <= 0)
        return 1;
    return erfc(away / sqrt(2 * variance));
}

/* -- Means ----------------------------------------------------------------- */

void geometric_mean_add(geometric_mean *mean, double number)
{
    if (!(number > 0))
        return;
    mean->log_sum += log(number);
    mean->n++;
}

double geometric_mean_value(const geometric_mean *mean)
{
    return mean->n ? exp(mean->log_sum / (double)mean->n) : 0;
}
