/* SPDX-License-Identifier: MIT */
/*
 * process_case.c - see process_case.h. A child computes the chain of a few
 * elements and writes to a pipe: one byte when it has the result, which ends
 * the measured time, then an `answer`.
 */
#include "process_case.h"

#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cases.h"
#include "measure.h"
#include "scratch_dir.h"

extern char **environ;

enum { N_ARGS = 4, N_ELEMENTS = 16, ANSWER_FD = 3 };

static const char child_option[] = "--as-process";

typedef struct answer {
    bool is_good, has_llvm;
    size_t resident_bytes;
    float result[N_ELEMENTS];
    char why[128];
} answer;

/* -- The child ------------------------------------------------------------- */

static bool compute(process_kind kind, const char *dir, float *out_result)
{
    static const float numbers[N_ARGS] = {0, 0.5f, 1.25f, -2};
    tg_context *ctx = kind == PROCESS_INTERP
                          ? backend_context(BACKEND_INTERP, 1)
                      : kind == PROCESS_TIERS ? backend_context_tiers()
                                              : backend_context_disk(dir);
    tg_function *f = tg_function_create(ctx, trace_chain, NULL, NULL);
    tg_tensor *args[N_ARGS], *result = NULL;
    tg_operand operands[N_ARGS];
    bool did = f != NULL;
    for (int i = 0; i < N_ARGS; i++) {
        const int64_t dims[] = {N_ELEMENTS};
        float data[N_ELEMENTS];
        for (int k = 0; k < N_ELEMENTS; k++)
            data[k] = numbers[i] + (float)k / N_ELEMENTS;
        args[i] = tg_tensor_copy(ctx, data, TG_F32, i == 0, dims);
        operands[i] = tg_in_tensor(args[i]);
        did = did && args[i];
    }
    did = did && !tg_call(f, operands, N_ARGS, TG_RESULTS(&result));
    if (did)
        memcpy(out_result, tg_tensor_data(result),
               N_ELEMENTS * sizeof(*out_result));
    tg_tensor_release(result);
    for (int i = 0; i < N_ARGS; i++)
        tg_tensor_release(args[i]);
    tg_function_release(f);
    tg_context_release(ctx);
    return did;
}

static size_t resident_bytes(void)
{
    unsigned long all = 0, resident = 0;
    FILE *file = fopen("/proc/self/statm", "r");
    if (file && fscanf(file, "%lu %lu", &all, &resident) != 2)
        resident = 0;
    if (file)
        fclose(file);
    return resident * (size_t)sysconf(_SC_PAGESIZE);
}

static bool has_llvm(void)
{
    char line[4096];
    bool found = false;
    FILE *file = fopen("/proc/self/maps", "r");
    while (file && fgets(line, sizeof(line), file))
        found |= strstr(line, "libLLVM") != NULL;
    if (file)
        fclose(file);
    return found;
}

bool process_is_child(int argc, char **argv, int *out_status)
{
    if (argc != 4 || strcmp(argv[1], child_option) != 0)
        return false;
    const process_kind kind = (process_kind)atoi(argv[2]);
    answer a;
    memset(&a, 0, sizeof(a));
    a.is_good = kind == PROCESS_EMPTY || compute(kind, argv[3], a.result);
    bool is_sent = write(ANSWER_FD, "", 1) == 1;
    a.resident_bytes = resident_bytes();
    a.has_llvm = has_llvm();
    if (!a.is_good)
        snprintf(a.why, sizeof(a.why), "%s", tg_error(NULL));
    is_sent &= write(ANSWER_FD, &a, sizeof(a)) == (ssize_t)sizeof(a);
    *out_status = is_sent ? EXIT_SUCCESS : EXIT_FAILURE;
    return true;
}

/* -- The parent ------------------------------------------------------------ */

static bool start_child(process_kind kind, const char *dir, int fd,
                        pid_t *out_child)
{
    char number[8], option[sizeof(child_option)], place[SCRATCH_DIR_BYTES];
    char name[] = "tgjit-bench";
    snprintf(number, sizeof(number), "%d", (int)kind);
    memcpy(option, child_option, sizeof(option));
    snprintf(place, sizeof(place), "%s", dir);
    char *const argv[] = {name, option, number, place, NULL};
    posix_spawn_file_actions_t actions;
    if (posix_spawn_file_actions_init(&actions))
        return false;
    const bool did =
        !posix_spawn_file_actions_adddup2(&actions, fd, ANSWER_FD) &&
        !posix_spawn(out_child, "/proc/self/exe", &actions, NULL, argv,
                     environ);
    posix_spawn_file_actions_destroy(&actions);
    return did;
}

/* Runs a child and waits until it exits. *out_seconds: up to its result. */
static bool run_child(process_kind kind, const char *dir, answer *out_answer,
                      double *out_seconds)
{
    int ends[2], status = 0;
    char first;
    pid_t child;
    memset(out_answer, 0, sizeof(*out_answer));
    snprintf(out_answer->why, sizeof(out_answer->why),
             "cannot run a process");
    if (pipe2(ends, O_CLOEXEC))
        return false;
    const double began = seconds_now();
    const bool has_child = start_child(kind, dir, ends[1], &child);
    close(ends[1]);
    const bool has_result = has_child && read(ends[0], &first, 1) == 1;
    *out_seconds = seconds_now() - began;
    const bool has_answer =
        has_result && read(ends[0], out_answer, sizeof(*out_answer)) ==
                          (ssize_t)sizeof(*out_answer);
    close(ends[0]);
    if (has_child && waitpid(child, &status, 0) != child)
        return false;
    return has_answer && status == 0 && out_answer->is_good;
}

/* -- The family ------------------------------------------------------------ */

struct experiment {
    process_kind kind;
    scratch_dir dir; /* the disk cache */
};

struct runner {
    const experiment *e;
    answer last;
};

static experiment *begin(const bench_case *c, const case_size *size,
                         input_kind inputs, reason *out_why)
{
    (void)size, (void)inputs;
    experiment *e = calloc(1, sizeof(*e));
    if (e && scratch_dir_init(&e->dir)) {
        e->kind = ((const process_case *)c->what)->kind;
        return e;
    }
    reason_set(out_why, "cannot create a cache directory");
    free(e);
    return NULL;
}

static void end(experiment *e)
{
    if (e)
        scratch_dir_deinit(&e->dir);
    free(e);
}

static runner *start(experiment *e, backend which, int threads,
                     reason *out_why)
{
    (void)which, (void)threads;
    runner *r = calloc(1, sizeof(*r));
    if (r)
        r->e = e;
    else
        reason_set(out_why, "out of memory");
    return r;
}

static void stop(runner *r)
{
    free(r);
}

static bool run_process(runner *r, double *out_seconds)
{
    const char *dir = r->e->dir.path;
    if (r->e->kind == PROCESS_COLD && tg_cache_clear(dir))
        return false;
    return run_child(r->e->kind, dir, &r->last, out_seconds);
}

static bool run(runner *r, int64_t iterations, double *out_seconds,
                reason *out_why)
{
    *out_seconds = 0;
    for (int64_t i = 0; i < iterations; i++) {
        double seconds;
        if (!run_process(r, &seconds)) {
            reason_set(out_why, "%s", r->last.why);
            return false;
        }
        *out_seconds += seconds;
    }
    return true;
}

/* Checks the bits against the interpreter, and that only a process that
   compiles loads LLVM. */
static bool verify(runner *r, reason *out_why)
{
    const process_kind kind = r->e->kind;
    answer expected;
    double ignored;
    if (kind == PROCESS_WARM &&
        !run_child(PROCESS_COLD, r->e->dir.path, &expected, &ignored)) {
        reason_set(out_why, "%s", expected.why);
        return false;
    }
    if (!run_child(PROCESS_INTERP, r->e->dir.path, &expected, &ignored) ||
        !run_process(r, &ignored)) {
        reason_set(out_why, "%s%s", expected.why, r->last.why);
        return false;
    }
    if (kind != PROCESS_EMPTY && memcmp(r->last.result, expected.result,
                                        sizeof(expected.result)) != 0) {
        reason_set(out_why, "the bits differ from the interpreter's");
        return false;
    }
    /* A background compile may or may not have loaded it yet. */
    if (r->last.has_llvm != (kind == PROCESS_COLD) && kind != PROCESS_TIERS) {
        reason_set(out_why, "LLVM is %sloaded",
                   r->last.has_llvm ? "" : "not ");
        return false;
    }
    return true;
}

static bool has_backend(const bench_case *c, const case_size *size,
                        backend which)
{
    (void)size;
    static const backend backends[N_PROCESS_KINDS] = {
        [PROCESS_EMPTY] = BACKEND_C,
        [PROCESS_INTERP] = BACKEND_INTERP,
        [PROCESS_COLD] = BACKEND_JIT,
        [PROCESS_WARM] = BACKEND_JIT,
        [PROCESS_TIERS] = BACKEND_JIT,
    };
    return which == backends[((const process_case *)c->what)->kind];
}

static size_t resident(const runner *r)
{
    return r->last.resident_bytes;
}

const case_family process_family = {
    .has_backend = has_backend,
    .begin = begin,
    .end = end,
    .start = start,
    .stop = stop,
    .verify = verify,
    .run = run,
    .resident = resident,
};
