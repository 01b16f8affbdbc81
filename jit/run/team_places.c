/* SPDX-License-Identifier: MIT */
/* team_places.c - see team_places.h. */
#include "run/team_places.h"

#include <pthread.h>
#include <sched.h>
#include <stddef.h>

#include "run/openmp.h"

#ifdef CPU_COUNT

/* Held while masks of workers change, by their owner or by themselves. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* Workers run where OpenMP would bind its threads, or else on the CPUs of their
   owner. */
void tgi_team_place(struct tgi_team *team)
{
    enum { MAX_CPUS = CPU_SETSIZE };
    cpu_set_t mask;
    if (sched_getaffinity(0, sizeof(mask), &mask) != 0)
        return; /* more CPUs than a cpu_set_t holds */
    const bool is_bound = tgi_openmp_binds_threads();
    team->mask = mask;
    pthread_mutex_lock(&lock);
    for (tgi_worker *w = team->first; w; w = w->next) {
        int cpus[MAX_CPUS];
        const size_t n = is_bound
                             ? tgi_openmp_place(w->number, team->n_workers + 1,
                                                cpus, MAX_CPUS)
                             : 0;
        if (n)
            CPU_ZERO(&mask);
        for (size_t i = 0; i < n; i++)
            if (cpus[i] >= 0 && cpus[i] < CPU_SETSIZE)
                CPU_SET(cpus[i], &mask);
        (void)pthread_setaffinity_np(w->thread, sizeof(mask), &mask);
    }
    pthread_mutex_unlock(&lock);
}

bool tgi_team_has_moved(const struct tgi_team *team)
{
    cpu_set_t mask;
    return sched_getaffinity(0, sizeof(mask), &mask) == 0 &&
           !CPU_EQUAL(&mask, &team->mask);
}

/* -- Separation ------------------------------------------------------------ */

static int cpu_of(const _Atomic int *cpu)
{
    return atomic_load_explicit(cpu, memory_order_relaxed);
}

/* A thread with a lower number runs on that CPU. */
static bool shares_cpu(const struct tgi_team *team, const tgi_worker *self,
                       int own_cpu)
{
    bool is_shared = cpu_of(&team->owner_cpu) == own_cpu;
    for (const tgi_worker *w = team->first; w != self; w = w->next)
        is_shared = is_shared || cpu_of(&w->cpu) == own_cpu;
    return is_shared;
}

static void remove_cpu(cpu_set_t *set, int cpu)
{
    if (cpu >= 0)
        CPU_CLR(cpu, set);
}

static void remove_others(const struct tgi_team *team, const tgi_worker *self,
                          cpu_set_t *set)
{
    remove_cpu(set, cpu_of(&team->owner_cpu));
    for (const tgi_worker *w = team->first; w; w = w->next)
        if (w != self)
            remove_cpu(set, cpu_of(&w->cpu));
}

/* The system has to move a thread from a CPU that its mask excludes. It stays
   where it goes when the mask is what it was. */
static void leave_cpus_of_others(const struct tgi_team *team,
                                 const tgi_worker *self)
{
    cpu_set_t mask, free_cpus;
    pthread_mutex_lock(&lock);
    if (sched_getaffinity(0, sizeof(mask), &mask) == 0) {
        free_cpus = mask;
        remove_others(team, self, &free_cpus);
        if (CPU_COUNT(&free_cpus) > 0 &&
            sched_setaffinity(0, sizeof(free_cpus), &free_cpus) == 0)
            (void)sched_setaffinity(0, sizeof(mask), &mask);
    }
    pthread_mutex_unlock(&lock);
}

/* No worker is added meanwhile: the call that woke the thread waits for it. */
bool tgi_team_separate(struct tgi_team *team, tgi_worker *self)
{
    const int own_cpu = sched_getcpu();
    const bool is_shared = own_cpu >= 0 && !team->is_crowded &&
                           shares_cpu(team, self, own_cpu);
    if (is_shared)
        leave_cpus_of_others(team, self);
    atomic_store_explicit(&self->cpu, sched_getcpu(), memory_order_relaxed);
    return is_shared;
}

#else

void tgi_team_place(struct tgi_team *team)
{
    (void)team;
}

bool tgi_team_has_moved(const struct tgi_team *team)
{
    (void)team;
    return false;
}

bool tgi_team_separate(struct tgi_team *team, tgi_worker *self)
{
    (void)team;
    (void)self;
    return false;
}

#endif
