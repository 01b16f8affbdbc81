/* SPDX-License-Identifier: MIT */
/* workers.c - see workers.h. */
#include "support/workers.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

/* Shared between a worker and its parent, followed by the tally. */
typedef struct worker {
    uint64_t n_passed;
    uint64_t current; /* the case being checked */
    _Alignas(max_align_t) char tally[];
} worker;

typedef struct run {
    const workers *of;
    char *shared;
    size_t stride;                 /* bytes between the records of two
                                      workers */
    pid_t processes[WORKERS_MAX];  /* 0: has exited */
} run;

static worker *worker_at(const run *r, int i)
{
    return (worker *)(r->shared + (size_t)i * r->stride);
}

int workers_default_jobs(void)
{
    long n = sysconf(_SC_NPROCESSORS_ONLN);
    return n < 1 ? 1 : n < WORKERS_MAX ? (int)n : WORKERS_MAX;
}

/* -- Time limit ------------------------------------------------------------ */

static volatile sig_atomic_t n_seconds_left;

static void tick(int number)
{
    if (--n_seconds_left > 0)
        return;
    signal(number, SIG_DFL);
    raise(number);
}

void workers_limit_time(unsigned seconds)
{
    const struct itimerval every_second = {{1, 0}, {1, 0}};
    struct sigaction action = {.sa_handler = tick, .sa_flags = SA_RESTART};
    n_seconds_left = (sig_atomic_t)seconds;
    sigaction(SIGALRM, &action, NULL);
    setitimer(ITIMER_REAL, &every_second, NULL);
}

/* -- Workers --------------------------------------------------------------- */

/* Checks cases from `first` on; does not return. Exits at the first failure,
   with that case in `current`. */
static void work(const workers *of, uint64_t first, worker *w)
{
    for (uint64_t k = first; k < of->count; k += (uint64_t)of->n_jobs) {
        w->current = k;
        workers_limit_time(of->seconds);
        if (!of->check(of->user, k, w->tally))
            _exit(EXIT_FAILURE);
        w->n_passed++;
    }
    w->current = of->count;
    exit(EXIT_SUCCESS); /* checks at exit, such as for leaks, count */
}

static void start(run *r, uint64_t first, int i)
{
    if (first >= r->of->count)
        return;
    fflush(stdout);
    r->processes[i] = fork();
    if (r->processes[i] == 0)
        work(r->of, first, worker_at(r, i));
    if (r->processes[i] < 0)
        abort();
}

/* The worker that has exited, with its status; -1: none is left. */
static int wait_for_one(run *r, int *out_status)
{
    pid_t process = waitpid(-1, out_status, 0);
    for (int i = 0; process > 0 && i < r->of->n_jobs; i++)
        if (r->processes[i] == process) {
            r->processes[i] = 0;
            return i;
        }
    return -1;
}

static void stop(run *r)
{
    for (int i = 0; i < r->of->n_jobs; i++)
        if (r->processes[i] > 0) {
            kill(r->processes[i], SIGKILL);
            waitpid(r->processes[i], NULL, 0);
        }
}

void workers_run(const workers *of, void *sum, uint64_t *n_passed,
                 uint64_t *n_failed)
{
    const size_t align = _Alignof(max_align_t);
    const int n = of->n_jobs;
    int status = 0;
    run r = {.of = of,
             .stride = (sizeof(worker) + of->tally_bytes + align - 1) / align *
                       align};
    const size_t bytes = (size_t)n * r.stride;
    r.shared = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
                    MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (r.shared == MAP_FAILED)
        abort();
    for (int i = 0; i < n; i++)
        start(&r, (uint64_t)i, i);
    for (int i; (i = wait_for_one(&r, &status)) >= 0;) {
        if (status == 0)
            continue;
        const uint64_t k = worker_at(&r, i)->current;
        const bool goes_on = ++*n_failed < of->max_failures;
        if (goes_on)
            start(&r, k + (uint64_t)n, i);
        of->report(of->user, k, status);
        if (!goes_on)
            break;
    }
    stop(&r);
    for (int i = 0; i < n; i++) {
        of->add(sum, worker_at(&r, i)->tally);
        *n_passed += worker_at(&r, i)->n_passed;
    }
    munmap(r.shared, bytes);
}
