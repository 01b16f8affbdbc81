/* SPDX-License-Identifier: MIT */
/*
 * results_read.c - reads the JSON of report_json.c.
 */
#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "results.h"

static void read_text(const json_t *object, const char *key, char *out_text,
                      size_t capacity)
{
    const char *text = json_string_value(json_object_get(object, key));
    snprintf(out_text, capacity, "%s", text ? text : "");
}

static double read_number(const json_t *object, const char *key)
{
    return json_number_value(json_object_get(object, key));
}

static bool is_equal(const json_t *object, const char *key, const char *text)
{
    const char *is = json_string_value(json_object_get(object, key));
    return is && strcmp(is, text) == 0;
}

/* -- The context ----------------------------------------------------------- */

static void read_roof(const json_t *from, roof *out_roof)
{
    const json_t *levels = json_object_get(from, "levels");
    memset(out_roof, 0, sizeof(*out_roof));
    out_roof->threads = (int)read_number(from, "threads");
    out_roof->f32_flops = read_number(from, "f32_flops_per_second");
    out_roof->f64_flops = read_number(from, "f64_flops_per_second");
    for (size_t i = 0; i < json_array_size(levels) && i < ROOF_LEVELS; i++) {
        const json_t *level = json_array_get(levels, i);
        const double bytes = read_number(level, "capacity");
        out_roof->levels[i].bytes = bytes > 0 ? bytes : (double)INFINITY;
        out_roof->levels[i].rate = read_number(level, "bytes_per_second");
        out_roof->n_levels = (int)i + 1;
    }
}

static void read_roofs(const json_t *context, roofs *out_roofs)
{
    const json_t *all = json_object_get(context, "roofs");
    out_roofs->n = 0;
    for (size_t i = 0; i < json_array_size(all) && i < MAX_ROOFS; i++)
        read_roof(json_array_get(all, i), &out_roofs->all[out_roofs->n++]);
}

static void read_context(const json_t *from, results *r)
{
    machine_facts *machine = &r->machine;
    const json_t *caches = json_object_get(from, "caches");
    memset(machine, 0, sizeof(*machine));
    read_text(from, "date", r->date, sizeof(r->date));
    read_text(from, "executable", r->program, sizeof(r->program));
    read_text(from, "label", r->label, sizeof(r->label));
    read_text(from, "cpu", machine->cpu, sizeof(machine->cpu));
    read_text(from, "llvm_version", machine->llvm, sizeof(machine->llvm));
    read_text(from, "library_version", machine->library,
              sizeof(machine->library));
    for (size_t i = 0; i < 3; i++)
        r->load[i] = json_number_value(
            json_array_get(json_object_get(from, "load_avg"), i));
    machine->processors = (int)read_number(from, "num_cpus");
    machine->vector_bits = (int)read_number(from, "vector_bits");
    for (size_t i = 0; i < json_array_size(caches); i++) {
        const json_t *cache = json_array_get(caches, i);
        const int level = (int)read_number(cache, "level");
        if (level >= 1 && level <= 3)
            machine->cache_bytes[level - 1] = read_number(cache, "size");
    }
    read_roofs(from, &r->roofs);
}

/* The context of a file whose rows are added to those of others. */
static void merge_context(const json_t *from, results *r)
{
    roofs more;
    if (!is_equal(from, "cpu", r->machine.cpu))
        return;
    read_roofs(from, &more);
    roofs_add(&r->roofs, &more);
}

/* -- Rows ------------------------------------------------------------------ */

/* Splits CASE/SIZE/BACKEND/threads:N; false if it is not such a name. */
static bool read_name(const char *name, row *out_row)
{
    char which[32] = "";
    memset(out_row, 0, sizeof(*out_row));
    if (strlen(name) >= sizeof(out_row->name) ||
        sscanf(name, "%39[^/]/%39[^/]/%31[^/]/threads:%d", out_row->case_name,
               out_row->size_label, which, &out_row->threads) != 4)
        return false;
    snprintf(out_row->name, sizeof(out_row->name), "%s", name);
    out_row->which = backend_by_name(which);
    return out_row->which < N_BACKENDS;
}

static bool add_repetition(row *to, const json_t *from)
{
    const size_t n = to->n_repetitions;
    repetition *grown =
        realloc(to->repetitions, (n + 1) * sizeof(*to->repetitions));
    if (!grown)
        return false;
    to->repetitions = grown;
    grown[n] = (repetition){read_number(from, "real_time") * 1e-9,
                            read_number(from, "cpu_time") * 1e-9};
    to->n_repetitions = n + 1;
    to->iterations = (int64_t)read_number(from, "iterations");
    to->state = ROW_MEASURED;
    return true;
}

static void read_facts(row *to, const json_t *from)
{
    static const char *const phases[] = {
#define PHASE_NAME(name) "phase_" #name "_ns",
        ROW_PHASES(PHASE_NAME)
#undef PHASE_NAME
    };
    read_text(from, "section", to->section, sizeof(to->section));
    to->is_on_screen = json_is_true(json_object_get(from, "on_screen"));
    to->is_overhead = json_is_true(json_object_get(from, "overhead"));
    to->is_f64 = json_is_true(json_object_get(from, "is_f64"));
    to->count = read_number(from, "count_per_iteration");
    to->bytes = read_number(from, "bytes_per_iteration");
    to->flops = read_number(from, "flops_per_iteration");
    to->roof_share = read_number(from, "roof_share");
    to->roof = is_equal(from, "roof", "fma")      ? ROOF_FMA
               : is_equal(from, "roof", "memory") ? ROOF_MEMORY
                                                  : ROOF_NONE;
    to->resident_bytes = read_number(from, "resident_bytes");
    to->stored_bytes = read_number(from, "stored_bytes");
    to->stored_peak_bytes = read_number(from, "stored_peak_bytes");
    for (int i = 0; i < N_ROW_PHASES; i++)
        to->phases[i] = read_number(from, phases[i]) * 1e-9;
}

static void read_failure(row *to, const json_t *from)
{
    const bool failed = json_is_true(json_object_get(from, "error_occurred"));
    to->state = failed ? ROW_FAILED : ROW_SKIPPED;
    read_text(from, failed ? "error_message" : "skip_message", to->why.text,
              sizeof(to->why.text));
    read_text(from, "section", to->section, sizeof(to->section));
}

/* Reads one object into its row, a new one if it begins one. */
static bool read_object(results *r, const json_t *from, reason *out_why)
{
    const char *name = json_string_value(json_object_get(from, "run_name"));
    row *last = r->n_rows ? &r->rows[r->n_rows - 1] : NULL, fresh;
    if (!name || !read_name(name, &fresh)) {
        reason_set(out_why, "'%s' is not the name of a row",
                   name ? name : "(none)");
        return false;
    }
    if (!last || strcmp(last->name, name) != 0) {
        if (!results_add(r, &fresh, 1)) {
            reason_set(out_why, "out of memory");
            return false;
        }
        last = &r->rows[r->n_rows - 1];
    }
    if (is_equal(from, "run_type", "aggregate")) {
        if (is_equal(from, "aggregate_name", "median"))
            read_facts(last, from);
    } else if (json_object_get(from, "real_time")) {
        if (!add_repetition(last, from)) {
            reason_set(out_why, "out of memory");
            return false;
        }
    } else {
        read_failure(last, from);
    }
    return true;
}

/* The end of the group of a row; the end of all if there is none. */
static size_t place_of(const results *r, const row *of)
{
    for (size_t i = r->n_rows; i > 0; i--) {
        const row *is = &r->rows[i - 1];
        if (is->threads == of->threads &&
            strcmp(is->case_name, of->case_name) == 0 &&
            strcmp(is->size_label, of->size_label) == 0)
            return i;
    }
    return r->n_rows;
}

/* Moves the rows of `more` to their groups in `r`, or to the place of rows of
   the same name. */
static bool merge(results *r, results *more)
{
    for (size_t i = 0; i < more->n_rows; i++) {
        row *from = &more->rows[i], *to = NULL;
        for (size_t k = 0; k < r->n_rows && !to; k++)
            if (strcmp(r->rows[k].name, from->name) == 0)
                to = &r->rows[k];
        if (to) {
            free(to->repetitions);
            *to = *from;
        } else {
            const size_t place = place_of(r, from);
            if (!results_add(r, from, 1))
                return false;
            memmove(r->rows + place + 1, r->rows + place,
                    (r->n_rows - 1 - place) * sizeof(*r->rows));
            r->rows[place] = *from;
        }
        from->repetitions = NULL;
    }
    return true;
}

bool results_read(results *r, const char *path, reason *out_why)
{
    json_error_t error;
    json_t *file = json_load_file(path, 0, &error);
    if (!file) {
        reason_set(out_why, "%s", error.text);
        return false;
    }
    const json_t *all = json_object_get(file, "benchmarks");
    results more;
    memset(&more, 0, sizeof(more));
    bool did = true;
    for (size_t i = 0; i < json_array_size(all) && did; i++)
        did = read_object(&more, json_array_get(all, i), out_why);
    if (did && !more.n_rows) {
        reason_set(out_why, "has no rows");
        did = false;
    }
    if (did && !r->n_rows)
        read_context(json_object_get(file, "context"), r);
    else if (did)
        merge_context(json_object_get(file, "context"), r);
    if (did && !merge(r, &more)) {
        reason_set(out_why, "out of memory");
        did = false;
    }
    results_deinit(&more);
    json_decref(file);
    return did;
}
