/* SPDX-License-Identifier: MIT */
/* calibrate.h - tgjit-bench --calibrate. */
#ifndef BENCH_CALIBRATE_H
#define BENCH_CALIBRATE_H

/* Measures this machine, prints and keeps what was found. Returns the exit
   status: failure unless it could be kept. */
int calibrate_machine(void);

#endif /* BENCH_CALIBRATE_H */
