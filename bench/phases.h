/* SPDX-License-Identifier: MIT */
/*
 * phases.h - the time of each phase of compiling, from the profile of the
 * library.
 */
#ifndef BENCH_PHASES_H
#define BENCH_PHASES_H

#include "measure.h"

/* Reads the profile, in which one function was called; leaves the phases
   unchanged if that fails. */
void profile_phases(double out_seconds[N_ROW_PHASES]);

#endif /* BENCH_PHASES_H */
