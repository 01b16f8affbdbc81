/* SPDX-License-Identifier: MIT */
/*
 * team.h - the threads that execute one call: every thread of a team runs the
 * entry of the program (entry_abi.h).
 *
 * Without OpenMP, every team has one thread.
 */
#ifndef TGI_TEAM_H
#define TGI_TEAM_H

#include "codegen/entry_abi.h"

/*
 * The size of a team started now by this thread: at most `wanted`, or, if that
 * is 0, the number of threads of OpenMP, at most the CPUs available to this
 * thread. 1 inside a parallel region, and in a process forked from one that has
 * had several threads. At least 1. Thread-safe.
 */
int tgi_team_size(int wanted);

/*
 * Calls `entry` once on each thread of a team of at most n_threads; thread 0 is
 * the caller. Returns when all have returned. Helper threads run with our
 * floating-point mode (fpenv.h), which the caller must have set for itself.
 * Sets frame->barrier and frame->team. If the system refuses threads
 * (RLIMIT_NPROC, pids.max, RLIMIT_AS), the team is smaller. Thread-safe: each
 * call has its own team.
 */
void tgi_team_run(tgi_entry *entry, tgi_frame *frame, int n_threads);

/* Preemptions of the team of this thread, noticed so far: times that one of its
   threads had lost its CPU to another thread since its last wait that timed
   out. */
uint32_t tgi_team_preemptions(void);

#endif /* TGI_TEAM_H */
