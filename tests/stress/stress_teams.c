/* SPDX-License-Identifier: MIT */
/*
 * stress_teams.c - eight threads with separate teams at once, and children
 * forked while they run. The linked OpenMP run time starts no thread by itself.
 *
 * A plain program, so that it runs under ThreadSanitizer too, which understands
 * parallel regions only with clang's libarcher: OMP_TOOL_LIBRARIES=libarcher.so
 * and TSAN_OPTIONS=ignore_noninstrumented_modules=1. Takes the number of rounds
 * per thread.
 */
#include <dirent.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#if __has_include(<sys/single_threaded.h>)
#include <sys/single_threaded.h>
#endif

#include "run/team.h"

/* gcc and clang report it differently. */
#ifdef __SANITIZE_THREAD__
#define UNDER_THREAD_SANITIZER
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define UNDER_THREAD_SANITIZER
#endif
#endif

enum {
    CALLERS = 8,
    MAX_THREADS = 4, /* of a team */
    BARRIERS = 20,
    CHILDREN = 10,
    DEFAULT_ROUNDS = 50,
    WATCHDOG_SECONDS = 300
};

static atomic_long n_passed, n_failed;

static void check(bool good, const char *what, int line)
{
    atomic_fetch_add(good ? &n_passed : &n_failed, 1);
    if (!good)
        fprintf(stderr, "stress_teams.c:%d: %s\n", line, what);
}

#define CHECK(condition) check(condition, #condition, __LINE__)

/* Number of threads of this process; 0 if unknown. */
static int count_threads(void)
{
    DIR *dir = opendir("/proc/self/task");
    int n = 0;
    while (dir && readdir(dir))
        n++;
    if (dir)
        closedir(dir);
    return n > 2 ? n - 2 : 0; /* without . and .. */
}

/* Running sums: each thread adds the values of all threads after the last
   barrier. */
typedef struct sums {
    long now[2][MAX_THREADS];
    long n_threads;
} sums;

static void sum_entry(tgi_frame *frame, int64_t thread, int64_t n_threads)
{
    sums *s = frame->user;
    if (thread == 0)
        s->n_threads = n_threads;
    s->now[0][thread] = 1;
    frame->barrier(frame);
    for (int i = 0; i < BARRIERS; i++) {
        long sum = 0;
        for (int64_t k = 0; k < n_threads; k++)
            sum += s->now[i % 2][k];
        s->now[(i + 1) % 2][thread] = sum % 1000003;
        frame->barrier(frame);
    }
}

/* One call; true if all of its threads have the expected sum. */
static bool run_once(int n_threads)
{
    sums s = {{{0}}, 0};
    tgi_frame frame = {.user = &s};
    tgi_team_run(sum_entry, &frame, tgi_team_size(n_threads));
    long expected = 1;
    for (int i = 0; i < BARRIERS; i++)
        expected = expected * s.n_threads % 1000003;
    bool good = s.n_threads >= 1 && s.n_threads <= n_threads;
    for (long k = 0; good && k < s.n_threads; k++)
        good = s.now[BARRIERS % 2][k] == expected;
    return good;
}

static long rounds = DEFAULT_ROUNDS;

static void *call_often(void *user)
{
    const long first = (long)(intptr_t)user;
    for (long i = 0; i < rounds; i++)
        CHECK(run_once(1 + (int)((first + i) % MAX_THREADS)));
    return NULL;
}

/* Checks that a child process has teams of n_threads. */
static void fork_once(int n_threads)
{
    int status = -1;
    const pid_t child = fork();
    if (child == 0) {
        alarm(60);
        _exit(tgi_team_size(MAX_THREADS) == n_threads && run_once(MAX_THREADS)
                  ? 0
                  : 1);
    }
    CHECK(child > 0 && waitpid(child, &status, 0) == child);
    CHECK(status == 0);
}

/* True if a child may have teams, because this process never had a second
   thread. */
static bool is_single_threaded(void)
{
#if __has_include(<sys/single_threaded.h>)
    return __libc_single_threaded;
#else
    return false;
#endif
}

int main(int argc, char **argv)
{
#ifdef UNDER_THREAD_SANITIZER
    if (!getenv("OMP_TOOL_LIBRARIES")) {
        printf("the thread sanitizer needs libarcher\n");
        return 77;
    }
#endif
    alarm(WATCHDOG_SECONDS);
    if (argc > 1)
        rounds = atol(argv[1]);

    const int n_at_start = count_threads();
    CHECK(run_once(1));
    CHECK(tgi_team_size(0) >= 1);
    CHECK(count_threads() == n_at_start);
#ifndef UNDER_THREAD_SANITIZER /* ThreadSanitizer has a background thread */
    CHECK(n_at_start <= 1);
#endif
    fork_once(is_single_threaded() ? tgi_team_size(MAX_THREADS) : 1);

    pthread_t callers[CALLERS];
    for (int i = 0; i < CALLERS; i++)
        CHECK(pthread_create(&callers[i], NULL, call_often,
                             (void *)(intptr_t)i) == 0);
    for (int i = 0; i < CHILDREN; i++)
        fork_once(1);
    for (int i = 0; i < CALLERS; i++)
        pthread_join(callers[i], NULL);
    CHECK(run_once(MAX_THREADS));

    printf("%ld checks passed, %ld failed\n", (long)n_passed, (long)n_failed);
    return n_failed != 0;
}
