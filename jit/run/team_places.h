/* SPDX-License-Identifier: MIT */
/*
 * team_places.h - the CPUs on which the threads of a team run.
 *
 * Unless OpenMP binds them, workers may run on all CPUs of their owner, and the
 * system chooses. Linux wakes a thread from a futex preferably where its waker
 * runs, and a team that sleeps and wakes many times per scheduler tick does not
 * look like two runnable threads to the load balancer. So two threads of a team
 * can share one CPU for seconds while another is idle: calls on two threads
 * take as long as on one. After any thread of a team has slept, a worker that
 * finds itself where another thread of its team runs therefore moves to a CPU
 * without one.
 */
#ifndef TGI_TEAM_PLACES_H
#define TGI_TEAM_PLACES_H

#include <stdbool.h>

#include "run/team_workers.h"

/* Sets the CPUs of all workers; by the owner. */
void tgi_team_place(struct tgi_team *team);

/* The owner has been bound to other CPUs since tgi_team_place. */
bool tgi_team_has_moved(const struct tgi_team *team);

/* At the beginning of a call and after a wait that timed out, by the owner. */
static inline void tgi_team_note_owner(struct tgi_team *team)
{
#ifdef CPU_COUNT
    atomic_store_explicit(&team->owner_cpu, sched_getcpu(),
                          memory_order_relaxed);
#else
    (void)team;
#endif
}

/* Moves this worker from the CPU of a thread with a lower number, if there is a
   CPU without a thread. True if it was there. */
bool tgi_team_separate(struct tgi_team *team, tgi_worker *self);

#endif /* TGI_TEAM_PLACES_H */
