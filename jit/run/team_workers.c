/* SPDX-License-Identifier: MIT */
/* team_workers.c - see team_workers.h. */
#include "run/team_workers.h"

#include <stddef.h>
#include <sys/resource.h>

#include "base/clock.h"
#include "base/fpenv.h"
#include "base/initial_exec_tls.h"
#include "base/thread.h"
#include "run/openmp.h"
#include "run/team.h"
#include "run/team_places.h"

/* Threads of the program beyond MAX_TEAMS, and teams beyond MAX_WORKERS, run
   their calls alone. Static, because workers outlive every context. */
enum { MAX_TEAMS = 256, MAX_WORKERS = 2048 };

/* On a virtual machine, spinning for less than 100 us made training on an idle
   machine slower. */
enum { SPIN_NS = 100000 };

/* Between restorations of the spin time. On a busy machine, threads may share a
   CPU again and again. */
enum { RESTORE_NS = 5000000 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct tgi_team teams[MAX_TEAMS];
static tgi_worker workers[MAX_WORKERS];
static int n_teams, n_workers;  /* in use */
static struct tgi_team *idle;   /* teams whose owners have ended */
static pthread_key_t owner_key; /* its destructor makes a team idle */
static bool has_owner_key;
static atomic_bool are_ended; /* no worker exists, none is started */

static _Thread_local struct tgi_team *own_team TGI_INITIAL_EXEC_TLS;
static _Thread_local tgi_worker *own_worker TGI_INITIAL_EXEC_TLS;

/* -- Barrier --------------------------------------------------------------- */

/* The last thread releases the others. False for them. */
static bool arrive(struct tgi_team *team)
{
    /* Read first: after the last barrier, the next call may change it as soon
       as this thread has arrived. */
    const uint32_t n_threads = (uint32_t)team->n_threads;
    if (atomic_fetch_add_explicit(&team->n_arrived, 1, memory_order_acq_rel) +
            1 <
        n_threads)
        return false;
    /* For all threads: they may only leave the call together. */
    tgi_frame *frame = team->frame;
    if (frame->cancel_word &&
        atomic_load_explicit(frame->cancel_word, memory_order_relaxed) !=
            frame->cancel_seen)
        (void)frame->must_end(frame, TGI_CANCEL_AT_BARRIER);
    /* Reset before the release: the next barrier may start then. */
    atomic_store_explicit(&team->n_arrived, 0, memory_order_relaxed);
    tgi_wait_word_advance(&team->passed);
    return true;
}

static void note_preemption(struct tgi_team *team)
{
#ifdef RUSAGE_THREAD
    static _Thread_local long n_before TGI_INITIAL_EXEC_TLS;
    struct rusage usage;
    if (getrusage(RUSAGE_THREAD, &usage) != 0 || usage.ru_nivcsw == n_before)
        return;
    n_before = usage.ru_nivcsw;
    atomic_fetch_add_explicit(&team->n_preempted, 1, memory_order_relaxed);
#else
    (void)team;
#endif
}

/* Waits that timed out on one CPU say nothing about those to come, and a thread
   that sleeps again would be woken there again. */
static void restore_spins(struct tgi_team *team)
{
    const uint64_t now = tgi_clock_ns();
    if (now - atomic_load_explicit(&team->restored_ns, memory_order_relaxed) <
        RESTORE_NS)
        return;
    atomic_store_explicit(&team->restored_ns, now, memory_order_relaxed);
    tgi_spin_restore(&team->at_barrier[team->is_crowded]);
    tgi_spin_restore(&team->between_calls[team->is_crowded]);
}

/*
 * Looks only if some thread of the team has slept since the last look. Of two
 * threads on one CPU, only the owner may sleep, at the end of each call. When it
 * is woken, it preempts the worker and starts the next call before the worker
 * reads the word it waits for again, so the worker itself never sleeps.
 */
static void leave_shared_cpu(struct tgi_team *team, tgi_worker *self)
{
    const uint32_t n_sleeps =
        atomic_load_explicit(&team->n_sleeps, memory_order_relaxed);
    if (n_sleeps == self->seen_sleeps)
        return;
    self->seen_sleeps = n_sleeps;
    if (tgi_team_separate(team, self))
        restore_spins(team);
}

/* After a wait that timed out: the thread is late anyway. */
static void after_sleep(struct tgi_team *team)
{
    note_preemption(team);
    atomic_fetch_add_explicit(&team->n_sleeps, 1, memory_order_relaxed);
    if (own_worker)
        leave_shared_cpu(team, own_worker);
    else
        tgi_team_note_owner(team);
}

uint32_t tgi_team_preemptions(void)
{
    return own_team ? atomic_load_explicit(&own_team->n_preempted,
                                           memory_order_relaxed)
                    : 0;
}

void tgi_team_wait(struct tgi_team *team)
{
    /* Neither can change before this thread has arrived. */
    const uint32_t seen = tgi_wait_word_read(&team->passed);
    tgi_spin *spin = &team->at_barrier[team->is_crowded];
    if (!arrive(team) && !tgi_wait_word_wait(&team->passed, seen, spin))
        after_sleep(team);
}

void tgi_team_wait_polling(struct tgi_team *team, tgi_frame *frame)
{
    const uint32_t seen = tgi_wait_word_read(&team->passed);
    if (arrive(team))
        return;
    while (tgi_wait_word_read(&team->passed) == seen) {
        frame->poll(frame, 0, 0, 0, 0);
        if (team->is_crowded)
            sched_yield();
    }
}

/* -- Workers --------------------------------------------------------------- */

/* Starts the call on the threads that thread `number` releases. */
static void release_from(const struct tgi_team *team, int number,
                         tgi_worker *const *released)
{
    for (int i = 0; i < TGI_WORKER_FAN_OUT; i++)
        if (number * TGI_WORKER_FAN_OUT + 1 + i < team->n_threads)
            tgi_wait_word_advance(&released[i]->go);
}

void tgi_team_release(struct tgi_team *team)
{
    release_from(team, 0, team->released);
}

static void *run_worker(void *user)
{
    tgi_worker *self = user;
    struct tgi_team *team = self->team;
    tgi_spin *spin = team->between_calls;
    own_worker = self;
    (void)tgi_fpenv_begin(); /* a thread inherits the mode of its creator */
    for (uint32_t seen = 0;; seen += TGI_WAIT_WORD_STEP) {
        if (tgi_wait_word_wait(&self->go, seen, spin))
            leave_shared_cpu(team, self);
        else
            after_sleep(team);
        release_from(team, self->number, self->released);
        if (!team->entry)
            return NULL;
        spin = &team->between_calls[team->is_crowded];
        team->entry(team->frame, self->number, team->n_threads);
        arrive(team);
    }
}

/* Lock held. Thread n is released by thread (n - 1) / TGI_WORKER_FAN_OUT. */
static void add_worker(struct tgi_team *team, tgi_worker *w)
{
    const int by = (w->number - 1) / TGI_WORKER_FAN_OUT;
    tgi_worker *parent = team->first;
    for (int i = 1; i < by; i++)
        parent = parent->next;
    tgi_worker **released = by == 0 ? team->released : parent->released;
    released[(w->number - 1) % TGI_WORKER_FAN_OUT] = w;
    if (team->last)
        team->last->next = w;
    else
        team->first = w;
    team->last = w;
    team->n_workers++;
    n_workers++;
}

/* Lock held. */
static bool start_worker(struct tgi_team *team)
{
    pthread_attr_t attributes;
    if (n_workers == MAX_WORKERS || pthread_attr_init(&attributes) != 0)
        return false;
    const size_t stack_bytes = tgi_openmp_stack_bytes();
    if (stack_bytes) /* on failure the default remains */
        (void)pthread_attr_setstacksize(&attributes, stack_bytes);
    tgi_worker *w = &workers[n_workers];
    *w = (tgi_worker){.team = team, .number = team->n_workers + 1, .cpu = -1};
    const bool is_started =
        tgi_thread_start(&w->thread, &attributes, run_worker, w);
    pthread_attr_destroy(&attributes);
    if (is_started)
        add_worker(team, w);
    return is_started;
}

/* -- Owners ---------------------------------------------------------------- */

/* In the owner, as it ends. */
static void make_idle(void *user)
{
    struct tgi_team *team = user;
    if (team != own_team)
        return; /* of the parent process */
    own_team = NULL;
    pthread_mutex_lock(&lock);
    team->next_idle = idle;
    idle = team;
    pthread_mutex_unlock(&lock);
}

static void team_init(struct tgi_team *team)
{
    const uint32_t ns = tgi_openmp_waits_passively() ? 0 : SPIN_NS;
    for (int is_crowded = 0; is_crowded < 2; is_crowded++) {
        tgi_spin_init(&team->at_barrier[is_crowded], ns, is_crowded);
        tgi_spin_init(&team->between_calls[is_crowded], ns, is_crowded);
    }
}

/* Lock held. The team is kept for good if its owner's end cannot be noticed. */
static struct tgi_team *take_team(void)
{
    struct tgi_team *team = idle;
    if (!has_owner_key)
        has_owner_key = pthread_key_create(&owner_key, make_idle) == 0;
    if (team)
        idle = team->next_idle;
    else if (n_teams < MAX_TEAMS)
        team_init(team = &teams[n_teams++]);
    if (team && has_owner_key)
        (void)pthread_setspecific(owner_key, team);
    return team;
}

struct tgi_team *tgi_team_prepare(int n_threads)
{
    struct tgi_team *team = own_team;
    if (atomic_load_explicit(&are_ended, memory_order_relaxed))
        return NULL;
    if (team && team->n_workers >= n_threads - 1)
        return team;
    pthread_mutex_lock(&lock);
    const bool is_new = !team;
    if (!team)
        team = own_team = take_team();
    const int n_before = team ? team->n_workers : 0;
    while (team && team->n_workers < n_threads - 1 && start_worker(team))
        ;
    pthread_mutex_unlock(&lock);
    if (team && team->n_workers &&
        (is_new ? tgi_team_has_moved(team) : team->n_workers != n_before))
        tgi_team_place(team);
    return team && team->n_workers ? team : NULL;
}

/* -- Ends ------------------------------------------------------------------ */

void tgi_workers_forget(void)
{
    own_team = NULL;
    atomic_store(&are_ended, true);
}

static void end_team(struct tgi_team *team)
{
    team->entry = NULL;
    team->n_threads = team->n_workers + 1;
    tgi_team_release(team);
    for (const tgi_worker *w = team->first; w; w = w->next)
        pthread_join(w->thread, NULL);
}

/* At exit, or when the library is unloaded with its code. Without the lock,
   which an interrupted thread may hold. Teams in the middle of a call, whose
   host step may have called exit, are left alone. */
__attribute__((destructor)) static void end_workers(void)
{
    if (atomic_exchange(&are_ended, true))
        return;
    for (int i = 0; i < n_teams; i++)
        if (!atomic_exchange(&teams[i].is_running, true))
            end_team(&teams[i]);
    if (has_owner_key)
        pthread_key_delete(owner_key);
}
