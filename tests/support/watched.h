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
 * OpenMP threads that wait for the next team would slow down the compiling
 * ones. The OpenMP run time reads its settings at start-up, so the program
 * executes itself again with another wait policy.
 */
static inline void wait_passively(char **argv)
{
    if (getenv("OMP_WAIT_POLICY"))
        return;
    setenv("OMP_WAIT_POLICY", "passive", 1);
    execv("/proc/self/exe", argv);
}

/* Loads the plugin once, before processes are forked. Prints its version, or
   why it is missing. */
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

/* The entry of the running program, and its number of calls. */
static tgi_entry *watched_entry;
static atomic_int watched_calls;

static inline void watch_entry(tgi_frame *frame, int64_t thread,
                               int64_t n_threads)
{
    atomic_fetch_add(&watched_calls, 1);
    watched_entry(frame, thread, n_threads);
}

/* Runs a program, timed if `is_profiled`; *out_team is the number of threads
   that took part, counted in the entry. */
static inline tg_status run_watched(tgi_program *program, tgi_native *native,
                                    bool is_profiled, int *out_team)
{
    watched_entry = program->entry;
    program->entry = watch_entry;
    atomic_store(&watched_calls, 0);
    uint32_t mode = tgi_fpenv_begin();
    tgi_profile_call call = {0};
    tg_status status = is_profiled
                           ? tgi_native_run_profiled(native, NULL, &call)
                           : tgi_native_run(native);
    tgi_fpenv_end(mode);
    program->entry = watched_entry;
    *out_team = atomic_load(&watched_calls);
    return status;
}

#endif /* TGI_TEST_WATCHED_H */
