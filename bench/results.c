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
