/* SPDX-License-Identifier: MIT */
/*
 * host_calibration.h - what was measured of this machine, for estimated schedules:
 * jit/run/calibrate.c measures it, the disk cache keeps it. Without it, targets
 * have the sizes that the system reports, and safe assumptions.
 *
 * It reaches the code only through schedules, which are part of the key of a
 * compile: a new calibration invalidates exactly the code that it changes.
 */
#ifndef TGI_HOST_CALIBRATION_H
#define TGI_HOST_CALIBRATION_H

#include "base/strbuf.h"
#include "target/target.h"

/* CALIBRATED(member, minimum, maximum): plausible values, or 0 if it was not
   measured. */
#define TGI_CALIBRATED(CALIBRATED) \
    /* Registers of that width are worth it; narrower ones always are. */ \
    CALIBRATED(vector_bits, 128, 512) \
    /* Bytes that a core finds in its L2. */ \
    CALIBRATED(l2_bytes, 128 << 10, 16 << 20) \
    /* Bytes of a result from which non-temporal stores pay; INT64_MAX: they \
       never did. */ \
    CALIBRATED(non_temporal_bytes, 256 << 10, INT64_MAX) \
    /* Nanoseconds to start a team of all threads and wait for it, and of a \
       barrier. */ \
    CALIBRATED(team_ns, 1, 1000000) \
    CALIBRATED(barrier_ns, 1, 1000000) \
    /* Per cent: operations per second with 512 bits, of those with 256. */ \
    CALIBRATED(wide_percent, 1, 1000) \
    /* Megabytes per second loaded and stored, by one thread and by all: from \
       L2 and from memory. */ \
    CALIBRATED(l2_bandwidth, 1, 100000000) \
    CALIBRATED(l2_bandwidth_team, 1, 1000000000) \
    CALIBRATED(memory_bandwidth, 1, 100000000) \
    CALIBRATED(memory_bandwidth_team, 1, 1000000000)

#define TGI_CALIBRATED_MEMBER(member, min, max) int64_t member;
typedef struct tgi_calibration {
    TGI_CALIBRATED(TGI_CALIBRATED_MEMBER)
} tgi_calibration;

/* The name of this machine, which is the key of its calibration: another
   processor, number of CPUs or size of caches is another machine. */
void tgi_calibration_key(int n_cpus, tgi_strbuf *out);

/* As text; and from arbitrary bytes: false, with all zero, if they are not that
   of a plausible calibration. */
void tgi_calibration_print(const tgi_calibration *calibration, tgi_strbuf *out);
bool tgi_calibration_parse(const void *text, size_t n,
                           tgi_calibration *out_calibration);

/* Replaces assumptions of a target of this machine. Keeps a width that was
   asked for. */
void tgi_calibration_apply(const tgi_calibration *calibration,
                           tgi_target *target);

/* Work, in picoseconds, that justifies one more thread; 0 if unknown. */
int64_t tgi_calibration_grain(const tgi_calibration *calibration);

#endif /* TGI_HOST_CALIBRATION_H */
