/* SPDX-License-Identifier: MIT */
/*
 * team.h - the threads that run compiled code: one team for each call, all of
 * it in the entry of one compiled function (entry_abi.h).
 *
 * Built without OpenMP every team has one thread.
 */
#ifndef TGI_TEAM_H
#define TGI_TEAM_H

#include "codegen/entry_abi.h"

/*
 * How many threads a team should have that is started here and now. At most
 * `wanted`; if that is 0, as many as OpenMP gives, but no more than there are
 * CPUs for this thread. 1 in a parallel region of the user's, or in a process
 * forked from one that has had several threads. At least 1. Thread-safe.
 */
int tgi_team_size(int wanted);

/*
 * Calls `entry` once on each thread of a team of at most `n_threads`, numbered
 * from 0, which is the caller; returns when all of them have. The floating-
 * point mode inside is ours (fpenv.h), provided that it is in the caller's
 * thread already. Sets what the frame says about the team. One thread means a
 * plain call. If the system refuses threads (RLIMIT_NPROC, pids.max, RLIMIT_AS)
 * the team has those there are. Thread-safe: each call has a team of its own.
 */
void tgi_team_run(tgi_entry *entry, tgi_frame *frame, int n_threads);

#endif /* TGI_TEAM_H */
