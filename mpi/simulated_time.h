/* SPDX-License-Identifier: MIT */
/*
 * simulated_time.h - computation in simulations (--with-mpi=smpi). SimGrid's
 * clock only advances by messages and by what a rank says that it computes. So
 * this library says it: whenever it gets control, the CPU time that the thread
 * has used since the library gave it back is added to the simulated time, for a
 * host as fast as this machine. With another MPI these functions do nothing.
 */
#ifndef TGI_MPI_SIMULATED_TIME_H
#define TGI_MPI_SIMULATED_TIME_H

#ifdef TGJIT_SMPI
#include <mpi.h>
#include <simgrid/host.h>
#include <smpi/smpi.h>
#include <time.h>

/* CPU seconds of this thread: SimGrid has one per rank. */
static inline double tgi_mpi_cpu_time(void)
{
    struct timespec t;
    (clock_gettime)(CLOCK_THREAD_CPUTIME_ID, &t); /* not the macro of smpicc */
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* The library gets control; *left is the time at which it gave it back. */
static inline void tgi_mpi_enter(const double *left)
{
    const double seconds = tgi_mpi_cpu_time() - *left;
    smpi_execute_flops(seconds * sg_host_get_speed(sg_host_self()));
}

static inline void tgi_mpi_leave(double *left)
{
    *left = tgi_mpi_cpu_time();
}
#else
static inline void tgi_mpi_enter(const double *left)
{
    (void)left;
}

static inline void tgi_mpi_leave(double *left)
{
    (void)left;
}
#endif

#endif /* TGI_MPI_SIMULATED_TIME_H */
