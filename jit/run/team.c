/* SPDX-License-Identifier: MIT */
/*
 * team.c - teams of threads. The only file that uses OpenMP.
 *
 * OpenMP creates and pools the threads: one parallel region is one call of a
 * compiled function. The barriers are our own and take about half the time of
 * OpenMP's, also with more threads than CPUs. Nanoseconds per barrier
 * on 2 CPUs, best of many rounds (2 threads: on an idle and a busy machine):
 *
 *     threads    libgomp     libomp    this one   spinning only
 *           2   255, 420   226, 500     80, 240         89, 242
 *           3      11600       5100        3000
 *           7      34000      23000       13500        12000000
 *
 * No thread is started before the first team of two.
 *
 * libgomp, like other implementations, aborts the process if it cannot start a
 * thread. Therefore it is asked for more threads than it has pooled only after
 * a trial: as many threads, plus SPARE, were alive at once (helper_threads.h).
 * If the trial fails, its threads are the team of that call. The process can
 * still be aborted if
 *
 *   - other processes of the user, or other threads of this one, start more
 *     than SPARE threads in the microseconds between trial and region;
 *   - parallel regions of the program, or OMP_DYNAMIC, have made libgomp end
 *     pooled threads since our last team, and a limit was reached since;
 *   - a limit is lowered within the second for which a trial is valid.
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

/* -- Forks ----------------------------------------------------------------- */

/*
 * In a forked child, libgomp waits forever for its threads, which do not exist
 * there; they may also stem from parallel regions of the program. Therefore the
 * child of a process that had several threads stays serial.
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

/* Registered at load time: a fork may precede the first call. */
__attribute__((constructor)) static void watch_forks(void)
{
    if (pthread_atfork(before_fork, NULL, in_child) != 0)
        atomic_store(&is_serial, true);
}

/* -- Team size ------------------------------------------------------------- */

/* Limit of a team that is larger than the number of CPUs. */
enum { MAX_THREADS = 256 };

/* This thread is in a team that OpenMP does not manage. */
static _Thread_local bool is_in_helper_team;

/*
 * The number of CPUs available to this thread, cached on the first call. A
 * thread that the program has bound shares its CPUs with its team; one that
 * OpenMP has bound (OMP_PROC_BIND) does not: its affinity mask is ignored.
 */
static int available_cpus(void)
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
    if (wanted == 1 || must_be_serial() || omp_in_parallel() ||
        is_in_helper_team)
        return 1;
    const int n_cpus = available_cpus();
    if (wanted == 0)
        wanted = min_int(omp_get_max_threads(), n_cpus);
    else if (wanted > n_cpus)
        wanted = min_int(wanted, n_cpus > MAX_THREADS ? n_cpus : MAX_THREADS);
    return min_int(wanted, omp_get_thread_limit());
}

/* -- Barrier --------------------------------------------------------------- */

/*
 * A waiting thread spins (about 30 us; less if there are more threads than
 * CPUs), then yields (some milliseconds), then sleeps in short intervals: a
 * host step of thread 0 may take arbitrarily long. After a wait of milliseconds
 * one interval adds little.
 */
enum {
    SPINS = 2000,
    SPINS_IF_OVERSUBSCRIBED = 16,
    YIELDS = 10000,
    SLEEP_NANOSECONDS = 50000
};

enum { CACHE_LINE_BYTES = 64 };

/* On the stack of the caller. Waiting threads read only `n_passed`, which is in
   a cache line of its own: arriving threads do not invalidate it. */
struct tgi_team {
    _Alignas(
        CACHE_LINE_BYTES) _Atomic uint32_t n_arrived; /* at the next barrier */
    _Alignas(
        CACHE_LINE_BYTES) _Atomic uint32_t n_passed; /* barriers, modulo 2^32 */
    uint32_t n_spins;
    int n_threads; /* 0: ask OpenMP */
};

static void relax_cpu(void)
{
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("isb");
#endif
}

/* Returns when more than n_passed barriers have been passed. */
static void wait_for_team(const struct tgi_team *team, uint32_t n_passed)
{
    for (uint32_t n_polls = 0;
         atomic_load_explicit(&team->n_passed, memory_order_acquire) ==
         n_passed;
         n_polls++) {
        if (n_polls < team->n_spins)
            relax_cpu();
        else if (n_polls < team->n_spins + YIELDS)
            sched_yield();
        else
            nanosleep(&(struct timespec){.tv_nsec = SLEEP_NANOSECONDS}, NULL);
    }
}

static void team_barrier(tgi_frame *frame)
{
    struct tgi_team *team = frame->team;
    /* Cannot change before this thread has arrived. */
    const uint32_t n_passed =
        atomic_load_explicit(&team->n_passed, memory_order_relaxed);
    const uint32_t n_before =
        atomic_fetch_add_explicit(&team->n_arrived, 1, memory_order_acq_rel);
    const int n_threads =
        team->n_threads ? team->n_threads : omp_get_num_threads();
    if (n_before + 1 < (uint32_t)n_threads) {
        wait_for_team(team, n_passed);
    } else {
        /* Reset before the release store: the next barrier may start then. */
        atomic_store_explicit(&team->n_arrived, 0, memory_order_relaxed);
        atomic_store_explicit(&team->n_passed, n_passed + 1,
                              memory_order_release);
    }
}

/* -- Parallel region ------------------------------------------------------- */

static void run_thread(tgi_entry *entry, tgi_frame *frame, int thread,
                       int n_threads)
{
    const uint32_t saved = tgi_fpenv_begin();
    entry(frame, thread, n_threads);
    tgi_fpenv_end(saved);
}

/* Unlocks `growing`, if it is not NULL, when all threads have started. */
static void run_region(tgi_entry *entry, tgi_frame *frame, int n_threads,
                       pthread_mutex_t *growing)
{
    /* OpenMP may provide fewer threads: the number is known only inside. */
#pragma omp parallel num_threads(n_threads)
    {
        const int thread = omp_get_thread_num();
        if (growing && thread == 0)
            pthread_mutex_unlock(growing);
        run_thread(entry, frame, thread, omp_get_num_threads());
    }
}

/* -- Growing teams --------------------------------------------------------- */

/*
 * The size of OpenMP's pool for this thread, including itself: that of the last
 * team. libgomp ends the threads that a smaller team does not need.
 */
static _Thread_local int n_pooled = 1;

/* The size and time of the last successful trial of this thread. If team sizes
   alternate, one trial per second suffices; a trial for 2 threads takes half a
   millisecond. */
static _Thread_local struct {
    int n_threads;
    time_t second;
} trial;

/* Held from a trial until all threads of its region have started, so that
   concurrent trials do not count the same capacity. A forked child never locks
   it: it is serial if a second thread could have held it. */
static pthread_mutex_t growing = PTHREAD_MUTEX_INITIALIZER;

enum { SPARE = 8 };

/* The stack size of libgomp's threads: OMP_STACKSIZE, in KiB or with a unit. 0
   if it is unset or invalid. */
static size_t omp_stack_bytes(void)
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

typedef struct helper_team {
    tgi_entry *entry;
    tgi_frame *frame;
} helper_team;

static void run_helper(void *user, int thread, int n_threads)
{
    const helper_team *team = user;
    is_in_helper_team = true;
    run_thread(team->entry, team->frame, thread, n_threads);
    is_in_helper_team = false;
}

/* Runs a team that is larger than OpenMP's pool. */
__attribute__((noinline)) static void
run_grown_team(tgi_entry *entry, tgi_frame *frame, int n_threads)
{
    tgi_helpers helpers;
    pthread_mutex_lock(&growing);
    tgi_helpers_start(&helpers, n_threads - 1 + SPARE, omp_stack_bytes());
    int n_available = helpers.n < n_threads ? helpers.n + 1 : n_threads;
    const bool are_enough =
        helpers.n == min_int(n_threads - 1 + SPARE, TGI_HELPERS_MAX);
    if (!are_enough && n_available > n_pooled) {
        pthread_mutex_unlock(&growing);
        frame->team->n_threads = n_available;
        tgi_helpers_run(&helpers, n_available, run_helper,
                        &(helper_team){.entry = entry, .frame = frame});
        return;
    }
    const bool are_released = tgi_helpers_dismiss(&helpers);
    if (are_enough && are_released) {
        trial.n_threads = n_pooled = n_threads;
        trial.second = this_second();
    }
    run_region(entry, frame, n_pooled, &growing);
}

static void run_team(tgi_entry *entry, tgi_frame *frame, int n_threads)
{
    struct tgi_team team = {.n_spins = n_threads <= available_cpus()
                                           ? SPINS
                                           : SPINS_IF_OVERSUBSCRIBED};
    frame->barrier = team_barrier;
    frame->team = &team;
    if (n_threads > n_pooled &&
        (n_threads > trial.n_threads || this_second() != trial.second)) {
        run_grown_team(entry, frame, n_threads);
    } else {
        n_pooled = n_threads;
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
    /* n_threads may have been computed before a fork. */
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
