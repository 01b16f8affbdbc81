/* SPDX-License-Identifier: MIT */
/*
 * session.c - see session.h. Iterates over cases, sizes (for which inputs and
 * reference results are created once) and numbers of threads; the back ends of
 * each such group take turns.
 */
#include "session.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "peers/engine.h"

typedef struct session {
    const options *o;
    const char *program;
    FILE *out;      /* the report in the requested format */
    bool has_table; /* also print the table to stdout */
    bool any_reported;
    bool failed;
} session;

/* -- Rows ------------------------------------------------------------------ */

/* --check skips large sizes; they are verified when they are measured. */
static bool is_size_selected(const bench_case *c, const case_size *size,
                             const options *o)
{
    const double max_checked = 2e5;
    switch (o->action) {
    case ACTION_CHECK:
        return size->use == SIZE_IN_CHECK ||
               case_count(c, size) <= max_checked;
    case ACTION_MEASURE:
        return size->use == SIZE_BY_DEFAULT ||
               (size->use == SIZE_ON_REQUEST && o->has_filter);
    case ACTION_LIST:
        break;
    }
    return size->use != SIZE_IN_CHECK;
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
        !is_size_selected(c, size, o) ||
        (backend_is_python(which) && !o->has_peers))
        return false;
    r->c = c;
    r->size = size;
    r->which = which;
    r->threads = is_single ? 1 : o->threads[team];
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
        for (const case_size *size = c->sizes; size->label; size++)
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
    const bool is_available = backend_is_available(r->which, &r->why);
    r->state = is_available || backend_is_jit(r->which) ? ROW_FAILED
                                                        : ROW_SKIPPED;
    if (!e || !is_available)
        return;
    r->runner = family->start(e, r->which, r->threads, &r->why);
    if (r->runner && family->verify(r->runner, &r->why))
        r->state = ROW_READY;
}

static void group_deinit(row *rows, size_t n_rows)
{
    for (size_t i = 0; i < n_rows; i++) {
        rows[i].c->family->stop(rows[i].runner);
        free(rows[i].repetitions);
    }
}

/* Failed rows fail the program and are also reported on stderr. */
static void report_failures(session *s, const row *rows, size_t n_rows)
{
    for (size_t i = 0; i < n_rows; i++) {
        if (rows[i].state != ROW_FAILED)
            continue;
        fprintf(stderr, "tgjit-bench: %s: %s\n", rows[i].name,
                rows[i].why.text);
        s->failed = true;
    }
}

static void report_group(session *s, const row *rows, size_t n_rows)
{
    s->o->format->group(s->out, rows, n_rows, !s->any_reported);
    if (s->has_table)
        report_console.group(stdout, rows, n_rows, !s->any_reported);
    s->any_reported = true;
    report_failures(s, rows, n_rows);
}

static void report_check(session *s, const row *rows, size_t n_rows,
                         input_kind inputs)
{
    static const char *const words[] = {
        [ROW_READY] = "right",
        [ROW_MEASURED] = "right",
        [ROW_SKIPPED] = "skipped: ",
        [ROW_FAILED] = "FAILED: ",
    };
    for (size_t i = 0; i < n_rows; i++) {
        const row *r = &rows[i];
        fprintf(s->out, "%-*s %s %s%s\n", ROW_NAME_WIDTH, r->name,
                inputs == INPUTS_HARSH ? "harsh" : "plain", words[r->state],
                r->state == ROW_READY ? "" : r->why.text);
    }
    report_failures(s, rows, n_rows);
}

static void progress(const char *name, const char *size)
{
    if (isatty(STDERR_FILENO))
        fprintf(stderr, "\r\033[K%s/%s ...\r", name, size);
}

/* All groups of one size. */
static void session_size(session *s, const bench_case *c,
                         const case_size *size, input_kind inputs)
{
    row rows[N_BACKENDS];
    experiment *e = NULL;
    reason why = {""};
    bool has_begun = false;
    for (size_t team = 0; team < s->o->n_threads; team++) {
        const size_t n = group_init(rows, s->o, c, size, inputs, team);
        if (!n)
            continue;
        progress(c->name, size->label);
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
        if (s->o->action == ACTION_CHECK) {
            report_check(s, rows, n, inputs);
        } else {
            measure_rows(rows, n, &s->o->measure);
            report_group(s, rows, n);
        }
        group_deinit(rows, n);
    }
    c->family->end(e);
}

/* -- The session ----------------------------------------------------------- */

static void session_cases(session *s)
{
    const bool is_check = s->o->action == ACTION_CHECK;
    for (const bench_case *c = all_cases; c->name; c++)
        for (const case_size *size = c->sizes; size->label; size++) {
            session_size(s, c, size, INPUTS_PLAIN);
            if (is_check && size->use == SIZE_IN_CHECK)
                session_size(s, c, size, INPUTS_HARSH);
        }
}

bool session_run(const options *o, const char *program)
{
    session s = {.o = o, .program = program, .out = stdout};
    const bool is_check = o->action == ACTION_CHECK;
    if (o->out) {
        s.out = fopen(o->out, "w");
        if (!s.out) {
            fprintf(stderr, "tgjit-bench: %s: %s\n", o->out, strerror(errno));
            return false;
        }
        s.has_table = !is_check;
    }
    if (!is_check)
        o->format->begin(s.out, program);
    if (s.has_table)
        report_console.begin(stdout, program);
    session_cases(&s);
    engines_end();
    if (!is_check)
        o->format->end(s.out);
    if (o->out && fclose(s.out)) {
        fprintf(stderr, "tgjit-bench: %s: %s\n", o->out, strerror(errno));
        s.failed = true;
    }
    return !s.failed;
}
