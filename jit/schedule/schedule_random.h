/* SPDX-License-Identifier: MIT */
/*
 * schedule_random.h - random legal schedules, for tests: every schedule that
 * the verifier accepts must give the same bits.
 */
#ifndef TGI_SCHEDULE_RANDOM_H
#define TGI_SCHEDULE_RANDOM_H

#include "schedule/schedule.h"
#include "target/target.h"

/* Replaces the schedules of loops, chosen for a target, by random variations
   that verify. Fails with TG_ERROR_MEMORY. */
tg_status tgi_schedule_randomise(tgi_loops *loops, const tgi_target *target,
                                 uint64_t seed);

/* Variations of this process that the verifier accepted, and rejected. */
void tgi_schedule_random_counts(uint64_t *out_accepted, uint64_t *out_rejected);

#endif /* TGI_SCHEDULE_RANDOM_H */
