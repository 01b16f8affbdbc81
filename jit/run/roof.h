/* SPDX-License-Identifier: MIT */
/*
 * roof.h - what this machine can do, measured: operations per second and bytes
 * per second from each level of the memory. Reports of profiles compare kernels
 * with it (the roofline model).
 */
#ifndef TGI_ROOF_H
#define TGI_ROOF_H

#include <stdint.h>

enum { TGI_ROOF_LEVELS = 4, TGI_ROOF_TEAMS = 2 };

/* Of a team of n_threads. */
typedef struct tgi_roof_team {
    int n_threads;
    double flops;                       /* f32, per second, by fma */
    double bandwidth[TGI_ROOF_LEVELS]; /* bytes loaded and stored per second */
} tgi_roof_team;

typedef struct tgi_roof {
    /* Bytes that each thread works on, ascending. */
    double level_bytes[TGI_ROOF_LEVELS];
    tgi_roof_team teams[TGI_ROOF_TEAMS]; /* one thread; all threads */
} tgi_roof;

/* Measured on the first call, which takes about 0.2 s; then remembered. All
   zeros if there is no memory for it this time. Thread-safe. */
const tgi_roof *tgi_roof_get(void);

/* The time, in seconds, that the machine needs at least for a kernel that does
   so much work on so many threads. */
double tgi_roof_seconds(const tgi_roof *roof, int n_threads, double bytes,
                        double flops, unsigned element_bytes);

#endif /* TGI_ROOF_H */
