/* SPDX-License-Identifier: MIT */
/*
 * team_places.c - OpenMP's environment variables and teams: where workers run
 * (OMP_PROC_BIND, OMP_PLACES) and how many there are. libgomp reads them when a
 * process starts, so the program executes itself with each environment.
 */
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "run/team.h"

enum { MAX_THREADS = 4, WATCHDOG_SECONDS = 60 };

typedef struct places {
    int n_threads;
    int n_cpus[MAX_THREADS]; /* of each thread's mask */
    int first_cpu[MAX_THREADS];
} places;

static void entry(tgi_frame *frame, int64_t thread, int64_t n_threads)
{
    places *p = frame->user;
    cpu_set_t mask;
    if (thread == 0)
        p->n_threads = (int)n_threads;
    if (sched_getaffinity(0, sizeof(mask), &mask) != 0)
        return;
    p->n_cpus[thread] = CPU_COUNT(&mask);
    for (int cpu = 0; cpu < CPU_SETSIZE && p->first_cpu[thread] < 0; cpu++)
        if (CPU_ISSET(cpu, &mask))
            p->first_cpu[thread] = cpu;
    frame->barrier(frame);
}

static places run(int n_threads)
{
    places p = {.first_cpu = {-1, -1, -1, -1}};
    tgi_frame frame = {.user = &p};
    tgi_team_run(entry, &frame, tgi_team_size(n_threads));
    return p;
}

/* -- Expectations, each in a process of its own ---------------------------- */

static bool threads_are_unbound(int n_cpus)
{
    const places p = run(2);
    return p.n_threads == 2 && p.n_cpus[0] == n_cpus && p.n_cpus[1] == n_cpus;
}

static bool threads_are_apart(int n_cpus)
{
    const places p = run(2);
    (void)n_cpus;
    return p.n_threads == 2 && p.n_cpus[0] == 1 && p.n_cpus[1] == 1 &&
           p.first_cpu[0] != p.first_cpu[1];
}

static bool threads_are_together(int n_cpus)
{
    const places p = run(2);
    (void)n_cpus;
    return p.n_threads == 2 && p.n_cpus[0] == 1 && p.n_cpus[1] == 1 &&
           p.first_cpu[0] == p.first_cpu[1];
}

/* With more threads than places, each place has some of them. */
static bool places_are_shared(int n_cpus)
{
    const places p = run(4);
    if (n_cpus != 2)
        return p.n_threads == 4;
    return p.n_threads == 4 && p.first_cpu[0] == p.first_cpu[1] &&
           p.first_cpu[2] == p.first_cpu[3] && p.first_cpu[0] != p.first_cpu[2];
}

static bool teams_have_one_thread(int n_cpus)
{
    (void)n_cpus;
    return tgi_team_size(0) == 1;
}

static bool teams_have_two_threads_at_most(int n_cpus)
{
    (void)n_cpus;
    return tgi_team_size(4) == 2 && run(4).n_threads == 2;
}

static bool teams_have_a_thread_per_cpu_at_most(int n_cpus)
{
    return tgi_team_size(4) == (n_cpus < 4 ? n_cpus : 4);
}

static bool run_alone(int n_cpus)
{
    places p = {.first_cpu = {-1, -1, -1, -1}};
    tgi_frame frame = {.user = &p};
    (void)n_cpus;
    tgi_team_run(entry, &frame, 2);
    return p.n_threads == 1;
}

static const struct expectation {
    const char *environment[2];
    bool (*holds)(int n_cpus);
} expectations[] = {
    {{"OMP_PROC_BIND=false"}, threads_are_unbound},
    {{"OMP_PROC_BIND=close", "OMP_PLACES=threads"}, threads_are_apart},
    {{"OMP_PROC_BIND=spread", "OMP_PLACES=threads"}, threads_are_apart},
    {{"OMP_PROC_BIND=true", "OMP_PLACES=threads"}, threads_are_apart},
    {{"OMP_PROC_BIND=master", "OMP_PLACES=threads"}, threads_are_together},
    {{"OMP_PROC_BIND=close", "OMP_PLACES=threads"}, places_are_shared},
    {{"OMP_WAIT_POLICY=passive"}, threads_are_unbound},
    {{"OMP_STACKSIZE=256K"}, threads_are_unbound},
    {{"OMP_NUM_THREADS=1"}, teams_have_one_thread},
    {{"OMP_THREAD_LIMIT=2"}, teams_have_two_threads_at_most},
    {{"OMP_DYNAMIC=true"}, teams_have_a_thread_per_cpu_at_most},
    {{"OMP_MAX_ACTIVE_LEVELS=0"}, run_alone},
};
enum { EXPECTATIONS = sizeof(expectations) / sizeof(*expectations) };

static int count_cpus(void)
{
    cpu_set_t mask;
    return sched_getaffinity(0, sizeof(mask), &mask) == 0 ? CPU_COUNT(&mask)
                                                          : 0;
}

/* True if expectation i holds in its environment. */
static bool check(const char *program, int i, int n_cpus)
{
    int status = -1;
    const pid_t child = fork();
    if (child == 0) {
        char number[16], cpus[16];
        static const char *const names[] = {
            "OMP_PROC_BIND", "OMP_PLACES",        "OMP_WAIT_POLICY",
            "OMP_STACKSIZE", "OMP_NUM_THREADS",   "OMP_THREAD_LIMIT",
            "OMP_DYNAMIC",   "GOMP_CPU_AFFINITY", "OMP_MAX_ACTIVE_LEVELS"};
        for (size_t k = 0; k < sizeof(names) / sizeof(*names); k++)
            unsetenv(names[k]);
        for (int k = 0; k < 2 && expectations[i].environment[k]; k++)
            putenv((char *)(uintptr_t)expectations[i].environment[k]);
        snprintf(number, sizeof(number), "%d", i);
        snprintf(cpus, sizeof(cpus), "%d", n_cpus);
        execl(program, program, number, cpus, (char *)NULL);
        _exit(1);
    }
    return child > 0 && waitpid(child, &status, 0) == child && status == 0;
}

int main(int argc, char **argv)
{
    alarm(WATCHDOG_SECONDS);
    if (argc == 3) {
        const int i = atoi(argv[1]);
        return i < 0 || i >= EXPECTATIONS ||
               !expectations[i].holds(atoi(argv[2]));
    }
    const int n_cpus = count_cpus();
    int n_failed = 0;
    if (n_cpus < 2 || run(2).n_threads < 2) {
        printf("this needs two CPUs and OpenMP\n");
        return 77;
    }
    for (int i = 0; i < EXPECTATIONS; i++)
        if (!check("/proc/self/exe", i, n_cpus)) {
            const char *second = expectations[i].environment[1];
            printf("failed: %s %s (%d)\n", expectations[i].environment[0],
                   second ? second : "", i);
            n_failed++;
        }
    printf("%d passed, %d failed\n", EXPECTATIONS - n_failed, n_failed);
    return n_failed != 0;
}
