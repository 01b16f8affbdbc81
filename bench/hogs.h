/* SPDX-License-Identifier: MIT */
/*
 * hogs.h - a busy machine: one process per CPU that only computes. They exit on
 * hogs_stop, when this process ends for whatever reason, and after a minute.
 */
#ifndef BENCH_HOGS_H
#define BENCH_HOGS_H

#include "backend.h"

/* False, with the reason, if a process cannot be created; none remains then. */
bool hogs_start(reason *out_why);
void hogs_stop(void);

#endif /* BENCH_HOGS_H */
