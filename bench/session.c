/* SPDX-License-Identifier: MIT */
/*
 * session.c - see session.h. Iterates over cases, sizes (for which inputs and
 * reference results are created once) and numbers of threads; the back ends of
 * each such group take turns.
 */
#include "session.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "baseline.h"
#include "hogs.h"
#include "peers/engine.h"
#include "progress.h"
#include "report.h"

typedef struct session {
    const options *o;
    results results;
    const table *table;        /* printed to stdout; NULL: none */
    const bench_case *heading; /* of the current case */
    bool failed;
} session;

/* -- Rows ------------------------------------------------------------------ */

static bool is_of_curve(const case_size *size)
{
    return size->use == SIZE_OF_CURVE || size->use == SIZE_OF_LONG_CURVE;
}

/* --check skips large sizes; they are verified when they are measured. */
static bool is_size_selected(const bench_case *c, const case_size *size,
                             const options *o)
{
    const double max_checked = 2e5;
    const bool is_wide = o->has_all || o->has_filter;
    switch (o->action) {
    case ACTION_CHECK:
        return size->use == SIZE_IN_CHECK ||
               (!is_of_curve(size) &&
                case_count(c, size) <= max_checked);
    case ACTION_MEASURE:
        return size->use == SIZE_BY_DEFAULT ||
               ((size->use == SIZE_ON_REQUEST ||
                 size->use == SIZE_OF_LONG_CURVE) &&
                is_wide) ||
               (size->use == SIZE_OF_CURVE && (is_wide || o->html));
    case ACTION_LIST:
    case ACTION_CALIBRATE:
        break;
    }
    return size->use != SIZE_IN_CHECK;
}

/* By default, only those of the first screen. */
static bool is_backend_selected(backend which, const options *o)
{
    return (!backend_is_python(which) || o->has_peers) &&
           (o->action != ACTION_MEASURE || o->has_all || o->has_filter ||
            backend_is_on_screen(which));
}

/* Once per back end, on stderr. */
static void note_missing(backend which, const reason *why)
{
    static bool is_noted[N_BACKENDS];
    if (!is_noted[which])
        fprintf(stderr, "tgjit-bench: note: no rows of %s: %s\n",
                backend_name(which), why->text);
    is_noted[which] = true;
}

/* False if the row does not exist or is not selected. Another library is loaded
   only if one of its rows is selected. */
static bool row_init(row *r, const options *o, const bench_case *c,
                     const case_size *size, backend which, size_t team)
{
    memset(r, 0, sizeof(*r));
    /* A row that uses one thread appears once. */
    const bool is_single = c->is_serial || which == BACKEND_INTERP;
    if (!c->family->has_backend(c, size, which) || (is_single && team > 0) ||
        !is_size_selected(c, size, o) || !is_backend_selected(which, o))
        return false;
    r->c = c;
    r->size = size;
    r->which = which;
    r->threads = is_single ? 1 : o->threads[team];
    r->is_on_screen = !is_of_curve(size);
    snprintf(r->case_name, sizeof(r->case_name), "%s", c->name);
    snprintf(r->size_label, sizeof(r->size_label), "%s", size->label);
    snprintf(r->name, sizeof(r->name), "%s/%s/%s/threads:%d", c->name,
             size->label, backend_name(which), r->threads);
    if (o->has_filter && regexec(&o->filter, r->name, 0, NULL, 0) != 0)
        return false;
    if (!backend_is_installed(which) || backend_is_available(which, &r->why))
        return true;
    if (o->has_peers)
        note_missing(which, &r->why);
    return false;
}

/* Returns the number of rows. Harsh inputs are only for back ends that must
   match bit for bit: fast math and another order of sums give other results for
   NaN, infinities and huge numbers. */
static size_t group_init(row *rows, const options *o, const bench_case *c,
                         const case_size *size, input_kind inputs, size_t team)
{
    size_t n = 0;
    for (int which = 0; which < N_BACKENDS; which++)
        if (inputs == INPUTS_PLAIN || backend_has_bits((backend)which))
            n += row_init(&rows[n], o, c, size, (backend)which, team);
    return n;
}

/* Counts the rows, and prints their names if `prints`. */
static size_t count_rows(const options *o, bool prints)
{
    row rows[N_BACKENDS];
    size_t n_all = 0;
    for (const bench_case *c = all_cases; c->name; c++)
        for (const case_size *size = c->sizes; size && size->label; size++)
            for (size_t team = 0; team < o->n_threads; team++) {
                const size_t n =
                    group_init(rows, o, c, size, INPUTS_PLAIN, team);
                for (size_t i = 0; prints && i < n; i++)
                    puts(rows[i].name);
                n_all += n;
            }
    return n_all;
}

bool session_has_rows(const options *o)
{
    return count_rows(o, false) > 0;
}

void session_list(const options *o)
{
    (void)count_rows(o, true);
}

/* -- One group ------------------------------------------------------------- */

/* Prepares and verifies a row. A missing peer skips its rows; a missing JIT
   fails them. */
static void row_start(row *r, experiment *e)
{
    const case_family *family = r->c->family;
    reason missing;
    const bool is_available = backend_is_available(r->which, &missing);
    r->state =
        is_available || backend_is_jit(r->which) ? ROW_FAILED : ROW_SKIPPED;
    if (!is_available)
        r->why = missing;
    if (!e || !is_available)
        return;
    r->runner = family->start(e, r->which, r->threads, &r->why);
    if (r->runner && family->verify(r->runner, &r->why))
        r->state = ROW_READY;
}

/* Reports read only the row. */
static void row_finish(row *r, session *s)
{
    const case_family *family = r->c->family;
    const double count = case_count(r->c, r->size);
    stored_bytes stored;
    snprintf(r->section, sizeof(r->section), "%s", s->heading->name);
    r->is_overhead = s->heading->is_overhead;
    if (r->state != ROW_MEASURED)
        return;
    r->count = count;
    r->bytes = r->c->bytes * count;
    r->flops = r->c->flops * count;
    if (family->describe)
        family->describe(r->runner, r);
    if (family->resident)
        r->resident_bytes = (double)family->resident(r->runner);
    if (family->stored && family->stored(r->runner, &stored)) {
        r->stored_bytes = (double)stored.allocated;
        r->stored_peak_bytes = (double)stored.peak;
    }
    roofs_apply(&s->results.roofs, r);
}

static void group_stop(row *rows, size_t n_rows)
{
    for (size_t i = 0; i < n_rows; i++) {
        rows[i].c->family->stop(rows[i].runner);
        rows[i].runner = NULL;
    }
}

/* Failed rows fail the program and are also reported on stderr. */
static void report_failures(session *s, const row *rows, size_t n_rows)
{
    for (size_t i = 0; i < n_rows; i++) {
        if (rows[i].state != ROW_FAILED)
            continue;
        progress_hide();
        fprintf(stderr, "tgjit-bench: %s: %s\n", rows[i].name,
                rows[i].why.text);
        s->failed = true;
    }
}

static void report_check(session *s, const row *rows, size_t n_rows,
                         input_kind inputs)
{
    enum { ROW_NAME_WIDTH = 50 };
    static const char *const words[] = {
        [ROW_READY] = "right",
        [ROW_MEASURED] = "right",
        [ROW_SKIPPED] = "skipped: ",
        [ROW_FAILED] = "FAILED: ",
    };
    for (size_t i = 0; i < n_rows; i++) {
        const row *r = &rows[i];
        printf("%-*s %s %s%s\n", ROW_NAME_WIDTH, r->name,
               inputs == INPUTS_HARSH ? "harsh" : "plain", words[r->state],
               r->state == ROW_READY ? "" : r->why.text);
    }
    report_failures(s, rows, n_rows);
}

/* Measures the rows, beside processes that compute if the case says so, and
   moves them to the results. */
static void measure_group(session *s, const bench_case *c, row *rows, size_t n)
{
    reason why;
    const bool is_ready = !c->is_busy || hogs_start(&why);
    for (size_t i = 0; i < n && !is_ready; i++) {
        rows[i].state = ROW_FAILED;
        rows[i].why = why;
    }
    measure_options how = s->o->measure;
    if (rows->size->use == SIZE_OF_CURVE) /* has many points */
        how.repetitions = (how.repetitions + 2) / 3;
    measure_rows(rows, n, &how);
    hogs_stop();
    for (size_t i = 0; i < n; i++)
        row_finish(&rows[i], s);
    report_failures(s, rows, n);
    if (!results_add(&s->results, rows, n)) {
        fprintf(stderr, "tgjit-bench: out of memory\n");
        for (size_t i = 0; i < n; i++)
            free(rows[i].repetitions);
        s->failed = true;
    }
}

/* All groups of one size. */
static void session_size(session *s, const bench_case *c, const case_size *size,
                         input_kind inputs)
{
    row rows[N_BACKENDS];
    experiment *e = NULL;
    reason why = {""};
    bool has_begun = false;
    const size_t first = s->results.n_rows;
    for (size_t team = 0; team < s->o->n_threads; team++) {
        const size_t n = group_init(rows, s->o, c, size, inputs, team);
        if (!n)
            continue;
        progress_show(c->name, size->label);
        for (size_t i = 0; i < n; i++)
            if (backend_is_engine(rows[i].which))
                engine_start(rows[i].which, rows[i].threads);
        if (!has_begun)
            e = c->family->begin(c, size, inputs, &why);
        has_begun = true;
        engines_wait();
        for (size_t i = 0; i < n; i++) {
            rows[i].why = why;
            row_start(&rows[i], e);
        }
        if (s->o->action == ACTION_CHECK)
            report_check(s, rows, n, inputs);
        else
            measure_group(s, c, rows, n);
        group_stop(rows, n);
        progress_advance(n);
    }
    c->family->end(e);
    if (s->table && s->results.n_rows > first) {
        progress_hide();
        s->table->size(stdout, &s->results, s->results.rows + first,
                       s->results.n_rows - first);
    }
}

/* -- The session ----------------------------------------------------------- */

/* SIGINT and SIGTERM end the measurements; what there is is reported. */
static volatile sig_atomic_t was_interrupted;

static void interrupt(int signal_number)
{
    (void)signal_number;
    was_interrupted = 1;
}

/* A second one ends the program at once. */
static void catch_interrupts(void)
{
    const struct sigaction catching = {
        .sa_handler = interrupt, .sa_flags = (int)SA_RESETHAND | SA_RESTART};
    sigaction(SIGINT, &catching, NULL);
    sigaction(SIGTERM, &catching, NULL);
}

static void session_cases(session *s)
{
    const bool is_check = s->o->action == ACTION_CHECK;
    for (const bench_case *c = all_cases; c->name; c++) {
        if (!c->sizes) {
            s->heading = c;
            continue;
        }
        for (const case_size *size = c->sizes; size->label && !was_interrupted;
             size++) {
            session_size(s, c, size, INPUTS_PLAIN);
            if (is_check && size->use == SIZE_IN_CHECK)
                session_size(s, c, size, INPUTS_HARSH);
        }
    }
    engines_end();
    progress_hide();
    if (was_interrupted) {
        fprintf(stderr, "tgjit-bench: interrupted; reports are incomplete\n");
        s->failed = true;
    }
}

int session_check(const options *o)
{
    session s = {.o = o};
    progress_begin(count_rows(o, false), 0.01);
    session_cases(&s);
    return s.failed ? EXIT_FAILURE : EXIT_SUCCESS;
}

static bool read_files(session *s)
{
    for (size_t i = 0; i < s->o->n_from; i++) {
        reason why;
        if (!results_read(&s->results, s->o->from[i], &why)) {
            fprintf(stderr, "tgjit-bench: %s: %s\n", s->o->from[i], why.text);
            return false;
        }
    }
    if (!results_sort(&s->results)) {
        fprintf(stderr, "tgjit-bench: out of memory\n");
        return false;
    }
    /* Merged rows may have been compared with other roofs. */
    results_apply_roofs(&s->results);
    if (s->o->label)
        snprintf(s->results.label, sizeof(s->results.label), "%s", s->o->label);
    return true;
}

static void print_table(FILE *out, const table *t, const results *r)
{
    t->begin(out, r);
    for (size_t begin = 0, n; begin < r->n_rows; begin += n) {
        n = results_size(r, begin);
        t->size(out, r, r->rows + begin, n);
    }
    t->end(out, r);
}

static void report_screen(FILE *out, const results *r)
{
    print_table(out, &table_screen, r);
}

static void report_all(FILE *out, const results *r)
{
    print_table(out, &table_all, r);
}

static void measure_roofs(session *s)
{
    for (size_t i = 0; i < s->o->n_threads; i++)
        roofs_measure(&s->results.roofs, s->o->threads[i]);
}

static void measure_all(session *s)
{
    const measure_options *m = &s->o->measure;
    catch_interrupts();
    measure_roofs(s);
    if (s->table)
        s->table->begin(stdout, &s->results);
    progress_begin(count_rows(s->o, false),
                   1.5 * m->min_time * (double)m->repetitions);
    session_cases(s);
    if (s->table)
        s->table->end(stdout, &s->results);
}

/* Writes a report to a file, or to stdout if `path` is NULL. */
static void write_report(session *s, const char *path,
                         void (*report)(FILE *out, const results *r))
{
    FILE *out = path ? fopen(path, "w") : stdout;
    if (out) {
        report(out, &s->results);
        if (!(path ? fclose(out) : fflush(out)))
            return;
    }
    fprintf(stderr, "tgjit-bench: %s: %s\n", path ? path : "standard output",
            strerror(errno));
    s->failed = true;
}

static const table *table_for(const options *o)
{
    return o->format != FORMAT_TABLE && !o->out ? NULL
           : o->has_all                         ? &table_all
                                                : &table_screen;
}

static void write_reports(session *s)
{
    const options *o = s->o;
    if (o->format == FORMAT_TABLE && o->out)
        write_report(s, o->out, o->has_all ? report_all : report_screen);
    else if (o->format == FORMAT_CSV)
        write_report(s, o->out, report_csv);
    else if (o->format == FORMAT_JSON)
        write_report(s, o->out, report_json);
    else if (o->format == FORMAT_MARKDOWN)
        write_report(s, o->out, report_markdown);
    if (o->html) {
        write_report(s, o->html, report_html);
        if (s->table && !s->failed)
            printf("\nReport: %s\n", o->html);
    }
}

int session_measure(const options *o, const char *program)
{
    session s = {.o = o, .table = table_for(o)};
    int status = EXIT_FAILURE;
    results_init(&s.results, program, o->label);
    if (!o->n_from)
        measure_all(&s);
    else if (!read_files(&s))
        goto done;
    else if (s.table)
        print_table(stdout, s.table, &s.results);
    write_reports(&s);
    status = s.failed ? EXIT_FAILURE : EXIT_SUCCESS;
    if (o->baseline && !s.failed)
        status = baseline_compare(s.table ? stdout : stderr, &s.results,
                                  o->baseline, o->threshold);
done:
    results_deinit(&s.results);
    return status;
}
