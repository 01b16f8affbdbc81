/* SPDX-License-Identifier: MIT */
/*
 * results.c - see results.h.
 */
#include "results.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

void results_init(results *r, const char *program, const char *label)
{
    const time_t now = time(NULL);
    const char *slash = strrchr(program, '/');
    struct tm local;
    memset(r, 0, sizeof(*r));
    if (localtime_r(&now, &local))
        strftime(r->date, sizeof(r->date), "%Y-%m-%dT%H:%M:%S%z", &local);
    snprintf(r->program, sizeof(r->program), "%s", slash ? slash + 1 : program);
    snprintf(r->label, sizeof(r->label), "%s", label ? label : "");
    (void)getloadavg(r->load, 3);
    r->machine = machine_describe();
}

void results_deinit(results *r)
{
    for (size_t i = 0; i < r->n_rows; i++)
        free(r->rows[i].repetitions);
    free(r->rows);
    memset(r, 0, sizeof(*r));
}

bool results_add(results *r, const row *rows, size_t n_rows)
{
    const size_t needed = r->n_rows + n_rows;
    if (needed > r->capacity) {
        const size_t capacity = 2 * needed;
        row *grown = realloc(r->rows, capacity * sizeof(*grown));
        if (!grown)
            return false;
        r->rows = grown;
        r->capacity = capacity;
    }
    memcpy(r->rows + r->n_rows, rows, n_rows * sizeof(*rows));
    for (size_t i = r->n_rows; i < needed; i++)
        r->rows[i].runner = NULL;
    r->n_rows = needed;
    return true;
}

size_t results_group(const results *r, size_t begin)
{
    const row *first = &r->rows[begin];
    size_t end = begin;
    while (end < r->n_rows && r->rows[end].threads == first->threads &&
           strcmp(r->rows[end].case_name, first->case_name) == 0 &&
           strcmp(r->rows[end].size_label, first->size_label) == 0)
        end++;
    return end - begin;
}

/* The number of the case and size of a row in the table of cases; their total
   if it has no such case. */
static size_t rank_of(const row *r)
{
    size_t rank = 0;
    for (const bench_case *c = all_cases; c->name; c++)
        for (const case_size *size = c->sizes; size && size->label;
             size++, rank++)
            if (strcmp(c->name, r->case_name) == 0 &&
                strcmp(size->label, r->size_label) == 0)
                return rank;
    return rank;
}

typedef struct ranked {
    size_t rank, place;
} ranked;

static int compare_ranked(const void *a, const void *b)
{
    const ranked *x = a, *y = b;
    return x->rank != y->rank ? (x->rank > y->rank) - (x->rank < y->rank)
                              : (x->place > y->place) - (x->place < y->place);
}

bool results_sort(results *r)
{
    ranked *order = malloc((r->n_rows + 1) * sizeof(*order));
    row *sorted = malloc((r->n_rows + 1) * sizeof(*sorted));
    const bool is_good = order && sorted;
    for (size_t i = 0; is_good && i < r->n_rows; i++)
        order[i] = (ranked){rank_of(&r->rows[i]), i};
    if (is_good) {
        qsort(order, r->n_rows, sizeof(*order), compare_ranked);
        for (size_t i = 0; i < r->n_rows; i++)
            sorted[i] = r->rows[order[i].place];
        memcpy(r->rows, sorted, r->n_rows * sizeof(*sorted));
    }
    free(sorted);
    free(order);
    return is_good;
}

void results_apply_roofs(results *r)
{
    for (size_t i = 0; i < r->n_rows; i++)
        roofs_apply(&r->roofs, &r->rows[i]);
}

const row *results_find(const results *r, const char *name)
{
    for (size_t i = 0; i < r->n_rows; i++)
        if (strcmp(r->rows[i].name, name) == 0)
            return &r->rows[i];
    return NULL;
}
