/* SPDX-License-Identifier: MIT */
/*
 * openmp.h - what OpenMP's environment variables and functions say about
 * teams. Threads are our own (team.c), but a program that limits or binds those
 * of OpenMP means ours too, and its own parallel regions occupy CPUs.
 *
 * Without OpenMP, every team has one thread.
 */
#ifndef TGI_OPENMP_H
#define TGI_OPENMP_H

#include <stdbool.h>
#include <stddef.h>

/* True inside an active parallel region of the program. */
bool tgi_openmp_is_in_region(void);

/* True if this thread may start a parallel region of several threads
   (OMP_MAX_ACTIVE_LEVELS). */
bool tgi_openmp_allows_teams(void);

/* OMP_NUM_THREADS, OMP_THREAD_LIMIT, OMP_DYNAMIC. */
int tgi_openmp_max_threads(void);
int tgi_openmp_thread_limit(void);
bool tgi_openmp_is_dynamic(void);

/* The CPUs of the process, and whether OpenMP binds threads to places
   (OMP_PROC_BIND, OMP_PLACES). */
int tgi_openmp_n_cpus(void);
bool tgi_openmp_binds_threads(void);

/* The CPUs of the place of a thread of a team of n_threads that this thread
   starts: sets at most `capacity` numbers, returns how many there are. */
size_t tgi_openmp_place(int thread, int n_threads, int *out_cpus,
                        size_t capacity);

/* The stack size of threads (OMP_STACKSIZE) in bytes; 0: the default. */
size_t tgi_openmp_stack_bytes(void);

/* OMP_WAIT_POLICY: waiting threads should not spin. */
bool tgi_openmp_waits_passively(void);

#endif /* TGI_OPENMP_H */
