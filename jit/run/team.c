/* SPDX-License-Identifier: MIT */
/*
 * team.c - the size of teams, and calls on them. Workers and barriers are in
 * team_workers.c, their CPUs in team_places.c, OpenMP's settings in openmp.c.
 *
 * No thread is started before the first team of two.
 */
#include "run/team.h"

#include <assert.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "base/initial_exec_tls.h"
#include "run/openmp.h"
#include "run/team_places.h"
#include "run/team_workers.h"

#if __has_include(<sys/single_threaded.h>)
#include <sys/single_threaded.h>
#endif

/* -- Forks ----------------------------------------------------------------- */

/*
 * A forked child has none of its parent's threads. It stays serial if there
 * were any: others than ours may have held locks that a new thread needs.
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
    if (atomic_load(&had_threads)) {
        atomic_store(&is_serial, true);
        tgi_workers_forget();
    }
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

/* This thread, not a worker, executes an entry as part of a team. */
static _Thread_local bool is_in_call TGI_INITIAL_EXEC_TLS;

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
    n_cpus = tgi_openmp_n_cpus();
#ifdef CPU_COUNT
    cpu_set_t mask;
    if (!tgi_openmp_binds_threads() &&
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
    if (wanted == 1 || must_be_serial() || is_in_call ||
        tgi_openmp_is_in_region())
        return 1;
    const int n_cpus = available_cpus();
    if (wanted == 0)
        wanted = min_int(tgi_openmp_max_threads(), n_cpus);
    else if (wanted > n_cpus && tgi_openmp_is_dynamic())
        wanted = n_cpus;
    else if (wanted > n_cpus)
        wanted = min_int(wanted, n_cpus > MAX_THREADS ? n_cpus : MAX_THREADS);
    return min_int(wanted, tgi_openmp_thread_limit());
}

/* -- Calls ----------------------------------------------------------------- */

static void no_barrier(tgi_frame *frame)
{
    (void)frame;
}

static void run_alone(tgi_entry *entry, tgi_frame *frame)
{
    frame->barrier = no_barrier;
    frame->team = NULL;
    entry(frame, 0, 1);
}

/* Thread 0 polls while it waits; only it may read frame->poll here. */
static void team_barrier(tgi_frame *frame)
{
    if (is_in_call && frame->poll)
        tgi_team_wait_polling(frame->team, frame);
    else
        tgi_team_wait(frame->team);
}

static void run_team(struct tgi_team *team, tgi_entry *entry, tgi_frame *frame,
                     int n_threads)
{
    frame->barrier = team_barrier;
    frame->team = team;
    team->entry = entry;
    team->frame = frame;
    team->n_threads = n_threads;
    team->is_crowded = n_threads > available_cpus();
    tgi_team_note_owner(team);
    atomic_store_explicit(&team->is_running, true, memory_order_relaxed);
    is_in_call = true;
    tgi_team_release(team);
    entry(frame, 0, n_threads);
    tgi_team_wait(team);
    is_in_call = false;
    atomic_store_explicit(&team->is_running, false, memory_order_relaxed);
    frame->team = NULL;
}

void tgi_team_run(tgi_entry *entry, tgi_frame *frame, int n_threads)
{
    /* n_threads may have been computed before a fork, or outside of a region
       of the program. */
    struct tgi_team *team = NULL;
    if (n_threads > 1 && !must_be_serial() && !is_in_call &&
        tgi_openmp_allows_teams())
        team = tgi_team_prepare(n_threads);
    if (team)
        run_team(team, entry, frame, min_int(n_threads, team->n_workers + 1));
    else
        run_alone(entry, frame);
}
