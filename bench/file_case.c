/* SPDX-License-Identifier: MIT */
/*
 * file_case.c - see file_case.h. The file is in a temporary directory, and
 * stays in the page cache: the disk is not measured. Saving writes a new file
 * under another name and renames it, on both sides.
 */
#include "file_case.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "inputs.h"
#include "measure.h"
#include "scratch_dir.h"

enum { N_VARIABLES = 8 };

const file_case save_case = {FILE_SAVE};
const file_case load_case = {FILE_LOAD};

/* Columns are the floats of one variable. */
const case_size checkpoint_sizes[] = {
    SIZE_TIMED("32MiB", 0, 1 << 20),
    SIZE_CHECKED("96KB", 0, 3001),
    SIZES_END,
};

struct experiment {
    file_kind kind;
    int64_t n;   /* floats of a variable */
    float *data; /* of all variables */
    scratch_dir dir;
    char path[SCRATCH_DIR_BYTES + 32], other_path[SCRATCH_DIR_BYTES + 32];
};

struct runner {
    experiment *e;
    backend which;
    tg_context *ctx;
    tg_variable *variables[N_VARIABLES];
    float *copy; /* values that were read */
};

static size_t all_bytes(const experiment *e)
{
    return (size_t)e->n * N_VARIABLES * sizeof(float);
}

/* -- C --------------------------------------------------------------------- */

static bool write_all(const char *path, const char *data, size_t bytes)
{
    const int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    while (fd >= 0 && bytes) {
        const ssize_t n = write(fd, data, bytes);
        if (n <= 0)
            break;
        data += n;
        bytes -= (size_t)n;
    }
    return fd >= 0 && !close(fd) && !bytes;
}

static bool read_all(const char *path, char *data, size_t bytes)
{
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    while (fd >= 0 && bytes) {
        const ssize_t n = read(fd, data, bytes);
        if (n <= 0)
            break;
        data += n;
        bytes -= (size_t)n;
    }
    return fd >= 0 && !close(fd) && !bytes;
}

static bool run_c(runner *r)
{
    const experiment *e = r->e;
    if (e->kind == FILE_LOAD)
        return read_all(e->other_path, (char *)r->copy, all_bytes(e));
    char partial[SCRATCH_DIR_BYTES + 48];
    snprintf(partial, sizeof(partial), "%s.tmp", e->other_path);
    return write_all(partial, (const char *)e->data, all_bytes(e)) &&
           !rename(partial, e->other_path);
}

/* -- The library ----------------------------------------------------------- */

static bool save(runner *r)
{
    tg_archive *archive = tg_archive_create(r->ctx);
    const bool did =
        archive &&
        !tg_archive_add_variables(archive, NULL, r->variables, N_VARIABLES) &&
        !tg_archive_save(archive, r->e->path);
    tg_archive_release(archive);
    return did;
}

static bool load(runner *r)
{
    tg_archive *archive = tg_archive_load(r->ctx, r->e->path);
    const bool did =
        archive && !tg_archive_get_variables(archive, NULL, r->variables,
                                             N_VARIABLES, NULL);
    tg_archive_release(archive);
    return did;
}

static bool make_variables(runner *r)
{
    const experiment *e = r->e;
    r->ctx = backend_context(BACKEND_JIT, 1);
    bool did = r->ctx != NULL;
    for (int i = 0; i < N_VARIABLES && did; i++) {
        char name[16];
        snprintf(name, sizeof(name), "w%d", i);
        r->variables[i] =
            tg_variable_create(r->ctx, name, TG_F32, TG_DIMS(e->n),
                               tg_from_data(e->data + i * e->n));
        did = r->variables[i] != NULL;
    }
    return did && save(r);
}

/* -- The family ------------------------------------------------------------ */

static bool has_backend(const bench_case *c, const case_size *size,
                        backend which)
{
    (void)c, (void)size;
    return which == BACKEND_JIT || which == BACKEND_C;
}

static void end(experiment *e)
{
    if (!e)
        return;
    scratch_dir_deinit(&e->dir);
    free(e->data);
    free(e);
}

static experiment *begin(const bench_case *c, const case_size *size,
                         input_kind inputs, reason *out_why)
{
    (void)inputs;
    experiment *e = calloc(1, sizeof(*e));
    if (!e || !scratch_dir_init(&e->dir)) {
        reason_set(out_why, "cannot create a temporary directory");
        free(e);
        return NULL;
    }
    e->kind = ((const file_case *)c->what)->kind;
    e->n = size->columns;
    snprintf(e->path, sizeof(e->path), "%s/model.safetensors", e->dir.path);
    snprintf(e->other_path, sizeof(e->other_path), "%s/model.bytes",
             e->dir.path);
    e->data = memory_create(all_bytes(e));
    if (!e->data) {
        reason_set(out_why, "out of memory");
        end(e);
        return NULL;
    }
    fill_uniform(e->data, TG_F32, e->n * N_VARIABLES, 1, -1, 1);
    return e;
}

static void stop(runner *r)
{
    if (!r)
        return;
    for (int i = 0; i < N_VARIABLES; i++)
        tg_variable_release(r->variables[i]);
    tg_context_release(r->ctx);
    free(r->copy);
    free(r);
}

static runner *start(experiment *e, backend which, int threads, reason *out_why)
{
    (void)threads;
    runner *r = calloc(1, sizeof(*r));
    if (!r) {
        reason_set(out_why, "out of memory");
        return NULL;
    }
    r->e = e;
    r->which = which;
    r->copy = memory_create(all_bytes(e));
    if (!r->copy) {
        reason_set(out_why, "out of memory");
    } else if (which == BACKEND_C) {
        if (write_all(e->other_path, (const char *)e->data, all_bytes(e)))
            return r;
        reason_set(out_why, "cannot write to %s", e->dir.path);
    } else {
        if (make_variables(r))
            return r;
        reason_set(out_why, "%s", tg_error(NULL));
    }
    stop(r);
    return NULL;
}

static bool run_once(runner *r)
{
    return r->which == BACKEND_C     ? run_c(r)
           : r->e->kind == FILE_LOAD ? load(r)
                                     : save(r);
}

static bool run(runner *r, int64_t iterations, double *out_seconds,
                reason *out_why)
{
    (void)out_seconds;
    for (int64_t i = 0; i < iterations; i++)
        if (!run_once(r)) {
            reason_set(out_why, "%s",
                       r->which == BACKEND_C ? "cannot access the file"
                                             : tg_error(NULL));
            return false;
        }
    return true;
}

/* Reads the variables into the copy and compares it. */
static bool is_equal(const runner *r)
{
    const experiment *e = r->e;
    const size_t bytes = (size_t)e->n * sizeof(float);
    for (int i = 0; i < N_VARIABLES; i++)
        if (tg_variable_get(r->variables[i], r->copy + i * e->n, bytes))
            return false;
    return memcmp(r->copy, e->data, all_bytes(e)) == 0;
}

static bool set_to_zero(runner *r)
{
    const size_t bytes = (size_t)r->e->n * sizeof(float);
    memset(r->copy, 0, bytes);
    for (int i = 0; i < N_VARIABLES; i++)
        if (tg_variable_set(r->variables[i], r->copy, bytes))
            return false;
    return true;
}

/* After saving, changes the variables and loads them again. */
static bool verify(runner *r, reason *out_why)
{
    bool good = run_once(r);
    if (r->which == BACKEND_C)
        good = good &&
               read_all(r->e->other_path, (char *)r->copy, all_bytes(r->e)) &&
               memcmp(r->copy, r->e->data, all_bytes(r->e)) == 0;
    else
        good = good && set_to_zero(r) && !is_equal(r) && load(r) && is_equal(r);
    if (!good)
        reason_set(out_why, "the file has other values: %s", tg_error(NULL));
    return good;
}

const case_family file_family = {
    .has_backend = has_backend,
    .begin = begin,
    .end = end,
    .start = start,
    .stop = stop,
    .verify = verify,
    .run = run,
};
