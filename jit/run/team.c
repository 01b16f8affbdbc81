/* SPDX-License-Identifier: MIT */
/*
 * team.c - teams of threads. The one file that knows OpenMP.
 *
 * OpenMP makes and keeps the threads: one parallel region is one call of a
 * compiled function. The barriers in it are our own, twice as fast as those
 * of OpenMP, whether the team fits the CPUs or not. Nanoseconds a barrier on
 * 2 CPUs, best of many rounds (for 2 threads in a good and in a bad hour):
 *
 *     threads    libgomp     libomp    this one   spinning only
 *           2   255, 420   226, 500     80, 240         89, 242
 *           3      11600       5100        3000
 *           7      34000      23000       13500        12000000
 *
 * Nothing here starts a thread before the first team of two.
 *
 * libgomp ends the process if it cannot start a thread, and so do others. So
 * it is asked for more threads than it keeps only after as many, and some to
 * spare, were alive at once (helper_threads.h). If that fails, the threads that
 * could be started are the team of that call. There remain
 *
 *   - other programs of the user's, or other threads of this one, that take
 *     more than SPARE threads in the microseconds between trial and region;
 *   - regions of the program's own, and OMP_DYNAMIC, that have had libgomp
 *     end threads since our last team, and a limit that was reached since;
 *   - a limit lowered within the second for which a trial is trusted.
 */
#include "run/team.h"

#ifdef _OPENMP

#include "base/fpenv.h"

#include <assert.h>
#include <omp.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <time.h>

#if __has_include(<sys/single_threaded.h>)
#include <sys/single_threaded.h>
#endif

#include "run/helper_threads.h"

/* -- Forked processes ------------------------------------------------------ */

/*
 * libgomp believes after a fork that its threads are still there and waits for
 * them for ever. Whose they were does not matter: the user may have opened
 * regions of their own. So a child of a process that had threads stays serial;
 * one of a process that never had any is as good as its parent.
 */
static atomic_bool had_threads, is_serial;

static void before_fork(void)
{
#if __has_include(<sys/single_threaded.h>)
    atomic_store(&had_threads, !__libc_single_threaded);
#else
    atomic_store(&had_threads, true);
#endif
}

static void in_child(void)
{
    if (atomic_load(&had_threads))
        atomic_store(&is_serial, true);
}

static bool must_be_serial(void)
{
    return atomic_load_explicit(&is_serial, memory_order_relaxed);
}

/* At load time: the first call may come after the fork. */
__attribute__((constructor)) static void watch_forks(void)
{
    if (pthread_atfork(before_fork, NULL, in_child) != 0)
        atomic_store(&is_serial, true);
}

/* -- How many threads ------------------------------------------------------ */

/* More than this are of no use without the CPUs for them. */
enum { MOST_THREADS = 256 };

/* In a team that OpenMP does not know. */
static _Thread_local bool is_helping;

/*
 * The CPUs this thread may use, as they were when it first asked. A thread
 * which OpenMP has bound (OMP_PROC_BIND) is alone on one of its CPUs and says
 * nothing about the others of a team; one that the user has bound would share
 * its CPU with its whole team.
 */
static int cpus_here(void)
{
    static _Thread_local int n_cpus;
    if (n_cpus != 0)
        return n_cpus;
    n_cpus = omp_get_num_procs();
#ifdef CPU_COUNT
    cpu_set_t mask;
    if (omp_get_proc_bind() == omp_proc_bind_false &&
        sched_getaffinity(0, sizeof(mask), &mask) == 0 &&
        CPU_COUNT(&mask) < n_cpus)
        n_cpus = CPU_COUNT(&mask);
#endif
    if (n_cpus < 1)
        n_cpus = 1;
    return n_cpus;
}

static int min_int(int a, int b)
{
    return a < b ? a : b;
}

int tgi_team_size(int wanted)
{
    assert(wanted >= 0);
    if (wanted == 1 || must_be_serial() || omp_in_parallel() || is_helping)
        return 1;
    const int n_cpus = cpus_here();
    if (wanted == 0)
        wanted = min_int(omp_get_max_threads(), n_cpus);
    else if (wanted > n_cpus)
        wanted = min_int(wanted, n_cpus > MOST_THREADS ? n_cpus : MOST_THREADS);
    return min_int(wanted, omp_get_thread_limit());
}

/* -- The barrier ----------------------------------------------------------- */

/*
 * How long a thread waits in which way: it spins if all threads are likely to
 * run, then lets others run, and naps if it is long: others may be at a host's
 * step, which takes the time it takes. Spinning is some 30 us, yielding some
 * milliseconds; so a nap adds little to what has been waited already.
 */
enum {
    SPINS = 2000,
    SPINS_IF_CROWDED = 16,
    YIELDS = 10000,
    NAP_NANOSECONDS = 50000
};

enum { LINE_BYTES = 64 }; /* of the cache */

/* On the stack of the caller. Those who wait look at `n_passed` alone: those
   who arrive do not take its cache line away from them. */
struct tgi_team {
    _Alignas(LINE_BYTES) _Atomic uint32_t n_arrived; /* at the next barrier */
    _Alignas(LINE_BYTES) _Atomic uint32_t n_passed;  /* barriers, modulo 2^32 */
    uint32_t n_spins;
    int n_threads; /* 0: OpenMP knows */
};

static void relax_cpu(void)
{
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("isb");
#endif
}

/* Returns when more than `n_passed` barriers are passed. */
static void wait_for_others(const struct tgi_team *team, uint32_t n_passed)
{
    for (uint32_t n_looks = 0;
         atomic_load_explicit(&team->n_passed, memory_order_acquire) ==
         n_passed;
         n_looks++) {
        if (n_looks < team->n_spins)
            relax_cpu();
        else if (n_looks < team->n_spins + YIELDS)
            sched_yield();
        else
            nanosleep(&(struct timespec){.tv_nsec = NAP_NANOSECONDS}, NULL);
    }
}

static void barrier(tgi_frame *frame)
{
    struct tgi_team *team = frame->team;
    /* Cannot change before this thread has arrived too. */
    const uint32_t n_passed =
        atomic_load_explicit(&team->n_passed, memory_order_relaxed);
    const uint32_t n_before =
        atomic_fetch_add_explicit(&team->n_arrived, 1, memory_order_acq_rel);
    const int n_threads =
        team->n_threads ? team->n_threads : omp_get_num_threads();
    if (n_before + 1 < (uint32_t)n_threads) {
        wait_for_others(team, n_passed);
    } else {
        /* The next barrier begins when the others see this one passed. */
        atomic_store_explicit(&team->n_arrived, 0, memory_order_relaxed);
        atomic_store_explicit(&team->n_passed, n_passed + 1,
                              memory_order_release);
    }
}

/* -- The region ------------------------------------------------------------ */

static void run_part(tgi_entry *entry, tgi_frame *frame, int thread,
                     int n_threads)
{
    const uint32_t saved = tgi_fpenv_begin();
    entry(frame, thread, n_threads);
    tgi_fpenv_end(saved);
}

/* `growing` is unlocked when all threads are there, if it is not NULL. */
static void run_region(tgi_entry *entry, tgi_frame *frame, int n_threads,
                       pthread_mutex_t *growing)
{
    /* OpenMP may give fewer threads than asked for, and tells it inside. */
#pragma omp parallel num_threads(n_threads)
    {
        const int thread = omp_get_thread_num();
        if (growing && thread == 0)
            pthread_mutex_unlock(growing);
        run_part(entry, frame, thread, omp_get_num_threads());
    }
}

/* -- More threads ---------------------------------------------------------- */

/*
 * The threads that OpenMP keeps for this one, which is among them: those of
 * the last team. libgomp ends those that a smaller team does not need.
 */
static _Thread_local int n_kept = 1;

/* The size of the last trial of this thread that succeeded, and when that
   was: while teams of several sizes take turns, one trial a second is enough.
   A trial for 2 threads takes half a millisecond. */
static _Thread_local struct {
    int n_threads;
    time_t second;
} trial;

/* Held from a trial until its region has its threads: trials of several
   threads do not count on the same ones. A child never takes it: there would
   have been a second thread. */
static pthread_mutex_t growing = PTHREAD_MUTEX_INITIALIZER;

enum { SPARE = 8 };

/* Of the threads of libgomp: OMP_STACKSIZE, in kilobytes or another unit. 0
   if nothing sensible is said. */
static size_t stack_bytes(void)
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

static time_t this_second(void)
{
    struct timespec now = {0};
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec;
}

typedef struct own_team {
    tgi_entry *entry;
    tgi_frame *frame;
} own_team;

static void help(void *user, int thread, int n_threads)
{
    const own_team *own = user;
    is_helping = true;
    run_part(own->entry, own->frame, thread, n_threads);
    is_helping = false;
}

/* Runs a team of more threads than OpenMP keeps. */
__attribute__((noinline)) static void
run_more(tgi_entry *entry, tgi_frame *frame, int n_threads)
{
    tgi_helpers helpers;
    pthread_mutex_lock(&growing);
    tgi_helpers_start(&helpers, n_threads - 1 + SPARE, stack_bytes());
    int n_there = helpers.n < n_threads ? helpers.n + 1 : n_threads;
    const bool are_enough =
        helpers.n == min_int(n_threads - 1 + SPARE, TGI_HELPERS_MAX);
    if (!are_enough && n_there > n_kept) {
        pthread_mutex_unlock(&growing);
        frame->team->n_threads = n_there;
        tgi_helpers_run(&helpers, n_there, help,
                        &(own_team){.entry = entry, .frame = frame});
        return;
    }
    const bool are_gone = tgi_helpers_dismiss(&helpers);
    if (are_enough && are_gone) {
        trial.n_threads = n_kept = n_threads;
        trial.second = this_second();
    }
    run_region(entry, frame, n_kept, &growing);
}

static void run_team(tgi_entry *entry, tgi_frame *frame, int n_threads)
{
    struct tgi_team team = {
        .n_spins = n_threads <= cpus_here() ? SPINS : SPINS_IF_CROWDED};
    frame->barrier = barrier;
    frame->team = &team;
    if (n_threads > n_kept && (n_threads > trial.n_threads ||
                               this_second() != trial.second)) {
        run_more(entry, frame, n_threads);
    } else {
        n_kept = n_threads;
        run_region(entry, frame, n_threads, NULL);
    }
    frame->team = NULL;
}

#else /* no OpenMP */

int tgi_team_size(int wanted)
{
    (void)wanted;
    return 1;
}

#endif

static void no_barrier(tgi_frame *frame)
{
    (void)frame;
}

void tgi_team_run(tgi_entry *entry, tgi_frame *frame, int n_threads)
{
#ifdef _OPENMP
    /* The number may be older than a fork. */
    if (n_threads > 1 && !must_be_serial()) {
        run_team(entry, frame, n_threads);
        return;
    }
#else
    (void)n_threads;
#endif
    frame->barrier = no_barrier;
    frame->team = NULL;
    entry(frame, 0, 1);
}
