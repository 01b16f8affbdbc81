/* SPDX-License-Identifier: MIT */
/*
 * engine.c - see engine.h.
 */
#include "engine.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "peers/python.h"
#include "scratch_dir.h"

/* The programs in Python, which are written to a directory to be run. */
static const struct {
    const char *name, *text;
} programs[] = {
#include "engine_programs.inc"
};

enum { ANSWER_BYTES = 256, LINE_BYTES = 2048, MAX_WORKERS = 64 };

typedef struct worker {
    backend which;
    int threads;
    python *process; /* NULL: not started, or has failed */
    bool is_ready;   /* has answered "hello" */
} worker;

static struct {
    scratch_dir dir; /* of the programs */
    bool has_dir;
    worker workers[MAX_WORKERS];
    size_t n_workers;
} engines;

struct engine_files {
    scratch_dir dir;
    char request[LINE_BYTES]; /* prepare … */
    size_t result_bytes[KERNEL_RESULTS];
};

struct engine_run {
    const engine_files *files;
    worker *worker;
};

/* -- Files ----------------------------------------------------------------- */

static bool write_file(const char *dir, const char *name, const void *data,
                       size_t bytes)
{
    char path[SCRATCH_DIR_BYTES + 64];
    snprintf(path, sizeof(path), "%s/%s", dir, name);
    FILE *file = fopen(path, "w");
    if (!file)
        return false;
    const bool did = fwrite(data, 1, bytes, file) == bytes;
    return !fclose(file) && did;
}

/* Fails unless the file has exactly so many bytes. */
static bool read_file(const char *path, void *out_data, size_t bytes)
{
    struct stat about;
    FILE *file = stat(path, &about) ? NULL : fopen(path, "r");
    if (!file)
        return false;
    const bool did = (size_t)about.st_size == bytes &&
                     fread(out_data, 1, bytes, file) == bytes;
    fclose(file);
    return did;
}

static void append(char *line, const char *text)
{
    const size_t used = strlen(line);
    snprintf(line + used, LINE_BYTES - used, "%s", text);
}

/* Appends " [ROLE:]DTYPE:EXTENTS". */
static void append_spec(char *line, const char *role, tg_dtype dtype,
                        extents shape)
{
    append(line, " ");
    append(line, role);
    append(line, dtype == TG_F64 ? "f64:" : "f32:");
    for (int i = 0; i < shape.rank; i++) {
        char number[24];
        snprintf(number, sizeof(number), "%s%" PRId64, i ? "x" : "",
                 shape.dims[i]);
        append(line, number);
    }
}

static bool write_inputs(engine_files *files, const tensor_case *what,
                         const case_size *size, void *const *inputs)
{
    for (int i = 0; i < KERNEL_INPUTS && what->inputs[i].dtype; i++) {
        const tensor_input *in = &what->inputs[i];
        const extents shape = extents_of(size, in->shape);
        char name[16];
        snprintf(name, sizeof(name), "in%d", i);
        append_spec(files->request,
                    in->is_variable ? "variable:"
                    : in->is_index  ? "index:"
                                    : "",
                    in->dtype, shape);
        if (!write_file(files->dir.path, name, inputs[i],
                        tg_dtype_bytes(in->dtype) * (size_t)shape.count))
            return false;
    }
    return true;
}

engine_files *engine_files_create(const tensor_case *what,
                                  const case_size *size, void *const *inputs,
                                  reason *out_why)
{
    engine_files *files = calloc(1, sizeof(*files));
    if (!files || !scratch_dir_init(&files->dir)) {
        reason_set(out_why, "cannot create a temporary directory");
        free(files);
        return NULL;
    }
    snprintf(files->request, LINE_BYTES, "prepare %s %s", what->expression,
             files->dir.path);
    if (!write_inputs(files, what, size, inputs)) {
        reason_set(out_why, "cannot write to %s", files->dir.path);
        engine_files_release(files);
        return NULL;
    }
    append(files->request, " ->");
    for (int i = 0; i < KERNEL_RESULTS && what->results[i].dtype; i++) {
        const extents shape = extents_of(size, what->results[i].shape);
        append_spec(files->request, "", what->results[i].dtype, shape);
        files->result_bytes[i] =
            tg_dtype_bytes(what->results[i].dtype) * (size_t)shape.count;
    }
    return files;
}

void engine_files_release(engine_files *files)
{
    if (files)
        scratch_dir_deinit(&files->dir);
    free(files);
}

/* -- Workers --------------------------------------------------------------- */

static bool fail(worker *w)
{
    python_stop(w->process);
    w->process = NULL;
    w->is_ready = false;
    return false;
}

/* Receives an answer that must be `expected`. A worker that answers anything
   else but an error is not used again. */
static bool receive(worker *w, const char *expected, reason *out_why)
{
    static const char error[] = "error ";
    char answer[ANSWER_BYTES];
    if (python_receive(w->process, answer, sizeof(answer), out_why)) {
        python_pause(w->process);
        if (strcmp(answer, expected) == 0)
            return true;
        if (strncmp(answer, error, strlen(error)) == 0) {
            reason_set(out_why, "%s", answer + strlen(error));
            return false;
        }
        reason_set(out_why, "answers '%.60s' instead of '%s'", answer,
                   expected);
    }
    return fail(w);
}

static bool request(worker *w, const char *line, const char *expected,
                    reason *out_why)
{
    if (!w->process) {
        reason_set(out_why, "the process has exited");
        return false;
    }
    python_resume(w->process);
    if (!python_send(w->process, line, out_why))
        return fail(w);
    return receive(w, expected, out_why);
}

static bool write_programs(reason *out_why)
{
    if (engines.has_dir)
        return true;
    bool did = engines.has_dir = scratch_dir_init(&engines.dir);
    for (size_t i = 0; did && i < sizeof(programs) / sizeof(*programs); i++)
        did = write_file(engines.dir.path, programs[i].name, programs[i].text,
                         strlen(programs[i].text));
    if (!did)
        reason_set(out_why, "cannot write a temporary directory");
    return did;
}

static bool start_process(worker *w, reason *out_why)
{
    char program[SCRATCH_DIR_BYTES + 16], threads[16];
    if (!write_programs(out_why))
        return false;
    snprintf(program, sizeof(program), "%s/worker.py", engines.dir.path);
    snprintf(threads, sizeof(threads), "%d", w->threads);
    const char *const arguments[] = {program, backend_name(w->which), threads,
                                     NULL};
    w->process = python_start(arguments, out_why);
    return w->process &&
           (python_send(w->process, "hello", out_why) || fail(w));
}

/* The worker of this engine and number of threads, which may not be ready; NULL
   if it cannot be started. */
static worker *started_worker(backend which, int threads, reason *out_why)
{
    worker *w = NULL;
    for (size_t i = 0; i < engines.n_workers; i++)
        if (engines.workers[i].which == which &&
            engines.workers[i].threads == threads)
            w = &engines.workers[i];
    if (!w && engines.n_workers < MAX_WORKERS) {
        w = &engines.workers[engines.n_workers++];
        *w = (worker){.which = which, .threads = threads};
    }
    if (!w) {
        reason_set(out_why, "too many engines");
        return NULL;
    }
    return w->process || start_process(w, out_why) ? w : NULL;
}

void engine_start(backend which, int threads)
{
    reason ignored; /* the same when the worker is needed */
    (void)started_worker(which, threads, &ignored);
}

static bool wait_until_ready(worker *w, reason *out_why)
{
    if (!w->is_ready)
        w->is_ready = receive(w, "ready", out_why);
    return w->is_ready || fail(w);
}

void engines_wait(void)
{
    reason ignored; /* a worker that fails is started again, and fails again */
    for (size_t i = 0; i < engines.n_workers; i++)
        if (engines.workers[i].process)
            (void)wait_until_ready(&engines.workers[i], &ignored);
}

/* A worker that is ready. */
static worker *worker_for(backend which, int threads, reason *out_why)
{
    worker *w = started_worker(which, threads, out_why);
    return w && wait_until_ready(w, out_why) ? w : NULL;
}

void engines_end(void)
{
    for (size_t i = 0; i < engines.n_workers; i++)
        python_stop(engines.workers[i].process);
    engines.n_workers = 0;
    if (engines.has_dir)
        scratch_dir_deinit(&engines.dir);
    engines.has_dir = false;
}

/* -- Runs ------------------------------------------------------------------ */

engine_run *engine_run_start(const engine_files *files, backend which,
                             int threads, reason *out_why)
{
    worker *w = worker_for(which, threads, out_why);
    if (!w || !request(w, files->request, "ready", out_why))
        return NULL;
    engine_run *run = calloc(1, sizeof(*run));
    if (!run) {
        reason_set(out_why, "out of memory");
        return NULL;
    }
    *run = (engine_run){files, w};
    return run;
}

void engine_run_stop(engine_run *run)
{
    reason ignored;
    if (run && run->worker->process)
        (void)request(run->worker, "release", "done", &ignored);
    free(run);
}

/* The path of result i; false if there is none. */
static bool result_path(const engine_files *files, int i, char *out_path,
                        size_t bytes)
{
    snprintf(out_path, bytes, "%s/out%d", files->dir.path, i);
    return i < KERNEL_RESULTS && files->result_bytes[i];
}

bool engine_run_check(engine_run *run, int n, void *const *results,
                      reason *out_why)
{
    char line[32], path[SCRATCH_DIR_BYTES + 16];
    const engine_files *files = run->files;
    /* Another engine may have left its results. */
    for (int i = 0; result_path(files, i, path, sizeof(path)); i++)
        (void)unlink(path);
    snprintf(line, sizeof(line), "check %d", n);
    if (!request(run->worker, line, "done", out_why))
        return false;
    for (int i = 0; result_path(files, i, path, sizeof(path)); i++)
        if (!read_file(path, results[i], files->result_bytes[i])) {
            reason_set(out_why, "result %d does not have %zu bytes", i,
                       files->result_bytes[i]);
            return false;
        }
    return true;
}

bool engine_run_time(engine_run *run, int64_t iterations, double *out_seconds,
                     reason *out_why)
{
    worker *w = run->worker;
    char line[32];
    snprintf(line, sizeof(line), "time %" PRId64, iterations);
    if (!w->process) {
        reason_set(out_why, "the process has exited");
        return false;
    }
    python_resume(w->process);
    if (!python_time(w->process, line, out_seconds, out_why))
        return fail(w);
    python_pause(w->process);
    return true;
}
