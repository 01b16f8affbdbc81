/* SPDX-License-Identifier: MIT */
/*
 * test_executable_pages.c - pages for machine code: few mappings, never
 * writable and executable at the same time, and no interference between threads
 * and forks.
 */
#include "object/executable_pages.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "support/mappings.h"
#include "support/support.h"

enum { IMAGES = 10000 };

/* Sealed pages whose contents identify them. */
static unsigned char *make(size_t bytes, unsigned mark)
{
    void *memory;
    cr_assert_eq(tgi_pages_alloc(bytes, &memory), TG_OK, "%s", tg_error(NULL));
    cr_assert_eq((uintptr_t)memory % tgi_pages_page_bytes(), 0);
    memset(memory, (int)(mark & 0xff), bytes);
    memcpy(memory, &mark, sizeof(mark));
    cr_assert_eq(tgi_pages_seal(memory, bytes), TG_OK, "%s", tg_error(NULL));
    return memory;
}

static void check_mark(const unsigned char *memory, size_t bytes, unsigned mark)
{
    unsigned found;
    memcpy(&found, memory, sizeof(found));
    cr_assert_eq(found, mark);
    for (size_t i = sizeof(found); i < bytes; i++)
        if (memory[i] != (mark & 0xff))
            cr_assert_fail("byte %zu of mark %u is %u", i, mark, memory[i]);
}

/* -- Mappings -------------------------------------------------------------- */

Test(pages, ten_thousand_live_ones_need_few_mappings)
{
    /* A few mappings per chunk of a megabyte, or one if the kernel merges
       them all. */
    const int few = 3 * ((int)(IMAGES * tgi_pages_page_bytes() >> 20) + 1);
    static unsigned char *images[IMAGES];
    for (unsigned i = 0; i < IMAGES; i++)
        images[i] = make(100, i);
    cr_assert_leq(read_mappings().n_executable, few);

    /* Holes do not split mappings and are filled first. */
    for (unsigned i = 0; i < IMAGES; i += 2)
        tgi_pages_free(images[i], 100);
    cr_assert_leq(read_mappings().n_executable, few);
    for (unsigned i = 0; i < IMAGES; i += 2)
        images[i] = make(100, i);
    cr_assert_leq(read_mappings().n_executable, few);

    for (unsigned i = 0; i < IMAGES; i++)
        check_mark(images[i], 100, i);
    for (unsigned i = 0; i < IMAGES; i++)
        tgi_pages_free(images[i], 100);
    cr_assert_eq(read_mappings().n_executable, 0, "all chunks are given back");
    check_nothing_is_alive();
}

Test(pages, ten_thousand_cycles_do_not_leak)
{
    unsigned char *retained = make(1, 1);
    const mappings before = read_mappings();
    uint64_t random = 1;
    for (unsigned i = 0; i < IMAGES; i++) {
        const size_t bytes = 4 + (size_t)random_below(&random, 20000);
        unsigned char *memory = make(bytes, i);
        check_mark(memory, 4, i);
        tgi_pages_free(memory, bytes);
    }
    const mappings after = read_mappings();
    cr_assert_eq(after.n_executable, before.n_executable);
    cr_assert_leq(after.n, before.n + 8);
    tgi_pages_free(retained, 1);
    check_nothing_is_alive();
}

Test(pages, are_read_write_and_then_read_execute)
{
    void *memory;
    cr_assert_eq(tgi_pages_alloc(10, &memory), TG_OK);
    cr_assert_eq(read_mappings().n_both, 0);
    memset(memory, 0, 10);
    cr_assert_eq(tgi_pages_seal(memory, 10), TG_OK);
    cr_assert_eq(read_mappings().n_both, 0);
    tgi_pages_free(memory, 10);
    check_nothing_is_alive();
}

Test(pages, may_be_freed_before_they_are_sealed)
{
    void *memory;
    unsigned char *retained = make(1, 1);
    const int before = read_mappings().n_executable;
    cr_assert_eq(tgi_pages_alloc(10, &memory), TG_OK);
    memset(memory, 0xff, 10);
    tgi_pages_free(memory, 10);
    cr_assert_eq(read_mappings().n_executable, before);
    tgi_pages_free(retained, 1);
    check_nothing_is_alive();
}

Test(pages, larger_than_a_chunk_have_one_of_their_own)
{
    const size_t large = (5 << 20) + 1;
    unsigned char *small = make(4, 1), *big = make(large, 2);
    unsigned char *other = make(4, 3);
    check_mark(big, large, 2);
    check_mark(small, 4, 1);
    check_mark(other, 4, 3);
    tgi_pages_free(big, large);
    tgi_pages_free(small, 4);
    tgi_pages_free(other, 4);
    cr_assert_eq(read_mappings().n_executable, 0);
    check_nothing_is_alive();
}

Test(pages, of_freed_code_are_reused_and_cleared)
{
    unsigned char *retained = make(4, 1), *freed = make(5000, 2);
    tgi_pages_free(freed, 5000);
    cr_assert_eq(freed[0], 0, "the chunk is there, the code is gone");
    void *memory;
    cr_assert_eq(tgi_pages_alloc(5000, &memory), TG_OK);
    cr_assert_eq(memory, freed);
    for (size_t i = 0; i < 5000; i++)
        cr_assert_eq(((unsigned char *)memory)[i], 0);
    tgi_pages_free(memory, 5000);
    tgi_pages_free(retained, 4);
    check_nothing_is_alive();
}

Test(pages, random_allocations_never_overlap)
{
    enum { SLOTS = 200, ROUNDS = 5000 };
    unsigned char *held[SLOTS] = {0};
    size_t bytes[SLOTS] = {0};
    unsigned marks[SLOTS] = {0};
    uint64_t random = 2;
    for (unsigned round = 0; round < ROUNDS; round++) {
        const int slot = random_below(&random, SLOTS);
        if (held[slot]) {
            check_mark(held[slot], bytes[slot], marks[slot]);
            tgi_pages_free(held[slot], bytes[slot]);
            held[slot] = NULL;
        } else {
            /* Mostly small, rarely larger than a chunk. */
            bytes[slot] = 4 + (size_t)random_below(&random, 1 << 14) *
                                  (random_below(&random, 50) ? 1 : 100);
            marks[slot] = round;
            held[slot] = make(bytes[slot], round);
        }
    }
    for (int slot = 0; slot < SLOTS; slot++)
        if (held[slot])
            tgi_pages_free(held[slot], bytes[slot]);
    cr_assert_eq(read_mappings().n_executable, 0);
    check_nothing_is_alive();
}

/* -- Threads and forks ----------------------------------------------------- */

static atomic_bool is_over;

static void *load_and_free(void *argument)
{
    uint64_t random = *(const unsigned *)argument;
    const unsigned mark = *(const unsigned *)argument;
    while (!atomic_load(&is_over)) {
        const size_t bytes = 4 + (size_t)random_below(&random, 10000);
        unsigned char *memory = make(bytes, mark);
        check_mark(memory, bytes, mark);
        tgi_pages_free(memory, bytes);
    }
    return NULL;
}

typedef struct team {
    pthread_t threads[2];
    unsigned marks[2];
} team;

static void start(team *t)
{
    for (unsigned i = 0; i < 2; i++) {
        t->marks[i] = 10 + i;
        cr_assert_eq(
            pthread_create(&t->threads[i], NULL, load_and_free, &t->marks[i]),
            0);
    }
}

static void stop(team *t)
{
    atomic_store(&is_over, true);
    for (int i = 0; i < 2; i++)
        pthread_join(t->threads[i], NULL);
}

Test(pages, two_threads_take_them_at_once)
{
    team t;
    start(&t);
    for (int i = 0; i < 300; i++)
        cr_assert_eq(read_mappings().n_both, 0);
    stop(&t);
    cr_assert_eq(read_mappings().n_executable, 0);
    check_nothing_is_alive();
}

/* The default allocator is malloc; this one blocks once, so that the process
   forks meanwhile. */
static atomic_bool is_to_stay = true, is_inside;

static void *allocate_slowly(size_t bytes, size_t align, void *user)
{
    (void)user;
    if (atomic_exchange(&is_to_stay, false)) {
        atomic_store(&is_inside, true);
        usleep(50000);
    }
    return aligned_alloc(align, (bytes + align - 1) / align * align);
}

static void release(void *memory, size_t bytes, size_t align, void *user)
{
    (void)bytes;
    (void)align;
    (void)user;
    free(memory);
}

static void *take_and_free(void *argument)
{
    (void)argument;
    tgi_pages_free(make(100, 1), 100);
    return NULL;
}

/* Runs in a child, without assertions, which would act for the parent. */
static int child_status(void)
{
    void *memory;
    alarm(20);
    if (tgi_pages_alloc(100, &memory) != TG_OK ||
        tgi_pages_seal(memory, 100) != TG_OK)
        return 1;
    tgi_pages_free(memory, 100);
    return 0;
}

Test(pages, a_child_forked_amid_another_threads_work_does_not_hang)
{
    const tg_allocator slow = {allocate_slowly, release, NULL};
    tgi_pages_free(make(100, 1), 100); /* the first use registers fork
                                          handlers */
    cr_assert_eq(tg_allocator_set(&slow), TG_OK);
    pthread_t thread;
    cr_assert_eq(pthread_create(&thread, NULL, take_and_free, NULL), 0);
    while (!atomic_load(&is_inside))
        sched_yield();
    const pid_t child = fork();
    cr_assert_geq(child, 0);
    if (child == 0)
        _exit(child_status());
    int status;
    cr_assert_eq(waitpid(child, &status, 0), child);
    cr_assert(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    pthread_join(thread, NULL);
    check_nothing_is_alive();
    cr_assert_eq(tg_allocator_set(NULL), TG_OK);
}

/* -- Refusals -------------------------------------------------------------- */

Test(pages, report_refusal_by_the_system)
{
    void *memory;
    tgi_pages_inject_failures(0);
    cr_assert_eq(tgi_pages_alloc(100, &memory), TG_ERROR_UNSUPPORTED);
    cr_assert_null(memory);
    cr_assert_str_eq(tg_error(NULL),
                     "cannot allocate 1048576 bytes of executable memory: "
                     "Permission denied");
    tgi_pages_inject_failures(-1);
    check_nothing_is_alive();
}

Test(pages, that_cannot_be_sealed_can_be_freed)
{
    void *memory;
    cr_assert_eq(tgi_pages_alloc(100, &memory), TG_OK);
    tgi_pages_inject_failures(0);
    cr_assert_eq(tgi_pages_seal(memory, 100), TG_ERROR_UNSUPPORTED);
    tgi_pages_free(memory, 100);
    tgi_pages_inject_failures(-1);
    cr_assert_eq(read_mappings().n_executable, 0);
    check_nothing_is_alive();
}
