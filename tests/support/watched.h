/* SPDX-License-Identifier: MIT */
/*
 * watched.h - for programs that run compiled code on teams: initialisation, and
 * a run that counts the threads that take part, so that a team of one is
 * noticed.
 */
#ifndef TGI_TEST_WATCHED_H
#define TGI_TEST_WATCHED_H

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fpenv.h"
#include "program.h"

/*
 * Threads of OpenMP that wait for the next team take the time of those that
 * compile. Libraries have read by now how to wait: begin once more.
 */
static inline void wait_passively(char **argv)
{
    if (getenv("OMP_WAIT_POLICY"))
        return;
    setenv("OMP_WAIT_POLICY", "passive", 1);
    execv("/proc/self/exe", argv);
}

/* Opens the module, once for all processes that will be forked. Says what it
   is, or why there is none. */
static inline bool can_compile(void)
{
    char text[512];
    bool can = tgi_jit_describe(text, sizeof(text));
    char *features = can ? strstr(text, ", +") : NULL;
    if (features)
        *features = 0; /* a long list */
    printf("%s\n", text);
    return can;
}

/* The entry of the program that is being run, and how often it was called. */
static tgi_entry *watched_entry;
static atomic_int watched_calls;

static inline void watch_entry(tgi_frame *frame, int64_t thread,
                               int64_t n_threads)
{
    atomic_fetch_add(&watched_calls, 1);
    watched_entry(frame, thread, n_threads);
}

/* Runs it; `out_team` is the number of threads that took part. Counted at the
   entry of the compiled code, not asked. */
static inline tg_status run_watched(tgi_program *program, tgi_native *native,
                                    int *out_team)
{
    watched_entry = program->entry;
    program->entry = watch_entry;
    atomic_store(&watched_calls, 0);
    uint32_t mode = tgi_fpenv_begin();
    tg_status status = tgi_native_run(native);
    tgi_fpenv_end(mode);
    program->entry = watched_entry;
    *out_team = atomic_load(&watched_calls);
    return status;
}

#endif /* TGI_TEST_WATCHED_H */
