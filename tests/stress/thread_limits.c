/* SPDX-License-Identifier: MIT */
/*
 * thread_limits.c - a system that refuses to start threads: teams use the
 * threads there are, results keep their bits, and the process continues. OpenMP
 * would terminate it.
 *
 * Each scenario runs in a child, as a user without other processes, so that a
 * limit leaves room for an exact number of threads. A plain program, because a
 * child of a process with threads has no teams.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/hash.h"
#include "jit.h"
#include "run/team.h"
#include "support/ping_pong.h"
#include "tgjit.h"

/* Exit statuses of a child other than a number of threads. */
enum { CHILD_WRONG = 100, CHILD_SKIPPED = 101 };

enum { TEAM = 4 };

/* -- Limits ---------------------------------------------------------------- */

static void become_nobody_else(void)
{
    const uid_t user = (uid_t)(1000000 + getpid());
    if (setresgid(user, user, user) != 0 || setresuid(user, user, user) != 0)
        _exit(CHILD_SKIPPED);
}

/* Leaves room for this many more threads. The hard limit is unchanged. */
static void leave_room(rlim_t n_there, rlim_t n_more)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_NPROC, &limit) != 0)
        _exit(CHILD_SKIPPED);
    limit.rlim_cur = n_there + n_more;
    if (setrlimit(RLIMIT_NPROC, &limit) != 0)
        _exit(CHILD_SKIPPED);
}

static int n_passed, n_failed, n_skipped;

/* Runs `body` in a child, which must exit with this status. */
static void check_at(int line, int (*body)(int), int n, int wanted)
{
    int status = 0;
    fflush(stdout);
    const pid_t child = fork();
    if (child == 0) {
        alarm(60); /* so that a hang fails */
        _exit(body(n));
    }
    if (child > 0 && waitpid(child, &status, 0) == child &&
        WIFEXITED(status) && WEXITSTATUS(status) == CHILD_SKIPPED) {
        n_skipped++;
    } else if (child > 0 && WIFEXITED(status) &&
               WEXITSTATUS(status) == wanted) {
        n_passed++;
    } else {
        n_failed++;
        printf("thread_limits.c:%d: %d: status 0x%x, not %d\n", line, n,
               (unsigned)status, wanted);
    }
}
#define CHECK(body, n, wanted) check_at(__LINE__, body, n, wanted)

/* -- Teams ----------------------------------------------------------------- */

#ifdef _OPENMP

enum { ROUNDS = 50 };

typedef struct work {
    atomic_int n_calls, n_wrong;
    int n_threads, n_inside; /* n_inside: of a nested team */
    int slots[TEAM];
} work;

static void entry(tgi_frame *frame, int64_t thread, int64_t n_threads)
{
    work *w = frame->user;
    atomic_fetch_add(&w->n_calls, 1);
    if (thread == 0) {
        w->n_threads = (int)n_threads;
        w->n_inside = tgi_team_size(TEAM);
    }
    ping_pong(frame, thread, n_threads, ROUNDS, w->slots, &w->n_wrong);
}

/* Number of threads of a team of at most n, after exercising all functions
   of teams. */
static int run_team(int n)
{
    work w = {0};
    tgi_frame frame = {.user = &w};
    tgi_team_run(entry, &frame, n);
    return w.n_wrong == 0 && w.n_calls == w.n_threads && w.n_threads <= n &&
                   (w.n_inside == 1 || w.n_threads == 1)
               ? w.n_threads
               : CHILD_WRONG;
}

static int team_with_room(int room)
{
    become_nobody_else();
    leave_room(1, (rlim_t)room);
    const int n = run_team(TEAM);
    for (int i = 0; i < 20; i++)
        if (run_team(TEAM) != n)
            return CHILD_WRONG;
    return n;
}

static void check_teams_have_the_threads_there_are(void)
{
    static const int rooms[] = {0, 1, 2, 3, 4, 100};
    for (size_t i = 0; i < sizeof(rooms) / sizeof(*rooms); i++)
        CHECK(team_with_room, rooms[i], rooms[i] < TEAM ? rooms[i] + 1 : TEAM);
}

/* The threads of a team remain; more are started when there is room again. */
static int limit_that_drops(int unused)
{
    (void)unused;
    become_nobody_else();
    leave_room(1, 100);
    if (run_team(2) != 2)
        return CHILD_WRONG;
    leave_room(2, 0);
    for (int i = 0; i < 10; i++)
        if (run_team(TEAM) != 2)
            return CHILD_WRONG;
    leave_room(2, 100);
    return run_team(TEAM);
}

/* A smaller team leaves threads idle, which need no room later. */
static int sizes_take_turns(int unused)
{
    (void)unused;
    become_nobody_else();
    leave_room(1, 100);
    for (int i = 0; i < 100; i++)
        if (run_team(TEAM) != TEAM || run_team(2) != 2)
            return CHILD_WRONG;
    leave_room(2, 0);
    return run_team(2) == 2 ? run_team(TEAM) : CHILD_WRONG;
}

static atomic_int n_callers_wrong;

static void *call_often(void *all_are_there)
{
    pthread_barrier_wait(all_are_there);
    for (int i = 0; i < 100; i++) {
        const int n = run_team(TEAM);
        if (n < 1 || n > TEAM)
            atomic_fetch_add(&n_callers_wrong, 1);
    }
    return NULL;
}

/* They compete for the remaining threads after all callers have started. */
static int many_callers(int room)
{
    enum { CALLERS = 5 };
    pthread_t threads[CALLERS];
    pthread_barrier_t all_are_there;
    pthread_barrier_init(&all_are_there, NULL, CALLERS);
    become_nobody_else();
    leave_room(1 + CALLERS, (rlim_t)room);
    for (int i = 0; i < CALLERS; i++)
        if (pthread_create(&threads[i], NULL, call_often, &all_are_there) != 0)
            return CHILD_WRONG;
    for (int i = 0; i < CALLERS; i++)
        pthread_join(threads[i], NULL);
    return n_callers_wrong ? CHILD_WRONG : 0;
}

static void check_callers_share_what_is_left(void)
{
    static const int rooms[] = {0, 2, TEAM + 1, 2 * TEAM, 40};
    for (size_t i = 0; i < sizeof(rooms) / sizeof(*rooms); i++)
        CHECK(many_callers, rooms[i], 0);
}

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)

/* Sanitizers need shadow memory. */
static void check_address_space(void)
{
}

#else

/* Address space for some of the stacks. */
static int little_address_space(int megabytes)
{
    unsigned long pages = 0;
    FILE *file = fopen("/proc/self/statm", "r");
    if (!file || fscanf(file, "%lu", &pages) != 1)
        return CHILD_SKIPPED;
    fclose(file);
    struct rlimit limit;
    getrlimit(RLIMIT_AS, &limit);
    limit.rlim_cur = pages * (rlim_t)sysconf(_SC_PAGESIZE) +
                     ((rlim_t)megabytes << 20);
    if (setrlimit(RLIMIT_AS, &limit) != 0)
        return CHILD_SKIPPED;
    const int n = run_team(TEAM);
    return n >= 1 && n <= TEAM ? 0 : CHILD_WRONG;
}

static void check_address_space(void)
{
    for (int megabytes = 1; megabytes < 150; megabytes += 8)
        CHECK(little_address_space, megabytes, 0);
    /* OpenMP stacks larger than the default. */
    setenv("OMP_STACKSIZE", "64M", 1);
    for (int megabytes = 50; megabytes < 250; megabytes += 20)
        CHECK(little_address_space, megabytes, 0);
}

#endif

#endif

/* -- Calls ----------------------------------------------------------------- */

enum { SIDE = 400 };

static void square(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    tg_return(t, tg_matmul(in[0], in[0]));
}

/* A hash of the result; 0 if a call fails. In background mode the first call
   is interpreted while a thread compiles, if one can be started. */
static uint64_t bits_of_call(const char *jit)
{
    const tg_context_options options = {.struct_bytes = sizeof(options),
                                        .jit = jit,
                                        .cache = "off",
                                        .threads = TEAM};
    tg_context *ctx = tg_context_create(&options);
    tg_function *f = tg_function_create(ctx, square, NULL, NULL);
    tg_tensor *x =
        tg_tensor_create(ctx, TG_F32, TG_DIMS(SIDE, SIDE), tg_zeros());
    float *data = tg_tensor_data(x);
    for (int i = 0; i < SIDE * SIDE; i++)
        data[i] = 0.25f * (float)(i % 1000) - 3;
    uint64_t bits[2] = {0};
    for (int i = 0; i < 2; i++) {
        tg_tensor *y = NULL;
        if (tg_call(f, TG_ARGS(x), TG_RESULTS(&y)) == TG_OK &&
            tg_compile_wait(ctx) == TG_OK)
            bits[i] = tgi_hash(tg_tensor_data(y), tg_tensor_bytes(y), 0);
        tg_tensor_release(y);
    }
    tg_tensor_release(x);
    tg_function_release(f);
    tg_context_release(ctx);
    return tg_live_bytes() == 0 && bits[0] == bits[1] ? bits[0] : 0;
}

static const char *const jits[] = {"off", "auto", "required"};

/* Without LLVM, TGJIT_JIT=required would fail. */
static bool can_run(int way)
{
    char text[1024];
    return way < 2 || tgi_jit_describe(text, sizeof(text));
}

static int call_without_threads(int way)
{
    setenv("TGJIT_COMPILE", "background", 1);
    if (!can_run(way))
        return CHILD_SKIPPED;
    become_nobody_else();
    const uint64_t bits = bits_of_call(jits[way]);
    leave_room(1, 0);
    tg_code_clear();
    const uint64_t again = bits_of_call(jits[way]);
    return bits && bits == again ? 0 : CHILD_WRONG;
}

/* Also in a process that has had no threads before. */
static int first_call_without_threads(int way)
{
    setenv("TGJIT_COMPILE", "background", 1);
    if (!can_run(way))
        return CHILD_SKIPPED;
    become_nobody_else();
    leave_room(1, 0);
    return bits_of_call(jits[way]) ? 0 : CHILD_WRONG;
}

static void check_calls(void)
{
    for (int way = 0; way < 3; way++) {
        CHECK(call_without_threads, way, 0);
        CHECK(first_call_without_threads, way, 0);
    }
}

int main(void)
{
    check_calls();
#ifdef _OPENMP
    check_teams_have_the_threads_there_are();
    CHECK(limit_that_drops, 0, TEAM);
    CHECK(sizes_take_turns, 0, TEAM);
    check_callers_share_what_is_left();
    check_address_space();
#endif
    printf("%d checks passed, %d failed, %d skipped\n", n_passed, n_failed,
           n_skipped);
    return n_failed ? 1 : n_passed ? 0 : 77;
}
