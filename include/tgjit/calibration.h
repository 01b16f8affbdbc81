/* SPDX-License-Identifier: MIT */
/*
 * calibration.h - measuring the machine. Schedules are estimated from facts
 * about the CPU: the sizes of its caches, the width of its registers, the cost
 * of starting threads. What the system reports of them is often wrong in a
 * virtual machine. A calibration measures them, once for all programs that use
 * the cache directory: tgjit-bench --calibrate. It never changes a result bit.
 */
#ifndef TGJIT_CALIBRATION_H
#define TGJIT_CALIBRATION_H

#include "base.h"

TG_BEGIN_DECLS

/* A member that could not be measured is 0. */
typedef struct tg_calibration {
    size_t struct_bytes; /* sizeof(tg_calibration) */

    /* Bits of the widest registers that are worth it, where the CPU has 512:
       256 or 512. */
    int64_t vector_bits;
    int64_t wide_percent; /* operations per second with 512 bits, in per cent of
                             those with 256 */
    int64_t l2_bytes;     /* that a core finds in its level-2 cache */
    /* Size of a result from which non-temporal stores pay; INT64_MAX: they
       never did. */
    int64_t non_temporal_bytes;
    int64_t team_ns;    /* to start the threads of a call and wait for them */
    int64_t barrier_ns; /* of a barrier */
    /* Megabytes loaded and stored per second, by one thread and by all. */
    int64_t l2_bandwidth, l2_bandwidth_team;
    int64_t memory_bandwidth, memory_bandwidth_team;

    int64_t is_saved; /* 1: the disk cache has it now */
    int64_t threads;  /* all that a call can have */
} tg_calibration;

#define TG_CALIBRATION_INIT TG_OPTIONS_INIT(tg_calibration)

/*
 * Measures this machine on the calling thread and those of calls, which takes
 * about a second; meanwhile other work disturbs the result. Functions of `ctx`
 * that are compiled from now on use it, and so do contexts that are created
 * later with the same cache directory, unless their option `calibration` is
 * "off". Code that is cached stays valid. `out_calibration` may be NULL.
 */
TG_API tg_status tg_calibrate(tg_context *ctx, tg_calibration *out_calibration);

TG_END_DECLS

#endif /* TGJIT_CALIBRATION_H */
