/* SPDX-License-Identifier: MIT */
/* openmp.c - see openmp.h. The only file that uses OpenMP. */
#include "run/openmp.h"

#include <stdint.h>
#include <stdlib.h>
#include <strings.h>

#ifdef _OPENMP

#include <omp.h>

bool tgi_openmp_is_in_region(void)
{
    return omp_in_parallel();
}

bool tgi_openmp_allows_teams(void)
{
    return omp_get_active_level() < omp_get_max_active_levels();
}

int tgi_openmp_max_threads(void)
{
    return omp_get_max_threads();
}

int tgi_openmp_thread_limit(void)
{
    return omp_get_thread_limit();
}

bool tgi_openmp_is_dynamic(void)
{
    return omp_get_dynamic();
}

int tgi_openmp_n_cpus(void)
{
    return omp_get_num_procs();
}

bool tgi_openmp_binds_threads(void)
{
    return omp_get_proc_bind() != omp_proc_bind_false;
}

size_t tgi_openmp_place(int thread, int n_threads, int *out_cpus,
                        size_t capacity)
{
    const int n_places = omp_get_num_places(), first = omp_get_place_num();
    const omp_proc_bind_t bind = omp_get_proc_bind();
    if (n_places < 1 || first < 0)
        return 0;
    int distance = 0; /* from the place of this thread */
    if (bind == omp_proc_bind_spread || n_threads > n_places)
        distance = (int)((int64_t)thread * n_places / n_threads);
    else
        distance = thread;
    if (bind == omp_proc_bind_master)
        distance = 0;
    const int place = (first + distance) % n_places;
    const int n = omp_get_place_num_procs(place);
    if (n < 1 || (size_t)n > capacity)
        return 0;
    omp_get_place_proc_ids(place, out_cpus);
    return (size_t)n;
}

#else /* no OpenMP */

bool tgi_openmp_is_in_region(void)
{
    return false;
}

bool tgi_openmp_allows_teams(void)
{
    return false;
}

int tgi_openmp_max_threads(void)
{
    return 1;
}

int tgi_openmp_thread_limit(void)
{
    return 1;
}

bool tgi_openmp_is_dynamic(void)
{
    return false;
}

int tgi_openmp_n_cpus(void)
{
    return 1;
}

bool tgi_openmp_binds_threads(void)
{
    return false;
}

size_t tgi_openmp_place(int thread, int n_threads, int *out_cpus,
                        size_t capacity)
{
    (void)thread;
    (void)n_threads;
    (void)out_cpus;
    (void)capacity;
    return 0;
}

#endif

/* In KiB, or with a unit. */
size_t tgi_openmp_stack_bytes(void)
{
    const char *text = getenv("OMP_STACKSIZE");
    if (!text)
        text = getenv("GOMP_STACKSIZE");
    char *end;
    const unsigned long number = text ? strtoul(text, &end, 10) : 0;
    if (number == 0)
        return 0;
    while (*end == ' ')
        end++;
    const int shift = *end == 'b' || *end == 'B'   ? 0
                      : *end == 'm' || *end == 'M' ? 20
                      : *end == 'g' || *end == 'G' ? 30
                                                   : 10;
    return number > SIZE_MAX >> shift ? 0 : (size_t)number << shift;
}

bool tgi_openmp_waits_passively(void)
{
    const char *text = getenv("OMP_WAIT_POLICY");
    return text && strcasecmp(text, "passive") == 0;
}
