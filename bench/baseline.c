/* SPDX-License-Identifier: MIT */
/*
 * baseline.c - see baseline.h.
 *
 * A row has changed if three things hold. The Mann-Whitney U test finds its
 * repetitions different at a level of 5 %, which Holm's method divides among
 * all rows compared, so that the chance of a false alarm is 5 % for the run,
 * not for each row. The 95 % confidence intervals of both medians do not
 * overlap. And the medians differ by more than the threshold. The tests assume
 * that repetitions are independent; a machine that is slower during a whole
 * run breaks this, so the geometric mean of all rows, and that of the peers,
 * whose code has not changed, are printed too.
 */
#include "baseline.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "format.h"
#include "options.h"

static const double level = 0.05;

typedef struct change {
    const row *before, *now;
    double p, ratio; /* of the medians: now over before */
    bool is_significant;
} change;

/* -- Tests ----------------------------------------------------------------- */

static double *real_times(const row *r)
{
    double *x = calloc(r->n_repetitions, sizeof(*x));
    for (size_t i = 0; x && i < r->n_repetitions; i++)
        x[i] = r->repetitions[i].real;
    return x;
}

static change change_of(const row *before, const row *now)
{
    double *x = real_times(before), *y = real_times(now);
    change c = {before, now, 1, 1, false};
    if (x && y)
        c.p = mann_whitney(x, before->n_repetitions, y, now->n_repetitions);
    c.ratio =
        row_statistics(now).median.real / row_statistics(before).median.real;
    free(x);
    free(y);
    return c;
}

static int compare_p(const void *a, const void *b)
{
    const double x = ((const change *)a)->p, y = ((const change *)b)->p;
    return (x > y) - (x < y);
}

static bool intervals_overlap(const change *c)
{
    const statistics a = row_statistics(c->before), b = row_statistics(c->now);
    return a.median_low <= b.median_high && b.median_low <= a.median_high;
}

/* Holm's method: the k-th smallest of n values is compared with level/(n-k). */
static void mark_significant(change *all, size_t n, double threshold)
{
    qsort(all, n, sizeof(*all), compare_p);
    for (size_t k = 0; k < n && all[k].p <= level / (double)(n - k); k++)
        all[k].is_significant = fabs(log(all[k].ratio)) > log(1 + threshold) &&
                                !intervals_overlap(&all[k]);
}

/* -- Report ---------------------------------------------------------------- */

static int compare_ratio(const void *a, const void *b)
{
    const double x = ((const change *)a)->ratio;
    const double y = ((const change *)b)->ratio;
    return (x < y) - (x > y);
}

static void print_change(FILE *out, const change *c)
{
    const statistics a = row_statistics(c->before), b = row_statistics(c->now);
    fprintf(out, "  %-50.50s %9s -> %9s %+7.1f %%  p %.0e\n", c->now->name,
            text_time(a.median.real).text, text_time(b.median.real).text,
            100 * (c->ratio - 1), c->p);
}

/* Prints the significant changes in one direction; returns their number. */
static size_t print_changes(FILE *out, const change *all, size_t n,
                            bool is_slower)
{
    size_t found = 0;
    for (size_t i = 0; i < n; i++) {
        if (!all[i].is_significant || (all[i].ratio > 1) != is_slower)
            continue;
        if (!found++)
            fprintf(out, "\n%s than the baseline:\n",
                    is_slower ? "Slower" : "Faster");
        print_change(out, &all[i]);
    }
    return found;
}

static int report(FILE *out, change *all, size_t n, const geometric_mean *ours,
                  const geometric_mean *peers, double threshold)
{
    mark_significant(all, n, threshold);
    qsort(all, n, sizeof(*all), compare_ratio);
    const size_t slower = print_changes(out, all, n, true);
    const size_t faster = print_changes(out, all, n, false);
    fprintf(out,
            "\n%zu rows compared with the baseline: %zu slower, %zu faster "
            "by more than %g %%.\n",
            n, slower, faster, 100 * threshold);
    fprintf(out, "Geometric mean of the medians, now over before: %s",
            text_ratio(geometric_mean_value(ours)).text);
    if (peers->n)
        fprintf(out, "; of peers: %s",
                text_ratio(geometric_mean_value(peers)).text);
    fputs("\n", out);
    return slower ? EXIT_REGRESSION : EXIT_SUCCESS;
}

int baseline_compare(FILE *out, const results *now, const char *path,
                     double threshold)
{
    results before;
    reason why;
    int status = EXIT_FAILURE;
    memset(&before, 0, sizeof(before));
    change *all = calloc(now->n_rows + 1, sizeof(*all));
    geometric_mean ours = {0, 0}, peers = {0, 0};
    size_t n = 0;
    if (!all) {
        fprintf(stderr, "tgjit-bench: out of memory\n");
        return status;
    }
    if (!results_read(&before, path, &why)) {
        fprintf(stderr, "tgjit-bench: %s: %s\n", path, why.text);
        goto done;
    }
    for (size_t i = 0; i < now->n_rows; i++) {
        const row *is = &now->rows[i];
        const row *was = results_find(&before, is->name);
        if (!was || !(row_best(was) > 0) || !(row_best(is) > 0))
            continue;
        const change c = change_of(was, is);
        geometric_mean_add(backend_is_library(is->which) ? &ours : &peers,
                           c.ratio);
        if (backend_is_library(is->which))
            all[n++] = c;
    }
    if (n)
        status = report(out, all, n, &ours, &peers, threshold);
    else
        fprintf(stderr, "tgjit-bench: %s: has none of the measured rows\n",
                path);
done:
    free(all);
    results_deinit(&before);
    return status;
}
