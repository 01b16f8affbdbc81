/* SPDX-License-Identifier: MIT */
/*
 * test_code_cache.c - the in-memory code cache, with keys and a small object of
 * this test, so that no compiler is needed. test_code_sharing.c tests its use
 * by functions.
 */
#include "cache/code.h"
#include "cache/code_cache.h"

#include <pthread.h>
#include <stdatomic.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/error.h"
#include "object/executable_pages.h"
#include "object/image_debug.h"
#include "support/image_objects.h"
#include "support/support.h"

#if defined(__x86_64__)

static object_bytes object;
static atomic_int n_made;

static void begin(void)
{
    alarm(120);
    object = object_sample();
    tgi_code_cache_open();
}

static void end(void)
{
    tgi_code_cache_close();
    free(object.data);
    check_nothing_is_alive();
}

/* -- Making ---------------------------------------------------------------- */

static tg_status make(void *user, tgi_code **out_code)
{
    const tgi_codegen codegen = {.object = object.data,
                                 .object_bytes = object.n,
                                 .entry = "answer"};
    (void)user;
    atomic_fetch_add(&n_made, 1);
    return tgi_code_create(&codegen, out_code);
}

static tg_status refuse(void *user, tgi_code **out_code)
{
    (void)user, (void)out_code;
    atomic_fetch_add(&n_made, 1);
    TGI_FAIL(TG_ERROR_UNSUPPORTED, TGI_NO_SITE, "no");
}

static tg_status get_by(const char *key, tgi_code_build_fn *maker, void *user,
                        tgi_code **out_code)
{
    return tgi_code_cache_get(key, strlen(key), true, maker, user,
                              out_code);
}

static tgi_code *get(const char *key)
{
    tgi_code *code;
    cr_assert_eq(get_by(key, make, NULL, &code), TG_OK, "%s", tg_error(NULL));
    return code;
}

/* True on a hit. */
static bool is_cached(const char *key)
{
    const int before = atomic_load(&n_made);
    tgi_code_release(get(key));
    return atomic_load(&n_made) == before;
}

static int run(const tgi_code *code)
{
    const union {
        tgi_entry *entry;
        int (*call)(void);
    } as = {code->entry};
    return as.call();
}

static tg_code_counters counts(void)
{
    tg_code_counters c;
    tgi_code_cache_counters(&c);
    return c;
}

/* -- Keys ------------------------------------------------------------------ */

Test(code_cache, equal_keys_are_made_once)
{
    begin();
    tgi_code *a = get("a"), *b = get("b"), *again = get("a");
    cr_assert_eq(a, again);
    cr_assert_neq(a, b);
    cr_assert_eq(run(a), SAMPLE_ANSWER);
    cr_assert_eq(atomic_load(&n_made), 2);
    /* The end of a key matters, and so do zero bytes in it. */
    cr_assert_not(is_cached("ab"));
    tgi_code *zero, *more;
    cr_assert_eq(tgi_code_cache_get("a\0", 2, true, make, NULL, &zero), TG_OK);
    cr_assert_eq(tgi_code_cache_get("a\0b", 3, true, make, NULL, &more), TG_OK);
    cr_assert(zero != a && zero != more);
    tgi_code_release(a);
    tgi_code_release(b);
    tgi_code_release(again);
    tgi_code_release(zero);
    tgi_code_release(more);
    end();
}

Test(code_cache, hits_and_misses_are_counted)
{
    begin();
    const size_t bytes_of_one = (tgi_code_release(get("a")), counts().bytes);
    cr_assert_gt(bytes_of_one, 100);
    tgi_code_release(get("b"));
    tgi_code_release(get("a"));
    tg_code_counters c = counts();
    cr_assert_eq(c.hits, 1);
    cr_assert_eq(c.misses, 2);
    cr_assert_eq(c.entries, 2);
    cr_assert_eq(c.evictions, 0);
    cr_assert_eq(c.bytes, 2 * bytes_of_one);
    tgi_code_cache_clear();
    c = counts();
    cr_assert_eq(c.entries, 0);
    cr_assert_eq(c.bytes, 0);
    cr_assert_eq(c.evictions, 2);
    cr_assert_eq(c.hits, 1);
    end();
}

Test(code_cache, failed_builds_are_repeated)
{
    begin();
    tgi_code *code = NULL;
    for (int i = 0; i < 2; i++) {
        cr_assert_eq(get_by("a", refuse, NULL, &code), TG_ERROR_UNSUPPORTED);
        cr_assert_null(code);
    }
    cr_assert_eq(atomic_load(&n_made), 2);
    cr_assert_eq(counts().entries, 0);
    cr_assert_not(is_cached("a"));
    cr_assert(is_cached("a"));
    end();
}

static tg_status make_none(void *user, tgi_code **out_code)
{
    (void)user, (void)out_code;
    atomic_fetch_add(&n_made, 1);
    return TG_OK;
}

Test(code_cache, failed_builds_are_not_cached)
{
    begin();
    tgi_code *code = NULL;
    cr_assert_eq(get_by("a", make_none, NULL, &code), TG_OK);
    cr_assert_null(code);
    cr_assert_eq(counts().entries, 0);
    cr_assert_not(is_cached("a"));
    end();
}

/* Checks that the counters include heap blocks and pages, except for the
   pool's own table of pages. */
static void check_growth(size_t bytes)
{
    enum { TABLE_BYTES = 512 };
    cr_assert_leq(counts().bytes, bytes);
    cr_assert_leq(bytes - counts().bytes, TABLE_BYTES);
}

static void check_counts_all_memory(void)
{
    begin();
    const size_t before = tg_live_bytes() + tgi_pages_used();
    char key[3000] = "";
    for (int i = 0; i < 200; i++) {
        memset(key, 'a' + i % 26, (size_t)i * 10 + 1);
        tgi_code_release(get(key));
        check_growth(tg_live_bytes() + tgi_pages_used() - before);
    }
    cr_assert_geq(counts().bytes, 200 * tgi_pages_page_bytes());
    tgi_code_cache_set_limit(100 * tgi_pages_page_bytes());
    check_growth(tg_live_bytes() + tgi_pages_used() - before);
    cr_assert_leq(tgi_pages_used(), 100 * tgi_pages_page_bytes());
    tgi_code_cache_clear();
    cr_assert_eq(tg_live_bytes() + tgi_pages_used(), before);
    end();
}

Test(code_cache, counts_all_memory_of_its_code)
{
    check_counts_all_memory();
}

Test(code_cache, counts_bytes_of_debug_objects)
{
    tgi_image_debug_enable(TGI_DEBUG_GDB, ".");
    check_counts_all_memory();
}

/* -- Room ------------------------------------------------------------------ */

Test(code_cache, the_least_recently_used_leaves_first)
{
    begin();
    const size_t bytes_of_one = (tgi_code_release(get("a")), counts().bytes);
    tgi_code_release(get("b"));
    tgi_code_release(get("c"));
    tgi_code_cache_set_limit(3 * bytes_of_one);
    cr_assert_eq(counts().entries, 3);
    cr_assert(is_cached("a"));
    cr_assert_not(is_cached("d")); /* replaced b */
    cr_assert(is_cached("a"));
    cr_assert(is_cached("c"));
    cr_assert_eq(counts().evictions, 1);
    cr_assert_not(is_cached("b")); /* replaced d */
    cr_assert_not(is_cached("d")); /* replaced a */
    tgi_code_cache_set_limit(bytes_of_one);
    cr_assert_eq(counts().entries, 1);
    cr_assert(is_cached("d"));
    tgi_code_cache_set_limit(bytes_of_one - 1);
    cr_assert_eq(counts().entries, 0);
    cr_assert_not(is_cached("d"));
    cr_assert_not(is_cached("d"));
    end();
}

Test(code_cache, a_limit_of_0_keeps_nothing)
{
    begin();
    tgi_code_release(get("a"));
    tgi_code_cache_set_limit(0);
    cr_assert_eq(counts().bytes, 0);
    cr_assert_not(is_cached("a"));
    cr_assert_not(is_cached("a"));
    cr_assert_eq(counts().entries, 0);
    tgi_code_cache_set_limit(SIZE_MAX);
    cr_assert_not(is_cached("a"));
    cr_assert(is_cached("a"));
    end();
}

Test(code_cache, evicted_code_stays_while_it_is_referenced)
{
    begin();
    tgi_code *code = get("a");
    tgi_code_cache_clear();
    cr_assert_eq(run(code), SAMPLE_ANSWER);
    tgi_code *other = get("a");
    cr_assert_neq(other, code);
    tgi_code_cache_set_limit(0);
    cr_assert_eq(run(code), SAMPLE_ANSWER);
    cr_assert_eq(run(other), SAMPLE_ANSWER);
    tgi_code_release(code);
    tgi_code_release(other);
    end();
}

Test(code_cache, it_lives_as_long_as_a_context)
{
    begin();
    tgi_code_cache_open();
    tgi_code_release(get("a"));
    tgi_code_cache_close();
    cr_assert(is_cached("a"));
    tgi_code_cache_close();
    check_nothing_is_alive();
    cr_assert_eq(counts().entries, 0);
    /* With capacity 0 nothing is cached, but everything works. */
    cr_assert_not(is_cached("a"));
    check_nothing_is_alive();
    tgi_code_cache_open();
    cr_assert_not(is_cached("a"));
    cr_assert(is_cached("a"));
    end();
}

/* -- Threads --------------------------------------------------------------- */

enum { N_THREADS = 8, N_ROUNDS = 200 };

static pthread_barrier_t together;

static void *race(void *user)
{
    tgi_code **codes = user;
    char key[16];
    for (int i = 0; i < N_ROUNDS; i++) {
        snprintf(key, sizeof(key), "%d", i);
        pthread_barrier_wait(&together);
        codes[i] = get(key);
    }
    return NULL;
}

Test(code_cache, concurrent_requests_build_once)
{
    begin();
    pthread_t threads[N_THREADS];
    static tgi_code *codes[N_THREADS][N_ROUNDS];
    pthread_barrier_init(&together, NULL, N_THREADS);
    for (int i = 0; i < N_THREADS; i++)
        cr_assert_eq(pthread_create(&threads[i], NULL, race, codes[i]), 0);
    for (int i = 0; i < N_THREADS; i++)
        pthread_join(threads[i], NULL);
    pthread_barrier_destroy(&together);
    cr_assert_eq(atomic_load(&n_made), N_ROUNDS);
    cr_assert_eq(counts().hits, (N_THREADS - 1) * N_ROUNDS);
    for (int i = 0; i < N_THREADS; i++)
        for (int k = 0; k < N_ROUNDS; k++) {
            cr_assert_eq(codes[i][k], codes[0][k]);
            tgi_code_release(codes[i][k]);
        }
    end();
}

/* A compile that starts and finishes on request. */
static pthread_barrier_t has_begun, may_end;

static tg_status make_slowly(void *user, tgi_code **out_code)
{
    pthread_barrier_wait(&has_begun);
    pthread_barrier_wait(&may_end);
    return user ? refuse(NULL, out_code) : make(NULL, out_code);
}

static void *get_slowly(void *user)
{
    tgi_code *code;
    const tg_status status = get_by("slow", make_slowly, user, &code);
    cr_assert_eq(status != TG_OK, user != NULL);
    tgi_code_release(code);
    return NULL;
}

static void *get_quickly(void *user)
{
    (void)user;
    tgi_code *code = get("slow");
    cr_assert_eq(run(code), SAMPLE_ANSWER);
    tgi_code_release(code);
    return NULL;
}

/* One thread compiles and others wait for it, until `meanwhile` has run. */
static void check_waiting(void (*meanwhile)(void), bool fails)
{
    enum { LONG_ENOUGH = 20000 }; /* microseconds, until all wait */
    pthread_t maker, waiters[3];
    pthread_barrier_init(&has_begun, NULL, 2);
    pthread_barrier_init(&may_end, NULL, 2);
    cr_assert_eq(pthread_create(&maker, NULL, get_slowly,
                                fails ? &fails : NULL),
                 0);
    pthread_barrier_wait(&has_begun);
    for (int i = 0; i < 3; i++)
        cr_assert_eq(pthread_create(&waiters[i], NULL, get_quickly, NULL), 0);
    usleep(LONG_ENOUGH);
    meanwhile();
    pthread_barrier_wait(&may_end);
    pthread_join(maker, NULL);
    for (int i = 0; i < 3; i++)
        pthread_join(waiters[i], NULL);
    pthread_barrier_destroy(&has_begun);
    pthread_barrier_destroy(&may_end);
}

static void do_nothing(void)
{
}

static void keep_none(void)
{
    tgi_code_cache_set_limit(0);
}

static void get_another(void)
{
    cr_assert_not(is_cached("another"));
    cr_assert(is_cached("another"));
}

static void get_without_waiting(void)
{
    tgi_code *code;
    cr_assert_eq(tgi_code_cache_get("slow", 4, false, make, NULL, &code),
                 TG_OK);
    cr_assert_null(code);
    cr_assert_eq(atomic_load(&n_made), 0);
}

Test(code_cache, who_does_not_wait_gets_none_while_it_is_made)
{
    begin();
    check_waiting(get_without_waiting, false);
    tgi_code *code;
    cr_assert_eq(tgi_code_cache_get("slow", 4, false, make, NULL, &code),
                 TG_OK);
    cr_assert_not_null(code);
    tgi_code_release(code);
    cr_assert_eq(atomic_load(&n_made), 1);
    end();
}

Test(code_cache, who_waits_for_code_gets_it)
{
    begin();
    check_waiting(do_nothing, false);
    cr_assert_eq(atomic_load(&n_made), 1);
    end();
}

Test(code_cache, a_waiter_repeats_a_failed_build_once)
{
    begin();
    check_waiting(do_nothing, true);
    cr_assert_eq(atomic_load(&n_made), 2);
    end();
}

Test(code_cache, who_waits_is_not_hurt_by_a_limit_or_a_clear)
{
    begin();
    check_waiting(keep_none, false);
    cr_assert_eq(counts().entries, 0);
    tgi_code_cache_set_limit(SIZE_MAX);
    check_waiting(tgi_code_cache_clear, false);
    end();
}

Test(code_cache, builds_of_different_keys_do_not_wait)
{
    begin();
    check_waiting(get_another, false);
    end();
}

/* -- Makes within makes ---------------------------------------------------- */

/* Like a log callback that calls functions. */
static tg_status make_both(void *user, tgi_code **out_code)
{
    pthread_barrier_wait(&together);
    tgi_code *other = get(user);
    cr_assert_eq(run(other), SAMPLE_ANSWER);
    tgi_code_release(other);
    return make(NULL, out_code);
}

static void *get_both(void *user)
{
    tgi_code *code;
    char mine[] = "a", others[] = "b";
    cr_assert_eq(get_by(user ? mine : others, make_both, user ? others : mine,
                        &code),
                 TG_OK);
    tgi_code_release(code);
    return NULL;
}

Test(code_cache, threads_that_need_each_others_code_do_not_deadlock)
{
    begin();
    pthread_t threads[2];
    pthread_barrier_init(&together, NULL, 2);
    for (int i = 0; i < 2; i++)
        cr_assert_eq(
            pthread_create(&threads[i], NULL, get_both, i ? &threads : NULL),
            0);
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
    pthread_barrier_destroy(&together);
    cr_assert_eq(counts().entries, 2);
    cr_assert(is_cached("a"));
    cr_assert(is_cached("b"));
    end();
}

/* -- Forks ----------------------------------------------------------------- */

/* Exit status of a child on success; Criterion's asserts do not work in a
   child. */
enum { FINE = 7 };

static int wait_for(pid_t child)
{
    int status = 0;
    cr_assert_eq(waitpid(child, &status, 0), child);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/* Cached code runs; code that was being compiled is compiled again, and can
   be waited for. */
static void in_child(void)
{
    pthread_t threads[2];
    alarm(60); /* alarms are not inherited */
    tgi_code *code = get("a");
    bool good = atomic_load(&n_made) == 1 && run(code) == SAMPLE_ANSWER;
    tgi_code_release(code);
    for (int round = 0; round < 20; round++) {
        tgi_code_cache_clear();
        for (int i = 0; i < 2; i++)
            good &= pthread_create(&threads[i], NULL, get_quickly, NULL) == 0;
        get_quickly(NULL);
        for (int i = 0; i < 2; i++)
            pthread_join(threads[i], NULL);
    }
    good &= is_cached("slow") && counts().entries == 1;
    _exit(good ? FINE : 1);
}

static void fork_one(void)
{
    const pid_t child = fork();
    cr_assert_geq(child, 0);
    if (child == 0)
        in_child();
    cr_assert_eq(wait_for(child), FINE);
}

Test(code_cache, a_child_keeps_code_and_does_not_wait_for_its_parent)
{
    begin();
    tgi_code_release(get("a"));
    check_waiting(fork_one, false);
    cr_assert_eq(atomic_load(&n_made), 2);
    end();
}

/* Forks; both processes continue. */
static tg_status make_forking(void *user, tgi_code **out_code)
{
    pid_t *child = user;
    *child = fork();
    if (*child == 0) {
        alarm(60);
        cr_assert_not(is_cached("a"));
    }
    return make(NULL, out_code);
}

Test(code_cache, a_fork_within_a_make_returns_in_both)
{
    begin();
    pid_t child = -1;
    tgi_code *code;
    const tg_status status = get_by("a", make_forking, &child, &code);
    if (child == 0) {
        const bool good = status == TG_OK && run(code) == SAMPLE_ANSWER &&
                          is_cached("a") && counts().entries == 1;
        _exit(good ? FINE : 1);
    }
    cr_assert_eq(status, TG_OK);
    cr_assert_eq(wait_for(child), FINE);
    cr_assert(is_cached("a"));
    tgi_code_release(code);
    end();
}

/* -- Memory that runs out -------------------------------------------------- */

static bool get_some(void)
{
    tgi_code *a = NULL, *b = NULL;
    tgi_code_cache_open();
    const bool went_well = get_by("a", make, NULL, &a) == TG_OK &&
                           get_by("b", make, NULL, &b) == TG_OK &&
                           run(a) == SAMPLE_ANSWER;
    tgi_code_release(a);
    tgi_code_release(b);
    tgi_code_cache_close();
    return went_well;
}

Test(code_cache, memory_may_run_out)
{
    object = object_sample();
    check_every_fault(get_some);
    free(object.data);
}

#endif
